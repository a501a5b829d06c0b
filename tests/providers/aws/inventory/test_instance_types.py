"""Instance types: DescribeInstanceTypes with its known wrong answers, and the price list."""

from itertools import product

import pytest
import yaml
from tests.helpers.aws_pages import LandedPages, described, line, price_list
from tests.helpers.cases import cases, named_cases, optional
from tests.helpers.expected import plain

from hwprices.errors import HwpricesError
from hwprices.stage import corrections


def info(name: str, **more) -> dict:
    """A DescribeInstanceTypes entry with what all have."""
    return {
        "instanceType": name,
        "currentGeneration": True,
        "bareMetal": False,
        "hypervisor": "nitro",
        "burstablePerformanceSupported": False,
        "instanceStorageSupported": False,
        "processorInfo": {
            "supportedArchitectures": ["x86_64"],
            "sustainedClockSpeedInGhz": 3.1,
            "manufacturer": "Intel",
        },
        "vCpuInfo": {"defaultVCpus": 8, "defaultCores": 4, "defaultThreadsPerCore": 2},
        "memoryInfo": {"sizeInMiB": 32768},
        "networkInfo": {"networkPerformance": "Up to 10 Gigabit", "efaSupported": False},
        **more,
    }


def gpus(*devices: dict) -> dict:
    return {"gpuInfo": {"gpus": list(devices)}}


def gpu(name: str, count: int, mib: int, **more) -> dict:
    return {"count": count, "memoryInfo": {"sizeInMiB": mib}, "name": name, **more}


@pytest.fixture
def read_row(tmp_path):
    def of(entry: dict, **options) -> dict:
        landed = LandedPages(tmp_path).add_list("instance_types", "us-east-1", entry)
        return landed.table("instance_types", **options).to_dicts()[0]

    return of


ACCELERATOR = ("accelerator_id", "count", "memory_gib")


def accelerator(row: dict) -> tuple:
    (device,) = row["accelerators"]
    return tuple(map(device.get, ACCELERATOR))


@named_cases("aws/instance_types", "names", "entries", "row", "accelerators", "raw")
def test_a_described_type_has_these_columns(read_row, case) -> None:
    for name, entry in product(case["names"], case["entries"]):
        row = read_row(info(name, **entry), corrected=not case.get("raw"))
        for column, value in case.get("row", {}).items():
            assert plain(row[column]) == plain(value), column
        found = [[*map(device.get, ACCELERATOR)] for device in row["accelerators"]]
        assert plain(found) == plain(case.get("accelerators", found))


@cases("aws/l4_sizes", count=int, mib=int)
def test_a5_l4_has_24_gib_whatever_is_answered(read_row, name, count, mib):
    row = read_row(info(name, **gpus(gpu("L4", count, mib))))
    assert accelerator(row) == ("nvidia-l4", count, 24.0)
    assert row["accelerator_memory_gib"] == 24.0 * count
    assert row["corrections"] == ["aws-l4-memory"]


@cases("aws/accelerators", structures=yaml.safe_load)
def test_a5_every_kind_of_accelerator_has_its_spec_sheet(
    read_row, name, structures, identifier, kind
) -> None:
    row = read_row(info(name, **structures))
    assert row["accelerators"][0]["accelerator_id"] == identifier
    assert row["accelerator_kind"] == kind


@pytest.mark.parametrize("stated", [{"networkPerformance": "3200 Gigabit"}, {}])
def test_a6_network_cards_are_summed(read_row, stated):
    cards = [{"peakBandwidthInGbps": 100.0, "baselineBandwidthInGbps": 100.0}] * 32
    network = {**stated, "networkCards": cards, "efaSupported": True}
    row = read_row(info("p5.48xlarge", networkInfo=network))
    assert (row["network_gbps_max"], row["network_gbps_baseline"]) == (3200.0, 3200.0)
    assert row["rdma"] == "efa"


@cases("aws/architectures", listed=yaml.safe_load, arch=optional)
def test_a7_i386_is_not_the_architecture(read_row, listed, arch):
    row = read_row(info("c1.medium", processorInfo={"supportedArchitectures": listed}))
    assert row["arch"] == arch


def test_regions_that_differ_do_not_make_two_types(tmp_path):
    landed = LandedPages(tmp_path)
    smaller = info("m5.large", memoryInfo={"sizeInMiB": 1024})
    landed.add_list("instance_types", "ap-south-1", smaller)
    landed.add_list("instance_types", "us-east-1", info("m5.large"))
    lines = [line(vCPU="3"), line(SKU="B", vCPU="4", Tenancy="Dedicated")]
    landed.add("prices", "us-east-1", price_list(lines))
    columns = ("memory_gib", "spec_source", "cpu_models", "os_support")
    assert landed.table("instance_types").select(columns).rows() == [
        (32.0, "api", ["Intel Xeon Platinum 8175 (Skylake)"], ["linux"])
    ]


