"""The gate: what stops a provider, and what is only reported (known wrong number R1)."""

import math
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers import make

from hwprices.publish import gate
from hwprices.publish.gate import candidate as candidates
from hwprices.publish.gate import comparisons, invariants
from hwprices.rows import quarantine


def candidate(frames, origin="live"):
    return gate.Candidate("aws", origin, {name: frame.lazy() for name, frame in frames.items()})


def outcomes(new, old, accepted=()):
    return {r.check: r.outcome for r in gate.check(candidate(new), candidate(old), accepted)}


def stopped_by(new, old):
    return {name for name, outcome in outcomes(new, old).items() if outcome == "stop"}


OLD = make.world(1000)

AVAILABILITY = {
    "provider": "aws",
    "region": "us-east-1",
    "offered": True,
    "observed_at": make.AT,
    "raw_sha256": "0" * 64,
}


def with_prices(frame):
    return {**OLD, "prices": frame}


def test_unchanged_tables_pass():
    assert stopped_by(OLD, OLD) == set()


def offered(frame):
    """Offers of the types that have prices in this frame."""
    types = frame["instance_type"].unique().sort().to_list()
    rows = [{**AVAILABILITY, "instance_type": name} for name in types]
    return make.table("availability", rows)


LISTED = {**OLD, "availability": offered(OLD["prices"])}


def reworded(rows, word="unknown"):
    """Quarantine rows of these prices, whose lines have a word that is new."""
    lines = rows.with_columns(sku_id="SKU " + pl.col("instance_type")).lazy()
    text = pl.lit(word) if word else None
    return quarantine.refused(
        lines, table="prices", reason="unknown_unit", message="unknown unit", word=text
    ).collect()


SKUS = OLD["prices"].with_columns(sku_id="SKU " + pl.col("instance_type"))


@pytest.mark.parametrize(
    ("count", "word", "outcome"), [(400, "Hrs2", "warn"), (501, "Hrs2", "stop"), (400, None, "")]
)
def test_prices_that_a_new_word_took_hold_no_other_price_back(count, word, outcome):
    old = {**LISTED, "prices": SKUS}
    refused = reworded(SKUS.head(count).drop("price_id"), word)
    new = {**old, "prices": SKUS.tail(1000 - count), "quarantine": refused}
    found = outcomes(new, old)
    stops = {name for name, each in found.items() if each == "stop"}
    if outcome == "":
        assert stops >= {"rows_lost", "type_gone"}
    else:
        assert found["reworded"] == outcome
        assert stops == ({"reworded"} if outcome == "stop" else set())


def test_prices_that_are_lost_beside_a_new_word_stop_as_ever():
    old = {**LISTED, "prices": SKUS}
    refused = reworded(SKUS.head(100).drop("price_id"))
    new = {**old, "prices": SKUS.tail(850), "quarantine": refused}  # 50 more are gone
    assert stopped_by(new, old) >= {"rows_lost", "type_gone"}


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
    old = {**LISTED, "price_components": make.table("price_components", [part])}
    line = pl.LazyFrame({"provider": "aws", "sku": "ABCD-1234", "region": "us-east-1"})
    line = line.with_columns(observed_at=make.AT, source_url=pl.lit("u"), raw_sha256=pl.lit("0"))
    refused = quarantine.refused(
        line, table="prices", reason="unknown_grammar", message="new", word=pl.lit("Z4D Core")
    ).collect()
    no_amount = {"hourly": None, "effective_hourly": None}
    is_first = pl.col("instance_type") == "m0.large"
    prices = OLD["prices"].with_columns(
        pl.when(~is_first).then(pl.col(name)).alias(name) for name in no_amount
    )
    new = {**old, "prices": prices, "quarantine": refused}
    results = gate.check(candidate(new), candidate(old))
    (found,) = (result for result in results if result.check == "reworded")
    assert (found.outcome, found.value) == ("warn", 1 / 1000)


