"""Mistakes and genuine events, each applied to the sample's staged tables and put to the gate.

No mistake may be published: some check stops it. Every genuine event is published: nothing stops,
or one check does and is let through by name. These are the gate's own cases, each with the check
that is expected to see it; those of ``gate_cases`` name none.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from tests.publish.gate_cases import (
    EVERY,
    LINUX,
    ON_DEMAND,
    SPOT,
    Change,
    Tables,
    drop,
    edit,
    exchange,
    launch,
    machine,
    region,
    saved,
    scale,
    together,
    types,
    where,
)

from hwprices import providers, stage
from hwprices.publish import gate
from hwprices.storage.store import Store

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


def some(share: float) -> pl.Expr:
    """A fixed pseudo-random share of the rows."""
    return pl.col("price_id").str.slice(0, 6).str.to_integer(base=16) < int(share * 16**6)


def nullify(rows: pl.Expr) -> Change:
    return edit("prices", rows, effective_hourly=None)


def on_table(table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Replace one table by a function of it."""
    return lambda tables, _: {**tables, table: change(tables[table])}


def in_dollars(factor: str) -> Change:
    return together(scale(factor), edit("prices", EVERY, currency="USD"))


DATE = pl.col("retirement_date")
DAY = pl.when(DATE.dt.day() <= 12).then(DATE.dt.day())

MISTAKES = [
    (
        "a new size with a quarter of the devices",
        "aws",
        launch(
            machine("p5.48xlarge"),
            ["instance_types"],
            instance_type="p5.47xlarge",
            accelerator_count=2,
        ),
        "family",
    ),
    ("accelerator at three times", "gcp", scale("3", machine("a2-*")), "leap"),
    ("all prices up 30 %", "aws", scale("1.3"), "common"),
    ("all prices down 20 %", "gcp", scale("0.8"), "common"),
    ("all on-demand prices up 10 %", "azure", scale("1.1", ON_DEMAND), "common"),
    ("one region up 25 %", "gcp", scale("1.25", region("us-east4")), "common"),
    ("one system up 40 %", "azure", scale("1.4", where(os="windows")), "common"),
    (
        "committed use up 12 %",
        "gcp",
        scale("1.12", where(purchase_option="committed_use")),
        "common",
    ),
    ("a list in dollars at three times the rate", "ovh", in_dollars("3.5"), "lost"),
    (
        "day and month of retirement dates exchanged",
        "azure",
        types(DATE.dt.day() < 12, retirement_date=pl.date(DATE.dt.year(), DAY, DATE.dt.month())),
        "facts",
    ),
    ("all on-demand null", "aws", nullify(ON_DEMAND), "lost"),
    ("one series null", "gcp", nullify(machine("n2-standard*")), "lost"),
    ("one small series null", "aws", nullify(machine("m5.*")), "lost"),
    ("one series without rows", "azure", drop(machine("Standard_E*as_v5")), "offered"),
    ("H100 machines gone but offered", "gcp", drop(machine("a3-*")), "offered"),
    ("a price of zero", "aws", scale("0", machine("g6.*")), "sum"),
    ("90 % of spot gone", "gcp", drop(SPOT & some(0.9)), "market"),
    ("spot x 100", "gcp", scale("100", SPOT), "leap"),
    ("spot of one region x 10", "azure", scale("10", SPOT & region("westeurope")), "leap"),
    (
        "spot above on-demand, unflagged",
        "gcp",
        scale("2.9", SPOT & machine("n2-standard-2")),
        "order",
    ),
    ("a third of a small region gone", "aws", drop(region("cn-north-1") & some(0.33)), "closed"),
    ("a fifth of the largest region gone", "azure", drop(region("westeurope") & some(0.2)), "lost"),
    ("a region gone", "aws", drop(region("us-gov-west-1")), "closed"),
    ("all Windows gone", "azure", drop(where(os="windows")), "lost"),
    ("all SLES gone", "gcp", drop(where(os="sles")), "lost"),
    ("all reservations gone", "azure", drop(where(purchase_option="reserved")), "lost"),
    ("1 % of all rows gone", "azure", drop(some(0.01)), "lost"),
    ("x 1.46 on 2 % of the rows", "gcp", scale("1.46", some(0.02) & ~SPOT), "apart"),
    (
        "half of the offers gone",
        "azure",
        on_table("availability", lambda rows: rows.gather_every(2)),
        "emptied",
    ),
    ("offers of one region gone", "gcp", drop(region("us-east4"), "availability"), "emptied"),
    (
        "accelerators vanish",
        "gcp",
        types(
            machine("a3-*"), accelerators=pl.col("accelerators").list.head(0), accelerator_count=0
        ),
        "facts",
    ),
    (
        "memory in MB of one type",
        "azure",
        types(machine("Standard_D4s_v5"), memory_gib=pl.col("memory_gib") * 1024),
        "facts",
    ),
    ("no machine retires any more", "azure", types(EVERY, retirement_date=None), "facts"),
    ("x86 becomes Arm", "aws", types(machine("m5.*"), arch="arm64"), "facts"),
    ("local disks become unknown", "azure", types(EVERY, local_disk_gib=None), "emptied"),
    (
        "the network of some families becomes unknown",
        "aws",
        types(machine("m*"), network_gbps_max=None),
        "emptied",
    ),
    ("regions lose their country", "azure", edit("regions", EVERY, country=None), "emptied"),
    ("prices lose their SKU", "azure", edit("prices", EVERY, sku_id=None), "basis"),
    (
        "currency flips, ids stay",
        "aws",
        on_table(
            "prices",
            lambda rows: rows.with_columns(
                currency=pl.when(region="us-east-1").then(pl.lit("CNY")).otherwise("currency")
            ),
        ),
        "unit",
    ),
    ("currency flips with the ids", "azure", edit("prices", EVERY, currency="EUR"), "unit"),
    ("billing unit flips", "gcp", edit("prices", EVERY, billing_unit="hour"), "unit"),
    (
        "rows that are out of scope come in",
        "azure",
        launch(ON_DEMAND, ["prices"], license_model="byol", tenancy="dedicated"),
        "added",
    ),
]

