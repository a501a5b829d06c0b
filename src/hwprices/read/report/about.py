"""Describe a release: when it was made, how old its figures are, and what it lacks."""

from typing import Any

import polars as pl

from hwprices.read.summary import provider_title
from hwprices.release.release import Release


def about(dataset: Release, offers: pl.DataFrame) -> dict[str, Any]:
    """Describe the release and each provider in it, as JSON values."""
    manifest = dataset.manifest
    return {
        "version": manifest["version"],
        "created_at": manifest["created_at"],
        "schema_version": manifest["schema_version"],
        "code_version": manifest["code_version"],
        "content_sha256": manifest["content_sha256"],
        "tables": {name: entry["rows"] for name, entry in manifest["tables"].items()},
        "providers": [_provider(dataset, offers, name) for name in manifest["providers"]],
        "unmatched_accelerators": manifest["unmatched_accelerators"],
        "citation": citation(dataset),
    }


def citation(dataset: Release) -> str:
    """Write how to cite the release."""
    version, digest = dataset.version, dataset.manifest["content_sha256"]
    return (
        f"hwprices: what AI and cloud hardware costs. Release {version},"
        f" content SHA-256 {digest[:16]}… CC BY 4.0."
    )


def _provider(dataset: Release, offers: pl.DataFrame, name: str) -> dict[str, Any]:
    entry = dataset.manifest["providers"][name]
    own = offers.filter(provider=name)
    report = entry["report"]
    return {
        "id": name,
        "title": provider_title(dataset.release, name),
        "status": entry["status"],
        "kept_from": entry["kept_from"],
        "origin": entry["origin"],
        "observed_from": entry["observed_from"],
        "observed_to": entry["observed_to"],
        "offers": own.height,
        "machines": own["instance_type"].n_unique(),
        "regions": own["region"].n_unique(),
        "regions_listed": entry["rows"].get("regions", 0),
        "currencies": own["currency"].drop_nulls().unique().sort().to_list(),
        "no_on_demand_price": reasons(own),
        "troubles": report["troubles"],
        "refused": report["quarantined"],
    }


def reasons(offers: pl.DataFrame) -> dict[str, int]:
    """Count why offers have no on-demand price, by the reason's code."""
    counts = offers["on_demand_reason"].drop_nulls().value_counts(sort=True)
    return dict(counts.iter_rows())
