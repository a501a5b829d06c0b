"""Manifests of releases in which only what a test is about is set."""

from collections.abc import Mapping
from typing import Any

from hwprices.release.manifest import (
    CollectionReport,
    Inputs,
    ProviderEntry,
    Reading,
    ReleaseManifest,
)


def inputs(run_id: str) -> Inputs:
    """Describe pages and a program that no other run has, without units."""
    return Inputs(Reading(run_id, "", ""), run_id, ())


def provider_entry(**fields: Any) -> ProviderEntry:
    """Make a provider's entry: fresh, live, and without rows, unless the fields say otherwise."""
    usual: dict[str, Any] = {
        "status": "fresh",
        "origin": "live",
        "run_id": "r1",
        "observed_from": None,
        "observed_to": None,
        "rows": {},
        "report": CollectionReport(),
        "gate": (),
        "inputs": inputs("r1"),
    }
    return ProviderEntry(**{**usual, **fields})


def release_manifest(providers: Mapping[str, ProviderEntry], **fields: Any) -> ReleaseManifest:
    """Make the manifest of a release of these providers; without tables unless given."""
    usual: dict[str, Any] = {
        "schema_version": "1",
        "version": "20260801T041700Z",
        "created_at": "2026-08-01T04:17:00+00:00",
        "content_sha256": "0" * 64,
        "tables": {},
    }
    return ReleaseManifest(providers=providers, **{**usual, **fields})
