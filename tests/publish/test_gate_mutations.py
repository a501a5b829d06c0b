"""Mistakes and genuine events, each applied to the sample's release and put to the gate.

No mistake may be published: some check stops it. Every genuine event is published: nothing stops,
or one check does and is let through by name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from hwprices import providers
from hwprices.publish import gate
from hwprices.publish.gate import comparisons, invariants
from hwprices.publish.gate.thresholds import LIMITS
from hwprices.rows.prices import price_id
from hwprices.stage import stage
from hwprices.storage.store import Store
from hwprices.units import Money

Tables = dict[str, pl.DataFrame]
CHECKED = ("prices", "instance_types", "regions", "availability")


@pytest.fixture(scope="module")
def sample(sample_root: Path) -> dict[str, Tables]:
    """The sample's staged tables: provider to table to rows."""
    store = Store(sample_root)
    tables: dict[str, Tables] = {}
    for name in providers.names():
        staged = stage.latest(store, name)
        assert staged is not None
        paths = {
            table: [store.uri(f"{staged.directory}/{file.key}") for file in staged.of(table)]
            for table in CHECKED
        }
        tables[name] = {
            table: pl.read_parquet(files, hive_partitioning=False)
            for table, files in paths.items()
            if files
        }
    return tables


def candidate(provider: str, tables: Tables) -> gate.Candidate:
    lazy = {name: frame.lazy() for name, frame in tables.items()}
    return gate.Candidate(provider, "live", lazy)


# -- changes to a release ---------------------------------------------------------------------

Change = Callable[[Tables], Tables]


def where(**values: object) -> pl.Expr:
    """Rows whose columns have these values; a list means any of them, * stands for any text."""
    conditions = [pl.lit(True)]
    for name, value in values.items():
        if isinstance(value, list):
            conditions.append(pl.col(name).is_in(value))
        elif isinstance(value, str) and "*" in value:
            pattern = ".*".join(re.escape(part) for part in value.split("*"))
            conditions.append(pl.col(name).str.contains(f"^{pattern}$"))
        else:
            conditions.append(pl.col(name) == value)
    return pl.all_horizontal(conditions)


def some(share: float) -> pl.Expr:
    """A fixed pseudo-random share of the rows."""
    return pl.col("price_id").str.slice(0, 6).str.to_integer(base=16) < int(share * 16**6)


def scale(factor: str, rows: pl.Expr) -> Change:
    def change(tables: Tables) -> Tables:
        money = [
            pl.when(rows).then((pl.col(c) * Decimal(factor)).cast(Money)).otherwise(c).alias(c)
            for c in ("hourly", "upfront", "effective_hourly")
        ]
        return {**tables, "prices": tables["prices"].with_columns(money)}

    return change


def drop(rows: pl.Expr, table: str = "prices") -> Change:
    return lambda tables: {**tables, table: tables[table].filter(~rows.fill_null(False))}


def nullify(rows: pl.Expr) -> Change:
    def change(tables: Tables) -> Tables:
        empty = pl.when(~rows.fill_null(False)).then("effective_hourly").alias("effective_hourly")
        return {**tables, "prices": tables["prices"].with_columns(empty)}

    return change


def set_column(table: str, rows: pl.Expr, **values: pl.Expr) -> Change:
    def change(tables: Tables) -> Tables:
        columns = [
            pl.when(rows).then(value.cast(tables[table].schema[name])).otherwise(name).alias(name)
            for name, value in values.items()
        ]
        return {**tables, table: tables[table].with_columns(columns)}

    return change


def with_ids(change: Change) -> Change:
    """The same change, after which price_id follows from the key again."""

    def made(tables: Tables) -> Tables:
        changed = change(tables)
        return {**changed, "prices": changed["prices"].with_columns(price_id())}

    return made


def together(*changes: Change) -> Change:
    def change(tables: Tables) -> Tables:
        for one in changes:
            tables = one(tables)
        return tables

    return change


def swap_systems(tables: Tables) -> Tables:
    """Linux rows get the Windows price of the same machine."""
    prices = tables["prices"]
    key = ["region", "instance_type", "purchase_option", "term_months", "payment_option"]
    windows = prices.filter(where(os="windows", license_model="included")).select(
        *key, windows="effective_hourly"
    )
    joined = prices.join(windows.unique(key), on=key, how="left")
    wrong = pl.when(where(os="linux") & pl.col("windows").is_not_null()).then("windows")
    rate = wrong.otherwise("effective_hourly").alias("effective_hourly")
    return {**tables, "prices": joined.with_columns(rate).drop("windows")}


