"""The gate: what is held of a provider, and what stops it (known wrong number R1)."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.releases import AT, fleet, machine, price, prices, rows, tables

from hwprices.publish import gate
from hwprices.publish.gate import candidate as candidates
from hwprices.publish.gate import compare, facts
from hwprices.publish.gate.compare import REASONS, RELEASED
from hwprices.rows import parquet
from hwprices.rows.prices import refused
from hwprices.schemas.tables import TABLES
from hwprices.specs import csv_rows


def candidate(frames, origin="live"):
    return gate.Candidate("aws", origin, {name: frame.lazy() for name, frame in frames.items()})


def outcomes(new, old, accepted=()):
    return {
        r.check: r.outcome for r in gate.judge(candidate(new), candidate(old), accepted).results
    }


def held_by(new, old):
    return {name: o for name, o in outcomes(new, old).items() if o in ("held", "stop")}


OLD = fleet(1000)


def with_prices(frame):
    return {**OLD, "prices": frame}


def test_unchanged_tables_pass():
    assert held_by(OLD, OLD) == {}


@pytest.mark.parametrize(("unit_price", "outcome"), [("0.05", "pass"), ("0.06", "held")])
def test_the_parts_of_an_unchanged_price_are_judged(unit_price, outcome):
    names = ("price_id", "provider", "region", "instance_type")
    part = OLD["prices"].select(names).row(0, named=True)
    part |= {"component": "core", "quantity": 2, "unit_price": Decimal(unit_price)}
    tables = {**OLD, "price_components": rows("price_components", part)}
    assert outcomes(tables, tables)["parts"] == outcome


def offered(frame):
    """Offers of the types that have prices in this frame."""
    types = frame["instance_type"].unique().sort().to_list()
    place = {"region": "us-east-1", "offered": True}
    return rows("availability", *(place | {"instance_type": name} for name in types))


LISTED = {**OLD, "availability": offered(OLD["prices"])}


def reworded(rows, word="unknown"):
    """Quarantine rows of these prices, whose lines have a word that is new."""
    lines = rows.with_columns(sku_id="SKU " + pl.col("instance_type")).lazy()
    text = pl.lit(word) if word else None
    return refused(
        lines, table="prices", reason="unknown_unit", message="unknown unit", word=text
    ).collect()


SKUS = OLD["prices"].with_columns(sku_id="SKU " + pl.col("instance_type"))


@pytest.mark.parametrize(
    ("count", "word", "held"),
    [(400, "Hrs2", {}), (501, "Hrs2", {"reworded": "stop"}), (400, None, {"offered": "held"})],
)
def test_prices_that_a_new_word_took_hold_no_other_price_back(count, word, held):
    old = {**LISTED, "prices": SKUS}
    refused = reworded(SKUS.head(count).drop("price_id"), word)
    new = {**old, "prices": SKUS.tail(1000 - count), "quarantine": refused}
    assert held_by(new, old) == held


def test_prices_that_are_lost_beside_a_new_word_are_held_as_ever():
    old = {**LISTED, "prices": SKUS}
    refused = reworded(SKUS.head(100).drop("price_id"))
    new = {**old, "prices": SKUS.tail(850), "quarantine": refused}  # 50 more are gone
    judgement = gate.judge(candidate(new), candidate(old))
    assert judgement.held.height == 50
    assert judgement.published("prices").height == 900


def test_a_price_whose_part_a_new_word_took_is_reworded():
    """Google's machines are priced by their parts: a refused SKU leaves a price without amount."""
    part = {
        "price_id": SKUS["price_id"][0],
        "component": "core",
        "provider": "gcp",
        "region": "us-east-1",
        "instance_type": "m0.large",
        "sku_id": "ABCD-1234",
    }
    old = {**LISTED, "price_components": rows("price_components", part)}
    line = pl.LazyFrame({"provider": "aws", "sku": "ABCD-1234", "region": "us-east-1"})
    line = line.with_columns(observed_at=AT, source_url=pl.lit("u"), raw_sha256=pl.lit("0"))
    refused_rows = refused(
        line, table="prices", reason="unknown_grammar", message="new", word=pl.lit("Z4D Core")
    ).collect()
    no_amount = {"hourly": None, "effective_hourly": None}
    is_first = pl.col("instance_type") == "m0.large"
    without = OLD["prices"].with_columns(
        pl.when(~is_first).then(pl.col(name)).alias(name) for name in no_amount
    )
    new = {**old, "prices": without, "quarantine": refused_rows}
    assert held_by(new, old) == {}