NOISE = 0.88 + pl.col("price_id").str.slice(6, 4).str.to_integer(base=16) / 65536 * 0.12
MOVED = pl.col("effective_hourly").cast(pl.Float64) * NOISE
SPOT_BY_THE_HOUR = together(
    edit("prices", SPOT, hourly=MOVED, effective_hourly=MOVED), drop(SPOT & some(0.1))
)
"""Every spot price moves by up to 12 %, a tenth of the markets close."""

EVENTS = [
    (
        "the disks of new machines are not known",
        "azure",
        launch(
            EVERY,
            ["instance_types"],
            instance_type=pl.col("instance_type") + "-2",
            local_disk_gib=None,
        ),
        "",
    ),
    (
        "a column is gone from the table",
        "aws",
        on_table("instance_types", lambda rows: rows.drop("boost_ghz")),
        "",
    ),
    (
        "the disks of a few machines are not known any more",
        "azure",
        types(machine("Standard_E*as_v5"), local_disk_gib=None),
        "",
    ),
    ("nothing changed", "gcp", together(), ""),
    ("P5 cut by 44 %", "aws", scale("0.56", machine("p5.*")), ""),
    ("A2 cut by 15 %", "gcp", scale("0.85", machine("a2-*") & LINUX), ""),
    ("capacity blocks up 15 %", "aws", scale("1.15", where(purchase_option="capacity_block")), ""),
    ("one family retired", "aws", drop(machine("m3.*"), "prices", "availability"), ""),
    ("a region opened", "gcp", launch(region("us-east4"), ["prices"], region="us-south9"), ""),
    (
        "a family launched",
        "aws",
        launch(
            machine("m5.*"),
            ["prices", "instance_types"],
            instance_type=pl.col("instance_type").str.replace("m5.", "m99.", literal=True),
            family="m99",
        ),
        "",
    ),
    ("a purchase option launched", "aws", saved("1"), ""),
    ("a day of spot markets", "gcp", SPOT_BY_THE_HOUR, ""),
    ("a day of spot markets, Azure", "azure", SPOT_BY_THE_HOUR, ""),
    ("three of a thousand rows gone", "azure", drop(some(0.003)), ""),
    (
        "a region's prices raised by 10 %",
        "gcp",
        scale("1.1", region("europe-west4") & ~SPOT),
        "jump",
    ),
    ("reservations withdrawn", "azure", drop(where(purchase_option="dev_test")), ""),
    ("memory of a type corrected", "aws", types(machine("m5.large"), memory_gib=16), "facts"),
    ("a list in another currency", "ovh", in_dollars("1.16"), "currency"),
]


