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


def with_too_few_devices(tables: Tables) -> Tables:
    """A new size of P5 that has a quarter of the accelerators of the one that it is like."""
    types = tables["instance_types"].filter(where(instance_type="p5.48xlarge"))
    half = types.with_columns(instance_type=pl.lit("p5.47xlarge"), accelerator_count=pl.lit(2.0))
    return {**tables, "instance_types": pl.concat([tables["instance_types"], half])}


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
    Case("a new size with a quarter of the devices", "aws", with_too_few_devices, "family"),
    Case("accelerator at a tenth", "gcp", scale("0.1", where(instance_type="a3-*")), "factor"),
    Case(
        "Azure H100 at a tenth",
        "azure",
        scale("0.1", where(instance_type=H100["azure"])),
        "factor",
    ),
    Case("accelerator at three times", "gcp", scale("3", where(instance_type="a2-*")), "leap"),
    Case("all prices up 30 %", "aws", scale("1.3", ALL), "common"),
    Case("all prices up 30 %, Azure", "azure", scale("1.3", ALL), "common"),
    Case("all prices down 20 %", "gcp", scale("0.8", ALL), "common"),
    Case("all on-demand prices up 10 %", "azure", scale("1.1", ON_DEMAND), "common"),
    Case("one region up 25 %", "gcp", scale("1.25", where(region="us-east4")), "common"),
    Case("one system up 40 %", "azure", scale("1.4", where(os="windows")), "common"),
    Case(
        "committed use up 12 %",
        "gcp",
        scale("1.12", where(purchase_option="committed_use")),
        "common",
    ),
    Case("all on-demand null", "aws", nullify(ON_DEMAND), "lost"),
    Case("all on-demand null, GCP", "gcp", nullify(ON_DEMAND), "lost"),
    Case("one series null", "gcp", nullify(where(instance_type="n2-standard*")), "lost"),
    Case("one small series null", "aws", nullify(where(instance_type="m5.*")), "lost"),
    Case(
        "one series without rows",
        "azure",
        drop(where(instance_type="Standard_E*as_v5")),
        "offered",
    ),
    Case("H100 machines gone but offered", "gcp", drop(where(instance_type="a3-*")), "offered"),
    Case("a price of zero", "aws", scale("0", where(instance_type="g6.*")), "sum"),
    Case("90 % of spot gone", "gcp", drop(SPOT & some(0.9)), "market"),
    Case("90 % of spot gone, Azure", "azure", drop(SPOT & some(0.9)), "market"),
    Case("spot x 100", "gcp", scale("100", SPOT), "factor"),
    Case("spot x 100, Azure", "azure", scale("100", SPOT), "factor"),
    Case("spot at a hundredth", "gcp", scale("0.01", SPOT), "factor"),
    Case(
        "spot of one region x 10",
        "azure",
        scale("10", SPOT & where(region="westeurope")),
        "factor",
    ),
    Case(
        "spot above on-demand, unflagged",
        "gcp",
        scale("5", SPOT & where(instance_type="n2-standard-2")),
        "order",
    ),
    Case(
        "a third of a small region gone",
        "aws",
        drop(where(region="cn-north-1") & some(0.33)),
        "closed",
    ),
    Case(
        "a fifth of the largest region gone",
        "azure",
        drop(where(region="westeurope") & some(0.2)),
        "lost",
    ),
    Case("a region gone", "aws", drop(where(region="us-gov-west-1")), "closed"),
    Case("all Windows gone", "azure", drop(where(os="windows")), "lost"),
    Case("all SLES gone", "gcp", drop(where(os="sles")), "lost"),
    Case("all reservations gone", "azure", drop(where(purchase_option="reserved")), "lost"),
    Case("1 % of all rows gone", "azure", drop(some(0.01)), "lost"),
    Case("x 2 on 0.9 % of the rows", "azure", scale("2", some(0.009) & ~SPOT), "leap"),
    Case("x 1.46 on 2 % of the rows", "gcp", scale("1.46", some(0.02) & ~SPOT), "apart"),
    Case(
        "half of the offers gone",
        "azure",
        lambda t: {**t, "availability": t["availability"].gather_every(2)},
        "emptied",
    ),
    Case(
        "offers of one region gone",
        "gcp",
        drop(where(region="us-east4"), "availability"),
        "emptied",
    ),
    Case(
        "accelerators 8 to 1",
        "aws",
        set_column(
            "instance_types", where(instance_type="p5.48xlarge"), accelerator_count=pl.lit(1.0)
        ),
        "factor",
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
        "facts",
    ),
    Case(
        "memory x 1024",
        "aws",
        set_column("instance_types", ALL, memory_gib=pl.col("memory_gib") * 1024),
        "factor",
    ),
    Case(
        "memory in MB of one type",
        "azure",
        set_column(
            "instance_types",
            where(instance_type="Standard_D4s_v5"),
            memory_gib=pl.col("memory_gib") * 1024,
        ),
        "factor",
    ),
    Case(
        "vCPUs become cores",
        "gcp",
        set_column("instance_types", where(instance_type="n2-*"), vcpus=pl.col("vcpus") / 2),
        "facts",
    ),
    Case(
        "x86 becomes Arm",
        "aws",
        set_column("instance_types", where(instance_type="m5.*"), arch=pl.lit("arm64")),
        "facts",
    ),
    Case(
        "local disks become unknown",
        "azure",
        set_column("instance_types", ALL, local_disk_gib=pl.lit(None)),
        "emptied",
    ),
    Case(
        "the network of some families becomes unknown",
        "aws",
        set_column("instance_types", where(instance_type="m*"), network_gbps_max=pl.lit(None)),
        "emptied",
    ),
    Case(
        "regions lose their country",
        "azure",
        set_column("regions", ALL, country=pl.lit(None)),
        "emptied",
    ),
    Case(
        "prices lose their SKU",
        "azure",
        set_column("prices", ALL, sku_id=pl.lit(None)),
        "basis",
    ),
    Case(
        "currency flips, ids stay",
        "aws",
        set_column("prices", where(region="us-east-1"), currency=pl.lit("CNY")),
        "unit",
    ),
    Case(
        "currency flips with the ids",
        "azure",
        with_ids(set_column("prices", ALL, currency=pl.lit("EUR"))),
        "unit",
    ),
    Case(
        "billing unit flips",
        "gcp",
        set_column("prices", ALL, billing_unit=pl.lit("hour")),
        "unit",
    ),
    Case(
        "price of a month in the hour",
        "azure",
        scale("730", where(instance_type="Standard_D4s_v5")),
        "factor",
    ),
    Case(
        "term fee taken for the hour",
        "azure",
        set_column(
            "prices",
            where(purchase_option="reserved", payment_option="all_upfront"),
            effective_hourly=pl.col("upfront"),
        ),
        "sum",
    ),
    Case("Windows price on Linux rows", "azure", swap_systems, "sum"),
    Case("another region's prices", "gcp", region_prices_elsewhere, "sum"),
    Case("rows that are out of scope come in", "azure", double_rows, "added"),
    Case(
        "metal at the dedicated price",
        "aws",
        scale("1.1", where(instance_type="*.metal*")),
        "twin",
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
    moved = [
        pl.when(SPOT).then(rate).otherwise(name).alias(name)
        for name in ("hourly", "effective_hourly")
    ]
    prices = tables["prices"].with_columns(moved).filter(~(SPOT & some(0.1)))
    return {**tables, "prices": prices}


def without_columns(table: str, *names: str) -> Change:
    return lambda tables: {**tables, table: tables[table].drop(names)}


def new_types_with_unknown_disks(tables: Tables) -> Tables:
    """As many machines again that the old tables do not have, whose disks are not known."""
    added = tables["instance_types"].with_columns(
        pl.col("instance_type") + "-2", local_disk_gib=pl.lit(None, dtype=pl.Float64)
    )
    return {**tables, "instance_types": pl.concat([tables["instance_types"], added])}


EVENTS = [
    Case("the disks of new machines are not known", "azure", new_types_with_unknown_disks, ""),
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
    Case("A2 cut by 15 %", "gcp", scale("0.85", where(instance_type="a2-*", os="linux")), ""),
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
        "alone",
    ),
    Case("reservations withdrawn", "azure", drop(where(purchase_option="dev_test")), ""),
    Case(
        "memory of a type corrected",
        "aws",
        set_column("instance_types", where(instance_type="m5.large"), memory_gib=pl.lit(16.0)),
        "facts",
    ),
]


def judged(sample: dict[str, Tables], case: Case, accepted: tuple[str, ...] = ()) -> gate.Judgement:
    old = sample[case.provider]
    new = case.change(old)
    return gate.judge(candidate(case.provider, new), candidate(case.provider, old), accepted)


def test_there_are_enough_mistakes_and_genuine_events():
    assert len({case.name for case in MISTAKES}) >= 40
    assert len({case.name for case in EVENTS}) >= 10


def reasons(judgement: gate.Judgement) -> set[str]:
    return {r.check for r in judgement.results if r.outcome in ("held", "stop")}


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case.name)
def test_a_mistake_is_held(sample, case):
    assert case.check in reasons(judged(sample, case))


@pytest.mark.parametrize("case", EVENTS, ids=lambda case: case.name)
def test_a_genuine_event_is_published(sample, case):
    judgement = judged(sample, case)
    assert reasons(judgement) == ({case.check} if case.check else set())
    assert gate.stopped(judgement.results) == []