@pytest.mark.parametrize("kept", [994, 999])
def test_prices_lost_while_their_types_are_still_offered(kept):
    new = {**LISTED, "prices": OLD["prices"].head(kept)}
    assert held_by(new, LISTED) == {"offered": "held"}


def test_types_that_left_both_lists_are_retired():
    kept = OLD["prices"].head(994)
    new = {**LISTED, "prices": kept, "availability": offered(kept)}
    judgement = gate.judge(candidate(new), candidate(LISTED))
    assert judgement.held.is_empty()
    assert judgement.published("prices").height == 994


def test_too_many_retired_types_at_once_are_held():
    kept = OLD["prices"].head(950)
    new = {**LISTED, "prices": kept, "availability": offered(kept)}
    assert held_by(new, LISTED) == {"retired": "held"}


@pytest.mark.parametrize(("kept", "outcome"), [(400, "stop"), (600, "released")])
def test_a_list_of_less_than_half_is_not_released(kept, outcome):
    prices = OLD["prices"].head(kept)
    new = {**LISTED, "prices": prices, "availability": offered(prices)}
    held = gate.judge(candidate(new), candidate(LISTED)).held
    old = held.with_columns(pl.col("since") - timedelta(days=9), times_seen=pl.lit(9, pl.Int32))
    results = gate.judge(candidate(new), candidate(LISTED), held_before=old).results
    assert {r.check: r.outcome for r in results}["retired"] == outcome


RESERVED = {"purchase_option": "reserved", "term_months": 12, "payment_option": "no_upfront"}


def test_regions_compared_one_after_the_other_give_the_same(monkeypatch):
    places = ("eu-1", "us-1", "us-2", "us-3")
    rows = prices(
        *(
            {**RESERVED, "region": place, "instance_type": f"m{i}.large", "hourly": Decimal("0.1")}
            for place in places
            for i in range(40)
        ),
        *(
            {"region": place, "purchase_option": option, "hourly": cost}
            for place in places
            for option, cost in (("spot", "0.05"), ("on_demand", "0.1"))
        ),
    )
    is_wrong = (pl.col("region") == "us-2") & (pl.col("instance_type") == "m7.large")
    money = pl.when(is_wrong).then(Decimal("7.3")).otherwise("hourly").cast(rows["hourly"].dtype)
    wrong = rows.with_columns(hourly=money, effective_hourly=money)

    def sides(unchanged=(), repeated=(), wrong=wrong):
        return (
            gate.Candidate("aws", "live", {"prices": r.lazy()}, files_of(r, unchanged, repeated))
            for r in (wrong, rows)
        )

    def judged(*args, **kwargs):
        return gate.judge(*sides(*args, **kwargs)).held

    whole = judged()
    assert whole["region"].to_list() == ["us-2"]
    assert judged(unchanged=("us-1", "us-3")).equals(whole)
    assert judged(unchanged=places).is_empty()
    assert judged(repeated=("us-1", "us-3")).equals(whole)
    assert judged(repeated=places).equals(whole)
    ((_, new, _),) = candidates.batches(*sides(repeated=places))
    read = new.table("prices").filter(purchase_option="reserved").collect()
    assert read["region"].unique().to_list() == ["us-2"]
    assert read.height < 10  # m7.large, and what is in the same group by chance
    is_spot = pl.col("purchase_option") == "spot"
    dear = pl.when(is_spot).then(Decimal("0.12")).otherwise("hourly").cast(rows["hourly"].dtype)
    spots = rows.with_columns(hourly=dear, effective_hourly=dear)
    assert judged(repeated=places, wrong=spots).equals(judged(wrong=spots))
    assert judged(wrong=spots).select("region", "reason").rows() == [(p, "order") for p in places]
    first, _ = sides(wrong=spots)
    held_at_first = gate.judge(first, None).held
    assert held_at_first["region"].value_counts(sort=True)["count"].to_list() == [2, 2, 2, 2]
    monkeypatch.setattr(candidates, "FIRST_ROWS", 10)
    assert gate.judge(first, None).held.equals(held_at_first)
    monkeypatch.setattr(candidates, "BATCH_ROWS", 50)
    assert judged().equals(whole)
    assert judged(repeated=places).equals(whole)