def test_prices_lost_while_their_types_are_still_offered():
    new = {**LISTED, "prices": OLD["prices"].head(994)}  # 0.6 % gone
    assert stopped_by(new, LISTED) == {"rows_lost", "type_gone"}


def test_a_few_prices_less_are_no_loss_but_a_type_without_a_price_is_shown():
    new = {**LISTED, "prices": OLD["prices"].head(999)}
    assert stopped_by(new, LISTED) == {"type_gone"}


def test_types_that_left_both_lists_are_retired():
    kept = OLD["prices"].head(994)
    new = {**LISTED, "prices": kept, "availability": offered(kept)}
    results = outcomes(new, LISTED)
    assert (results["types_retired"], results["type_gone"]) == ("warn", "pass")
    assert stopped_by(new, LISTED) == set()


def test_too_many_retired_types_at_once_are_a_fault():
    kept = OLD["prices"].head(950)
    new = {**LISTED, "prices": kept, "availability": offered(kept)}
    assert stopped_by(new, LISTED) == {"types_retired"}


def raised(share, factor):
    count = int(1000 * share)
    factors = pl.Series(
        [Decimal(factor)] * count + [Decimal(1)] * (1000 - count), dtype=pl.Decimal(20, 10)
    )
    return with_prices(
        OLD["prices"].with_columns(
            (pl.col("effective_hourly") * factors)
            .cast(pl.Decimal(20, 10))
            .alias("effective_hourly")
        )
    )


@pytest.mark.parametrize(
    ("share", "factor", "stops"),
    [(0.02, "1.46", True), (0.02, "0.6", True), (0.01, "1.73", False), (0.5, "1.39", False)],
    ids=["up", "down", "few prices", "small jump"],
)
def test_a_jump_of_many_prices_stops(share, factor, stops):
    assert ("price_jump" in stopped_by(raised(share, factor), OLD)) is stops


@pytest.mark.parametrize(("moved", "stops"), [(1, False), (4, False), (5, True)])
def test_a_few_prices_of_a_short_list_are_no_common_move(moved, stops):
    """4 of 18 are 22 %, more than a tenth, and yet those of one machine."""
    short = make.world(18)
    up = pl.int_range(pl.len()) < moved
    raised = pl.when(up).then(pl.col("hourly") * Decimal("1.05")).otherwise("hourly")
    prices = short["prices"].with_columns(
        raised.cast(short["prices"].schema["hourly"]).alias("hourly")
    )
    prices = prices.with_columns(pl.col("hourly").alias("effective_hourly"))
    assert ("level_shift" in stopped_by({**short, "prices": prices}, short)) == stops


def test_regions_compared_one_after_the_other_give_the_same(monkeypatch):
    """So are price lists that do not fit into memory at once. The last file has two regions."""
    new = pl.concat(
        make.world(40, price="0.1" if region != "eu-2" else "0.2", region=region)["prices"]
        for region in ("eu-1", "eu-2", "eu-3", "eu-4")
    )
    old = pl.concat([new.filter(region="eu-1"), raised(0.04, "1.5")["prices"].head(60)])
    sides = [
        gate.Candidate("aws", "live", {"prices": rows.lazy()}, files_of(rows))
        for rows in (new, old)
    ]
    whole = gate.check(*sides)
    assert gate.stopped(whole)
    monkeypatch.setattr(candidates, "BATCH_ROWS", 1)
    assert len(list(candidates.batches(*sides))) == 5
    assert gate.check(*sides) == whole


def files_of(rows):
    parts = [rows.filter(region="eu-1"), rows.filter(region="eu-2")]
    parts.append(rows.filter(~pl.col("region").is_in(["eu-1", "eu-2"])))
    return [gate.PriceFile(part.lazy(), part.height) for part in parts if part.height]


def machines_with_disks(count, unknown=0):
    rows = [
        {
            **make.TYPE,
            "instance_type": f"m{i}.large",
            "local_disk_gib": None if i < unknown else 1.0,
        }
        for i in range(count)
    ]
    return {**OLD, "instance_types": make.table("instance_types", rows)}


