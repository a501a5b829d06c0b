"""Make the tables of one provider, release by release, without collecting anything.

A ``World`` is what a vendor says (``listed``), what was collected of it, and how it is read. Each
price is in one unit. A unit that fails keeps nothing, as on a first run.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl

from hwprices.publish.history import ReRead
from hwprices.publish.history.snapshot import VALUE, Moment, Snapshot
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, Reading, UnitInput
from hwprices.rows import frames
from hwprices.schemas.tables import InstanceTypes
from tests.helpers.releases import prices

PROVIDER = "toycloud"
START = datetime(2026, 10, 1, 4, 17, tzinfo=UTC)

Listed = Mapping[str, int]
"""What the vendor lists: machine type to price in cents."""


@dataclass(frozen=True)
class World:
    """One release: what each unit's page lists, the units that failed, and our reading.

    ``reading`` is a number of cents that our program adds to each price: a fault of it, or a
    correction.
    """

    pages: Mapping[str, Listed]
    failed: frozenset[str] = frozenset()
    reading: int = 0
    basis: str = "listed"

    def read(self, reading: int) -> dict[tuple[str, str], Decimal]:
        """Read the pages that were collected: (region, type) to price."""
        return {
            (region, name): Decimal(cents + reading) / 100
            for region, listed in self.pages.items()
            if region not in self.failed
            for name, cents in listed.items()
        }


def moment(index: int) -> Moment:
    """Name the release of a day."""
    return Moment(_version(index), _version(index - 1) if index else None)


def _version(index: int) -> str:
    return (START + timedelta(days=index)).strftime("%Y%m%dT%H%M%SZ")


def snapshot(world: World, index: int) -> Snapshot:
    """Make the tables of a release."""
    units = tuple(
        UnitInput(f"prices/{region}", "failed")
        if region in world.failed
        else UnitInput(f"prices/{region}", "ok", (page(region, listed)[:DIGEST_CHARACTERS],))
        for region, listed in world.pages.items()
    )
    reading = Reading(str(world.reading), "", "")
    inputs = Inputs(reading, "|".join(map(str, units)), units)
    observed = START + timedelta(days=index, minutes=-10)
    rows = [
        {
            "provider": PROVIDER,
            "region": region,
            "instance_type": name,
            "hourly": price,
            "basis": world.basis,
            "observed_at": observed,
            "raw_sha256": page(region, world.pages[region]),
        }
        for (region, name), price in world.read(world.reading).items()
    ]
    return Snapshot(
        PROVIDER,
        _version(index),
        inputs,
        prices(*rows).lazy(),
        frames.empty(InstanceTypes),
        frozenset(world.pages),
        frozenset(),
        {unit.unit: unit for unit in units},
    )


def page(region: str, listed: Listed) -> str:
    """Name the page that lists these prices."""
    text = f"{region} {sorted(listed.items())}"
    return hashlib.sha256(text.encode()).hexdigest()


def re_read(older: World, newer: World) -> ReRead | None:
    """Read the older pages with the newer reading, where both differ."""
    if older.reading == newer.reading:
        return None
    read = older.read(newer.reading)
    rows = [
        {"provider": PROVIDER, "region": region, "instance_type": name, "hourly": price}
        for (region, name), price in read.items()
    ]
    return ReRead(prices(*rows).select("price_id", *VALUE))


def as_of(history: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """Select the intervals that hold at a time."""
    begun = pl.col("valid_from") <= at
    return history.filter(begun & (pl.col("valid_to").is_null() | (pl.col("valid_to") > at)))