def files_of(rows, unchanged, repeated=()):
    """One file of each region, of which some are said to have the same content on both sides.

    Others have checksums of their fixed prices.
    """
    return [
        gate.PriceFile(
            part.lazy(),
            part.height,
            name,
            name if name in unchanged else None,
            (part["observed_at"].min(), part["observed_at"].max()),
            parquet.fixed_checksums(part) if name in repeated else None,
        )
        for (name,), part in rows.partition_by("region", maintain_order=True, as_dict=True).items()
    ]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("observed_at", pl.col("observed_at") - timedelta(days=2), "older"),
        ("source_url", pl.lit("of us-1"), "page"),
    ],
)
def test_a_region_with_the_same_content_is_judged_by_its_pages(column, value, reason):
    places = ("us-1", "us-2")
    rows = prices(*({"region": place, "source_url": f"of {place}"} for place in places))
    here = pl.col("region") == "us-2"
    strange = rows.with_columns(pl.when(here).then(value).otherwise(column).alias(column))
    new, old = (
        gate.Candidate("aws", "live", {"prices": side.lazy()}, files_of(side, places))
        for side in (strange, rows)
    )
    assert gate.judge(new, old).held.select("region", "reason").rows() == [("us-2", reason)]


def test_the_sample_does_not_replace_live_figures():
    sample, live = candidate(OLD, "sample"), candidate(OLD, "live")
    assert [r.check for r in gate.stopped(gate.judge(sample, live).results)] == ["sample_over_live"]
    assert gate.stopped(gate.judge(sample, live, ("aws:sample_over_live",)).results) == []
    assert gate.stopped(gate.judge(live, sample).results) == []


def test_what_is_held_of_live_figures_stays_until_the_sample_replaces_them():
    """An accepted sample had the live figures of the rows that were held."""
    tenfold = OLD["prices"].with_columns(pl.col("effective_hourly", "hourly") * 10)
    live, sample = candidate(OLD), candidate(OLD, "sample")
    held = gate.judge(candidate(with_prices(tenfold)), live).held
    assert held.height
    assert gate.judge(sample, live, held_before=held).held.height == held.height
    accepted = gate.judge(sample, live, ("aws:sample_over_live",), held_before=held)
    assert accepted.held.is_empty()


def test_a_provider_without_prices_was_seen_at_no_time():
    """It was seen now, so that the pages of yesterday were older than those of its last release."""
    without = {name: frame for name, frame in OLD.items() if name != "prices"}
    assert candidate(without).seen is None
    assert "older" not in held_by(OLD, without)


def test_older_pages_than_those_published_stop():
    earlier = OLD["prices"].with_columns(pl.col("observed_at") - timedelta(days=2))
    assert held_by(with_prices(earlier), OLD) == {"older": "stop"}
    assert (
        gate.stopped(gate.judge(candidate(with_prices(earlier)), candidate(OLD), ["aws:*"]).results)
        == []
    )


def priced(factor):
    money = (pl.col("hourly") * Decimal(factor)).cast(OLD["prices"]["hourly"].dtype)
    first = pl.col("instance_type").is_in(["m1.large", "m2.large"])
    amount = pl.when(first).then(money).otherwise("hourly")
    return OLD["prices"].with_columns(hourly=amount, effective_hourly=amount)


@pytest.mark.parametrize(
    ("factors", "held"),
    [
        (("1", "0.97", "0.94", "0.91"), {}),  # -9 % in a month
        (("1", "0.95", "0.90", "0.88"), {"creep": "held"}),
        (("1", "1", "1", "0.88"), {}),  # a price cut
    ],
)
def test_a_price_that_creeps_is_held(factors, held):
    month, week, yesterday, today = map(priced, factors)
    new, old = candidate(with_prices(today)), candidate(with_prices(yesterday))
    judgement = gate.judge(new, old, past=[week.lazy(), month.lazy()])
    assert {r.check: r.outcome for r in judgement.results if r.outcome == "held"} == held
    again = gate.judge(candidate(with_prices(priced("0.8"))), old, held_before=judgement.held)
    assert {r.check for r in again.results if r.outcome == "held"} == set(held)