def double_rows(tables: Tables) -> Tables:
    """Every on-demand row a second time, as BYOL, which the parser should have left out."""
    copies = tables["prices"].filter(where(purchase_option="on_demand"))
    copies = copies.with_columns(license_model=pl.lit("byol"), tenancy=pl.lit("dedicated"))
    again = pl.concat([tables["prices"], copies.with_columns(price_id())])
    return {**tables, "prices": again}


def region_prices_elsewhere(tables: Tables) -> Tables:
    """us-east4 gets europe-west4's prices."""
    prices = tables["prices"]
    key = ["instance_type", "os", "purchase_option", "term_months", "license_model"]
    other = prices.filter(where(region="europe-west4")).select(*key, other="effective_hourly")
    joined = prices.join(other.unique(key), on=key, how="left")
    has_both = where(region="us-east4") & pl.col("other").is_not_null()
    rate = pl.when(has_both).then("other").otherwise("effective_hourly").alias("effective_hourly")
    return {**tables, "prices": joined.with_columns(rate).drop("other")}


H100 = {"aws": "p5.*", "azure": "Standard_ND96is*", "gcp": "a3-*"}
ON_DEMAND = where(purchase_option="on_demand")
SPOT = where(purchase_option="spot")
LINUX = where(os="linux")
ALL = pl.lit(True)


@dataclass(frozen=True)
class Case:
    """A change of one provider's tables, and the check that is expected to see it."""

    name: str
    provider: str
    change: Change
    check: str
    tables: tuple[str, ...] = ()


