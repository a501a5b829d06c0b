"""Mistakes and genuine events, each applied to the sample's staged tables and put to the gate.

No mistake may be published: some check stops it. Every genuine event is published: nothing stops,
or one check does and is let through by name. These are the gate's own cases, each with the check
that is expected to see it; those of ``gate_cases`` name none.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.cases import rows as case_rows
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

MISTAKES = {
    "a new size with a quarter of the devices": launch(
        machine("p5.48xlarge"), ["instance_types"], instance_type="p5.47xlarge", accelerator_count=2
    ),
    "accelerator at three times": scale("3", machine("a2-*")),
    "all prices up 30 %": scale("1.3"),
    "all prices down 20 %": scale("0.8"),
    "all on-demand prices up 10 %": scale("1.1", ON_DEMAND),
    "one region up 25 %": scale("1.25", region("us-east4")),
    "one system up 40 %": scale("1.4", where(os="windows")),
    "committed use up 12 %": scale("1.12", where(purchase_option="committed_use")),
    "a list in dollars at three times the rate": in_dollars("3.5"),
    "day and month of retirement dates exchanged": types(
        DATE.dt.day() < 12, retirement_date=pl.date(DATE.dt.year(), DAY, DATE.dt.month())
    ),
    "all on-demand null": nullify(ON_DEMAND),
    "one series null": nullify(machine("n2-standard*")),
    "one small series null": nullify(machine("m5.*")),
    "one series without rows": drop(machine("Standard_E*as_v5")),
    "H100 machines gone but offered": drop(machine("a3-*")),
    "metal at the dedicated price": scale("1.1", machine("*.metal*")),
    "a price of zero": scale("0", machine("g6.*")),
    "90 % of spot gone": drop(SPOT & some(0.9)),
    "spot x 100": scale("100", SPOT),
    "spot of one region x 10": scale("10", SPOT & region("westeurope")),
    "spot above on-demand, unflagged": scale("2.9", SPOT & machine("n2-standard-2")),
    "a third of a small region gone": drop(region("cn-north-1") & some(0.33)),
    "a fifth of the largest region gone": drop(region("westeurope") & some(0.2)),
    "a region gone": drop(region("us-gov-west-1")),
    "all Windows gone": drop(where(os="windows")),
    "all SLES gone": drop(where(os="sles")),
    "all reservations gone": drop(where(purchase_option="reserved")),
    "1 % of all rows gone": drop(some(0.01)),
    "x 1.46 on 2 % of the rows": scale("1.46", some(0.02) & ~SPOT),
    "half of the offers gone": on_table("availability", lambda rows: rows.gather_every(2)),
    "offers of one region gone": drop(region("us-east4"), "availability"),
    "accelerators vanish": types(
        machine("a3-*"), accelerators=pl.col("accelerators").list.head(0), accelerator_count=0
    ),
    "memory in MB of one type": types(
        machine("Standard_D4s_v5"), memory_gib=pl.col("memory_gib") * 1024
    ),
    "no machine retires any more": types(EVERY, retirement_date=None),
    "x86 becomes Arm": types(machine("m5.*"), arch="arm64"),
    "local disks become unknown": types(EVERY, local_disk_gib=None),
    "the network of some families becomes unknown": types(machine("m*"), network_gbps_max=None),
    "regions lose their country": edit("regions", EVERY, country=None),
    "prices lose their SKU": edit("prices", EVERY, sku_id=None),
    "currency flips, ids stay": on_table(
        "prices",
        lambda rows: rows.with_columns(
            currency=pl.when(region="us-east-1").then(pl.lit("CNY")).otherwise("currency")
        ),
    ),
    "currency flips with the ids": edit("prices", EVERY, currency="EUR"),
    "billing unit flips": edit("prices", EVERY, billing_unit="hour"),
    "rows that are out of scope come in": launch(
        ON_DEMAND, ["prices"], license_model="byol", tenancy="dedicated"
    ),
}

NOISE = 0.88 + pl.col("price_id").str.slice(6, 4).str.to_integer(base=16) / 65536 * 0.12
MOVED = pl.col("effective_hourly").cast(pl.Float64) * NOISE
SPOT_BY_THE_HOUR = together(
    edit("prices", SPOT, hourly=MOVED, effective_hourly=MOVED), drop(SPOT & some(0.1))
)
"""Every spot price moves by up to 12 %, a tenth of the markets close."""

M99 = {"instance_type": pl.col("instance_type").str.replace("m5.", "m99.", literal=True),
       "family": "m99"}  # fmt: skip

EVENTS = {
    "the disks of new machines are not known": launch(
        EVERY, ["instance_types"], instance_type=pl.col("instance_type") + "-2", local_disk_gib=None
    ),
    "a column is gone from the table": on_table(
        "instance_types", lambda rows: rows.drop("boost_ghz")
    ),
    "the disks of a few machines are not known any more": types(
        machine("Standard_E*as_v5"), local_disk_gib=None
    ),
    "nothing changed": together(),
    "P5 cut by 44 %": scale("0.56", machine("p5.*")),
    "A2 cut by 15 %": scale("0.85", machine("a2-*") & LINUX),
    "capacity blocks up 15 %": scale("1.15", where(purchase_option="capacity_block")),
    "one family retired": drop(machine("m3.*"), "prices", "availability"),
    "a region opened": launch(region("us-east4"), ["prices"], region="us-south9"),
    "a family launched": launch(machine("m5.*"), ["prices", "instance_types"], **M99),
    "a purchase option launched": saved("1"),
    "a day of spot markets": SPOT_BY_THE_HOUR,
    "a day of spot markets, Azure": SPOT_BY_THE_HOUR,
    "three of a thousand rows gone": drop(some(0.003)),
    "a region's prices raised by 10 %": scale("1.1", region("europe-west4") & ~SPOT),
    "reservations withdrawn": drop(where(purchase_option="dev_test")),
    "memory of a type corrected": types(machine("m5.large"), memory_gib=16),
    "a list in another currency": in_dollars("1.16"),
}


B200 = {"accelerator_id": pl.lit("nvidia-b200"), "memory_gib": pl.lit(180.0)}
RUBIN = {"accelerator_id": pl.lit("nvidia-rubin"), "memory_gib": pl.lit(288.0)}


def new_device(of: str, **fields: pl.Expr) -> Change:
    """Launch a machine like another one, at its price, with another accelerator."""
    device = pl.col("accelerators").list.eval(pl.element().struct.with_fields(**fields))
    return together(
        launch(machine(of), ["prices", "instance_types"], instance_type="new"),
        types(machine("new"), accelerators=device),
    )


def new_size(like: str, factor: str) -> Change:
    """Launch a machine like another one, at so many times its price."""
    launched = launch(machine(like), ["prices", "instance_types"], instance_type="new")
    return together(launched, scale(factor, machine("new")))


SEEN_BY_ONE_RULE = {
    "a new size at three times its price": together(
        launch(machine("m5.large"), ["prices", "instance_types"], instance_type="m5.3xlarge"),
        scale("3", machine("m5.3xlarge")),
    ),
    "a new family in yen": together(
        launch(machine("m5.*"), ["prices", "instance_types"], **M99), scale("150", machine("m99.*"))
    ),
    "the first B200 of a cloud at the price of the H100": new_device("8x h100-sxm5-80gb", **B200),
    "the first accelerator of a kind at a tenth": together(
        new_device("*B300*", **RUBIN), scale("0.1", machine("new"))
    ),
    "a new size like a burstable one at a tenth": new_size("t4g.xlarge", "0.1"),
    "a new size like one of one vCPU at a tenth": new_size("x8g.medium", "0.1"),
    "a type lost, also where offers are not known": drop(machine("m6i.large")),
    "two sizes exchanged": exchange("instance_type", "c6i.large", "c6i.xlarge"),
    "spot and low priority exchanged": exchange(
        "purchase_option", "spot", "low_priority", machine("Standard_D*s_v5")
    ),
}
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


def each(name: str, changes: Mapping[str, Change]) -> pytest.MarkDecorator:
    """Try each case of ``tests/cases/gate/<name>.csv``; ``changes`` has the change of each."""
    rows = case_rows(f"gate/{name}")
    assert [row["case"] for row in rows] == list(changes)
    values = [(row["provider"], changes[row["case"]], row["check"]) for row in rows]
    return pytest.mark.parametrize(("provider", "change", "check"), values, ids=changes)


@each("checked_mistakes", MISTAKES)
def test_a_mistake_is_held(sample, provider, change, check):
    assert check in reasons(judged(sample, provider, change))


@each("seen_by_one_rule", SEEN_BY_ONE_RULE)
def test_no_price_of_a_mistake_that_one_rule_sees_is_published(sample, provider, change, check):
    judgement = judged(sample, provider, change)
    amounts = ("price_id", "effective_hourly")
    before = sample[provider]["prices"].select(amounts).sort("price_id")
    assert judgement.published("prices").select(amounts).sort("price_id").equals(before)
    assert check in reasons(judgement)


@each("checked_events", EVENTS)
def test_a_genuine_event_is_published(sample, provider, change, check):
    judgement = judged(sample, provider, change)
    assert reasons(judgement) == ({check} if check else set())
    assert gate.stopped(judgement.results) == []