TENANCY = {"shared": "0.65", "dedicated": "0.70", "host": "0.78"}
"""Of a machine with a fee for its tenancy that stays: what a cut of the machine makes of both."""


def cut(day, factors, column="tenancy"):
    """Return the prices of a machine in three regions on a day, by the values of a column."""
    seen = AT + timedelta(days=day)
    return prices(
        *(
            {"region": region, column: name, "os": "windows", "hourly": cost, "observed_at": seen}
            for region in ("us-east-1", "us-west-2", "eu-west-1")
            for name, cost in factors.items()
        )
    )


@pytest.mark.parametrize(
    ("third_day", "reasons"),
    [
        ("0.78", ["jump", "jump", None]),
        ("0.80", ["jump", "jump", "apart"]),  # another value does not come again
    ],
)
def test_a_price_whose_machine_was_published_meanwhile_is_released(third_day, reasons):
    shown, held, found = cut(0, dict.fromkeys(TENANCY, "1")), None, []
    for day, last in enumerate(("0.78", "0.78", third_day), 1):
        new = candidate({"prices": cut(day, {**TENANCY, "host": last})})
        judgement = gate.judge(new, candidate({"prices": shown}), held_before=held)
        held, shown = judgement.held, judgement.published("prices")
        assert held.height in (0, 3)
        found.append(held["reason"].unique().item() if held.height else None)
    assert found == reasons


@pytest.mark.parametrize("listed", [True, False])
def test_a_composed_price_is_released_although_its_part_was_published_before(listed):
    """The SKU is published on the first day, so that the parts published disagree with its move."""
    regions = ("us-east-1", "us-west-2", "eu-west-1", "eu-west-2")

    def tables(day, cost):
        seen = {"observed_at": AT + timedelta(days=day)}
        places = [
            {"region": name, "sku_id": f"ram-{name}", **seen, "hourly": cost if not n else "1"}
            for n, name in enumerate(regions)
        ]
        shown = prices(*({**place, "basis": "composed"} for place in places))
        parts = [
            {"component": "ram", "quantity": 1, "unit": "gib"}
            | names
            | {"unit_price": place["hourly"]}
            for names, place in zip(
                shown.select("price_id", "region", "sku_id", "instance_type").to_dicts(),
                places,
                strict=True,
            )
        ]
        sku = {"component": "ram", "unit": "gib", "per": "hour", "currency": "USD"}
        skus = [{**sku, **place, "price": place["hourly"]} for place in places]
        return {
            "prices": shown,
            "price_components": rows("price_components", *parts),
            "component_prices": rows("component_prices", *skus if listed else ()),
        }

    shown, held, found = tables(0, "1"), None, []
    for day in (1, 2, 3):
        new = tables(day, "0.75")
        judgement = gate.judge(candidate(new), candidate(shown), held_before=held)
        held, shown = judgement.held, {name: judgement.published(name) for name in new}
        found.append(held["reason"].to_list())
    assert found == [["jump"], ["jump"], []]
    assert shown["price_components"]["unit_price"].min() == Decimal("0.75")


def test_a_price_that_comes_again_wrong_in_itself_is_not_released():
    """Its amount is the same, but from the second day on the hourly price does not make it."""

    def tables(day, hourly, effective):
        seen = {"observed_at": AT + timedelta(days=day), "region": "us-east-1"}
        return {"prices": prices({**seen, "hourly": hourly, "effective_hourly": effective})}

    shown, held, found = tables(0, "1", "1"), None, []
    for day, hourly in enumerate(("1.3", "1", "1", "1"), 1):
        new = candidate(tables(day, hourly, "1.3"))
        judgement = gate.judge(new, candidate(shown), held_before=held)
        held, shown = judgement.held, {"prices": judgement.published("prices")}
        found += held["reason"].to_list()
    assert found == ["jump", "sum", "sum", "sum"]