MISTAKES = [
    Case(
        "accelerator at a tenth", "gcp", scale("0.1", where(instance_type="a3-*")), "family_level"
    ),
    Case(
        "Azure H100 at a tenth",
        "azure",
        scale("0.1", where(instance_type=H100["azure"])),
        "family_level",
    ),
    Case(
        "accelerator at three times", "gcp", scale("3", where(instance_type="a2-*")), "family_level"
    ),
    Case("all prices up 30 %", "aws", scale("1.3", ALL), "level_shift"),
    Case("all prices up 30 %, Azure", "azure", scale("1.3", ALL), "level_shift"),
    Case("all prices down 20 %", "gcp", scale("0.8", ALL), "level_shift"),
    Case("all on-demand prices up 10 %", "azure", scale("1.1", ON_DEMAND), "level_shift"),
    Case("one region up 25 %", "gcp", scale("1.25", where(region="us-east4")), "level_shift"),
    Case("one system up 40 %", "azure", scale("1.4", where(os="windows")), "level_shift"),
    Case(
        "committed use up 12 %",
        "gcp",
        scale("1.12", where(purchase_option="committed_use")),
        "level_shift",
    ),
    Case("all on-demand null", "aws", nullify(ON_DEMAND), "rows_lost"),
    Case("all on-demand null, GCP", "gcp", nullify(ON_DEMAND), "rows_lost"),
    Case("one series null", "gcp", nullify(where(instance_type="n2-standard*")), "group_lost"),
    Case("one small series null", "aws", nullify(where(instance_type="m5.*")), "group_lost"),
    Case(
        "one series without rows",
        "azure",
        drop(where(instance_type="Standard_E*as_v5")),
        "group_lost",
    ),
    Case("H100 machines gone but offered", "gcp", drop(where(instance_type="a3-*")), "type_gone"),
    Case("a price of zero", "aws", scale("0", where(instance_type="g6.*")), "price_above_zero"),
    Case("90 % of spot gone", "gcp", drop(SPOT & some(0.9)), "spot_lost"),
    Case("90 % of spot gone, Azure", "azure", drop(SPOT & some(0.9)), "spot_lost"),
    Case("spot x 100", "gcp", scale("100", SPOT), "spot_below_on_demand"),
    Case("spot x 100, Azure", "azure", scale("100", SPOT), "spot_level"),
    Case("spot at a hundredth", "gcp", scale("0.01", SPOT), "spot_level"),
    Case(
        "spot of one region x 10",
        "azure",
        scale("10", SPOT & where(region="westeurope")),
        "spot_level",
    ),
    Case(
        "spot above on-demand, unflagged",
        "gcp",
        scale("5", SPOT & where(instance_type="n2-standard-2")),
        "spot_below_on_demand",
    ),
    Case(
        "a third of a small region gone",
        "aws",
        drop(where(region="cn-north-1") & some(0.33)),
        "group_lost",
    ),
    Case(
        "a fifth of the largest region gone",
        "azure",
        drop(where(region="westeurope") & some(0.2)),
        "rows_lost",
    ),
    Case("a region gone", "aws", drop(where(region="us-gov-west-1")), "region_gone"),
    Case("all Windows gone", "azure", drop(where(os="windows")), "os_gone"),
    Case("all SLES gone", "gcp", drop(where(os="sles")), "os_gone"),
    Case("all reservations gone", "azure", drop(where(purchase_option="reserved")), "option_gone"),
    Case("1 % of all rows gone", "azure", drop(some(0.01)), "rows_lost"),
    Case("x 2 on 0.9 % of the rows", "azure", scale("2", some(0.009) & ~SPOT), "price_doubled"),
    Case("x 1.46 on 2 % of the rows", "gcp", scale("1.46", some(0.02) & ~SPOT), "price_jump"),
    Case(
        "half of the offers gone",
        "azure",
        lambda t: {**t, "availability": t["availability"].gather_every(2)},
        "availability_lost",
    ),
    Case(
        "offers of one region gone",
        "gcp",
        drop(where(region="us-east4"), "availability"),
        "availability_lost",
    ),
    Case(
        "accelerators 8 to 1",
        "aws",
        set_column(
            "instance_types", where(instance_type="p5.48xlarge"), accelerator_count=pl.lit(1.0)
        ),
        "spec_changed",
    ),
    Case(
        "accelerators vanish",
        "gcp",
        set_column(
            "instance_types",
            where(instance_type="a3-*"),
            accelerators=pl.lit([], dtype=pl.List(pl.Null)).cast(
                pl.List(
                    pl.Struct(
                        {
                            "accelerator_id": pl.String,
                            "vendor_name": pl.String,
                            "count": pl.Float64,
                            "memory_gib": pl.Float64,
                        }
                    )
                )
            ),
            accelerator_count=pl.lit(0.0),
        ),
        "spec_changed",
    ),
    Case(
        "memory x 1024",
        "aws",
        set_column("instance_types", ALL, memory_gib=pl.col("memory_gib") * 1024),
        "spec_changed",
    ),
    Case(
        "memory in MB of one type",
        "azure",
        set_column(
            "instance_types",
            where(instance_type="Standard_D4s_v5"),
            memory_gib=pl.col("memory_gib") * 1024,
        ),
        "spec_changed",
    ),
    Case(
        "vCPUs become cores",
        "gcp",
        set_column("instance_types", where(instance_type="n2-*"), vcpus=pl.col("vcpus") / 2),
        "spec_changed",
    ),
    Case(
        "x86 becomes Arm",
        "aws",
        set_column("instance_types", where(instance_type="m5.*"), arch=pl.lit("arm64")),
        "spec_changed",
    ),
    Case(
        "local disks become unknown",
        "azure",
        set_column("instance_types", ALL, local_disk_gib=pl.lit(None)),
        "values_lost",
    ),
    Case(
        "the network of some families becomes unknown",
        "aws",
        set_column("instance_types", where(instance_type="m*"), network_gbps_max=pl.lit(None)),
        "values_lost",
    ),
    Case(
        "regions lose their country",
        "azure",
        set_column("regions", ALL, country=pl.lit(None)),
        "values_lost",
    ),
    Case(
        "prices lose their SKU",
        "azure",
        set_column("prices", ALL, sku_id=pl.lit(None)),
        "values_lost",
    ),
    Case(
        "currency flips, ids stay",
        "aws",
        set_column("prices", where(region="us-east-1"), currency=pl.lit("CNY")),
        "currency_changed",
    ),
    Case(
        "currency flips with the ids",
        "azure",
        with_ids(set_column("prices", ALL, currency=pl.lit("EUR"))),
        "rows_lost",
    ),
    Case(
        "billing unit flips",
        "gcp",
        set_column("prices", ALL, billing_unit=pl.lit("hour")),
        "unit_changed",
    ),
    Case(
        "price of a month in the hour",
        "azure",
        scale("730", where(instance_type="Standard_D4s_v5")),
        "family_level",
    ),
    Case(
        "term fee taken for the hour",
        "azure",
        set_column(
            "prices",
            where(purchase_option="reserved", payment_option="all_upfront"),
            effective_hourly=pl.col("upfront"),
        ),
        "family_level",
    ),
    Case("Windows price on Linux rows", "azure", swap_systems, "level_shift"),
    Case("another region's prices", "gcp", region_prices_elsewhere, "level_shift"),
    Case("rows that are out of scope come in", "azure", double_rows, "rows_added"),
    Case(
        "metal at the dedicated price",
        "aws",
        scale("1.1", where(instance_type="*.metal*")),
        "metal_equals_twin",
    ),
]


