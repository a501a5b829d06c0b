"""The offers table has each price in its column, and divides only what can be divided."""

from decimal import Decimal
from itertools import product
from typing import Any

import polars as pl
import pytest
from tests.helpers.cases import named_cases
from tests.helpers.expected import assert_rows
from tests.helpers.releases import machine, price, region, rows, tables

from hwprices.publish import join
from hwprices.publish.join import machines, offers
from hwprices.rows import frames
from hwprices.schemas import TERMS_IN_MONTHS
from hwprices.schemas.tables import SHEETS, Offers
from hwprices.schemas.vocabulary import COMMITMENT_PLANS, PAYMENT_OPTIONS, PURCHASE_OPTIONS
from hwprices.specs.sheets import load

NO_SHEETS = {name: frames.empty(model) for name, model in SHEETS.items()}


def join_prices(
    *price_rows: dict[str, Any], types: list[dict[str, Any]] | None = None, **sheets: pl.DataFrame
) -> join.Joined:
    machine_types = types or [machine("aws", "m7i.xlarge", vcpus=4, memory_gib=16.0)]
    places = (("aws", "us-east-1"), ("aws", "cn-north-1"), ("azure", "westeurope"))
    vendor = tables(price_rows, machine_types, [region(*place) for place in places])
    return join.build(
        {name: frame.lazy() for name, frame in vendor.items()}, {**NO_SHEETS, **sheets}
    )