def test_a_machine_of_which_the_license_stays_is_cut_everywhere():
    factors = {"none": "0.65", "sql_web": "0.70", "sql_std": "0.78"}
    before, after = dict.fromkeys(factors, "1"), factors
    new, old = (cut(day, side, "software") for day, side in ((1, after), (0, before)))
    assert gate.judge(candidate({"prices": new}), candidate({"prices": old})).held.is_empty()


LICENSES = ("0.05", "0.1", "0.3")
"""Of three families, whose machines cost 0.1: a tenth more is 2.5 to 6.7 % with the license."""


def raised(machine, license_):
    """Return the tables of a region whose machines and licenses cost so many times as much."""
    costs = {f"f{n}.{size}": one for n, one in enumerate(LICENSES) for size in "abcdefgh"}
    money = Decimal("0.1") * Decimal(machine)
    costs_by_os = [
        {"instance_type": name, "os": os, "hourly": money + Decimal(cost) * Decimal(factor)}
        for name, cost in costs.items()
        for os, factor in (("linux", 0), ("windows", license_))
    ]
    types = [{"instance_type": name, "family": name[:2]} for name in costs]
    return {"prices": prices(*costs_by_os), "instance_types": rows("instance_types", *types)}


@pytest.mark.parametrize(
    ("machine", "license_", "held"),
    [
        ("1.1", "1", {"jump": "held"}),
        ("1.1", "1.2", {"mixed": "stop"}),  # a license moves no price by more than its machine
        ("1", "1.2", {"mixed": "held"}),
    ],
)
def test_a_region_raised_by_one_factor_keeps_its_licenses(machine, license_, held):
    assert held_by(raised(machine, license_), raised("1", "1")) == held


COSTS = {"m5.24xlarge": "4.6", "m5.metal": "4.6", "c5.large": "0.1", "r5.large": "0.2"}


def metal(factor, others="1"):
    """Return the tables of a machine with its bare metal, and of two more.

    All prices of the metal are multiplied by one factor, the other reservations by another.
    """
    costs, types = [], []
    for name, cost in COSTS.items():
        is_metal = name == "m5.metal"
        plain, reserved = (factor, factor) if is_metal else ("1", others)
        plain, reserved = Decimal(cost) * Decimal(plain), Decimal(cost) / 2 * Decimal(reserved)
        machine = {"instance_type": name}
        costs += [{**machine, "hourly": plain}, {**machine, **RESERVED, "hourly": reserved}]
        size = {"vcpus": 96.0, "local_disk_gib": 0.0, "bare_metal": is_metal, "burstable": False}
        types.append({**machine, "family": name[:2], **size})
    return {"prices": prices(*costs), "instance_types": rows("instance_types", *types)}


@cases("gate/beside_a_held_price", held=yaml.safe_load)
def test_prices_that_move_like_a_held_one_of_their_machine_are_held(factor, others, held):
    judgement = gate.judge(candidate(metal(factor, others)), candidate(metal("1")))
    assert dict(judgement.held["reason"].value_counts().rows()) == held


def test_a_cut_below_spot_prices_that_lag_holds_the_price_they_contradict_alone():
    """Reservations and other systems of the machine fall with it, and are published."""
    spot = {"instance_type": "p5.48xlarge", "purchase_option": "spot", "hourly": 75}

    def tables(factor):
        ways = [{"os": os} for os in ("linux", "windows", "rhel", "suse")] + [RESERVED]
        costs = [98, 107, 99, 100, 76]
        machine = [
            {"instance_type": "p5.48xlarge", **way, "hourly": Decimal(cost) * Decimal(factor)}
            for way, cost in zip(ways, costs, strict=True)
        ]
        others = [{"instance_type": f"c{n}.large", "hourly": "0.1"} for n in range(20)]
        return {"prices": prices(*machine, spot, *others)}

    judgement = gate.judge(candidate(tables("0.75")), candidate(tables("1")))
    assert set(judgement.held["reason"]) == {"order"}