def values_lost(new, old):
    return {r.check: r for r in gate.check(candidate(new), candidate(old))}["values_lost"]


@pytest.mark.parametrize(
    ("count", "unknown", "stops"),
    [
        (2, 2, False),  # too few to say
        (10, 3, False),
        (10, 4, True),
        (100, 20, False),
        (100, 21, True),
        (1000, 50, False),
        (1000, 51, True),
    ],
)
def test_values_of_a_column_may_not_become_unknown(count, unknown, stops):
    result = values_lost(machines_with_disks(count, unknown), machines_with_disks(count))
    assert (result.outcome == "stop") is stops
    words = f"instance_types.local_disk_gib: {unknown:,} of {count:,} values are gone"
    assert result.detail == (words if stops else "holds")


def test_only_machines_that_both_releases_have_may_lose_values():
    """Half of the machines are new, and their disks are not known."""
    new = machines_with_disks(200, unknown=0)["instance_types"]
    unknown = pl.when(pl.int_range(pl.len()) < 100).then("local_disk_gib").otherwise(None)
    new = new.with_columns(unknown.alias("local_disk_gib"))
    assert values_lost({**OLD, "instance_types": new}, machines_with_disks(100)).detail == "holds"


def test_a_column_that_one_of_the_releases_does_not_have_is_no_loss():
    types = OLD["instance_types"].with_columns(rdma=pl.lit("none"))
    prices = OLD["prices"].with_columns(effective_from=pl.lit(make.AT))
    whole = {**OLD, "instance_types": types, "prices": prices}
    older = {"instance_types": types.drop("rdma"), "prices": prices.drop("effective_from")}
    assert stopped_by(whole, {**OLD, **older}) == set()
    assert values_lost({**whole, "instance_types": older["instance_types"]}, whole).detail == (
        "holds"
    )


def test_prices_may_not_lose_their_sku_but_those_that_are_gone_have_lost_none():
    sku = with_prices(OLD["prices"].with_columns(sku_id=pl.lit("ABC")))
    kept = pl.when(pl.int_range(pl.len()) >= 60).then("sku_id").alias("sku_id")
    result = values_lost(with_prices(sku["prices"].with_columns(kept)), sku)
    assert result.detail == "prices.sku_id: 60 of 1,000 values are gone"
    assert values_lost(with_prices(sku["prices"].head(900)), sku).detail == "holds"


def test_columns_that_are_emptied_together_are_counted():
    full = machines_with_disks(100)
    names = ["series", "generation", "cpu_vendor", "rdma", "hypervisor"]
    full["instance_types"] = full["instance_types"].with_columns(
        pl.lit("x").alias(name) for name in names
    )
    empty = full["instance_types"].with_columns(pl.lit(None, pl.String).alias(n) for n in names)
    detail = values_lost({**full, "instance_types": empty}, full).detail
    assert detail.startswith(
        "instance_types.cpu_vendor: 100 of 100 values are gone; instance_types.g"
    )
    assert detail.endswith("; and 2 more columns")


def test_a_missing_region_stops():
    old = {
        **OLD,
        "prices": pl.concat(
            [OLD["prices"], make.prices({"region": "eu-west-1", "instance_type": "m1.large"})]
        ),
    }
    assert stopped_by(OLD, old) == {"region_gone"}


def test_spot_prices_come_and_go_but_not_most_of_them():
    spot = make.prices(
        *(
            {
                "instance_type": f"m{i}.large",
                "purchase_option": "spot",
                "zone": "us-east-1a",
                "hourly": Decimal("0.01"),
            }
            for i in range(1000)
        )
    )
    before = {**OLD, "prices": pl.concat([OLD["prices"], spot])}
    fewer = {**OLD, "prices": pl.concat([OLD["prices"], spot.head(700)])}
    hardly_any = {**OLD, "prices": pl.concat([OLD["prices"], spot.head(1)])}
    assert stopped_by(fewer, before) == set()
    assert stopped_by(hardly_any, before) == {"spot_lost"}
    # not one price left: credentials have lapsed
    assert stopped_by(OLD, before) == {"option_gone", "spot_lost"}


