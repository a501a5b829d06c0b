"""Instance types: DescribeInstanceTypes with its known wrong answers, and the price list."""

import pytest
import yaml
from tests.helpers.aws_pages import LandedPages, described, line, price_list
from tests.helpers.cases import cases, optional

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


def accelerator(row: dict) -> tuple:
    assert len(row["accelerators"]) == 1
    device = row["accelerators"][0]
    return device["accelerator_id"], device["count"], device["memory_gib"]


@pytest.mark.parametrize("name", ["p5e.48xlarge", "p5en.48xlarge"])
@pytest.mark.parametrize("answered", ["NVIDIA", "H200"])
def test_a5_p5en_answered_nvidia_has_h200(read_row, name, answered):
    row = read_row(info(name, **gpus(gpu(answered, 8, 144384))))
    assert accelerator(row) == ("nvidia-h200-sxm", 8.0, 141.0)


@cases("aws/l4_sizes", count=int, mib=int)
def test_a5_l4_has_24_gib_whatever_is_answered(read_row, name, count, mib):
    row = read_row(info(name, **gpus(gpu("L4", count, mib))))
    assert accelerator(row) == ("nvidia-l4", count, 24.0)
    assert row["accelerator_memory_gib"] == 24.0 * count
    assert row["corrections"] == ["aws-l4-memory"]


@pytest.mark.parametrize(
    ("name", "share", "mib"),
    [("g6f.large", 0.125, 2861), ("g6f.2xlarge", 0.25, 5722), ("gr6f.4xlarge", 0.5, 11444)],
)
def test_a5_slices_of_a_gpu_are_fractions(read_row, name, share, mib):
    row = read_row(info(name, **gpus(gpu("L4", 0, mib, logicalGpuCount=1, gpuPartitionSize=share))))
    assert accelerator(row) == ("nvidia-l4", share, 24.0)
    assert row["accelerator_memory_gib"] == 24.0 * share


def test_a5_an_old_answer_with_count_0_is_an_eighth(read_row):
    row = read_row(info("g6f.large", **gpus(gpu("L4", 0, 2861))), corrected=False)
    assert accelerator(row) == ("nvidia-l4", 0.125, 24.0)


def devices(structure, member, name, count, mib, **more):
    """List accelerators as one structure of EC2 does."""
    return {
        structure: {
            member: [{"count": count, "name": name, "memoryInfo": {"sizeInMiB": mib}, **more}]
        }
    }


NEURON = devices("neuronInfo", "neuronDevices", "Inferentia2", 12, 32768)
INFERENCE = devices(
    *("inferenceAcceleratorInfo", "accelerators", "Inferentia2", 12, 32768), manufacturer="AWS"
)


@pytest.mark.parametrize("structures", [NEURON, INFERENCE, {**NEURON, **INFERENCE}])
def test_a5_inf2_is_listed_once_whichever_structure_lists_it(read_row, structures):
    row = read_row(info("inf2.48xlarge", **structures))
    assert accelerator(row) == ("aws-inferentia2", 12.0, 32.0)
    assert row["accelerator_kind"] == "neuron"


def test_a5_trn2u_told_without_accelerators_has_sixteen(read_row):
    row = read_row(info("trn2u.48xlarge"))
    assert accelerator(row) == ("aws-trainium2", 16.0, 96.0)
    assert row["accelerator_kind"] == "neuron"


@cases("aws/accelerators", structures=yaml.safe_load)
def test_a5_every_kind_of_accelerator_has_its_spec_sheet(
    read_row, name, structures, identifier, kind
) -> None:
    row = read_row(info(name, **structures))
    assert row["accelerators"][0]["accelerator_id"] == identifier
    assert row["accelerator_kind"] == kind


def test_an_accelerator_nobody_knows_stays_with_its_vendors_name(read_row):
    row = read_row(info("q9.48xlarge", **gpus(gpu("R2000", 4, 524288))))
    assert row["accelerators"] == [
        {"accelerator_id": None, "vendor_name": "R2000", "count": 4.0, "memory_gib": 512.0}
    ]


@pytest.mark.parametrize("stated", [{"networkPerformance": "3200 Gigabit"}, {}])
def test_a6_network_cards_are_summed(read_row, stated):
    cards = [{"peakBandwidthInGbps": 100.0, "baselineBandwidthInGbps": 100.0}] * 32
    network = {**stated, "networkCards": cards, "efaSupported": True}
    row = read_row(info("p5.48xlarge", networkInfo=network))
    assert (row["network_gbps_max"], row["network_gbps_baseline"]) == (3200.0, 3200.0)
    assert row["rdma"] == "efa"