M99 = {"instance_type": pl.col("instance_type").str.replace("m5.", "m99.", literal=True),
       "family": "m99"}  # fmt: skip
B200 = {"accelerator_id": pl.lit("nvidia-b200"), "memory_gib": pl.lit(180.0)}
RUBIN = {"accelerator_id": pl.lit("nvidia-rubin"), "memory_gib": pl.lit(288.0)}


def new_device(of: str, **fields: pl.Expr) -> Change:
    """Launch a machine like another one, at its price, with another accelerator."""
    device = pl.col("accelerators").list.eval(pl.element().struct.with_fields(**fields))
    return together(
        launch(machine(of), ["prices", "instance_types"], instance_type="new"),
        types(machine("new"), accelerators=device),
    )


SEEN_BY_ONE_RULE = [
    (
        "a new size at three times its price",
        "aws",
        together(
            launch(machine("m5.large"), ["prices", "instance_types"], instance_type="m5.3xlarge"),
            scale("3", machine("m5.3xlarge")),
        ),
        "series",
    ),
    (
        "a new family in yen",
        "aws",
        together(
            launch(machine("m5.*"), ["prices", "instance_types"], **M99),
            scale("150", machine("m99.*")),
        ),
        "series",
    ),
    (
        "the first B200 of a cloud at the price of the H100",
        "voltagepark",
        new_device("8x h100-sxm5-80gb", **B200),
        "device",
    ),
    (
        "the first accelerator of a kind at a tenth",
        "hyperstack",
        together(new_device("*B300*", **RUBIN), scale("0.1", machine("new"))),
        "device",
    ),
    *(
        (
            f"a new size like {like} at a tenth",
            "aws",
            together(
                launch(machine(like), ["prices", "instance_types"], instance_type="new"),
                scale("0.1", machine("new")),
            ),
            "series",
        )
        for like in ("t4g.xlarge", "x8g.medium")  # burstable; of one vCPU
    ),
    ("a type lost, also where offers are not known", "aws", drop(machine("m6i.large")), "offered"),
    ("two sizes exchanged", "aws", exchange("instance_type", "c6i.large", "c6i.xlarge"), "copied"),
    (
        "spot and low priority exchanged",
        "azure",
        exchange("purchase_option", "spot", "low_priority", machine("Standard_D*s_v5")),
        "copied",
    ),
]
"""Mistakes of which every price is published if one rule is left out."""


def judged(sample: dict[str, Tables], provider: str, change: Change) -> gate.Judgement:
    old = sample[provider]
    new, before = (
        gate.Candidate(provider, "live", {name: frame.lazy() for name, frame in tables.items()})
        for tables in (change(old, 1), old)
    )
    prices, machines = (
        pl.concat([tables[name].lazy() for tables in sample.values() if name in tables])
        for name in ("prices", "instance_types")
    )
    return gate.judge(new, before, peers=gate.per_accelerator(prices, machines))


def reasons(judgement: gate.Judgement) -> set[str]:
    return {r.check for r in judgement.results if r.outcome in ("held", "stop")}


def each(cases: Sequence[tuple[str, str, Change, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("provider", "change", "check"), [case[1:] for case in cases], ids=[c[0] for c in cases]
    )


@each(MISTAKES)
def test_a_mistake_is_held(sample, provider, change, check):
    assert check in reasons(judged(sample, provider, change))


@each(SEEN_BY_ONE_RULE)
def test_no_price_of_a_mistake_that_one_rule_sees_is_published(sample, provider, change, check):
    judgement = judged(sample, provider, change)
    amounts = ("price_id", "effective_hourly")
    before = sample[provider]["prices"].select(amounts).sort("price_id")
    assert judgement.published("prices").select(amounts).sort("price_id").equals(before)
    assert check in reasons(judgement)


@each(EVENTS)
def test_a_genuine_event_is_published(sample, provider, change, check):
    judgement = judged(sample, provider, change)
    assert reasons(judgement) == ({check} if check else set())
    assert gate.stopped(judgement.results) == []