def test_a_regions_spot_prices_do_not_stand_in_for_a_market_that_is_too_small():
    """The figure goes into the gate's history. Two capacity blocks are too few to count."""
    rows = [("r0", "capacity_block", 2, 0), ("r0", "spot", 100, 79)]
    rows += [(f"r{i}", "spot", 100, 0) for i in range(1, 10)]
    columns = ["region", "purchase_option", "old", "lost"]
    cells = pl.DataFrame(rows, schema=columns, orient="row").with_columns(moving=True)
    tables = candidate(OLD)
    found = comparisons.spot_lost(
        comparisons.Comparison(
            tables, tables, cells, pl.DataFrame(), pl.DataFrame(), {"spot_lost": 0.5}
        )
    )
    assert (found.detail, found.value) == ("", 0.079)


def test_accepting_by_name_lets_it_through():
    new = {**LISTED, "prices": OLD["prices"].head(999)}
    assert outcomes(new, LISTED, {"aws:type_gone"})["type_gone"] == "accepted"
    assert outcomes(new, LISTED, {"gcp:type_gone"})["type_gone"] == "stop"


def test_the_sample_does_not_replace_live_figures():
    results = gate.check(candidate(OLD, "sample"), candidate(OLD, "live"))
    assert [r.check for r in gate.stopped(results)] == ["sample_over_live"]
    assert gate.stopped(gate.check(candidate(OLD, "live"), candidate(OLD, "sample"))) == []


def test_broken_invariants_are_reported():
    prices = make.prices(
        {},
        {"purchase_option": "spot", "zone": "us-east-1a", "hourly": Decimal("0.2")},
        {"os": "windows", "hourly": Decimal("0.05")},
        {
            "purchase_option": "reserved",
            "commitment_plan": "standard",
            "term_months": 12,
            "payment_option": "no_upfront",
            "hourly": Decimal("0.05"),
        },
        {
            "purchase_option": "reserved",
            "commitment_plan": "standard",
            "term_months": 36,
            "payment_option": "no_upfront",
            "hourly": Decimal("0.06"),
        },
    )
    results = {r.check: r for r in gate.check(candidate({**OLD, "prices": prices}), None)}
    assert {n for n, r in results.items() if r.outcome == "warn"} == {
        "windows_above_linux",
        "longer_is_cheaper",
    }
    assert results["spot_below_on_demand"].outcome == "stop"
    assert "m5.large" in results["windows_above_linux"].detail


@pytest.mark.parametrize(
    ("flag", "outcome"),
    [
        ("spot_equals_on_demand", "pass"),
        ("spot_above_on_demand", "pass"),
        ("placeholder", "pass"),
        ("availability_unknown", "stop"),  # on every price of Oracle and OVHcloud
    ],
)
def test_only_flags_about_the_price_excuse_a_spot_price(flag, outcome):
    prices = make.prices({}, {"purchase_option": "spot", "zone": "us-east-1a", "flags": [flag]})
    results = gate.check(candidate({**OLD, "prices": prices}), None)
    assert [r.check for r in results if r.outcome == "warn"] == []
    assert {r.check: r.outcome for r in results}["spot_below_on_demand"] == outcome


def test_a_price_where_the_type_is_not_offered_is_reported():
    row = {
        "provider": "aws",
        "region": "us-east-1",
        "instance_type": "m0.large",
        "offered": True,
        "observed_at": make.AT,
        "raw_sha256": "0" * 64,
    }
    new = {
        **OLD,
        "prices": OLD["prices"].head(2),
        "availability": make.table("availability", [row]),
    }
    result = {r.check: r for r in gate.check(candidate(new), None)}["priced_is_offered"]
    assert result.outcome == "warn"
    assert result.detail.startswith("1 of 2 priced (region, type) pairs")
    assert result.detail.endswith("first m1.large")


