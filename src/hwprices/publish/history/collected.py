"""Tell whether a price could have been seen: what was not collected is neither gone nor new."""

from collections.abc import Iterable

import polars as pl

from hwprices.publish.history.snapshot import Snapshot
from hwprices.release.manifest import UnitInput

GLOBAL = "global"
"""The region of units that hold for all regions."""

Place = tuple[str | None, str, str, str | None]
"""What decides whether a missing price could have been seen: its unit, its basis, its region, and
the units that it has been waiting for. The unit is None where it is not known."""

PLACE = ("collection_unit", "basis", "region", "waits_for")


def missing(rows: pl.DataFrame, before: Snapshot | None, after: Snapshot) -> pl.DataFrame:
    """Add the columns ``collected`` and ``waits_for`` to prices that a release lacks.

    ``collected``: everything that the price is read from was collected, and it is not there.
    ``waits_for``: else the units that were not, with commas between them; null if not known.
    ``rows`` has the columns of PLACE, as they were when the price was last seen.
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
    """List the units that a price needs and that were not collected; None if it is not known."""
    needed = sorted(set(_needed(place, before)))
    if not needed:
        return None
    return [unit for unit in needed if not _covers(after, unit, place[2])]


def _needed(place: Place, before: Snapshot | None) -> Iterable[str]:
    """List the units that a price needs.

    A listed price stands on its own page. One that is composed or derived may need any page of its
    region, so that all of them count, as for one whose unit is not known.
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
    """Tell whether a unit's pages were read for a region.

    A unit that was not planned, while others of its kind were, is no longer listed by the vendor:
    that counts as looked at. If its whole kind was left out, nobody looked.
    """
    if unit in snapshot.units:
        return _holds(snapshot.units[unit], region)
    return _kind(unit) in {_kind(other) for other in snapshot.units}


def newly_collected(rows: pl.DataFrame, before: Snapshot | None) -> pl.DataFrame:
    """Add the column ``newly_collected`` to prices that appeared: whether nobody looked before.

    So it is with the prices of a unit that had failed, of a kind that had not been collected, and
    of a region that was there but not asked for. In a region that is new a price is new.
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
