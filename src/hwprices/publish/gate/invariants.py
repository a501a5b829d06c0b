"""Checks that need no other release: what holds between the prices of one provider.

Vendors break most of these for single types, so an exception is reported and does not stop. It
stops when there are many more exceptions than in the last release. Two things stop at once: a spot
price that is not below on-demand and has no flag that says so, and a price of zero.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.publish.batches import in_parallel
from hwprices.publish.gate import thresholds
from hwprices.publish.gate.candidate import Candidate, batches

MACHINE = ["region", "instance_type", "os", "software", "license_model", "tenancy", "currency"]
PLAN = [*MACHINE, "purchase_option", "commitment_plan", "payment_option"]


SAYS_NOT_BELOW = ["spot_equals_on_demand", "spot_above_on_demand", "placeholder"]
"""Flags that say why a spot price is not below on-demand. Others, such as availability_unknown on
every price of Oracle and OVHcloud, say nothing about the price."""

SHOWN = 3
"""Machine types that a message names."""


@dataclass(frozen=True)
class Exceptions:
    """How many of the rows that a rule applies to break it, and which types come first."""

    count: int
    rows: int
    first: tuple[str, ...]
    description: str

    @property
    def share(self) -> float:
        """Exceptions as a share of the rows the rule applies to."""
        return self.count / self.rows if self.rows else 0.0

    @property
    def detail(self) -> str:
        """The exceptions in words, "" where there is none."""
        if not self.count:
            return ""
        return f"{self.count:,} of {self.rows:,} {self.description}, first {', '.join(self.first)}"


def _exceptions(frame: pl.DataFrame, broken: pl.Expr, description: str) -> Exceptions:
    wrong = frame.filter(broken)
    names = tuple(wrong["instance_type"].unique().sort().head(SHOWN))
    return Exceptions(wrong.height, frame.height, names, description)


def _added_up(parts: Sequence[Exceptions]) -> Exceptions:
    """Combine the exceptions of several regions."""
    return Exceptions(
        sum(part.count for part in parts),
        sum(part.rows for part in parts),
        tuple(sorted({name for part in parts for name in part.first})[:SHOWN]),
        parts[0].description,
    )


def exceptions(candidate: Candidate, names: Collection[str]) -> dict[str, Exceptions]:
    """Count the exceptions to some of INVARIANTS. Each price is read once for all of a kind."""
    by_check: dict[str, list[Exceptions]] = {name: [] for name in INVARIANTS if name in names}
    inside = {name: look for name, look in IN_A_REGION.items() if name in by_check}
    parts = (part for part, _ in batches(candidate, candidate)) if inside else ()
    for exceptions_of_part in in_parallel(lambda part: _in_a_region(part, inside), parts):
        for name, counted in exceptions_of_part.items():
            by_check[name].append(counted)
    if by_check.keys() & OF_MACHINES.keys():
        machines = _on_demand(candidate).collect(engine="streaming").lazy()
        for name in by_check.keys() & OF_MACHINES.keys():
            by_check[name].append(OF_MACHINES[name](machines))
    if "priced_is_offered" in by_check:
        by_check["priced_is_offered"].append(priced_is_offered(candidate))
    return {name: _added_up(parts) for name, parts in by_check.items()}


def _in_a_region(
    candidate: Candidate, checks: Mapping[str, Callable[[pl.DataFrame], Exceptions]]
) -> dict[str, Exceptions]:
    """Run checks of the prices of some regions."""
    prices = _compared(candidate)
    return {name: look(prices) for name, look in checks.items()}


def _compared(candidate: Candidate) -> pl.DataFrame:
    """Read the columns that prices of a region are compared by; ``rate`` is a float."""
    rate = pl.col("effective_hourly").cast(pl.Float64)
    columns = (*PLAN, "term_months", "zone", "flags")
    return candidate.table("prices").select(*columns, rate=rate).collect(engine="streaming")


def _side_by_side(
    prices: pl.DataFrame, left: pl.Expr, right: pl.Expr, on: list[str]
) -> pl.DataFrame:
    """Join two selections of known prices side by side, as ``rate`` and ``rate_right``."""
    on = _varying(prices, on)
    known = prices.lazy().filter(pl.col("rate").is_not_null())
    left_prices = known.filter(left).select(*on, "rate", "flags")
    right_prices = known.filter(right).select(*on, "rate")
    return left_prices.join(right_prices, on=on, how="inner", nulls_equal=True).collect()


def _varying(prices: pl.DataFrame, columns: list[str]) -> list[str]:
    """Leave out the columns that have one value in all rows: a join by them tells nothing apart.

    instance_type always stays, since a join needs a column.
    """
    names = [name for name in columns if name != "instance_type"]
    differs = prices.select(pl.col(name).ne_missing(pl.col(name).first()).any() for name in names)
    return ["instance_type", *(name for name in names if differs[name].item())]


def spot_below_on_demand(prices: pl.DataFrame) -> Exceptions:
    """Check that a spot price is below the on-demand price, or has a flag that says why not."""
    option = pl.col("purchase_option")
    both = _side_by_side(prices, option == "spot", option == "on_demand", MACHINE)
    flagged = pl.col("flags").list.set_intersection(SAYS_NOT_BELOW).list.len().fill_null(0) > 0
    unflagged = (pl.col("rate") >= pl.col("rate_right")) & ~flagged
    return _exceptions(both, unflagged, "spot prices are not below on-demand and not flagged")


def price_above_zero(prices: pl.DataFrame) -> Exceptions:
    """Check that no published price is zero."""
    return _exceptions(prices, (pl.col("rate") <= 0).fill_null(False), "prices are zero")


def longer_is_cheaper(prices: pl.DataFrame) -> Exceptions:
    """Check that three years cost no more an hour than one year."""
    months = pl.col("term_months")
    both = _side_by_side(prices, months == 36, months == 12, PLAN)
    above = pl.col("rate") > pl.col("rate_right")
    return _exceptions(both, above, "three-year prices are above the one-year price")


def windows_above_linux(prices: pl.DataFrame) -> Exceptions:
    """Check that Windows with its license costs at least what Linux costs."""
    included = pl.col("license_model") == "included"
    on = [c for c in [*PLAN, "term_months", "zone"] if c != "os"]
    windows, linux = ((pl.col("os") == name) & included for name in ("windows", "linux"))
    both = _side_by_side(prices, windows, linux, on)
    below = pl.col("rate") < pl.col("rate_right")
    return _exceptions(both, below, "Windows prices are below the Linux price")


def priced_is_offered(candidate: Candidate) -> Exceptions:
    """Check that a priced type is in the vendor's list of offers, or has a flag that it is not.

    Hosts are in no list of machine types and are left out, and so are regions without a list.
    """
    pair = ["region", "instance_type"]
    listed = candidate.table("availability").select(pair).unique()
    flagged = pl.col("flags").list.contains("not_offered_here")
    priced = candidate.table("prices").filter(pl.col("tenancy") != "host", ~flagged).select(pair)
    # they are sorted by type: the first of each run represents all of it
    is_first = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in pair)
    covered = priced.filter(is_first).unique().join(listed, on="region", how="semi")
    pairs = covered.join(listed.with_columns(listed=True), on=pair, how="left")
    description = "priced (region, type) pairs are in no list of what is offered"
    return _exceptions(pairs.collect(), pl.col("listed").is_null(), description)


def _on_demand(candidate: Candidate) -> pl.LazyFrame:
    """Select on-demand Linux prices of shared machines in USD, with the machine's figures."""
    plain = {"os": "linux", "purchase_option": "on_demand", "tenancy": "shared", "currency": "USD"}
    machines = candidate.table("instance_types").select(
        "instance_type",
        *("family", "vcpus", "bare_metal", "burstable", "accelerator_count", "local_disk_gib"),
        accelerator=pl.col("accelerators").list.first().struct.field("accelerator_id"),
        devices=pl.col("accelerators").list.len(),
    )
    prices = candidate.table("prices").filter(*(pl.col(n) == v for n, v in plain.items()))
    known = pl.col("effective_hourly").is_not_null()
    rate = pl.col("effective_hourly").cast(pl.Float64)
    return (
        prices.filter(pl.col("software") == "none", pl.col("license_model") == "included", known)
        .select("region", "instance_type", rate=rate)
        .join(machines, on="instance_type", how="inner")
    )


