"""The status of providers, and the summary of a release."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import search, words
from hwprices.read.find.names import ReleaseWords
from hwprices.release.manifest import ProviderStatus, ReleaseManifest, Status
from hwprices.release.release import Release, Tables, is_private_host
from hwprices.release.versions import SAMPLE, is_sample, resolve
from hwprices.release.wording import STALE_AFTER
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store
from hwprices.units import Money

WELL = ("published", "unchanged")  # outcomes of a complete run

TOLERATED = (*WELL, "partial", "skipped")
"""Outcomes without an alarm; the age of the kept tables is limited separately."""

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True)
class Verdict:
    """The status of a provider, and the ages of its last success and its tables.

    An age is None if there never was a success. ``sheet_age``: the time since a person compared a
    price sheet with the vendor's page.
    """

    name: str
    status: ProviderStatus
    since_success: timedelta | None
    age: timedelta | None
    too_old: bool
    sheet_age: timedelta | None = None

    @property
    def stale(self) -> bool:
        """Whether it is a price sheet that was not compared with the vendor's page recently."""
        return self.sheet_age is not None and self.sheet_age > STALE_AFTER

    @property
    def well(self) -> bool:
        """Whether the provider needs no alarm."""
        entry = self.status
        return entry.outcome in TOLERATED and entry.prices_fetched and not self.too_old


def read(root: str) -> Status:
    """Read ``status.json`` of a dataset.

    Raises:
        HwpricesError: the file is missing or damaged. The release that comes with the program does
            not have one.
    """
    store = Store(resolve(root))
    file = store.uri(layout.STATUS)
    data = store.get(layout.STATUS, manifests.MAX_BYTES)
    if data is None and is_sample(store.root):
        raise HwpricesError(
            "the release that comes with the program was never collected, and has no status",
            f"hwprices show --root {SAMPLE} says how old its figures are.",
        )
    if data is None:
        raise HwpricesError(
            f"there is no {file}",
            "hwprices admin refresh writes it; or give the dataset with --root.",
        )
    return manifests.decode(data, Status, file=file, remedy="The next refresh writes it anew.")


def parse_age(text: str) -> timedelta:
    """Read a duration such as 90m, 36h or 2d.

    Raises:
        HwpricesError: the text is not a duration.
    """
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([mhd])", text.strip())
    if match is None:
        raise HwpricesError(f"--max-age {text}: this is not a duration", "Write 90m, 36h or 2d.")
    return float(match[1]) * UNITS[match[2]]


def judge(status: Status, now: datetime, max_age: timedelta | None) -> list[Verdict]:
    """Judge every provider. ``max_age``: the limit of the age of tables; None for no limit."""
    verdicts = []
    for name, entry in status.providers.items():
        age = _since(entry.complete_since, now)
        is_new = age is None and entry.outcome == "skipped"  # has no tables yet
        too_old = max_age is not None and not is_new and (age is None or age > max_age)
        sheet_age = _since(entry.sheet_seen_on, now)
        since_success = _since(entry.last_success, now)
        verdicts.append(Verdict(name, entry, since_success, age, too_old, sheet_age))
    return verdicts


def _since(time: str | None, now: datetime) -> timedelta | None:
    if time is None:
        return None
    parsed = datetime.fromisoformat(time)
    return now - (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC))


def frame(status: Status, now: datetime, max_age: timedelta | None = None) -> pl.DataFrame:
    """Return the status as a table: one row for each provider, ages in seconds."""
    rows = [
        {
            "provider": verdict.name,
            "title": verdict.status.title or verdict.name,
            "outcome": verdict.status.outcome,
            "reason": verdict.status.reason,
            "checks": list(verdict.status.checks),
            "origin": verdict.status.origin,
            "last_try": verdict.status.last_try,
            "last_success": verdict.status.last_success,
            "complete_since": verdict.status.complete_since,
            "seconds_since_success": _seconds(verdict.since_success),
            "age_seconds": _seconds(verdict.age),
            "release": verdict.status.release,
            "units_fetched": verdict.status.units.fetched,
            "units_failed": verdict.status.units.failed,
            "new_words": verdict.status.new_words,
            "well": verdict.well,
        }
        for verdict in judge(status, now, max_age)
    ]
    texts = dict.fromkeys(TEXT_COLUMNS, pl.String)
    lists = {"checks": pl.List(pl.String)}
    return pl.DataFrame(rows, schema_overrides={**texts, **lists})


TEXT_COLUMNS = ("origin", "last_try", "last_success", "complete_since", "release")


def to_json(status: Status, verdicts: list[Verdict]) -> dict[str, Any]:
    """Return ``status.json`` with the ages in seconds and the verdicts added."""
    return {
        "updated_at": status.updated_at,
        "well": all(verdict.well for verdict in verdicts),
        "providers": {verdict.name: _entry_json(verdict) for verdict in verdicts},
    }


def _entry_json(verdict: Verdict) -> dict[str, Any]:
    return {
        **manifests.to_mapping(verdict.status),
        "seconds_since_success": _seconds(verdict.since_success),
        "age_seconds": _seconds(verdict.age),
        "too_old": verdict.too_old,
        "sheet_age_seconds": _seconds(verdict.sheet_age),
        "stale": verdict.stale,
        "well": verdict.well,
    }


def _seconds(age: timedelta | None) -> int | None:
    return None if age is None else int(age.total_seconds())


SHOWN_GPU = "h100"  # most providers rent it
ACRONYM_LETTERS = 3  # a provider's id of up to this length is an acronym: aws, gcp

HARMLESS_FLAGS = ["availability_unknown", "per_gpu_rate"]
"""Flags of prices that may be the cheapest price of a GPU."""

COUNTED = {
    "regions": "regions",
    "instance_types": "machines",
    "prices": "prices",
    "price_components": "components",
    "quarantine": "refused rows",
}
"""Tables whose rows are counted by provider, and their headings."""


def cheapest_per_accelerator(dataset: Tables) -> pl.DataFrame:
    """Find the cheapest hourly prices of SHOWN_GPU.

    As in ``find``, "h100" is every form of the H100, including one that the vendor does not
    specify.

    Returns one row per provider, purchase option and term: provider, private_host, purchase_option,
    term_months, currency, per_accelerator_hour, accelerator_id (null if the form is unknown),
    vendor_name (of the accelerator), region, instance_type. Only known prices for Linux with shared
    tenancy and license included, without flags other than HARMLESS_FLAGS. In USD if the provider
    has such prices, else in its currency. Community hosts have separate rows.
    """
    names = ReleaseWords(dataset)
    ids = words.accelerators(SHOWN_GPU, names.accelerators)
    without_id = search.pairs("instance_type", words.unknown_machines(SHOWN_GPU, names))
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
            *search.price_conditions(search.Search()),
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


def summary_json(dataset: Release) -> dict[str, Any]:
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
    """Return the display name of a provider: its title in the manifest, else its id."""
    default = provider.upper() if len(provider) <= ACRONYM_LETTERS else provider.title()
    return release.providers[provider].title or default
