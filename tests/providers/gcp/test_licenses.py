"""Licenses of operating systems."""

from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.gcp_pages import (
    core_and_ram,
    fee,
    machine_type,
    n2_skus,
    n2_zones,
    normalise_skus,
    sku,
    spot_core_and_ram,
)


@pytest.mark.parametrize("unit", ["mo", "GiBy.h"])
def test_a_license_that_is_not_for_an_hour_is_refused(tmp_path, unit) -> None:
    """0.046 USD an hour is 33.58 a month. No older release stands in for it."""
    fees = [
        fee("Windows Server 2019 Datacenter Edition on VM", "0.04"),
        fee("Windows Server 2025 Datacenter Edition on VM", "33.58", unit=unit),
    ]
    tables = normalise_skus(tmp_path, [*n2_skus(), *fees], n2_zones())
    assert tables.prices("n2-standard-2", os="windows") == {}
    assert tables.hourly("n2-standard-2")
    assert [row["reason"] for row in tables.refused] == ["unknown_unit"]


def test_each_machine_pays_the_license_of_its_size(tmp_path: Path) -> None:
    """A band includes both of its ends; beyond the last there is no license to be had."""
    skus = [
        *core_and_ram("N2", "0.03", "0.004"),
        fee("Red Hat Enterprise Linux 9 on VM with up to 8 VCPU", "0.0144"),
        fee("Red Hat Enterprise Linux 9 on VM with 9 to 127 VCPU", "0.0108"),
    ]
    sizes = {8: "0.0144", 9: "0.0108", 127: "0.0108", 128: None}
    types = [machine_type(f"n2-standard-{vcpus}", vcpus, vcpus * 4096) for vcpus in sizes]
    tables = normalise_skus(tmp_path, skus, types)
    for vcpus, rate in sizes.items():
        name = f"n2-standard-{vcpus}"
        licensed = tables.prices(name, os="rhel")
        if rate is None:
            assert licensed == {}
        else:
            expected = tables.hourly(name) + vcpus * Decimal(rate)
            assert licensed[("on_demand", 0)]["hourly"] == expected


@pytest.mark.parametrize("is_turned", [False, True])
def test_of_two_skus_of_one_license_the_more_expensive_counts(tmp_path, is_turned) -> None:
    """Of two that agree, the row has the first id."""
    fees = [
        fee("Windows Server 2025 Datacenter Edition on VM", "0.046", sku_id="B"),
        fee("Windows Server 2025 Datacenter Edition (CPU cost)", "0.046", sku_id="A"),
        fee("Red Hat Enterprise Linux 9 on VM with up to 8 VCPU", "0.0144", sku_id="C"),
        fee("Red Hat Enterprise Linux 9 on VM with up to 8 VCPU", "0.0145", sku_id="D"),
    ]
    if is_turned:
        fees.reverse()
    tables = normalise_skus(tmp_path, [*n2_skus(), *fees], n2_zones())
    row = tables.prices("n2-standard-2", os="windows")[("on_demand", 0)]
    assert tables.components(row["price_id"])["license"]["sku_id"] == "A"
    assert row["flags"] == []
    rhel = tables.prices("n2-standard-2", os="rhel")[("on_demand", 0)]
    license_line = tables.components(rhel["price_id"])["license"]
    assert (license_line["sku_id"], license_line["unit_price"]) == ("D", Decimal("0.0145"))
    assert rhel["flags"] == ["higher_of_two_skus"]
    assert tables.refused == []


@pytest.mark.parametrize("is_turned", [False, True])
def test_bands_that_overlap_at_different_prices_are_refused(tmp_path, is_turned) -> None:
    """Which of the two a machine with 4 vCPUs pays is not stated; other bands keep theirs."""
    skus = [
        fee("Red Hat Enterprise Linux 9 on VM with up to 8 VCPU", "0.0144"),
        fee("Red Hat Enterprise Linux 9 on VM with 9 to 127 VCPU", "0.0108"),
        fee("SLES 15 For SAP on VM with 1 to 4 VCPU", "0.17"),
        fee("SLES 15 For SAP on VM with 4 VCPU", "0.34"),
        fee("SLES 15 For SAP on VM with 5 or more VCPU", "0.41"),
    ]
    types = [machine_type(f"n2-standard-{vcpus}", vcpus, vcpus * 4096) for vcpus in (2, 8)]
    tables = normalise_skus(tmp_path, [*n2_skus(), *(skus[::-1] if is_turned else skus)], types)
    assert tables.prices("n2-standard-2", os="sles_sap") == {}
    for os, fees in (("sles_sap", Decimal("0.41")), ("rhel", 8 * Decimal("0.0144"))):
        licensed = tables.prices("n2-standard-8", os=os)[("on_demand", 0)]
        assert licensed["hourly"] == tables.hourly("n2-standard-8") + fees
    assert [row["reason"] for row in tables.refused] == ["duplicate_key"] * 2


ARM = machine_type("t2a-standard-2", 2, 8192, architecture="ARM64")


