"""One provider in one release, and whether a difference is the vendor's change or ours.

A price depends only on a vendor's pages and on our reading of them (program, rule sheets,
corrections). A difference between two releases is therefore split into two steps: from the older
pages with the older reading to the older pages with the newer reading (``middle``), and from there
to the newer pages with the newer reading. The first step is our change, the second the vendor's:

- the reading is the same: middle is the old value, and the change is the vendor's;
- the pages are the same: middle is the new value, and the change is ours;
- both differ: the older pages are read again with the newer reading, which gives middle;
- both differ and the older pages are gone: unclear.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from hwprices.formulas import first_of
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, UnitInput
from hwprices.release.release import IS_PLACEHOLDER
from hwprices.release.versions import version_time
from hwprices.rows import frames
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import TABLES, InstanceTypes, Prices, Quarantine, Regions

VALUE = ("hourly", "upfront", "effective_hourly", "price_reason")
"""The columns of a price's value. An interval ends when one of them changes."""


@dataclass(frozen=True)
class Moment:
    """A release's version, and that of the previous release; None for the first."""

    version: str
    previous: str | None = None

    @property
    def at(self) -> datetime:
        """The time of the release, which its version states."""
        return version_time(self.version)


@dataclass(frozen=True)
class Snapshot:
    """One provider's tables in one release, and their inputs.

    ``prices`` has the price key, VALUE, basis, observed_at and raw_sha256. ``placeholders`` has the
    price_id of prices that are flagged as placeholders. ``refused`` are the price_ids of rows in
    quarantine.
    """

    provider: str
    version: str
    inputs: Inputs
    prices: pl.LazyFrame
    instance_types: pl.DataFrame
    regions: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    units: Mapping[str, UnitInput] = field(default_factory=dict)
    placeholders: pl.LazyFrame = field(
        default_factory=lambda: pl.LazyFrame(schema={"price_id": pl.String})
    )

    @property
    def reading(self) -> str:
        """The digest of the reading."""
        return self.inputs.reading.digest

    def prices_with_origin(self) -> pl.LazyFrame:
        """Add to each price the unit of its page, and the reading."""
        unit_of_page = {page: unit.unit for unit in self.inputs.units for page in unit.pages}
        page = pl.col("raw_sha256").str.slice(0, DIGEST_CHARACTERS)
        return self.prices.with_columns(
            page.replace_strict(unit_of_page, default=None, return_dtype=pl.String).alias(
                "collection_unit"
            ),
            pl.lit(self.reading, dtype=pl.String).alias("reading"),
        )


def take_snapshot(
    provider: str,
    version: str,
    inputs: Inputs,
    tables: Mapping[str, pl.LazyFrame],
    *,
    prices: bool = True,
) -> Snapshot:
    """Take a snapshot of one provider's tables; a missing table counts as empty.

    Without ``prices`` it has no prices: those of the previous release are in the intervals.
    """

    def table(name: str) -> pl.LazyFrame:
        empty = frames.empty(TABLES[name]).lazy()
        return tables[name].filter(provider=provider) if name in tables else empty

    columns = ["price_id", *PRICE_KEY, *VALUE, "basis", "observed_at", "raw_sha256"]
    all_prices = table(Prices.name)
    listed = all_prices.select(columns)
    regions = table(Regions.name).select("region").collect()["region"]
    return Snapshot(
        provider,
        version,
        inputs,
        listed if prices else listed.clear(),
        table(InstanceTypes.name).collect(),
        frozenset(regions),
        frozenset(_refused(table(Quarantine.name))),
        {unit.unit: unit for unit in inputs.units},
        all_prices.filter(IS_PLACEHOLDER).select("price_id"),
    )


def _refused(quarantine: pl.LazyFrame) -> list[str]:
    """List the price_ids of refused prices. Rows refused by the checks of their table have one."""
    return (
        quarantine.filter(table="prices")
        .select(pl.col("row").str.json_path_match("$.price_id").alias("price_id"))
        .drop_nulls()
        .collect()["price_id"]
        .to_list()
    )


STEPS = ("old", "middle", "new")


def evidence(*, can_re_read: bool) -> pl.Expr:
    """Return the evidence for a difference, from boolean columns.

    The columns are same_reading, same_pages, same_page (the page that states the value) and
    seen_before (the previous release had the price, and its pages can be read again).

    There should be no difference with the same pages and the same reading: it would be unclear.
    """
    return first_of(
        {
            "none": pl.col("same_reading") & pl.col("same_pages"),
            "same_reading": pl.col("same_reading"),
            "same_pages": pl.col("same_pages"),
            "same_page": pl.col("same_page"),
            "re_read": pl.lit(can_re_read) & pl.col("seen_before"),
        },
        "none",
    ).alias("evidence")


def with_middle(
    rows: pl.DataFrame, values: Sequence[str], re_read: pl.DataFrame | None, on: Sequence[str]
) -> pl.DataFrame:
    """Add the middle values, and whether each of the two steps changed anything.

    Args:
        rows: with evidence, old_exists and new_exists (whether there is a row at all), and
            old_<value> and new_<value> for each value.
        values: the columns to compare.
        re_read: the key and the values of the older pages, read with the newer reading.
        on: the key.

    Adds middle_exists and middle_<value>, ``unclear``, ``ours`` and ``vendors``.
    """
    read = _re_read(rows, values, re_read, on)
    from_old = pl.col("evidence").is_in(["same_reading", "collection"])
    from_new = pl.col("evidence").is_in(["same_pages", "same_page", "own_sheet"])
    middle = [
        pl.when(from_old)
        .then(f"old_{name}")
        .when(from_new)
        .then(f"new_{name}")
        .otherwise(f"read_{name}")
        .alias(f"middle_{name}")
        for name in ("exists", *values)
    ]
    unclear = pl.col("evidence") == "none"
    return (
        read.with_columns(middle)
        .with_columns(
            unclear.alias("unclear"),
            (~unclear & differs("old", "middle", values)).alias("ours"),
            (~unclear & differs("middle", "new", values)).alias("vendors"),
        )
        .drop(f"read_{name}" for name in ("exists", *values))
    )