def retire(pattern: str) -> Change:
    return together(
        drop(where(instance_type=pattern)),
        lambda t: {**t, "availability": t["availability"].filter(~where(instance_type=pattern))},
    )


def open_region(tables: Tables) -> Tables:
    rows = tables["prices"].filter(where(region="us-east4"))
    opened = rows.with_columns(region=pl.lit("us-south9")).with_columns(price_id())
    return {**tables, "prices": pl.concat([tables["prices"], opened])}


def new_family(tables: Tables) -> Tables:
    rows = tables["prices"].filter(where(instance_type="m5.*"))
    name = pl.col("instance_type").str.replace("m5.", "m99.", literal=True)
    added = rows.with_columns(name).with_columns(price_id())
    types = tables["instance_types"].filter(where(instance_type="m5.*"))
    types = types.with_columns(name, family=pl.lit("m99"))
    return {
        **tables,
        "prices": pl.concat([tables["prices"], added]),
        "instance_types": pl.concat([tables["instance_types"], types]),
    }


def new_option(tables: Tables) -> Tables:
    rows = tables["prices"].filter(ON_DEMAND & LINUX)
    rows = rows.with_columns(
        purchase_option=pl.lit("savings_plan"),
        commitment_plan=pl.lit("compute"),
        term_months=pl.lit(12, dtype=pl.Int32),
        payment_option=pl.lit("no_upfront"),
    )
    return {**tables, "prices": pl.concat([tables["prices"], rows.with_columns(price_id())])}


def spot_by_the_hour(tables: Tables) -> Tables:
    """Every spot price moves by up to 12 %, a tenth of the markets close."""
    noise = 0.88 + pl.col("price_id").str.slice(6, 4).str.to_integer(base=16) / 65536 * 0.12
    rate = (pl.col("effective_hourly").cast(pl.Float64) * noise).cast(Money)
    moved = pl.when(SPOT).then(rate).otherwise("effective_hourly").alias("effective_hourly")
    prices = tables["prices"].with_columns(moved).filter(~(SPOT & some(0.1)))
    return {**tables, "prices": prices}


def without_columns(table: str, *names: str) -> Change:
    return lambda tables: {**tables, table: tables[table].drop(names)}


def disks_unknown_and_types_renamed(tables: Tables) -> Tables:
    """No machine of the new tables is in the old ones, whose disks are known."""
    renamed = tables["instance_types"].with_columns(
        pl.col("instance_type") + "-2", local_disk_gib=pl.lit(None, dtype=pl.Float64)
    )
    return {**tables, "instance_types": renamed}


EVENTS = [
    Case("the disks of new machines are not known", "azure", disks_unknown_and_types_renamed, ""),
    Case(
        "a column is gone from the table",
        "aws",
        without_columns("instance_types", "boost_ghz"),
        "",
    ),
    Case(
        "the disks of a few machines are not known any more",
        "azure",
        set_column(
            "instance_types", where(instance_type="Standard_E*as_v5"), local_disk_gib=pl.lit(None)
        ),
        "",
    ),
    Case("nothing changed", "gcp", lambda tables: tables, ""),
    Case("P5 cut by 44 %", "aws", scale("0.56", where(instance_type="p5.*")), ""),
    Case("A2 cut by 15 %", "gcp", scale("0.85", where(instance_type="a2-*")), ""),
    Case(
        "capacity blocks up 15 %", "aws", scale("1.15", where(purchase_option="capacity_block")), ""
    ),
    Case("one family retired", "aws", retire("m3.*"), ""),
    Case("a region opened", "gcp", open_region, ""),
    Case("a family launched", "aws", new_family, ""),
    Case("a purchase option launched", "aws", new_option, ""),
    Case("a day of spot markets", "gcp", spot_by_the_hour, ""),
    Case("a day of spot markets, Azure", "azure", spot_by_the_hour, ""),
    Case("three of a thousand rows gone", "azure", drop(some(0.003)), ""),
    Case(
        "a region's prices raised by 10 %",
        "gcp",
        scale("1.1", where(region="europe-west4") & ~SPOT),
        "level_shift",
    ),
    Case("reservations withdrawn", "azure", drop(where(purchase_option="dev_test")), "option_gone"),
    Case(
        "memory of a type corrected",
        "aws",
        set_column("instance_types", where(instance_type="m5.large"), memory_gib=pl.lit(16.0)),
        "spec_changed",
    ),
]


