"""What must hold before a provider's new tables replace those published: named checks against the last release.

A check that stops a provider leaves its last good partition in place, with its age; the others publish. A person who has looked
and agrees lets it through by name: ``--accept aws:type_gone``.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

MAX_ROWS_LOST = (
    0.005  # case R1: a vendor's list does not shrink by more than this from one day to the next
)
MAX_JUMP = 1.4  # case R1; a catalogue once saw 10,922 of ~55,000 prices flip by ×1.46–1.73 in a day and back
MAX_JUMP_SHARE = 0.01  # case R1

MOVING = ["spot", "capacity_block", "dws_flex_start"]
"""Bought at a market's price or from what is left: these come, go and jump every hour, and that is news, not a fault."""

Outcome = Literal["pass", "warn", "stop", "accepted"]
Tables = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True)
class Result:
    """How one check of one provider came out."""

    provider: str
    check: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True)
class Candidate:
    """A provider's tables and where they come from (sample or live)."""

    provider: str
    origin: str
    tables: Tables


def check(new: Candidate, old: Candidate | None, accepted: Collection[str] = ()) -> list[Result]:
    """All checks of one provider. ``old`` is its partition in the last release; None for a first one."""
    results = [
        Result(new.provider, name, "warn" if found else "pass", found or "holds")
        for name, found in ((n, c(new)) for n, c in INVARIANTS.items())
    ]
    if old is None:
        return [
            *results,
            Result(new.provider, "baseline", "pass", "first release of this provider"),
        ]
    if old.origin != new.origin:
        return [*results, _origin(new, old, accepted)]
    for name, compare in COMPARISONS.items():
        found = compare(new, old)
        stop: Outcome = "accepted" if _is_accepted(new.provider, name, accepted) else "stop"
        results.append(Result(new.provider, name, stop if found else "pass", found or "holds"))
    return results


def stopped(results: Collection[Result]) -> list[Result]:
    """Those that keep the provider from being replaced."""
    return [r for r in results if r.outcome == "stop"]


def _is_accepted(provider: str, name: str, accepted: Collection[str]) -> bool:
    return f"{provider}:{name}" in accepted or f"{provider}:*" in accepted


def _origin(new: Candidate, old: Candidate, accepted: Collection[str]) -> Result:
    """Live figures may follow the sample; the sample must not quietly replace live ones."""
    if new.origin == "live":
        return Result(new.provider, "baseline", "pass", "live figures replace the sample")
    if _is_accepted(new.provider, "sample_over_live", accepted):
        return Result(
            new.provider, "sample_over_live", "accepted", "the sample replaces live figures"
        )
    return Result(
        new.provider,
        "sample_over_live",
        "stop",
        "the published figures are live and would be replaced by the sample: use another --root",
    )


def _first(frame: pl.LazyFrame, column: str) -> str:
    """Up to three values of a column, for the message."""
    return ", ".join(
        str(v) for v in frame.select(pl.col(column).unique().sort()).head(3).collect().to_series()
    )


def _rows_lost(new: Candidate, old: Candidate) -> str:
    before = old.tables["prices"].filter(~pl.col("purchase_option").is_in(MOVING))
    gone = before.join(new.tables["prices"].select("price_id"), on="price_id", how="anti")
    total, lost = (int(f.select(pl.len()).collect().item()) for f in (before, gone))
    return (
        f"{lost} of {total} prices are gone ({lost / total:.2%}), first {_first(gone, 'instance_type')}"
        if total and lost / total > MAX_ROWS_LOST
        else ""
    )


def _price_jump(new: Candidate, old: Candidate) -> str:
    columns = ["price_id", "effective_hourly"]
    before = (
        old.tables["prices"]
        .filter(~pl.col("purchase_option").is_in(MOVING))
        .select(*columns, "instance_type")
    )
    ratio = pl.col("effective_hourly_right").cast(pl.Float64) / pl.col("effective_hourly").cast(
        pl.Float64
    )
    both = before.join(new.tables["prices"].select(columns), on="price_id", how="inner").drop_nulls(
        ["effective_hourly", "effective_hourly_right"]
    )
    jumped = both.filter((ratio > MAX_JUMP) | (ratio < 1 / MAX_JUMP))
    total, count = (int(f.select(pl.len()).collect().item()) for f in (both, jumped))
    if not total or count / total <= MAX_JUMP_SHARE:
        return ""
    return f"{count} of {total} prices moved by more than ×{MAX_JUMP} ({count / total:.2%}), first {_first(jumped, 'instance_type')}"