def _re_read(
    rows: pl.DataFrame, values: Sequence[str], re_read: pl.DataFrame | None, on: Sequence[str]
) -> pl.DataFrame:
    if re_read is None:
        re_read = rows.clear().select(*on, *(pl.col(f"new_{name}").alias(name) for name in values))
    read = re_read.select(*on, *(pl.col(name).alias(f"read_{name}") for name in values))
    read = read.with_columns(read_exists=pl.lit(True))
    joined = rows.join(read, on=on, how="left", maintain_order="left")
    return joined.with_columns(pl.col("read_exists").fill_null(False))


def differs(one: str, other: str, values: Sequence[str]) -> pl.Expr:
    """Check whether two of STEPS differ: only one exists, or a value differs."""
    return values_differ(one, other, ["exists", *values])


def values_differ(one: str, other: str, values: Sequence[str]) -> pl.Expr:
    """Check whether the columns with the prefixes ``one`` and ``other`` differ in any value."""
    return pl.any_horizontal(
        pl.col(f"{one}_{name}").ne_missing(pl.col(f"{other}_{name}")) for name in values
    )


GLOBAL = "global"  # The region of units that hold for all regions

Place = tuple[str | None, str, str, str | None]
"""What decides whether a missing price could have been seen: its unit (None if unknown), its basis,
its region, and the units that it has been waiting for."""

PLACE = ("collection_unit", "basis", "region", "waits_for")


def missing(rows: pl.DataFrame, before: Snapshot | None, after: Snapshot) -> pl.DataFrame:
    """Add the columns ``collected`` and ``waits_for`` to prices that a release lacks.

    ``collected``: all units of the price were collected, so it is gone. ``waits_for``: otherwise
    the units that were not collected, separated by commas; null if unknown. ``rows`` has the
    columns of PLACE, from when the price was last seen.
    """
    places = rows.select(PLACE).unique()
    absent_units = [_absent(place, before, after) for place in places.iter_rows()]
    decided = places.with_columns(
        pl.Series("collected", [absent == [] for absent in absent_units], dtype=pl.Boolean),
        pl.Series(
            "now", [",".join(absent or []) or None for absent in absent_units], dtype=pl.String
        ),
    )
    joined = rows.join(decided, on=PLACE, how="left", nulls_equal=True, maintain_order="left")
    return joined.drop("waits_for").rename({"now": "waits_for"})


def _absent(place: Place, before: Snapshot | None, after: Snapshot) -> list[str] | None:
    """List the units that a price needs but that were not collected; None if unknown."""
    needed = sorted(set(_needed(place, before)))
    if not needed:
        return None
    return [unit for unit in needed if not _covers(after, unit, place[2])]


def _needed(place: Place, before: Snapshot | None) -> Iterable[str]:
    """List the units that a price needs.

    A listed price needs only the unit of its page. A composed or derived price, or one whose unit
    is unknown, may need any unit of its region.
    """
    unit, basis, region, waits_for = place
    if waits_for:
        yield from waits_for.split(",")
    if unit is not None:
        yield unit
        if basis == "listed":
            return
    for other in before.inputs.units if before else ():
        if other.collected and _region(other.unit) in (region, GLOBAL):
            yield other.unit


def _covers(snapshot: Snapshot, unit: str, region: str) -> bool:
    """Check whether a unit was collected for a region.

    A unit that was not planned although others of its kind were is no longer listed by the vendor:
    that counts as collected. If its complete kind was left out, it was not collected.
    """
    if unit in snapshot.units:
        return _holds(snapshot.units[unit], region)
    return _kind(unit) in {_kind(other) for other in snapshot.units}


def newly_collected(rows: pl.DataFrame, before: Snapshot | None) -> pl.DataFrame:
    """Add the column ``newly_collected`` to prices that appeared.

    It is true if the previous release did not collect them: their unit had failed, their kind had
    not been collected, or their region existed but was not requested. Prices in a new region are
    new.
    """
    places = rows.select("collection_unit", "region").unique()
    answers = [_is_new(unit, region, before) for unit, region in places.iter_rows()]
    decided = places.with_columns(pl.Series("newly_collected", answers, dtype=pl.Boolean))
    keys = ["collection_unit", "region"]
    return rows.join(decided, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _is_new(unit: str | None, region: str, before: Snapshot | None) -> bool:
    if before is None or unit is None:
        return False
    if unit in before.units:
        return not _holds(before.units[unit], region)
    kinds = {_kind(other) for other in before.units}
    return _kind(unit) not in kinds or region in before.regions


def _holds(unit: UnitInput, region: str) -> bool:
    return unit.collected and (not unit.regions or region in unit.regions)


def _kind(unit: str) -> str:
    return unit.partition("/")[0]


def _region(unit: str) -> str:
    return unit.partition("/")[2]
