"""Summarize a release for a terminal: rows, refused rows, an H100's price, age of the figures."""

from typing import Any

import polars as pl

from hwprices.read.find import search, words
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.release.manifest import ReleaseManifest
from hwprices.release.real_prices import is_private_host
from hwprices.release.release import Release, Tables
from hwprices.units import Money

SHOWN_GPU = "h100"  # every provider rents it out


ACRONYM_LETTERS = 3  # a provider's id of so few letters is an acronym: aws, gcp


HARMLESS_FLAGS = ["availability_unknown", "per_gpu_rate"]
"""Flags that are not a reason to leave out a price of one GPU."""


COUNTED = {
    "regions": "regions",
    "instance_types": "machines",
    "prices": "prices",
    "price_components": "their parts",
    "quarantine": "refused",
}
"""Tables of providers that are counted one by one, and the heading of each."""


def cheapest_per_accelerator(dataset: Tables, name: str = SHOWN_GPU) -> pl.DataFrame:
    """Find the cheapest prices of one accelerator for an hour.

    As for ``find``, "h100" is every form of the H100, and what a vendor calls so without saying
    which form it is.

    Returns one row per provider, purchase option and term: provider, private_host, purchase_option,
    term_months, currency, per_accelerator_hour, accelerator_id (null where the form is not known),
    vendor_name (of the accelerator), region, instance_type. Only Linux, shared tenancy, license
    included, and prices that are known and have no flag but those of HARMLESS_FLAGS: many clouds do
    not list where a machine is offered. A provider without prices in USD has its own currency;
    community hosts have rows of their own.
    """
    names = ReleaseWords(dataset)
    ids = words.accelerators(name, names.accelerators)
    without_id = search.pairs("instance_type", words.unknown_machines(name, names))
    accelerator = pl.col("accelerators").list.first().struct
    machines = (
        dataset.scan("instance_types")
        .filter(pl.col("accelerators").list.len() == 1, pl.col("accelerator_count") > 0)
        .select(
            *("provider", "instance_type", "accelerator_count"),
            accelerator.field("accelerator_id", "vendor_name"),
        )
        .filter(pl.col("accelerator_id").is_in(ids) | without_id)
    )
    price = pl.col("effective_hourly") / pl.col("accelerator_count").cast(Money)
    option = ["provider", "private_host", "purchase_option", "term_months"]
    return (
        dataset.scan("prices")
        .filter(
            *search.of_prices(search.Search()),
            pl.col("effective_hourly").is_not_null(),
            pl.col("flags").list.set_difference(HARMLESS_FLAGS).list.len() == 0,
        )
        .join(machines, on=["provider", "instance_type"])
        .with_columns(per_accelerator_hour=price, private_host=is_private_host())
        .sort(pl.col("currency") != "USD", "per_accelerator_hour", "region", "instance_type")
        .unique(option, keep="first", maintain_order=True)
        .select(
            *option,
            *("currency", "per_accelerator_hour", "accelerator_id", "vendor_name"),
            *("region", "instance_type"),
        )
        .sort(
            *("provider", "private_host", "per_accelerator_hour", "purchase_option", "term_months")
        )
        .collect()
    )


def providers(dataset: Release) -> pl.DataFrame:
    """Return a row for each provider: origin and age of its figures, and its rows."""
    entries = dataset.release.providers
    names = ("origin", "status", "kept_from", "observed_from", "observed_to")
    return pl.DataFrame(
        [
            {
                "provider": provider,
                "title": provider_title(dataset.release, provider),
                **{name: getattr(entry, name) for name in names},
                **{table: entry.rows.get(table, 0) for table in COUNTED},
            }
            for provider, entry in entries.items()
        ],
        infer_schema_length=None,
    )


def to_json(dataset: Release) -> dict[str, Any]:
    """Return the summary as JSON values."""
    return {
        "version": dataset.version,
        "root": dataset.store.root,
        "created_at": dataset.release.created_at,
        "previous": dataset.release.previous,
        "rows": {name: entry.rows for name, entry in dataset.release.tables.items()},
        "providers": providers(dataset).to_dicts(),
        "cheapest_h100": cheapest_per_accelerator(dataset).to_dicts(),
        "unmatched_accelerators": dataset.manifest["unmatched_accelerators"],
    }


def provider_title(release: ReleaseManifest, provider: str) -> str:
    """Return the display name of a provider: its title in the manifest, or else its id."""
    default = provider.upper() if len(provider) <= ACRONYM_LETTERS else provider.title()
    return release.providers[provider].title or default