def test_cards_are_not_summed_beyond_what_the_machine_has(read_row):
    """c6in.32xlarge: two cards of 200 Gbit/s, 200 together."""
    cards = [{"peakBandwidthInGbps": 200.0, "baselineBandwidthInGbps": 200.0}] * 2
    network = {"networkPerformance": "200 Gigabit", "networkCards": cards}
    row = read_row(info("c6in.32xlarge", networkInfo=network))
    assert (row["network_gbps_max"], row["network_gbps_baseline"]) == (200.0, 200.0)


@cases("aws/architectures", listed=yaml.safe_load, arch=optional)
def test_a7_i386_is_not_the_architecture(read_row, listed, arch):
    row = read_row(info("c1.medium", processorInfo={"supportedArchitectures": listed}))
    assert row["arch"] == arch


@pytest.mark.parametrize(
    ("disk", "count"), [({"count": 2}, 2), ({"sizeInGB": 900}, None), ({"type": "ssd"}, None)]
)
def test_a_disk_without_its_figure_is_unknown_and_not_zero(read_row, disk, count):
    storage = {"disks": [{"type": "ssd", **disk}], "nvmeSupport": "required"}
    row = read_row(info("x9d.large", instanceStorageSupported=True, instanceStorageInfo=storage))
    assert (row["local_disk_count"], row["local_disk_gib"]) == (count, None)


def test_disks_metal_and_confidential_computing(read_row):
    disks = [{"count": 8, "sizeInGB": 3800, "type": "ssd"}]
    processor = {"supportedArchitectures": ["x86_64"], "supportedFeatures": ["amd-sev-snp"]}
    row = read_row(
        info(
            "m6a.metal",
            bareMetal=True,
            hypervisor="",
            nitroEnclavesSupport="supported",
            processorInfo=processor,
            instanceStorageSupported=True,
            instanceStorageInfo={"disks": disks, "nvmeSupport": "required"},
        )
    )
    assert (row["local_disk_count"], row["local_disk_kind"]) == (8, "nvme_ssd")
    assert round(row["local_disk_gib"], 1) == 28312.2
    assert (row["hypervisor"], row["bare_metal"]) == ("none", True)
    assert row["confidential_computing"] == ["sev_snp", "nitro_enclaves"]


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


def ebs(baseline: tuple[float, int], maximum: tuple[float, int]) -> dict:
    """The ebsInfo of a type: its bandwidths in Mbps and its operations in a second."""
    return {
        "ebsOptimizedSupport": "default",
        "ebsOptimizedInfo": {
            "baselineBandwidthInMbps": baseline[0],
            "baselineThroughputInMBps": baseline[0] / 8,
            "baselineIops": baseline[1],
            "maximumBandwidthInMbps": maximum[0],
            "maximumThroughputInMBps": maximum[0] / 8,
            "maximumIops": maximum[1],
        },
    }


def block_storage(row: dict) -> tuple:
    return tuple(
        row[f"block_storage_{what}_{when}"]
        for what in ("gbps", "iops")
        for when in ("baseline", "max")
    )


def test_block_storage_has_a_baseline_and_a_peak(read_row):
    """m5.large: 650 Mbps and 3,600 IOPS always, 4,750 Mbps and 18,750 IOPS for half an hour."""
    row = read_row(info("m5.large", ebsInfo=ebs((650, 3600), (4750, 18750))))
    assert block_storage(row) == (0.65, 4.75, 3600, 18750)
    assert (row["local_disk_read_iops"], row["local_disk_write_iops"]) == (None, None)


def test_the_cards_of_block_storage_are_not_added_to_their_sum(read_row):
    """m8gb.48xlarge: two cards of 150 Gbit/s, and the sum beside them."""
    both = ebs((300000, 1440000), (300000, 1440000))
    card = ebs((150000, 720000), (150000, 720000))["ebsOptimizedInfo"]
    both["ebsCardSet"] = [{"ebsCardIndex": number, **card} for number in (0, 1)]
    row = read_row(info("m8gb.48xlarge", ebsInfo=both))
    assert block_storage(row) == (300.0, 300.0, 1440000, 1440000)


@pytest.mark.parametrize(
    "ebs_info", [{"ebsOptimizedSupport": "unsupported"}, {}, ebs((0, 0), (0, 0))]
)
def test_block_storage_without_figures_is_not_known(read_row, ebs_info):
    assert block_storage(read_row(info("t2.micro", ebsInfo=ebs_info))) == (None,) * 4
