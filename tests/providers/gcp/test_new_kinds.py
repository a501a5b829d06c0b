"""What Google sells since the sheets were written: known rows stay, new ones are refused by name.

docs/known-wrong-numbers.md G19 to G25.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import (
    Tables,
    core_and_ram,
    machine_type,
    n2_skus,
    n2_zones,
    normalise_pages,
    normalise_skus,
    sku,
    spot_core_and_ram,
)

from hwprices.providers import UnreadablePageError, gcp
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

M4N = core_and_ram("M4N", "0.0351", "0.0051")
M4N_ZONES = {
    "us-central1-a": [
        machine_type("m4n-ultramem-224", 224, 6094848),
        machine_type("m4n-megamem-28", 28, 380928),
    ]
}
M4N_MEGAMEM = 28 * Decimal("0.0351") + 372 * Decimal("0.0051")


def on_demand(tables: Tables, name: str, region: str = "us-central1") -> dict[str, Any]:
    return tables.prices(name, region)[("on_demand", 0)]


def words(tables: Tables) -> set[tuple[str, str | None]]:
    return {(row["reason"], row["word"]) for row in tables.refused}


# -- G19: sizes with SKUs of their own


def test_g19_m4n_ultramem_224_has_its_own_skus(tmp_path: Path) -> None:
    """224 × 0.041706 + 5952 × 0.0102166; 38.2176 at the rates of M4N. The blank is missing."""
    own = [
        sku("M4NUltramem224 Instance Core running in Iowa", "0.041706"),
        sku("M4NUltramem224Instance Ram running in Iowa", "0.0102166", group="RAM"),
    ]
    tables = normalise_skus(tmp_path, [*M4N, *own], M4N_ZONES)
    assert tables.hourly("m4n-ultramem-224") == Decimal("70.1513472")
    assert tables.hourly("m4n-megamem-28") == M4N_MEGAMEM
    assert tables.refused == []


def test_g19_without_them_it_has_no_price(tmp_path: Path) -> None:
    row = on_demand(normalise_skus(tmp_path, M4N, M4N_ZONES), "m4n-ultramem-224")
    assert (row["hourly"], row["price_reason"]) == (None, "core_sku_missing,ram_sku_missing")


@pytest.mark.parametrize(
    "name", ["M4NMegamem28", "M4N Megamem 28", "M4N-MEGAMEM-28", "m4n-megamem-28", "M4N Megamem"]
)
def test_g19_a_type_that_a_refused_sku_names_has_no_price(tmp_path, name) -> None:
    """Nor by another option; other sizes keep theirs."""
    skus = [*M4N, *spot_core_and_ram("M4N", "0.01", "0.001")]
    skus.append(sku(f"{name} Instance Core running in Iowa", "0.09"))
    types = [
        machine_type("m4n-megamem-28", 28, 380928),
        machine_type("m4n-hypermem-64", 64, 1015808),
    ]
    tables = normalise_skus(tmp_path, skus, types)
    rows = tables.prices("m4n-megamem-28")
    found = {key: (row["hourly"], row["price_reason"]) for key, row in rows.items()}
    refused = (None, "named_by_refused_sku")
    assert found == {("on_demand", 0): refused, ("spot", 0): refused}
    assert tables.hourly("m4n-hypermem-64") == 64 * Decimal("0.0351") + 992 * Decimal("0.0051")
    assert len(tables.refused) == 1


def test_g19_the_longest_name_counts(tmp_path: Path) -> None:
    skus = [
        *core_and_ram("C4", "0.03", "0.004"),
        sku("C4 Standard 8 Turbo Instance Core running in Iowa", "0.09"),
    ]
    names = ["c4-standard-8-turbo", "c4-standard-8", "c4-standard-88", "c4-standard-4"]
    types = [machine_type(name, 8, 32768) for name in names]
    tables = normalise_skus(tmp_path, skus, types)
    unpriced = [name for name in names if on_demand(tables, name)["hourly"] is None]
    assert unpriced == ["c4-standard-8-turbo"]


# -- G20: local disks that no sheet knows


@cases("gcp/unknown_disks", members=yaml.safe_load)
def test_g20_unknown_local_disks_leave_no_price(tmp_path, name, members) -> None:
    skus = [
        *core_and_ram("C4D", "0.03", "0.004"),
        sku("C4D Instance Local SSD running in Iowa", "0.1"),
        sku("Commitment v1: C4D Cpu in Iowa for 1 Year", "0.02", usage="Commit1Yr"),
        sku("Commitment v1: C4D Ram in Iowa for 1 Year", "0.002", usage="Commit1Yr", group="RAM"),
    ]
    plain = machine_type("c4d-standard-4", 4, 16384)
    types = [machine_type(name, 8, 32768, **members), plain]
    tables = normalise_skus(tmp_path, skus, types)
    reasons = {key: row["price_reason"] for key, row in tables.prices(name).items()}
    assert reasons == dict.fromkeys([("on_demand", 0), ("committed_use", 12)], "unknown_local_ssd")
    assert tables.flexible(name) == {}
    row = tables.instance_type(name)
    assert (row["local_disk_count"], row["local_disk_gib"], row["local_disk_kind"]) == (None,) * 3
    assert tables.hourly("c4d-standard-4") == Decimal("0.184")
    assert tables.instance_type("c4d-standard-4")["local_disk_count"] == 0


def test_g20_nolssd_has_no_disks(tmp_path: Path) -> None:
    types = [machine_type("a3-ultragpu-8g-nolssd", 224, 3022848, ("nvidia-h200-141gb", 8))]
    tables = normalise_skus(tmp_path, n2_skus(), types)
    assert tables.instance_type("a3-ultragpu-8g-nolssd")["local_disk_count"] == 0


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("g2-standard-4", None),  # every G2 has a GPU: the API left it out
        ("f1-micro", ("nvidia-l4", 1)),  # one SKU for the machine, none for its GPU
    ],
)
def test_g20_accelerators_without_a_price(tmp_path, name, gpu) -> None:
    skus = [
        *core_and_ram("G2", "0.024", "0.003"),
        sku("Micro Instance with burstable CPU running in Iowa", "0.0076", group="F1Micro"),
    ]
    types = [machine_type(name, 4, 16384, gpu)]
    row = on_demand(normalise_skus(tmp_path, skus, types), name)
    assert (row["hourly"], row["price_reason"]) == (None, "unknown_accelerators")


# -- G21: TPU7x


@pytest.mark.parametrize(("name", "chips"), [("tpu7x-standard-4t", 4), ("tpu7x-standard-1t", 1)])
def test_g21_tpu7x(tmp_path, name, chips) -> None:
    """SKU 0F71-4391-B6CA: 12.00 a chip; its commitment and spot prices are of the same form."""
    spot = "TPU7x attached to Spot Preemptible VMs running in Americas"
    year = "Commitment v1: TPU7x running in Americas for 1 Year"
    skus = [
        sku("TPU7x running in Americas", "12", group="TPU"),
        sku(spot, "5", group="TPU", usage="Preemptible"),
        sku(year, "9", group="TPU", usage="Commit1Yr"),
    ]
    types = [machine_type(name, 56 * chips, 245760 * chips, ("tpu7x", chips))]
    tables = normalise_skus(tmp_path, skus, {"us-central1-c": types})
    assert tables.amounts(name) == {
        ("on_demand", 0): 12 * chips,
        ("spot", 0): 5 * chips,
        ("committed_use", 12): 9 * chips,
    }
    assert tables.refused == []


def test_g21_a_generation_that_is_new_has_a_rate_and_no_machine_price(tmp_path: Path) -> None:
    """How many chips one unit of its SKU pays for is not known."""
    skus = [sku("TPU8t running in Americas", "20", group="TPU")]
    types = [machine_type("tpu8t-standard-4t", 224, 983040, ("tpu8t", 4))]
    tables = normalise_skus(tmp_path, skus, {"us-central1-c": types})
    row = on_demand(tables, "tpu8t-standard-4t")
    assert (row["hourly"], row["price_reason"]) == (None, "unknown_series")
    assert tables.instance_type("tpu8t-standard-4t")["accelerator_kind"] == "tpu"
    rate = tables.table("component_prices").row(0, named=True)
    assert (rate["component"], rate["unit"], rate["hourly"]) == ("tpu:v8t", "sku_unit", 20)


# -- G22: C2 under a commitment


@pytest.mark.parametrize(
    ("years", "core", "ram"), [(1, "0.021414", "0.002869"), (3, "0.0136", "0.00182")]
)
def test_g22_c2_commitments(tmp_path: Path, years: int, core: str, ram: str) -> None:
    form = "Commitment: Compute optimized {} running in Americas for {} Year"
    skus = [
        sku(form.format("Core", years), core, group="CPU", usage=f"Commit{years}Yr"),
        sku(form.format("Ram", years), ram, group="RAM", usage=f"Commit{years}Yr"),
    ]
    zones = {"us-central1-a": [machine_type("c2-standard-8", 8, 32768)]}
    tables = normalise_skus(tmp_path, skus, zones)
    price = tables.prices("c2-standard-8")[("committed_use", 12 * years)]
    assert price["hourly"] == 8 * Decimal(core) + 32 * Decimal(ram)
    assert price["flags"] == []


# -- G23: series of 2026


def test_g23_z4d_has_no_price_and_unknown_disks(tmp_path: Path) -> None:
    skus = [
        *n2_skus(),
        sku("Z4D-HIGHMEM-HIGHLSSD Instance Core running in Iowa", "0.05"),
        sku("Z4D-HIGHMEM-HIGHLSSD Instance Ram running in Iowa", "0.005"),
        sku("Z4D-HIGHMEM-HIGHLSSD Instance Local SSD running in Iowa", "0.1632"),
        sku("SSD backed Local Storage in Iowa", "0.08"),
    ]
    disks = {"bundledLocalSsds": {"defaultInterface": "NVME", "partitionCount": 1}}
    types = [machine_type("z4d-highmem-8-highlssd", 8, 64512, **disks)]
    tables = normalise_skus(tmp_path, skus, types + n2_zones()["us-central1-a"])
    row = on_demand(tables, "z4d-highmem-8-highlssd")
    assert (row["hourly"], row["price_reason"]) == (None, "unknown_local_ssd,unknown_series")
    spec = tables.instance_type("z4d-highmem-8-highlssd")
    assert (spec["series"], spec["local_disk_count"], spec["local_disk_gib"]) == ("z4d", None, None)
    assert words(tables) == {("unknown_series", "Z4D")}
    assert sorted(row["dependants"] for row in tables.refused) == [0, 0, 0, 1]
    for name in ("prices", "instance_types"):
        assert validate.split(tables.table(name), TABLES[name], {}).refused.is_empty()
    assert tables.hourly("n2-standard-2") == Decimal("0.097118")


# -- G24: local SSD that is right at 0


def test_g24_local_ssd_of_g4_is_free(tmp_path: Path) -> None:
    """Nine SKUs of us-west1, 2026-09-13."""
    free = [
        ("G4 Instance Local SSD running in Oregon", "LocalSSD", "OnDemand"),
        ("Spot Preemptible G4 Instance Local SSD running in Oregon", "LocalSSD", "Preemptible"),
        ("Commitment v1: G4 Local SSD in Oregon for 1 Year", "LocalSSD", "Commit1Yr"),
        ("Commitment v1: G4 Local SSD in Oregon for 3 Years", "LocalSSD", "Commit3Yr"),
        ("vGPU G4 Instance Local SSD running in Oregon", "GPU", "OnDemand"),
        ("Spot Preemptible vGPU G4 Instance Local SSD running in Oregon", "GPU", "Preemptible"),
        ("DWS Defined Duration vGPU G4 Local SSD running in Oregon", "GPU", "OnDemand"),
        ("Commitment v1: vGPU G4 Local SSD in Oregon for 1 Year", "GPU", "Commit1Yr"),
        ("Commitment v1: vGPU G4 Local SSD in Oregon for 3 Year", "GPU", "Commit3Yr"),
    ]
    skus = [
        sku(words, "0", group=group, usage=usage, unit="GiBy.mo") for words, group, usage in free
    ]
    tables = normalise_skus(tmp_path, [*n2_skus(), *skus], n2_zones())
    assert tables.refused == []
    assert tables.counts == {"not_a_machine_price:included_local_ssd": 9}


def test_g24_local_ssd_that_is_billed_is_never_free(tmp_path: Path) -> None:
    skus = [
        sku("C4 Instance Local SSD running in Iowa", "0"),
        sku("SSD backed Local Storage in Iowa", "0"),
    ]
    tables = normalise_skus(tmp_path, skus, n2_zones())
    assert [(row["reason"], row["word"]) for row in tables.refused] == [("zero_price", None)] * 2


# -- G25: five years


def test_g25_five_years_are_neither_one_nor_three(tmp_path) -> None:
    form = "Commitment v1: N2 {} in Iowa for {} Years"
    skus = [
        sku(form.format(part, years), price, usage=f"Commit{years}Yr", group=part.upper())
        for years, price in ((1, "0.03"), (2, "0.025"), (3, "0.02"), (5, "0.01"))
        for part in ("Cpu", "Ram")
    ]
    tables = normalise_skus(tmp_path, skus, n2_zones())
    assert tables.amounts("n2-standard-2") == {
        ("on_demand", 0): None,
        ("committed_use", 12): Decimal("0.3"),
        ("committed_use", 36): Decimal("0.2"),
        ("committed_use", 60): Decimal("0.1"),
    }
    assert words(tables) == {("unknown_term", "2 Years")}
    for name in ("prices", "component_prices"):
        assert validate.split(tables.table(name), TABLES[name], {}).refused.is_empty()


# -- members that are missing, new or renamed


def test_new_units_and_currencies_are_words(tmp_path: Path) -> None:
    core, ram = n2_skus()
    core["pricingInfo"][0]["pricingExpression"]["usageUnit"] = "hours"
    price_of(ram)["currencyCode"] = "EUR"
    tables = normalise_skus(tmp_path, [core, ram], n2_zones())
    assert words(tables) == {("unknown_unit", "hours"), ("unknown_currency", "EUR")}


def price_of(listed: dict[str, Any]) -> dict[str, Any]:
    """Return the amount of a SKU, to change it."""
    tiers = listed["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    amount: dict[str, Any] = tiers[0]["unitPrice"]
    return amount


@pytest.mark.parametrize(
    ("change", "reason", "word"),
    [
        (lambda broken: broken.pop("skuId"), "sku_without_name", None),
        (lambda broken: broken.pop("description"), "sku_without_name", None),
        (lambda broken: broken.pop("category"), "sku_without_name", None),
        (lambda broken: broken.pop("serviceRegions"), "no_region", None),
        (lambda broken: broken.update(serviceRegions=["mars"]), "unknown_location", "mars"),
        (lambda broken: broken.pop("pricingInfo"), "no_price", None),
        (lambda broken: broken.update(description=7), "unreadable_line", None),
        (lambda broken: broken.update(category=None), "unreadable_line", None),
        (lambda broken: broken.update(serviceRegions="us-east4"), "unreadable_line", None),
        (lambda broken: price_of(broken).pop("currencyCode"), "no_currency", None),
        (
            lambda broken: price_of(broken).update(nanoUnits=price_of(broken).pop("nanos")),
            "unknown_column",
            "nanoUnits",
        ),
    ],
)
def test_a_sku_that_lacks_a_member_costs_itself_only(tmp_path, change, reason, word) -> None:
    broken = sku("N2 Instance Core running in Virginia", "1.5", regions=["us-east4"])
    change(broken)
    tables = normalise_skus(tmp_path, [*n2_skus(), broken], n2_zones())
    assert tables.hourly("n2-standard-2") == Decimal("0.097118")
    assert [(row["reason"], row["word"]) for row in tables.refused] == [(reason, word)]
    assert set(tables.table("component_prices")["region"]) == {"us-central1"}


def test_members_that_are_new_and_amounts_in_quotes_change_nothing(tmp_path: Path) -> None:
    plain = normalise_skus(tmp_path / "plain", n2_skus(), n2_zones())
    skus = n2_skus()
    for listed in skus:
        amount = price_of(listed)
        amount |= {"nanos": str(amount["nanos"]), "taxIncluded": False}
        listed |= {"newMember": {"a": [1]}, "serviceLevel": "x"}
    zones = n2_zones()
    zones["us-central1-a"][0] |= {"guestCpus": "2", "memoryMb": "8192", "newMember": 1}
    changed = normalise_skus(tmp_path / "changed", skus, zones)
    columns = ["price_id", "hourly", "price_reason", "flags"]
    before, after = (t.table("prices").select(columns).sort("price_id") for t in (plain, changed))
    assert after.equals(before)
    new = ["a", "newMember", "serviceLevel"]
    assert sorted((r["table"], r["reason"], r["word"]) for r in changed.refused) == [
        ("instance_types", "unknown_column", "newMember"),
        *(("prices", "unknown_column", name) for name in [*new, "taxIncluded"]),
    ]


def test_a_member_renamed_in_every_row_leaves_the_page_unread(tmp_path: Path) -> None:
    skus = n2_skus()
    for listed in skus:
        price_of(listed)["nanoUnits"] = price_of(listed).pop("nanos")
    with pytest.raises(UnreadablePageError, match="nanoUnits"):
        normalise_skus(tmp_path, skus, n2_zones())


@cases("gcp/unreadable_types", change=yaml.safe_load)
def test_a_machine_type_that_cannot_be_read_costs_itself_only(tmp_path, change, reason) -> None:
    broken = {**machine_type("n2-standard-4", 4, 16384), **change}
    removed = {name: value for name, value in broken.items() if value is not None}
    zones = {"us-central1-a": [removed, *n2_zones()["us-central1-a"]], "us-central1-b": []}
    zones["us-central1-b"] = [machine_type("n2-standard-8", 8, 32768)]
    tables = normalise_skus(tmp_path, n2_skus(), zones)
    assert tables.hourly("n2-standard-2") == Decimal("0.097118")
    assert [(r["table"], r["reason"], r["word"]) for r in tables.refused] == [
        ("instance_types", reason, None)
    ]
    assert tables.table("instance_types").height == 2


def test_a_gpu_that_one_zone_leaves_out_is_that_of_the_others(tmp_path: Path) -> None:
    skus = [*core_and_ram("G2", "0.024", "0.003"), sku("Nvidia L4 GPU running in Iowa", "0.56")]
    zones = {
        "us-central1-a": [machine_type("g2-standard-4", 4, 16384)],
        "us-central1-b": [machine_type("g2-standard-4", 4, 16384, ("nvidia-l4", 1))],
    }
    assert normalise_skus(tmp_path, skus, zones).hourly("g2-standard-4") == Decimal("0.704")


def test_a_page_that_is_no_list_is_still_unreadable(tmp_path: Path) -> None:
    for body in (b"[]", b'{"skus": 7}', b'{"skus": [1, 2]}', b"null"):
        with pytest.raises(UnreadablePageError, match="a list of SKUs"):
            normalise_pages(
                tmp_path, {gcp.SKUS: [body], gcp.MACHINE_TYPES: [json.dumps({}).encode()]}
            )


def test_every_quarantine_row_names_what_it_is_about(tmp_path: Path) -> None:
    tables = normalise_skus(
        tmp_path, [*n2_skus(), sku("N9 Instance Core running in Iowa", "1")], n2_zones()
    )
    (row,) = tables.refused
    assert row["message"] == "unknown_series: N9 Instance Core running in Iowa (CPU, OnDemand)"
    assert pl.DataFrame(tables.refused)["dependants"].to_list() == [0]