def metal_equals_twin(machines: pl.LazyFrame) -> Exceptions:
    """Check that bare metal at shared tenancy costs what the virtual machine of its size costs.

    Another widely used table has the dedicated-tenancy price there, 6 to 10 % above
    (docs/known-wrong-numbers.md, A13).
    """
    on = ["region", "family", "vcpus", "local_disk_gib"]
    virtual = machines.filter(~pl.col("bare_metal")).group_by(on).agg(pl.col("rate").max())
    metal = machines.filter(
        "bare_metal", ~pl.col("instance_type").is_in(thresholds.TWIN_EXCEPTIONS)
    )
    both = metal.join(virtual, on=on, how="inner", suffix="_twin", nulls_equal=True).collect()
    apart = (pl.col("rate") / pl.col("rate_twin") - 1).abs() > thresholds.TWIN_TOLERANCE
    return _exceptions(both, apart, "bare-metal prices differ from their virtual twin")


def price_per_vcpu(machines: pl.LazyFrame) -> Exceptions:
    """Check that a vCPU costs about the same in every size of a series in a region."""
    plain = machines.filter(
        pl.col("devices") == 0, ~pl.col("burstable").fill_null(False), pl.col("vcpus") > 1
    )
    each = plain.with_columns(each=pl.col("rate") / pl.col("vcpus")).with_columns(
        median=pl.col("each").median().over("region", "family")
    )
    ratio = pl.col("each") / pl.col("median")
    far = ~ratio.is_between(1 / thresholds.SERIES_RANGE, thresholds.SERIES_RANGE)
    return _exceptions(each.collect(), far, "prices per vCPU are far from their family's median")