def found(check, *machines, extra=()):
    """What an invariant says of on-demand prices: the exceptions, the rows, and the first types.

    A machine is its name, price and figures; ``extra`` are more rows of prices.
    """
    types = {name: {"instance_type": name, **figures} for name, _, figures in machines}
    listed = [
        {"instance_type": name, "hourly": Decimal(amount), "region": more.get("region", "r1")}
        for name, amount, more in machines
    ]
    known = set(make.table("instance_types", [make.TYPE]).columns)
    rows = [
        {**make.TYPE, **{key: value for key, value in one.items() if key in known}}
        for one in types.values()
    ]
    tables = {
        "instance_types": make.table("instance_types", rows),
        "prices": make.prices(*listed, *({"region": "r1", **row} for row in extra)),
    }
    finding = invariants.exceptions(candidate(tables), [check])[check]
    return finding.count, finding.rows, finding.first


METAL = {"family": "m5", "vcpus": 96, "bare_metal": True, "local_disk_gib": 0.0}
VIRTUAL = {**METAL, "bare_metal": False}
LICENSED = [
    {"software": "sql_server_standard", "hourly": Decimal(40)},
    {"license_model": "byol", "hourly": Decimal(30)},
    {"tenancy": "dedicated", "hourly": Decimal(20)},
    {"os": "windows", "hourly": Decimal(10)},
]


@pytest.mark.parametrize(
    ("amount", "broken"),
    [("4.608", 0), ("4.65", 0), ("4.57", 0), ("4.70", 1), ("4.50", 1)],
)
def test_bare_metal_is_compared_with_the_plain_price_of_its_twin(amount, broken):
    """m5.metal costs 4.608 USD, as m5.24xlarge. With a license, both cost more."""
    machines = [
        ("m5.metal", amount, METAL),
        ("m5.24xlarge", "4.608", VIRTUAL),
        ("m5.24xcheap", "4.2", VIRTUAL),
        ("m8gb.metal-24xl", "9.2", {**METAL, "family": "m8gb"}),  # as AWS lists it
        ("m8gb.24xlarge", "4.6", {**VIRTUAL, "family": "m8gb"}),
    ]
    extra = [
        {"instance_type": name, **row} for row in LICENSED for name in ("m5.metal", "m5.24xlarge")
    ]
    first = ("m5.metal",) if broken else ()
    assert found("metal_equals_twin", *machines, extra=extra) == (broken, 1, first)


def sized(name, vcpus, amount, **figures):
    return name, amount, {"family": "m5", "vcpus": vcpus, "burstable": None, **figures}


def test_a_vcpu_is_compared_with_those_of_its_series_in_the_region():
    device = {"accelerator_id": "nvidia-l4", "vendor_name": "L4", "count": 1.0, "memory_gib": 24.0}
    machines = [
        *(sized(f"m5.{size}", size, str(0.05 * size)) for size in (2, 4, 8, 16, 32)),
        sized("m5.up", 2, "0.24"),
        sized("m5.down", 2, "0.0417"),
        sized("m5.too-dear", 2, "0.26"),
        sized("m5.too-cheap", 2, "0.038"),
        sized("m5.burstable", 2, "0.001", burstable=True),
        sized("m5.one", 1, "9"),
        sized("m5.gpu", 4, "9", accelerators=[device]),
        sized("c9.2", 2, "1", family="c9"),
        sized("m5.far", 2, "1", region="r2"),
    ]
    extra = [{"instance_type": "m5.2", "hourly": None, "price_reason": "listed_at_zero"}]
    finding = found("price_per_vcpu", *machines, extra=extra)
    assert finding == (2, 11, ("m5.too-cheap", "m5.too-dear"))


def with_devices(name, amount, count, *ids, **figures):
    devices = [
        {"accelerator_id": key, "vendor_name": "?", "count": count, "memory_gib": 80.0}
        for key in ids
    ]
    return name, amount, {"accelerators": devices, "accelerator_count": count, **figures}