def single_offer(*price_rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return join_prices(*price_rows, **more).tables["offers"].row(0, named=True)


def m7i(amount: str | None, **more: Any) -> dict[str, Any]:
    return price("aws", "us-east-1", "m7i.xlarge", amount, **more)


MONEY = ("hourly", "upfront")


def price_of(amount: float | None, **columns: Any) -> dict[str, Any]:
    """Make a price of a case."""
    usual = {"provider": "aws", "region": "us-east-1", "instance_type": "m7i.xlarge"}
    row = usual | columns
    money = {name: Decimal(str(row[name])) for name in MONEY if name in row}
    text = None if amount is None else str(amount)
    place = (row.pop("provider"), row.pop("region"), row.pop("instance_type"))
    return price(*place, text, **row | money)


@named_cases("publish/offers", "types", "benchmarks")
def test_offers_have_each_price_in_its_column(case: dict[str, Any]) -> None:
    types = [
        machine(t.pop("provider"), t.pop("instance_type"), **t)
        for t in map(dict, case.get("types", []))
    ]
    sheet = [result(float(value), **dict(*more)) for value, *more in case.get("benchmarks", [])]
    costs = [price_of(amount, **dict(*more)) for amount, *more in case["prices"]]
    joined = join_prices(*costs, types=types, benchmarks=rows("benchmarks", *sheet))
    assert_rows(joined.tables["offers"], case["offers"])


COMMITMENT = {"purchase_option": "reserved", "commitment_plan": "standard", "term_months": 12}


def test_every_purchase_has_a_column_or_is_convertible() -> None:
    names = ("purchase_option", "commitment_plan", "term_months", "payment_option")
    plans = [*COMMITMENT_PLANS, None]
    every = product(PURCHASE_OPTIONS, plans, TERMS_IN_MONTHS, PAYMENT_OPTIONS)
    combinations = pl.DataFrame([*every], schema=names, orient="row").with_columns(
        option=offers.option_name()
    )
    named = combinations.drop_nulls("option")
    # commitments that vendors sell have a term, and only reservations one of five years
    sold = named.filter(
        (pl.col("term_months") > 0)
        | ~pl.col("purchase_option").is_in(["reserved", "savings_plan", "committed_use"])
    )
    sold = sold.filter((pl.col("term_months") < 60) | (pl.col("purchase_option") == "reserved"))
    assert set(sold["option"]) == set(offers.OPTIONS)
    convertible = combinations.filter(purchase_option="reserved", commitment_plan="convertible")
    assert convertible["option"].null_count() == convertible.height


def test_a11_yuan_never_become_dollars() -> None:
    row = single_offer(
        price("aws", "cn-north-1", "m7i.xlarge", "1.5", currency="CNY"),
        price("aws", "cn-north-1", "m7i.xlarge", "0.5", currency="CNY", purchase_option="spot"),
    )
    assert (row["currency"], row["on_demand_hourly"]) == ("CNY", Decimal("1.5"))
    assert all(value is None for name, value in row.items() if "usd" in name)
    assert row["spot_discount"] is None


def result(value: float, **more: Any) -> dict[str, Any]:
    return {
        **{"accelerator_id": "nvidia-l4", "suite": "mlperf_inference", "round": "v5.1"},
        **{"model": "llama2-70b-99", "scenario": "Offline", "result": value, "system_count": 1},
        **{"accelerator_count": 8, "result_unit": "Tokens/s", "derived": False, "official": True},
        "system": f"somebody/{value}",
        **more,
    }


MEDIAN = {"result": None, "per_accelerator": 50.0, "derived": True, "system_count": 3}


def test_of_several_systems_the_middle_one_of_the_best_round() -> None:
    systems = [
        *(result(value) for value in (100.0, 300.0, 200.0)),
        result(90.0, round="v4.1"),
        result(8000.0, official=False),
        result(7000.0, scenario="Server"),
        result(6000.0, division="open"),
        result(50.0, system="median", accelerator_count=None, **MEDIAN),
    ]

    def tokens(*more: dict[str, object]) -> list[float]:
        chosen = machines.tokens(rows("benchmarks", *systems, *more))
        return chosen["tokens_per_second"].to_list()

    assert tokens() == [200.0]
    assert tokens(result(150.0, round="v10.0")) == [200.0]
    assert tokens(result(250.0, round="v4.0")) == [250.0]


def test_rows_in_another_order_make_the_same_tables() -> None:
    price_rows = [
        m7i("0.2"),
        m7i("0.1", purchase_option="spot", zone="a"),
        m7i("0.1", purchase_option="spot", zone="b"),
        m7i("0.15", **COMMITMENT, payment_option="monthly"),
    ]
    first = join_prices(*price_rows).tables["offers"]
    assert first.equals(join_prices(*reversed(price_rows)).tables["offers"])
    assert first.equals(first.sort(Offers.key))


def test_regions_take_from_the_sheet_what_the_vendor_does_not_say() -> None:
    listed = {
        **{"provider": "aws", "region": "us-east-1", "kind": "region", "display_name": "sheet"},
        **{"country": "US", "pue": 1.15, "pue_year": 2024, "pue_source": "https://example.org/"},
    }
    sheet = rows("region_footprint", listed)
    virginia = region("aws", "us-east-1", display_name="vendor", pue=1.3, pue_year=2020)
    vendor = rows("regions", virginia, region("aws", "us-west-9"))
    table = join.build({"regions": vendor.lazy()}, {"region_footprint": sheet}).tables["regions"]
    virginia, unlisted = table.iter_rows(named=True)
    assert (virginia["display_name"], virginia["country"]) == ("vendor", "US")
    assert (virginia["pue"], virginia["pue_year"], virginia["pue_source"]) == (1.3, 2020, None), (
        "a figure never takes another's source"
    )
    assert (unlisted["region"], unlisted["country"]) == ("us-west-9", None)


CPUS = {
    "AMD EPYC 9V33X": ("Zen 4", 0.739148, 2.239016, "microarchitecture_elsewhere"),
    "AMD EPYC 7763": ("Zen 3", 0.44539, 2.019328, "microarchitecture"),
    "Ampere Altra": ("Neoverse N1", 0.78, 3.76, "average"),
    "Azure Cobalt 100": ("Neoverse N2", 0.78, 3.76, "average"),
}
"""Azure's CPUs: microarchitecture, watts of a vCPU at idle and at full load, and power_basis."""


@pytest.mark.parametrize("order", [1, -1])
def test_a_cpu_has_the_mean_of_other_providers_before_an_average(order: int) -> None:
    """Worked by hand in docs/method.md. A stand-in for another provider's CPU does not count."""
    offers = join_prices(
        *(price("azure", "westeurope", name, "0.2") for name in CPUS),
        types=[
            machine("azure", name, vcpus=4, memory_gib=16.0, cpu_models=[name]) for name in CPUS
        ],
        cpus=load("cpus"),
        power_coefficients=load("power_coefficients")[::order],
    ).tables["offers"]
    assert set(offers["instance_type"]) == set(CPUS)
    for row in offers.iter_rows(named=True):
        microarchitecture, idle, full, basis = CPUS[row["instance_type"]]
        assert (row["cpu_microarchitecture"], row["power_basis"]) == (microarchitecture, basis)
        watts = [row["cpu_min_watts_per_vcpu"], row["cpu_max_watts_per_vcpu"], row["cpu_watts"]]
        assert watts == pytest.approx([idle, full, 4 * (idle + 0.5 * (full - idle))])


def test_the_sheets_place_goes_before_the_vendors() -> None:
    """Azure's API puts spaincentral at 3.42 degrees east, in the Mediterranean."""
    vendor = rows(
        "regions",
        region("azure", "spaincentral", latitude=40.4259, longitude=3.4209),
        region("azure", "unlisted", latitude=1.0, longitude=2.0),
    )
    sheet = {"region_footprint": load("region_footprint")}
    table = join.build({"regions": vendor.lazy()}, sheet).tables["regions"]
    assert table.select("latitude", "longitude").rows() == [(40.4259, -3.4209), (1.0, 2.0)]


def test_accelerators_without_a_sheet_are_reported() -> None:
    nameless = machine("azure", "ND_GB200", device="?", count=4, gib=186)
    nameless["accelerators"] = [
        {"accelerator_id": None, "vendor_name": "NVIDIA GB999", "count": 4.0, "memory_gib": 186.0}
    ]
    unknown = machine("aws", "x1", device="acme-9", count=1, gib=8)
    joined = join_prices(types=[nameless, unknown, machine("aws", "m7i.xlarge")])
    assert [
        (u["provider"], u["vendor_name"], u["accelerator_id"], u["instance_types"])
        for u in joined.unmatched
    ] == [("aws", "acme-9", "acme-9", ["x1"]), ("azure", "NVIDIA GB999", None, ["ND_GB200"])]


def test_a_device_is_sold_where_the_vendor_lists_it_or_prices_it() -> None:
    """Neither a price that the vendor's list contradicts nor a machine without a price counts."""
    types = [
        machine("aws", name, device="nvidia-l4", count=1, gib=24)
        for name in ("listed", "priced", "unlisted", "unpriced")
    ]
    listed = {"instance_type": "listed", "offered": True}
    offered = [
        listed | {"region": "r1", "zone": "r1a"},
        listed | {"region": "r1", "zone": "r1b"},
        listed | {"region": "r2", "offered": False},
    ]
    costs = [
        price("aws", "r3", "priced", "1"),
        price("aws", "r4", "unlisted", "1", flags=["not_offered_here"]),
        price("aws", "r5", "unpriced", None),
    ]
    vendor = {name: f.lazy() for name, f in tables(costs, types, availability=offered).items()}
    sold = join.build(vendor, {"accelerators": load("accelerators")}).tables["accelerators"]
    row = sold.filter(accelerator_id="nvidia-l4").row(0, named=True)
    counts = (row["regions"], row["region_count"], row["instance_type_count"])
    assert counts == (["aws/r1", "aws/r3"], 2, 4)


def test_the_cheapest_device_is_neither_a_private_persons_nor_where_the_machine_is_not() -> None:
    types = [
        machine(provider, "gpus", device="nvidia-l4", count=2, gib=24)
        for provider in ("aws", "runpod")
    ]
    joined = join_prices(
        price("runpod", "community", "gpus", "0.4"),
        price("runpod", "secure", "gpus", "1.2"),
        price("runpod", "community", "gpus", "0.2", purchase_option="spot"),
        price("aws", "cn-north-1", "gpus", "0.8", flags=["not_offered_here"]),
        price("aws", "us-east-1", "gpus", "0.6", purchase_option="spot"),
        types=types,
        accelerators=load("accelerators"),
    )
    row = joined.tables["accelerators"].row(
        by_predicate=pl.col("accelerator_id") == "nvidia-l4", named=True
    )
    assert row["min_usd_per_accelerator_hour"] == Decimal("0.6")
    assert row["min_spot_usd_per_accelerator_hour"] == Decimal("0.3")


def test_accelerators_sold_as_parts_are_sold() -> None:
    """A slice is sold too, but its price is that of cores and memory besides."""
    sheet = load("accelerators")
    device = "nvidia-p100-pcie-12gb"
    part = {
        **{"provider": "gcp", "region": "us-central1", "series": "n1", "unit": "gpu"},
        **{"component": "gpu:nvidia-tesla-p100", "purchase_option": "on_demand", "term_months": 0},
        **{"currency": "USD", "hourly": Decimal("1.46"), "accelerator_id": device},
        "sku_id": "x",
    }
    a_slice = {"series": "any", "component": "slice:p100", "hourly": Decimal("1.27")}
    joined = join.build(
        {"component_prices": rows("component_prices", part, part | a_slice).lazy()},
        {"accelerators": sheet},
    )
    columns = ("providers", "region_count", "instance_type_count", "min_part_usd_per_hour")
    sold = joined.tables["accelerators"].filter(accelerator_id=device).select(columns)
    assert sold.rows() == [(["gcp"], 1, 0, Decimal("1.46"))]
    others = joined.tables["accelerators"].filter(accelerator_id="nvidia-rtx-4090")
    assert others["providers"].to_list() == [[]]