def accelerator_price(machines: pl.LazyFrame) -> Exceptions:
    """Check that a machine never costs much less than its accelerators do elsewhere."""
    with_one_kind = machines.filter(
        pl.col("accelerator_count") > 0, pl.col("accelerator").is_not_null(), pl.col("devices") == 1
    )
    each = with_one_kind.with_columns(
        each=pl.col("rate") / pl.col("accelerator_count")
    ).with_columns(median=pl.col("each").median().over("accelerator"))
    cheap = pl.col("each") < pl.col("median") * thresholds.ACCELERATOR_RANGE
    return _exceptions(
        each.collect(), cheap, "machines cost less than their accelerators elsewhere"
    )


def region_spread(machines: pl.LazyFrame) -> Exceptions:
    """Check that a type's prices in the provider's regions are within a factor of three."""
    types = machines.group_by("instance_type").agg(
        low=pl.col("rate").min(), high=pl.col("rate").max()
    )
    wide = pl.col("high") > pl.col("low") * thresholds.REGION_RANGE
    return _exceptions(types.collect(), wide, "types cost over three times as much in one region")


IN_A_REGION: Mapping[str, Callable[[pl.DataFrame], Exceptions]] = {
    "spot_below_on_demand": spot_below_on_demand,
    "price_above_zero": price_above_zero,
    "longer_is_cheaper": longer_is_cheaper,
    "windows_above_linux": windows_above_linux,
}
"""Checks of the prices inside a region, which look at what ``_compared`` reads."""

OF_MACHINES: Mapping[str, Callable[[pl.LazyFrame], Exceptions]] = {
    "metal_equals_twin": metal_equals_twin,
    "price_per_vcpu": price_per_vcpu,
    "accelerator_price": accelerator_price,
    "region_spread": region_spread,
}
"""Checks of what ``_on_demand`` selects of all regions."""

INVARIANTS = (*IN_A_REGION, "priced_is_offered", *OF_MACHINES)
"""Checks that need no other release, by name."""

NEVER = ("spot_below_on_demand", "price_above_zero")
"""Of these not one exception is published."""