def test_a_machine_is_compared_with_what_its_accelerators_cost_elsewhere():
    h100, l4 = "nvidia-h100-sxm5-80gb", "nvidia-l4"
    machines = [
        with_devices("h.1", "4", 1.0, h100),
        with_devices("h.8", "32", 8.0, h100),
        with_devices("h.far", "36", 8.0, h100, region="r2"),
        with_devices("h.cheap", "11.6", 8.0, h100, region="r2"),
        with_devices("h.too-cheap", "10.8", 8.0, h100),
        with_devices("l.1", "0.4", 1.0, l4),
        with_devices("l.h", "0.1", 2.0, l4, h100),
        with_devices("x.1", "0.1", 1.0, None),
        ("cpu", "0.01", {}),
    ]
    assert found("accelerator_price", *machines) == (1, 6, ("h.too-cheap",))


def test_a_type_costs_at_most_three_times_as_much_in_another_region():
    regions = {"even": ("1", "2.9"), "wide": ("1", "3.1"), "same": ("1", "1")}
    machines = [
        (name, amount, {"region": f"r{number}"})
        for name, amounts in regions.items()
        for number, amount in enumerate(amounts)
    ]
    assert found("region_spread", *machines) == (1, 3, ("wide",))


def compared(check, cells, limit, *, new=OLD, old=OLD):
    """What a comparison says of cells, where these are given."""
    sides = candidate(new), candidate(old)
    frame = pl.DataFrame(cells).with_columns(moving=False) if cells else pl.DataFrame()
    left_out = (pl.DataFrame(), pl.DataFrame())
    return check(comparisons.Comparison(*sides, frame, *left_out, {check.__name__: limit}))


@pytest.mark.parametrize(
    ("region", "detail"),
    [
        ((10, 0, 5), "r: 5 of 10 prices moved the same way"),
        ((9, 9, 0), ""),  # too few to say
        ((100, 30, 0), ""),
        ((100, 0, 31), "r: 31 of 100 prices moved the same way"),
        ((100, 20, 20), ""),
    ],
)
def test_the_prices_of_a_region_that_move_the_same_way(region, detail):
    cells = [
        {"region": name, "os": "", "purchase_option": "", "currency": ""}
        | dict(zip(("both", "up", "down"), counts, strict=True))
        for name, counts in {"r": region, "others": (900, 5, 0)}.items()
    ]
    finding = compared(comparisons.level_shift, cells, 0.10)
    assert finding.detail == detail
    share = max(region[1] + 5, region[2]) / (900 + region[0])
    assert finding.value == pytest.approx(share)


@pytest.mark.parametrize(
    ("factor", "value", "stops"),
    [(1.08, 0.08, False), (1.12, 0.12, True), (0.95, 1 / 0.95 - 1, False), (0.9, 1 / 9, True)],
)
def test_prices_that_creep_up_or_down_within_a_month(factor, value, stops):
    cells = [{"both": 10, "log_sum": 10 * math.log(factor)}]
    finding = compared(comparisons.drift_level, cells, 0.10)
    assert (finding.value, bool(finding.detail)) == (pytest.approx(value), stops)


@pytest.mark.parametrize(
    ("before", "after", "stops"), [(10, 14, False), (10, 16, True), (16, 10, False), (0, 5, False)]
)
def test_spot_prices_above_on_demand_may_not_become_many_more(before, after, stops):
    """It is the growth that counts: they are flagged, and some vendors always have some."""

    def spot(above):
        flags = [["spot_above_on_demand"]] * above + [[]] * (100 - above)
        named = [{"instance_type": f"m{i}", "flags": flag} for i, flag in enumerate(flags)]
        return with_prices(make.prices(*({"purchase_option": "spot", **row} for row in named)))

    finding = compared(
        comparisons.spot_above_on_demand, [], 0.05, new=spot(after), old=spot(before)
    )
    assert (finding.value, bool(finding.detail)) == (pytest.approx((after - before) / 100), stops)