def _gone(column: str, what: str) -> Callable[[Candidate, Candidate], str]:
    def compare(new: Candidate, old: Candidate) -> str:
        missing = (
            old.tables["prices"]
            .select(column)
            .unique()
            .join(new.tables["prices"].select(column).unique(), on=column, how="anti")
        )
        count = int(missing.select(pl.len()).collect().item())
        return f"{count} {what} are gone: {_first(missing, column)}" if count else ""

    return compare


def _exceptions(
    new: Candidate, condition: pl.Expr, sides: Mapping[str, pl.Expr], on: list[str], what: str
) -> str:
    """Rows where one side of the same machine's price is dearer than the other, though it should not be."""
    prices = new.tables["prices"].filter(
        pl.col("effective_hourly").is_not_null(), pl.col("price_reason").is_null()
    )
    (left, left_filter), (right, right_filter) = sides.items()
    a = prices.filter(left_filter).select(*on, pl.col("effective_hourly").alias(left), "flags")
    b = prices.filter(right_filter).select(*on, pl.col("effective_hourly").alias(right))
    wrong = a.join(b, on=on, how="inner", nulls_equal=True).filter(condition)
    count = int(wrong.select(pl.len()).collect().item())
    return f"{count} {what}, first {_first(wrong, 'instance_type')}" if count else ""


_MACHINE = ["region", "instance_type", "os", "software", "license_model", "tenancy", "currency"]
_PLAN = [*_MACHINE, "purchase_option", "commitment_plan", "payment_option"]


def _spot_over_on_demand(new: Candidate) -> str:
    sides = {
        "spot": pl.col("purchase_option") == "spot",
        "on_demand": pl.col("purchase_option") == "on_demand",
    }
    dearer = (pl.col("spot") >= pl.col("on_demand")) & (pl.col("flags").list.len() == 0)
    return _exceptions(
        new, dearer, sides, _MACHINE, "spot prices are not below on-demand and not flagged"
    )


def _longer_is_dearer(new: Candidate) -> str:
    sides = {"three_years": pl.col("term_months") == 36, "one_year": pl.col("term_months") == 12}
    return _exceptions(
        new,
        pl.col("three_years") > pl.col("one_year"),
        sides,
        _PLAN,
        "three-year prices are above the one-year price",
    )


def _windows_below_linux(new: Candidate) -> str:
    included = pl.col("license_model") == "included"
    sides = {
        "windows": (pl.col("os") == "windows") & included,
        "linux": (pl.col("os") == "linux") & included,
    }
    on = [c for c in [*_PLAN, "term_months", "zone"] if c != "os"]
    return _exceptions(
        new,
        pl.col("windows") < pl.col("linux"),
        sides,
        on,
        "Windows prices are below the Linux price",
    )


def _unlisted(new: Candidate) -> str:
    """A price for a type that the vendor's own list does not offer in that region, and no flag says so."""
    if "availability" not in new.tables:
        return ""
    where = ["region", "instance_type"]
    listed = new.tables["availability"].select(where).unique()
    known = listed.select("region").unique()
    flagged = pl.col("flags").list.contains("not_offered_here")
    machine = pl.col("tenancy") != "host"  # hosts are in no list of machine types
    odd = (
        new.tables["prices"]
        .filter(machine, ~flagged)
        .join(known, on="region", how="semi")
        .join(listed, on=where, how="anti")
        .select(where)
        .unique()
    )
    count = int(odd.select(pl.len()).collect().item())
    return (
        f"{count} priced (region, type) pairs are in no list of what is offered, first {_first(odd, 'instance_type')}"
        if count
        else ""
    )


INVARIANTS: Mapping[str, Callable[[Candidate], str]] = {
    "spot_below_on_demand": _spot_over_on_demand,
    "longer_is_cheaper": _longer_is_dearer,
    "windows_above_linux": _windows_below_linux,
    "priced_is_offered": _unlisted,
}
"""Reported, not stopping: vendors do break these now and then, and a reader should see where."""

COMPARISONS: Mapping[str, Callable[[Candidate, Candidate], str]] = {
    "rows_lost": _rows_lost,
    "price_jump": _price_jump,
    "region_gone": _gone("region", "regions"),
    "type_gone": _gone("instance_type", "types"),
    "option_gone": _gone("purchase_option", "purchase options"),
}