def results(sample: dict[str, Tables], case: Case, accepted: tuple[str, ...] = ()):
    old = sample[case.provider]
    new = case.change(old)
    return gate.check(candidate(case.provider, new), candidate(case.provider, old), accepted)


def test_there_are_enough_mistakes_and_genuine_events():
    assert len({case.name for case in MISTAKES}) >= 40
    assert len({case.name for case in EVENTS}) >= 10


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case.name)
def test_a_mistake_is_stopped(sample, case):
    stopped = {result.check for result in gate.stopped(results(sample, case))}
    assert case.check in stopped, stopped


@pytest.mark.parametrize("case", EVENTS, ids=lambda case: case.name)
def test_a_genuine_event_is_published(sample, case):
    stopped = {result.check for result in gate.stopped(results(sample, case))}
    assert stopped == ({case.check} if case.check else set())
    accepted = (f"{case.provider}:{case.check}",)
    assert gate.stopped(results(sample, case, accepted)) == []


def test_a_slow_loss_is_seen_against_the_release_of_a_month_ago(sample):
    """0.4 % a day passes each day's check; after 30 days 11 % of the rows are gone."""
    old = sample["azure"]
    today = {**old, "prices": old["prices"].filter(~some(0.11))}
    yesterday = {**old, "prices": old["prices"].filter(~some(0.1075))}
    results = gate.check(
        candidate("azure", today),
        candidate("azure", yesterday),
        month_ago=candidate("azure", old),
    )
    assert {r.check for r in gate.stopped(results)} == {"drift_rows"}


def test_a_creeping_price_is_seen_against_the_release_of_a_month_ago(sample):
    """0.5 % a day is no move on any day; over 30 days it is 16 %."""
    old = sample["gcp"]
    today, yesterday = (scale(f, ALL)(old) for f in ("1.161", "1.155"))
    results = gate.check(
        candidate("gcp", today), candidate("gcp", yesterday), month_ago=candidate("gcp", old)
    )
    assert {r.check for r in gate.stopped(results)} == {"drift_level"}


def test_a_slow_loss_of_values_is_seen_against_the_release_of_a_month_ago(sample):
    """3 % of the disks in each release pass each check; in seven releases that is a fifth."""
    old = sample["azure"]

    def without_disks(percent):
        disks = pl.when(pl.int_range(pl.len()) % 100 >= percent).then("local_disk_gib")
        machines = old["instance_types"].with_columns(local_disk_gib=disks)
        return candidate("azure", {**old, "instance_types": machines})

    yesterday = without_disks(17)
    results = gate.check(without_disks(20), yesterday, month_ago=candidate("azure", old))
    (stopped,) = gate.stopped(results)
    assert stopped.check == "drift_values"
    assert stopped.detail.startswith("instance_types.local_disk_gib: ")
    assert gate.stopped(gate.check(without_disks(20), yesterday, month_ago=yesterday)) == []


def test_values_lost_at_once_are_accepted_once(sample):
    old = sample["azure"]
    machines = old["instance_types"].with_columns(local_disk_gib=pl.lit(None, dtype=pl.Float64))
    new = candidate("azure", {**old, "instance_types": machines})
    before, month_ago = candidate("azure", old), candidate("azure", old)
    (stopped,) = gate.stopped(gate.check(new, before, month_ago=month_ago))
    assert stopped.check == "values_lost"
    assert gate.stopped(gate.check(new, before, ("azure:values_lost",), month_ago=month_ago)) == []


def test_limits_follow_what_a_provider_usually_shows():
    limit = LIMITS["rows_lost"]
    assert limit.for_history([0.0] * 4) == limit.default
    assert limit.for_history([0.0] * 30) == limit.lowest
    assert limit.for_history([0.003] * 30) == pytest.approx(0.009)
    assert limit.for_history([0.5] * 30) == limit.highest


def test_every_check_is_documented_with_its_limit(project):
    """docs/gates.md lists each check; the numbers there are those of the code."""
    page = (project / "docs/gates.md").read_text()
    names = [*comparisons.COMPARISONS, *comparisons.DRIFT, *invariants.INVARIANTS]
    for name in [*names, "sample_over_live"]:
        assert f"| `{name}` |" in page, name
    for name, limit in LIMITS.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        shown = f"{limit.default:g} ({limit.lowest:g} to {limit.highest:g})"
        assert shown in row, f"{name}: {shown}"