def composed(factor):
    """Return the same tables with a price of Windows on the metal: that of Linux and a license."""
    made = metal(factor)
    cost = Decimal(COSTS["m5.metal"]) * Decimal(factor)
    machine = {"instance_type": "m5.metal", "os": "windows", "basis": "composed"}
    windows = prices({**machine, "hourly": cost + 5})
    key = windows.select("price_id", "region", "instance_type", "purchase_option", "currency")
    parts = [
        key.row(0, named=True)
        | {"component": name, "sku_id": name, "unit": "instance", "quantity": 1, "unit_price": one}
        for name, one in (("instance", cost), ("license", 5))
    ]
    is_part = (pl.col("instance_type") == "m5.metal") & (pl.col("purchase_option") == "on_demand")
    sku = pl.when(is_part).then(pl.lit("instance")).otherwise("sku_id")
    listed = made["prices"].with_columns(sku_id=sku)
    shown = {"prices": pl.concat([listed, windows])}
    return {**made, **shown, "price_components": rows("price_components", *parts)}


@pytest.mark.parametrize(
    ("factor", "held"), [("1.08", {"twin": 1, "beside": 1, "parts": 1}), ("1.005", {})]
)
def test_a_price_composed_of_a_held_price_is_held(factor, held):
    judgement = gate.judge(candidate(composed(factor)), candidate(composed("1")))
    assert dict(judgement.held["reason"].value_counts().rows()) == held


def spot(linux, windows):
    """Return the spot prices of two systems in three zones."""
    return prices(
        *(
            {"purchase_option": "spot", "zone": zone, "os": os, "hourly": cost}
            for os, cost in (("linux", linux), ("windows", windows))
            for zone in ("us-east-1a", "us-east-1b", "us-east-1c")
        )
    )


@pytest.mark.parametrize(
    ("linux", "windows", "held"), [("0.06", "0.04", {"copied": 6}), ("0.06", "0.05", {})]
)
def test_spot_prices_of_two_systems_that_are_exchanged_are_held(linux, windows, held):
    new, old = ({"prices": spot(*sides)} for sides in ((linux, windows), ("0.04", "0.06")))
    judgement = gate.judge(candidate(new), candidate(old))
    assert dict(judgement.held["reason"].value_counts().rows()) == held


def test_every_reason_is_documented_in_order(project):
    page = (project / "docs/gates.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert [(name.strip("`"), released) for name, _, _, released in rows] == [
        (name, "after 3 collections" if name in RELEASED else "never") for name in REASONS
    ]


@pytest.mark.parametrize(("sells_cpus", "held"), [(False, {}), (True, {"series": "held"})])
def test_a_cheaper_kind_of_gpu_is_judged_by_machines_without_gpus_alone(sells_cpus, held):
    """An L4 is no mistake beside H100s: per vCPU it costs a quarter of them."""
    gpus = {"h100": (80, "4.5"), "h200": (141, "5.4"), "b200": (180, "8.5"), "l4": (24, "0.9")}
    sizes = {**gpus, **({"d1": (0, "1.6"), "d2": (0, "2")} if sells_cpus else {})}
    types = [
        machine("aws", name, vcpus=16, memory_gib=64.0, device=name, count=gib > 0, gib=gib)
        for name, (gib, _) in sizes.items()
    ]

    def sells(names):
        return tables(
            [price("aws", "global", name, sizes[name][1]) for name in names],
            [row for row in types if row["instance_type"] in names],
        )

    assert held_by(sells(sizes), sells(sizes.keys() - {"l4"})) == held


def test_each_row_of_siblings_is_used_and_can_be_read():
    uses = {"new", "old", "clouds", *(table for table, _ in facts.RULES)}
    spreads = [spread for use in uses for spread in compare.spreads(use)]
    assert len(spreads) == len(csv_rows(Path(compare.__file__).with_name("siblings.csv")))
    assert all(one.band[0] < one.band[1] and one.others >= 1 for one in spreads)


def test_each_row_of_facts_names_a_column_and_a_rule():
    shared = (compare.SHARED_CUT, compare.SHARED_RISE, compare.COMMON_SHARE)
    monthly = facts.RULES["component_prices", "hourly"]
    assert tuple(float(monthly[name]) for name in ("least", "most", "changed")) == shared
    for (table, column), row in facts.RULES.items():
        assert column in TABLES[table].dtypes
        assert row["rule"] in ("same", "common", "market", "within")
        assert bool(row["least"] and row["most"]) == (row["rule"] == "within")
