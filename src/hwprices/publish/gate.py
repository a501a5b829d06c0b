"""Check a provider's new tables against the last release before they replace what is published.

A check that stops a provider leaves its last good partition in place, with its age; the other
providers are published. A person who has looked and agrees lets it through by name:
``--accept aws:type_gone``.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import polars as pl

from hwprices.storage.manifests import Origin
from hwprices.storage.release_manifest import CheckResult, Outcome

MAX_ROWS_LOST = 0.005
"""Share of prices that may be missing. From one day to the next a vendor's price list does not
shrink by more (known wrong number R1, docs/known-wrong-numbers.md)."""

MAX_JUMP = 1.4
"""Factor by which a price may move, up or down. A public price list once had 10,922 of about 55,000
prices flip by ×1.46 to ×1.73 in a day, and back (known wrong number R1)."""

MAX_JUMP_SHARE = 0.01
"""Share of prices that may move by more: vendors do change single prices so much (R1 too)."""

VOLATILE_OPTIONS = ["spot", "capacity_block", "dws_flex_start"]
"""Purchase options with a market's price or for what capacity is left. They come, go and jump every
hour, so lost rows and jumps are no sign of a fault."""

Tables = Mapping[str, pl.LazyFrame]

HOLDS = "holds"
"""The detail of a check that passed."""


@dataclass(frozen=True)
class Candidate:
    """A provider's tables by name, and where their figures come from."""

    provider: str
    origin: Origin
    tables: Tables


def check(
    new: Candidate, old: Candidate | None, accepted: Collection[str] = ()
) -> list[CheckResult]:
    """Run all checks of one provider.

    Args:
        new: the tables that are staged.
        old: the provider's tables in the last release; None if it has none there.
        accepted: checks that a person lets through, such as ``aws:type_gone`` or ``aws:*``.
    """
    results = [_report(new, name, invariant) for name, invariant in INVARIANTS.items()]
    if old is None:
        first = CheckResult(new.provider, "baseline", "pass", "first release of this provider")
        return [*results, first]
    if old.origin != new.origin:
        return [*results, _origin_change(new, accepted)]
    return results + [
        _compare(new, old, name, comparison, accepted) for name, comparison in COMPARISONS.items()
    ]


def stopped(results: Collection[CheckResult]) -> list[CheckResult]:
    """The results that keep the provider from being replaced."""
    return [result for result in results if result.outcome == "stop"]


Invariant = Callable[[Candidate], str]
"""Describes what is wrong with new tables; empty if nothing is."""

Comparison = Callable[[Candidate, Candidate], str]
"""Describes what is wrong with new tables beside the old; empty if nothing is."""


def _report(new: Candidate, name: str, invariant: Invariant) -> CheckResult:
    problem = invariant(new)
    return CheckResult(new.provider, name, "warn" if problem else "pass", problem or HOLDS)


def _compare(
    new: Candidate, old: Candidate, name: str, comparison: Comparison, accepted: Collection[str]
) -> CheckResult:
    problem = comparison(new, old)
    if not problem:
        return CheckResult(new.provider, name, "pass", HOLDS)
    return CheckResult(new.provider, name, _stop_or_accepted(new, name, accepted), problem)


def _stop_or_accepted(new: Candidate, name: str, accepted: Collection[str]) -> Outcome:
    names = (f"{new.provider}:{name}", f"{new.provider}:*")
    return "accepted" if any(name in accepted for name in names) else "stop"


def _origin_change(new: Candidate, accepted: Collection[str]) -> CheckResult:
    """Live figures may follow the sample. Catches a sample that would replace live figures."""
    if new.origin == "live":
        return CheckResult(new.provider, "baseline", "pass", "live figures replace the sample")
    name = "sample_over_live"
    if _stop_or_accepted(new, name, accepted) == "accepted":
        detail = "the sample replaces live figures"
        return CheckResult(new.provider, name, "accepted", detail)
    return CheckResult(
        new.provider,
        name,
        "stop",
        "the published figures are live and would be replaced by the sample: use another --root",
    )


# Comparisons with the last release. They stop the provider.


def rows_lost(new: Candidate, old: Candidate) -> str:
    """Catches a list that came incomplete: many prices are missing at once."""
    before = old.tables["prices"].filter(~pl.col("purchase_option").is_in(VOLATILE_OPTIONS))
    lost = before.join(new.tables["prices"].select("price_id"), on="price_id", how="anti")
    total, count = _height(before), _height(lost)
    if not total or count / total <= MAX_ROWS_LOST:
        return ""
    example = _first_values(lost, "instance_type")
    return f"{count} of {total} prices are gone ({count / total:.2%}), first {example}"


def price_jump(new: Candidate, old: Candidate) -> str:
    """Catches a changed unit, currency or meaning: many prices moved by a large factor at once."""
    amount = pl.col("effective_hourly").cast(pl.Float64)
    before = (
        old.tables["prices"]
        .filter(~pl.col("purchase_option").is_in(VOLATILE_OPTIONS))
        .select("price_id", "instance_type", amount.alias("before"))
    )
    after = new.tables["prices"].select("price_id", amount.alias("after"))
    both = before.join(after, on="price_id", how="inner").drop_nulls(["before", "after"])
    ratio = pl.col("after") / pl.col("before")
    jumped = both.filter((ratio > MAX_JUMP) | (ratio < 1 / MAX_JUMP))
    total, count = _height(both), _height(jumped)
    if not total or count / total <= MAX_JUMP_SHARE:
        return ""
    return (
        f"{count} of {total} prices moved by more than ×{MAX_JUMP} ({count / total:.2%}),"
        f" first {_first_values(jumped, 'instance_type')}"
    )