def test_licenses_are_added_to_the_machines_price(tmp_path) -> None:
    skus = [
        *n2_skus(),
        fee("Windows Server 2019 Datacenter Edition (CPU cost)", "0.04"),
        fee("Windows Server 2025 Datacenter Edition on VM", "0.046"),
        fee("Windows Server 2025 Datacenter Edition on f1-micro", "0.02"),
        fee("Windows Server 2025 Datacenter Edition (RAM cost)", "0"),
        fee("Red Hat Enterprise Linux 9 on VM with up to 8 VCPU", "0.0144"),
        fee("Red Hat Enterprise Linux 9 on VM with 9 to 127 VCPU", "0.0108"),
        fee("SUSE Linux Enterprise Server 15 (CPU cost)", "0.11"),
        *core_and_ram("T2A Arm", "0.02", "0.003"),
        sku("Micro Instance with burstable CPU running in Iowa", "0.0076", group="F1Micro"),
    ]
    types = [
        machine_type("n2-standard-2", 2, 8192),
        machine_type("n2-standard-16", 16, 65536),
        ARM,
        machine_type("f1-micro", 1, 614),
    ]
    tables = normalise_skus(tmp_path, skus, types)
    for name, os, added in (
        ("n2-standard-2", "windows", 2 * Decimal("0.046")),
        ("n2-standard-2", "rhel", 2 * Decimal("0.0144")),
        ("n2-standard-2", "sles", Decimal("0.11")),
        ("n2-standard-16", "rhel", 16 * Decimal("0.0108")),
        ("f1-micro", "windows", Decimal("0.02")),
    ):
        assert tables.hourly(name, os=os) == tables.hourly(name) + added
    assert tables.prices("t2a-standard-2", os="windows") == {}  # no Windows on Arm
    parts = tables.lines("n2-standard-2", os="windows")
    assert set(parts) == {"core", "ram", "license"}
    line = parts["license"]
    assert (line["unit"], line["quantity"], line["purchase_option"]) == ("vcpu", 2, "on_demand")


def test_licenses_for_sap_are_for_x86_alone_and_each_is_counted_its_own_way(tmp_path) -> None:
    """Red Hat's is for a vCPU and SUSE's for the machine; spot pays them in full."""
    sap = "for SAP with High Availability and Update Services on VM with up to 8 VCPU"
    skus = [
        *n2_skus(),
        *spot_core_and_ram("N2", "0.01", "0.001"),
        *core_and_ram("T2A Arm", "0.02", "0.003"),
        fee(f"Red Hat Enterprise Linux 9 {sap}", "0.022"),
        fee("SLES 15 For SAP License on VM with 1 to 2 VCPU", "0.17"),
        fee("SUSE Linux Enterprise Server 15 (CPU cost)", "0.11"),
    ]
    tables = normalise_skus(tmp_path, skus, [machine_type("n2-standard-2", 2, 8192), ARM])
    linux = tables.amounts("n2-standard-2")
    assert set(linux) == {("on_demand", 0), ("spot", 0)}
    for system, license_fee in (("rhel_sap", "0.044"), ("sles_sap", "0.17"), ("sles", "0.11")):
        licensed = {key: hourly + Decimal(license_fee) for key, hourly in linux.items()}
        assert tables.amounts("n2-standard-2", os=system) == licensed
    assert tables.prices("t2a-standard-2", os="sles")
    for system in ("rhel_sap", "sles_sap"):
        assert tables.prices("t2a-standard-2", os=system) == {}


def test_sql_server_is_added_to_windows_for_machines_of_its_vcpus(tmp_path) -> None:
    """2.961 USD for 18 vCPUs is what the catalog of 2019 had, the same 0.1645 for each."""
    skus = [
        *core_and_ram("N2", "0.03", "0.004"),
        fee("Windows Server 2025 Datacenter Edition on VM", "0.046", sku_id="W"),
        fee("SQL Server 2016 Standard on VM with 18 VCPU", "2.961", sku_id="S"),
        fee("SQL Server 2016 Standard on VM with 2 VCPU", "0.658", sku_id="T"),
    ]
    types = [machine_type(f"n2-standard-{n}", n, n * 4096) for n in (2, 18, 128)]
    tables = normalise_skus(tmp_path, skus, types)
    sql = {"os": "windows", "software": "sql_std"}
    fees = 18 * Decimal("0.046") + Decimal("2.961")
    hourly = tables.hourly("n2-standard-18", **sql)
    assert hourly == tables.hourly("n2-standard-18") + fees
    lines = tables.lines("n2-standard-18", **sql)
    licenses = {kind: line["sku_id"] for kind, line in lines.items() if "license" in kind}
    assert licenses == {"license": "W", "license_2": "S"}
    assert sum(line["quantity"] * line["unit_price"] for line in lines.values()) == hourly
    assert tables.prices("n2-standard-128", **sql) == {}
    assert ("on_demand", 0) in tables.prices("n2-standard-2", os="windows")