@pytest.mark.parametrize("region", ["ap-south-1", "us-east-1"])
def test_of_two_descriptions_of_a_type_the_first_is_kept(tmp_path, region):
    """Within a page, and from page to page of one region, be it the home region."""
    sizes = [info("m5.large", memoryInfo={"sizeInMiB": mib}) for mib in (32768, 1024, 2048)]
    landed = LandedPages(tmp_path)
    pages = (described(*sizes[:2]), described(sizes[2]))
    landed.add("instance_types", region, *pages, suffix="xml")
    assert landed.table("instance_types")["memory_gib"].to_list() == [32.0]


IMPOSSIBLE = {
    "vcpus": {"vCpuInfo": {"defaultVCpus": 99999999999}},
    "vcpus_of_309_digits": {"vCpuInfo": {"defaultVCpus": "1e308"}},
    "memory": {"memoryInfo": {"sizeInMiB": "1e15"}},
    "disks": {"instanceStorageInfo": {"disks": [{"count": "9e18", "sizeInGB": 1}]}},
    "gpus": gpus(gpu("L4", 10**10, 22888)),
    "operations": {"ebsInfo": {"ebsOptimizedInfo": {"maximumIops": 10**12}}},
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_type_with_an_impossible_figure_is_in_quarantine(tmp_path, name):
    landed = LandedPages(tmp_path)
    types = info("m5.large"), info("m5.xlarge", **IMPOSSIBLE[name])
    landed.add_list("instance_types", "us-east-1", *types)
    assert landed.table("instance_types")["instance_type"].to_list() == ["m5.large"]
    refused = landed.refused().select("table", "reason", "message").rows()
    message = "m5.xlarge has a figure that no machine has"
    assert refused == [("instance_types", "impossible_figure", message)]


def test_an_impossible_figure_in_a_price_list_costs_no_other_type(tmp_path):
    wrong = line(SKU="B", **{"Instance Type": "m5.xlarge", "vCPU": "99999999999"})
    landed = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line(), wrong]))
    assert landed.table("instance_types")["instance_type"].to_list() == ["m5.large"]
    assert landed.refused()["reason"].to_list() == ["impossible_figure"]
    assert landed.table("prices").height == 2


def test_without_credentials_the_price_list_tells(tmp_path):
    def listed(name: str, cpu: str, **more: str) -> dict[str, str]:
        return line(SKU=name, **{"Instance Type": name, "Physical Processor": cpu, **more})

    broadwell = "Intel Xeon E5-2686 v4 (Broadwell)"
    lines = [
        listed("p3.8xlarge", broadwell, vCPU="32", Memory="244 GiB", GPU="4"),
        listed("g6f.large", broadwell, Memory="8 GiB"),
        listed("m6g.large", "AWS Graviton2 Processor"),
    ]
    landed = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines))
    types = {row["instance_type"]: row for row in landed.table("instance_types").to_dicts()}
    p3, g6f, m6g = (types[made["SKU"]] for made in lines)
    assert accelerator(p3) == ("nvidia-v100-sxm2-16gb", 4.0, 16.0)
    assert p3["accelerators"][0]["vendor_name"] is None
    assert (p3["spec_source"], p3["arch"], p3["cpu_vendor"]) == ("price_list", "x86_64", "Intel")
    assert g6f["accelerator_count"] == 0.125
    assert (m6g["arch"], m6g["accelerator_kind"]) == ("arm64", "none")


def test_a_stale_correction_is_an_error_that_names_it(read_row):
    with pytest.raises(HwpricesError, match=r"aws-l4-memory is stale: g6\.xlarge"):
        read_row(info("g6.xlarge", **gpus(gpu("L4", 1, 24576))))


def test_corrections_of_plain_columns_and_broken_files(tmp_path, read_row):
    landed = LandedPages(tmp_path / "w")
    landed.add_list("instance_types", "us-east-1", info("m5.large"))
    frame = landed.table("instance_types")
    file = tmp_path / "corrections.yaml"
    entry = (
        "- {id: a, provider: aws, match: {instance_type: m5.*}, column: vcpus, expect: 8, value: 2,"
        " source: 'https://x', as_of: 2026-01-01}\n"
    )
    file.write_text(entry)
    fixed = corrections.apply(frame, "aws", corrections.load("aws", file))
    assert (fixed["vcpus"].item(), fixed["corrections"].to_list()) == (2, [["a"]])
    assert corrections.apply(frame, "gcp", corrections.load("aws", file)).equals(frame)
    for broken, words in [
        (entry * 2, "used twice"),
        (entry.replace("https://x", "somebody"), "not an https URL"),
        (entry.replace("value: 2", "value: 8"), "among the wrong"),
        ("- {id: a}", "cannot be used"),
    ]:
        file.write_text(broken)
        with pytest.raises(HwpricesError, match=words):
            corrections.load("aws", file)