def region_gone(new: Candidate, old: Candidate) -> str:
    """Catches a region that was not fetched, or is called otherwise now."""
    return _values_gone(new, old, "region", "regions")


def type_gone(new: Candidate, old: Candidate) -> str:
    """Catches instance types that are no longer read from the price list."""
    return _values_gone(new, old, "instance_type", "types")


def option_gone(new: Candidate, old: Candidate) -> str:
    """Catches a whole price source that is missing, such as spot without credentials."""
    return _values_gone(new, old, "purchase_option", "purchase options")


def _values_gone(new: Candidate, old: Candidate, column: str, noun: str) -> str:
    """Describe the values of a column of prices that were there and no longer are."""
    before = old.tables["prices"].select(column).unique()
    after = new.tables["prices"].select(column).unique()
    missing = before.join(after, on=column, how="anti")
    count = _height(missing)
    return f"{count} {noun} are gone: {_first_values(missing, column)}" if count else ""


# Invariants of the new tables. They are reported and do not stop the provider: vendors do break
# them now and then, and a reader should see where.

MACHINE = ["region", "instance_type", "os", "software", "license_model", "tenancy", "currency"]
"""Columns of prices that name a machine with its software in a region."""

PLAN = [*MACHINE, "purchase_option", "commitment_plan", "payment_option"]
"""Columns of prices that name a machine and how it is bought."""


def spot_below_on_demand(new: Candidate) -> str:
    """Catches spot prices that are no cheaper than on demand and carry no flag that says so."""
    prices = _known_prices(new)
    unflagged = pl.col("flags").list.len() == 0
    spot = prices.filter(pl.col("purchase_option") == "spot", unflagged)
    on_demand = prices.filter(pl.col("purchase_option") == "on_demand")
    return _not_below(
        spot, on_demand, MACHINE, "spot prices are not below on-demand and not flagged", equal=True
    )


def longer_is_cheaper(new: Candidate) -> str:
    """Catches terms that were mixed up: three years cost more an hour than one year."""
    prices = _known_prices(new)
    three_years = prices.filter(pl.col("term_months") == 36)
    one_year = prices.filter(pl.col("term_months") == 12)
    return _not_below(three_years, one_year, PLAN, "three-year prices are above the one-year price")


def windows_above_linux(new: Candidate) -> str:
    """Catches a missing license: the same machine costs less with Windows than with Linux."""
    prices = _known_prices(new).filter(pl.col("license_model") == "included")
    windows = prices.filter(pl.col("os") == "windows")
    linux = prices.filter(pl.col("os") == "linux")
    on = [name for name in [*PLAN, "term_months", "zone"] if name != "os"]
    return _not_below(linux, windows, on, "Windows prices are below the Linux price")


def priced_is_offered(new: Candidate) -> str:
    """Catches prices of types that the vendor's own list does not offer in that region.

    Hosts are in no list of instance types, and a flag may say that the type is not offered.
    """
    if "availability" not in new.tables:
        return ""
    pair = ["region", "instance_type"]
    offered = new.tables["availability"].select(pair).unique()
    listed_regions = offered.select("region").unique()
    flagged = pl.col("flags").list.contains("not_offered_here")
    priced = new.tables["prices"].filter(pl.col("tenancy") != "host", ~flagged)
    missing = (
        priced.join(listed_regions, on="region", how="semi")
        .join(offered, on=pair, how="anti")
        .select(pair)
        .unique()
    )
    count = _height(missing)
    if not count:
        return ""
    example = _first_values(missing, "instance_type")
    return f"{count} priced (region, type) pairs are in no list of what is offered, first {example}"


def _known_prices(new: Candidate) -> pl.LazyFrame:
    """Prices that have an amount and no reason to doubt it."""
    return new.tables["prices"].filter(
        pl.col("effective_hourly").is_not_null(), pl.col("price_reason").is_null()
    )


def _not_below(
    cheaper: pl.LazyFrame, dearer: pl.LazyFrame, on: list[str], noun: str, *, equal: bool = False
) -> str:
    """Describe the pairs of prices where the first should be the lower one and is higher.

    The pairs agree in the columns ``on``. With ``equal`` an equal price is wrong too.
    """
    low, high = pl.col("effective_hourly"), pl.col("effective_hourly_right")
    pairs = cheaper.join(
        dearer.select(*on, "effective_hourly"), on=on, how="inner", nulls_equal=True
    )
    wrong = pairs.filter(low >= high if equal else low > high)
    count = _height(wrong)
    return f"{count} {noun}, first {_first_values(wrong, 'instance_type')}" if count else ""


def _height(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect().item())


def _first_values(frame: pl.LazyFrame, column: str) -> str:
    """Up to three values of a column, for the message."""
    values = frame.select(pl.col(column).unique().sort()).head(3).collect()
    return ", ".join(str(value) for value in values.to_series())


INVARIANTS: Mapping[str, Invariant] = {
    "spot_below_on_demand": spot_below_on_demand,
    "longer_is_cheaper": longer_is_cheaper,
    "windows_above_linux": windows_above_linux,
    "priced_is_offered": priced_is_offered,
}
"""Checks that are reported, by the name that a report gives."""

COMPARISONS: Mapping[str, Comparison] = {
    "rows_lost": rows_lost,
    "price_jump": price_jump,
    "region_gone": region_gone,
    "type_gone": type_gone,
    "option_gone": option_gone,
}
"""Checks that stop a provider, by the name that ``--accept`` takes."""
