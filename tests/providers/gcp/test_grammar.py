"""Read SKU descriptions: what is understood, what is not, and that no two rules overlap."""

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwprices.providers.gcp.component_id import ComponentId
from hwprices.providers.gcp.prices import grammar, vocabulary
from hwprices.providers.gcp.prices.classify import OutOfScope, classify
from hwprices.providers.gcp.prices.grammar import (
    Descriptions,
    NotAMachinePrice,
    PricedComponent,
    Unknown,
)

PLACES = [
    "Americas",
    "Iowa",
    "Northern Virginia",
    "Sao Paulo",
    "Salt Lake City",
    "Tel Aviv",
    "Zürich",
    "EMEA",
    "APAC",
]
USAGE = {"on_demand": "OnDemand", "spot": "Preemptible"}


Meaning = PricedComponent | NotAMachinePrice | OutOfScope | Unknown


def classified(
    description: str, group: str, usage: str = "OnDemand", family: str = "Compute"
) -> Meaning:
    return classify(
        description, family=family, group=group, usage=usage, descriptions=Descriptions()
    )


def priced(series: str, component: str, option: str, term: int, place: str) -> PricedComponent:
    return PricedComponent(series, ComponentId.parse(component), option, term, place)


@pytest.mark.parametrize(
    ("description", "group", "usage", "expected"),
    [
        ("N2 Instance Core running in Americas", "CPU", "OnDemand", ("n2", "core", "on_demand", 0)),
        (
            "Spot Preemptible N2D AMD Instance Ram running in Iowa",
            "RAM",
            "Preemptible",
            ("n2d", "ram", "spot", 0),
        ),
        (
            "Preemptible E2 Instance Core running in Virginia",
            "CPU",
            "Preemptible",
            ("e2", "core", "spot", 0),
        ),
        (
            "N1 Predefined Instance Ram running in Tokyo",
            "N1Standard",
            "OnDemand",
            ("n1", "ram", "on_demand", 0),
        ),
        (
            "Custom Instance Core running in Tokyo",
            "CPU",
            "OnDemand",
            ("n1", "core_custom", "on_demand", 0),
        ),
        (
            "Custom Extended Instance Ram running in Tokyo",
            "RAM",
            "OnDemand",
            ("n1", "ram_extended", "on_demand", 0),
        ),
        (
            "N2 Custom Extended Instance Ram running in Iowa",
            "RAM",
            "OnDemand",
            ("n2", "ram_extended", "on_demand", 0),
        ),
        (
            "Compute optimized Core running in Americas",
            "CPU",
            "OnDemand",
            ("c2", "core", "on_demand", 0),
        ),
        (
            "Compute optimized Instance Core running in Dammam",
            "CPU",
            "OnDemand",
            ("c2", "core", "on_demand", 0),
        ),
        (
            "Memory-optimized Instance Ram running in EMEA",
            "RAM",
            "OnDemand",
            ("m1", "ram", "on_demand", 0),
        ),
        (
            "M3 Memory-optimized Instance Core running in EMEA",
            "CPU",
            "OnDemand",
            ("m3", "core", "on_demand", 0),
        ),
        (
            "Memory Optimized Upgrade Premium for Memory-optimized Instance Core running in Iowa",
            "CPU",
            "OnDemand",
            ("m2", "premium_core", "on_demand", 0),
        ),
        (
            "M4Ultramem224 Instance Ram running in Iowa",
            "RAM",
            "OnDemand",
            ("m4ultramem224", "ram", "on_demand", 0),
        ),
        (
            "A3Plus Instance Core running in Iowa",
            "CPU",
            "OnDemand",
            ("a3plus", "core", "on_demand", 0),
        ),
        (
            "Nvidia H100 80GB GPU running in Americas",
            "GPU",
            "OnDemand",
            ("any", "gpu:nvidia-h100-80gb", "on_demand", 0),
        ),
        (
            "Nvidia H100 80GB Plus GPU running in Americas",
            "GPU",
            "OnDemand",
            ("any", "gpu:nvidia-h100-mega-80gb", "on_demand", 0),
        ),
        (
            "Nvidia H100 Mega 80GB GPU attached to DWS Defined Duration VMs running in Iowa",
            "GPU",
            "OnDemand",
            ("any", "gpu:nvidia-h100-mega-80gb", "dws_defined_duration", 0),
        ),
        (
            "Nvidia H100 80GB GPU attached to DWS Defined Duration VMs running in Americas",
            "GPU",
            "OnDemand",
            ("any", "gpu:nvidia-h100-80gb", "dws_defined_duration", 0),
        ),
        (
            "Nvidia L4 GPU attached to Spot Preemptible VMs running in Iowa",
            "GPU",
            "Preemptible",
            ("any", "gpu:nvidia-l4", "spot", 0),
        ),
        (
            "Reserved Nvidia H100 80GB GPU in Seoul in Calendar Mode",
            "GPU",
            "OnDemand",
            ("any", "gpu:nvidia-h100-80gb", "dws_calendar", 0),
        ),
        (
            "A4 Nvidia B200 (1 gpu slice) running in Americas",
            "GPU",
            "OnDemand",
            ("a4", "slice:nvidia-b200", "on_demand", 0),
        ),
        (
            "Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas",
            "GPU",
            "OnDemand",
            ("a4", "slice:nvidia-b200", "spot", 0),
        ),
        (
            "DWS Calendar Mode A4 Nvidia B200 (1 gpu slice) in Seoul",
            "GPU",
            "OnDemand",
            ("a4", "slice:nvidia-b200", "dws_calendar", 0),
        ),
        (
            "1/8 vGPU no lssd running in Iowa",
            "GPU",
            "OnDemand",
            ("g4", "slice:nvidia-rtx-pro-6000-eighth", "on_demand", 0),
        ),
        (
            "DWS Flex Start H4D Standard Core running in Iowa",
            "CPU",
            "OnDemand",
            ("h4d", "core", "dws_flex_start", 0),
        ),
        (
            "DWS Calendar Mode H4D Instance Ram running in Iowa",
            "RAM",
            "OnDemand",
            ("h4d", "ram", "dws_calendar", 0),
        ),
        (
            "DWS Defined Duration A3 Core running in Americas",
            "CPU",
            "OnDemand",
            ("a3", "core", "dws_defined_duration", 0),
        ),
        ("SSD backed Local Storage", "LocalSSD", "OnDemand", ("any", "local_ssd", "on_demand", 0)),
        (
            "SSD backed Local Storage attached to Spot Preemptible VMs in Iowa",
            "LocalSSD",
            "Preemptible",
            ("any", "local_ssd", "spot", 0),
        ),
        (
            "DWS Defined Duration SSD backed Local Storage running in Americas",
            "LocalSSD",
            "OnDemand",
            ("any", "local_ssd", "dws_defined_duration", 0),
        ),
        (
            "C4A Instance Local SSD running in Iowa",
            "LocalSSD",
            "OnDemand",
            ("c4a", "local_ssd", "on_demand", 0),
        ),
        (
            "Micro Instance with burstable CPU running in Americas",
            "F1Micro",
            "OnDemand",
            ("f1", "instance", "on_demand", 0),
        ),
        (
            "Commitment v1: Cpu in Montreal for 1 Year",
            "CPU",
            "Commit1Yr",
            ("n1", "core", "committed_use", 12),
        ),
        (
            "Commitment: Compute optimized Ram in Iowa for 3 Years",
            "RAM",
            "Commit3Yr",
            ("c2", "ram", "committed_use", 36),
        ),
        (
            "Commitment v1: Memory-optimized Cpu in Iowa for 1 Year",
            "CPU",
            "Commit1Yr",
            ("m1", "core", "committed_use", 12),
        ),
        (
            "Commitment v1: N2D AMD Ram in Americas for 1 Year",
            "RAM",
            "Commit1Yr",
            ("n2d", "ram", "committed_use", 12),
        ),
        (
            "Commitment v1: C4A Arm Cpu in Iowa for 3 Year",
            "CPU",
            "Commit3Yr",
            ("c4a", "core", "committed_use", 36),
        ),
        (
            "Commitment v1: Nvidia L4 GPU in Iowa for 1 Year",
            "GPU",
            "Commit1Yr",
            ("any", "gpu:nvidia-l4", "committed_use", 12),
        ),
        (
            "Commitment v1: Nvidia H100 80GB GPU running in Iowa for 3 Years",
            "GPU",
            "Commit3Yr",
            ("any", "gpu:nvidia-h100-80gb", "committed_use", 36),
        ),
        (
            "Commitment v1: Local SSD in Iowa for 1 Year",
            "LocalSSD",
            "Commit1Yr",
            ("any", "local_ssd", "committed_use", 12),
        ),
        (
            "Commitment v1: C4D Local SSD in Iowa for 3 Years",
            "LocalSSD",
            "Commit3Yr",
            ("c4d", "local_ssd", "committed_use", 36),
        ),
        ("TpuV6e running in Columbus", "TPU", "OnDemand", ("tpu", "tpu:v6e", "on_demand", 0)),
        (
            "TpuV6e attached to Spot Preemptible VMs running in Columbus",
            "TPU",
            "Preemptible",
            ("tpu", "tpu:v6e", "spot", 0),
        ),
        (
            "DWS Defined Duration V6e running in Columbus",
            "TPU",
            "OnDemand",
            ("tpu", "tpu:v6e", "dws_defined_duration", 0),
        ),
        (
            "Reserved V6e TPU in Columbus in Calendar Mode",
            "TPU",
            "OnDemand",
            ("tpu", "tpu:v6e", "dws_calendar", 0),
        ),
        (
            "Reserved TpuV5p in Seoul in Calendar Mode",
            "TPU",
            "OnDemand",
            ("tpu", "tpu:v5p", "dws_calendar", 0),
        ),
        (
            "Commitment v1: TpuV6e running in Columbus for 1 Year",
            "TPU",
            "Commit1Yr",
            ("tpu", "tpu:v6e", "committed_use", 12),
        ),
        (
            "Tpu-v3 Pod running in Netherlands",
            "TPU",
            "OnDemand",
            ("tpu", "tpu:v3-pod", "on_demand", 0),
        ),
        # The Cloud TPU service, https://cloud.google.com/skus: SKU 3B3D-4CB4-AECC and others
        ("TPU-v2 Accelerator USA", "TPU", "OnDemand", ("tpu", "tpu:v2", "on_demand", 0)),
        ("Tpu-v4 Pod Accelerator USA", "TPU", "OnDemand", ("tpu", "tpu:v4-pod", "on_demand", 0)),
        ("Preemptible TPU-v3 Accelerator EMEA", "TPU", "Preemptible", ("tpu", "tpu:v3", "spot", 0)),
        ("Tpu-v5p running in Columbus", "TPU", "OnDemand", ("tpu", "tpu:v5p", "on_demand", 0)),
        ("TPU7x running in Americas", "TPU", "OnDemand", ("tpu", "tpu:v7x", "on_demand", 0)),
        ("TPU v7x running in Americas", "TPU", "OnDemand", ("tpu", "tpu:v7x", "on_demand", 0)),
        (
            "TPU7x attached to Spot Preemptible VMs running in Americas",
            "TPU",
            "Preemptible",
            ("tpu", "tpu:v7x", "spot", 0),
        ),
        (
            "Commitment v1: TPU7x running in Americas for 3 Years",
            "TPU",
            "Commit3Yr",
            ("tpu", "tpu:v7x", "committed_use", 36),
        ),
        (
            "DWS Defined Duration TPU7x running in Americas",
            "TPU",
            "OnDemand",
            ("tpu", "tpu:v7x", "dws_defined_duration", 0),
        ),
        (
            "Reserved TPU7x in Iowa in Calendar Mode",
            "TPU",
            "OnDemand",
            ("tpu", "tpu:v7x", "dws_calendar", 0),
        ),
        ("TPU8t running in Iowa", "TPU", "OnDemand", ("tpu", "tpu:v8t", "on_demand", 0)),
        (
            "Commitment: Compute optimized Core running in Americas for 1 Year",
            "CPU",
            "Commit1Yr",
            ("c2", "core", "committed_use", 12),
        ),
        (
            "Commitment v1: N2 Cpu in Iowa for 5 Years",
            "CPU",
            "Commit5Yr",
            ("n2", "core", "committed_use", 60),
        ),
        (
            "M4NUltramem224Instance Ram running in Iowa",
            "RAM",
            "OnDemand",
            ("m4nultramem224", "ram", "on_demand", 0),
        ),
    ],
)
def test_what_a_description_says(
    description: str, group: str, usage: str, expected: tuple[str, str, str, int]
) -> None:
    part = classified(description, group, usage)
    assert isinstance(part, PricedComponent)
    assert (part.series, str(part.component), part.purchase_option, part.term_months) == expected


@pytest.mark.parametrize(
    ("description", "why"),
    [
        ("Reserved Nvidia Tesla A100 GPU in Americas", "reserved"),
        ("Reserved A3 Core in Americas", "reserved"),
        ("N2 Sole Tenancy Instance Core running in Iowa", "sole_tenancy"),
        ("Sole Tenancy Premium for N2 Sole Tenancy Instance Core running in Iowa", "sole_tenancy"),
        ("Commitment - dollar based v1: E2 Cpu in Iowa for 1 Year", "flexible_commitment"),
        (
            "Committed Use Discount Premium for E2 Custom Instance Core running in Johannesburg",
            "commitment_premium",
        ),
        ("Capacity Optimized TpuV6e running in Columbus", "capacity_optimized"),
        ("Nvidia L4 Virtual Workstation GPU running in Netherlands", "virtual_workstation"),
        ("N1 Predefined Instance Core suspended in Iowa", "suspended"),
        ("Sole Tenancy Instance Ram running in Iowa", "sole_tenancy"),
        ("Commitment: Sole Tenancy Instance Ram in Iowa for 1 Year", "sole_tenancy"),
        ("N2 Overcommit", "cpu_overcommit"),
        ("Suspended Instance Ram in Iowa", "suspended"),
        ("N2 Instance Ram suspended", "suspended"),
        ("Confidential Core in Iowa", "confidential"),
        ("N2D Confidential AMD Core in Iowa", "confidential"),
        ("Commitment: SLES 15 in Iowa for 1 Year", "license_commitment"),
        ("fee for total VM network bandwidth in Iowa", "network_bandwidth"),
    ],
)
def test_what_is_deliberately_no_machine_price(description: str, why: str) -> None:
    assert classified(description, "CPU") == NotAMachinePrice(why)


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        (
            "Commitment v1: A4 Nvidia B200 (1 gpu slice) in Iowa for 1 Year",
            "Commitment v1: A4 Nvidia B200 (1 gpu slice) running in Iowa for 1 Year",
        ),
        (
            "Commitment v1: TpuV5e in Iowa for 1 Year",
            "Commitment v1: TpuV5e running in Iowa for 1 Year",
        ),
        (
            "Reserved A3 Core in Iowa in Calendar Mode",
            "Reserved A3 Instance Core in Iowa in Calendar Mode",
        ),
        (
            "DWS Defined Duration SSD backed Local Storage in Americas",
            "DWS Defined Duration SSD backed Local Storage running in Americas",
        ),
        ("Nvidia L4 running in Iowa", "Nvidia L4 GPU running in Iowa"),
        (
            "Licensing Fee for SLES 15 For SAP on VM with 4 VCPU",
            "Licensing Fee for SLES 15 For SAP License on VM with 4 VCPU",
        ),
        (
            "Licensing Fee for SUSE Linux Enterprise Server 15 (CPU cost)",
            "Licensing Fee for SUSE Linux Enterprise Server 15 SP6 (CPU cost)",
        ),
        (
            "Licensing Fee for Windows Server 2012 on VM",
            "Licensing Fee for Windows Server 2012 R2 Datacenter Edition on VM",
        ),
        (
            "Licensing Fee for Windows Server 2012 on VM",
            "Licensing Fee for Windows Server 2012 Standard on VM",
        ),
    ],
)
def test_words_that_some_descriptions_leave_out_change_nothing(shorter: str, longer: str) -> None:
    component = Descriptions().read(shorter)
    assert isinstance(component, PricedComponent)
    assert component == Descriptions().read(longer)


@pytest.mark.parametrize(
    ("description", "group", "usage", "reason", "word"),
    [
        # G11, G23: one word for all SKUs of a series
        ("N5 Instance Core running in Iowa", "CPU", "OnDemand", "unknown_series", "N5"),
        (
            "Z4D-HIGHMEM-HIGHLSSD Instance Local SSD running in Iowa",
            "LocalSSD",
            "OnDemand",
            "unknown_series",
            "Z4D",
        ),
        (
            "Spot Preemptible Z4M Instance Ram running in Tokyo",
            "RAM",
            "Preemptible",
            "unknown_series",
            "Z4M",
        ),
        ("Commitment v1: E4 Cpu in Iowa for 1 Year", "CPU", "Commit1Yr", "unknown_series", "E4"),
        # the series is known, and the rest of the name is not
        (
            "M4N Ultramem 448 Instance Core running in Iowa",
            "CPU",
            "OnDemand",
            "unknown_series",
            "M4N Ultramem 448",
        ),
        (
            "Turbo N2 Instance Core running in Iowa",
            "CPU",
            "OnDemand",
            "unknown_grammar",
            "Turbo N2 Instance Core",
        ),
        ("N2 Instance Core", "CPU", "OnDemand", "unknown_grammar", "N2 Instance Core"),
        # the group or the usage type says something else
        (
            "N2 Instance Core running in Iowa",
            "RAM",
            "OnDemand",
            "unknown_grammar",
            "N2 Instance Core running (RAM, OnDemand)",
        ),
        (
            "N2 Instance Core running in Iowa",
            "CPU",
            "Commit1Yr",
            "unknown_grammar",
            "N2 Instance Core running (CPU, Commit1Yr)",
        ),
        (
            "Commitment v1: N2 Cpu in Iowa for 1 Year",
            "CPU",
            "Commit3Yr",
            "unknown_grammar",
            "Commitment v1: N2 Cpu (CPU, Commit3Yr)",
        ),
        (
            "Spot Preemptible Nvidia L4 GPU attached to DWS Defined Duration VMs running in Iowa",
            "GPU",
            "OnDemand",
            "unknown_grammar",
            "Spot Preemptible Nvidia L4 GPU attached to DWS Defined Duration VMs running",
        ),
        (
            "Nvidia L40 GPU attached to Spot Preemptible VMs running in Iowa",
            "GPU",
            "Preemptible",
            "unknown_grammar",
            "Nvidia L40 GPU",
        ),
        (
            "A4 Nvidia B200 (1 gpu slice) in Seoul in Calendar Mode",
            "GPU",
            "OnDemand",
            "unknown_grammar",
            "A4 Nvidia B200 (1 gpu slice)",
        ),
        (
            "VM state: preserved local SSD in Bangkok",
            "LocalSSD",
            "OnDemand",
            "unknown_grammar",
            "VM state: preserved local SSD",
        ),
        (
            "N2 Instance Core running in 3rd Street",
            "CPU",
            "OnDemand",
            "unknown_location",
            "3rd Street",
        ),
        # G25: a term that no column holds is never 1 or 3 years
        (
            "Commitment v1: N2 Cpu in Iowa for 2 Years",
            "CPU",
            "Commit1Yr",
            "unknown_term",
            "2 Years",
        ),
        (
            "Commitment v1: N2 Cpu in Iowa for 18 Months",
            "CPU",
            "Commit18Mo",
            "unknown_term",
            "18 Months",
        ),
        ("Commitment v1: N2 Cpu in Iowa for 5 Years", "CPU", "Commit3Yr", "unknown_grammar", None),
        ("", "CPU", "OnDemand", "sku_without_name", None),
        ("N2 Instance Core running in Iowa", "", "OnDemand", "sku_without_name", None),
        ("N2 Instance Core running in Iowa", "CPU", "", "sku_without_name", None),
    ],
)
def test_what_is_not_understood_is_not_guessed_at(
    description: str, group: str, usage: str, reason: str, word: str | None
) -> None:
    meaning = classified(description, group, usage)
    assert isinstance(meaning, Unknown)
    assert meaning.reason == reason
    if word or reason == "sku_without_name":
        assert meaning.word == word


def test_a_family_that_is_new_is_read_by_its_description() -> None:
    known = "N2 Instance Core running in Iowa"
    assert classified(known, "CPU", family="Machines") == Unknown(
        "unknown_grammar", "N2 Instance Core running (CPU, OnDemand)"
    )
    assert classified(known, "CPU", family="") == Unknown("sku_without_name", None)
    assert classified("Filestore in Iowa", "X", family="Files") == OutOfScope("Files")


@pytest.mark.parametrize(
    "description",
    [
        f"Licensing Fee for SUSE Linux Enterprise Server {5_000 * '9'} (CPU cost)",
        f"Licensing Fee for SLES 15 For SAP License on VM with {5_000 * '9'} VCPU",
        "Licensing Fee for SLES 15 For SAP License on VM with any VCPU",
    ],
)
def test_a_license_with_an_unknown_number_is_not_understood(description: str) -> None:
    """Python refuses to read 5,000 digits; words without a number would mean all machines."""
    assert Descriptions().read(description) is None


@pytest.mark.parametrize(("family", "usage"), [("Compute", "OnDemand"), ("License", "Preemptible")])
def test_a_license_must_be_one_by_its_category_too(family: str, usage: str) -> None:
    fee = "Licensing Fee for Windows Server 2025 Datacenter Edition on VM"
    assert isinstance(classified(fee, "Google", family="License"), PricedComponent)
    assert isinstance(classified(fee, "Google", usage, family), Unknown)


def test_windows_rhel_and_sles() -> None:
    def license_of(text: str) -> PricedComponent:
        part = classified(text, "Google", family="License")
        assert isinstance(part, PricedComponent)
        return part

    assert license_of(
        "Licensing Fee for Windows Server 2019 Datacenter Edition (CPU cost)"
    ).component == ComponentId("license", "windows")
    assert (
        license_of("Licensing Fee for Windows Server 2025 Datacenter Edition on VM").version == 2025
    )
    assert license_of(
        "Licensing Fee for Windows Server 2019 Datacenter Edition on f1-micro"
    ).component == ComponentId("license", "windows", "f1-micro")
    bands = ["up to 8 VCPU", "9 to 127 VCPU", "128 VCPU or more"]
    rhel = [
        license_of(f"Licensing Fee for Red Hat Enterprise Linux 9 on VM with {band}")
        for band in bands
    ]
    assert [(p.min_vcpus, p.max_vcpus) for p in rhel] == [
        (1, 8),
        (9, 127),
        (128, vocabulary.OPEN_BAND_TO),
    ]
    sap = [
        license_of(f"Licensing Fee for SLES 15 For SAP License on VM with {band} VCPU")
        for band in ("1 to 3", "4", "6 or more")
    ]
    assert [(p.min_vcpus, p.max_vcpus) for p in sap] == [
        (1, 3),
        (4, 4),
        (6, vocabulary.OPEN_BAND_TO),
    ]
    for free in (
        "Licensing Fee for Windows Server 2012 BYOL (CPU cost)",
        "Licensing Fee for Windows Server 2019 Datacenter Edition (RAM cost)",
    ):
        assert classified(free, "Google", family="License") == NotAMachinePrice("license")


@pytest.mark.parametrize(
    ("description", "word"),
    [
        ("Licensing Fee for SQL Server 2022 Standard on VM with 4 VCPU", None),
        ("Licensing Fee for Red Hat Enterprise Linux 7 on VM with 6 or more VCPU", None),
        ("Licensing Fee for SLES 15 For SAP License on f1-micro", None),
        ("Commitment: SLES 15 For SAP 1-2 vCPU for 1 Year", None),
        ("Licensing Fee for Haiku Server 2027 on VM with 4 VCPU", "Haiku Server"),
        ("Licensing Fee for Haiku Server (CPU cost)", "Haiku Server"),
        ("Box Licensing Fee for Windows Server 2025 on VM", "Box Licensing Fee for Windows Server"),
        ("Licensing Fee for Windows Server 2025 per socket", "Windows Server 2025 per socket"),
    ],
)
def test_a_license_that_is_new_is_named(description: str, word: str | None) -> None:
    meaning = NotAMachinePrice("license") if word is None else Unknown("unknown_license", word)
    assert classified(description, "Google", family="License") == meaning


places = st.sampled_from(PLACES)
modes = st.sampled_from(sorted(vocabulary.MODES))


@settings(deadline=None)
@given(
    series=st.sampled_from(sorted(vocabulary.SERIES)),
    mode=st.one_of(st.none(), modes),
    unit=st.sampled_from(["Core", "Ram"]),
    place=places,
)
def test_every_series_by_every_mode_reads_back(
    series: str, mode: str | None, unit: str, place: str
) -> None:
    text = f"{mode + ' ' if mode else ''}{series} Instance {unit} running in {place}"
    option = vocabulary.MODES[mode] if mode else "on_demand"
    part = classified(text, "CPU" if unit == "Core" else "RAM", USAGE.get(option, "OnDemand"))
    assert part == priced(vocabulary.SERIES[series], unit.lower(), option, 0, place)
    assert len(grammar.matching_rules(text)) == 1


@settings(deadline=None)
@given(
    gpu=st.sampled_from(sorted(vocabulary.GPUS)),
    mode=st.one_of(st.none(), modes),
    years=st.sampled_from([1, 3]),
    place=places,
)
def test_every_gpu_by_every_mode_reads_back(
    gpu: str, mode: str | None, years: int, place: str
) -> None:
    attached = f"attached to {mode} VMs running" if mode else "running"
    option = vocabulary.MODES[mode] if mode else "on_demand"
    assert classified(
        f"{gpu} GPU {attached} in {place}", "GPU", USAGE.get(option, "OnDemand")
    ) == priced("any", f"gpu:{vocabulary.GPUS[gpu]}", option, 0, place)
    committed = classified(
        f"Commitment v1: {gpu} GPU in {place} for {years} Years", "GPU", f"Commit{years}Yr"
    )
    assert committed == priced(
        "any", f"gpu:{vocabulary.GPUS[gpu]}", "committed_use", 12 * years, place
    )


VOCABULARY = [
    *vocabulary.SERIES,
    *vocabulary.GPUS,
    *vocabulary.SLICES,
    *vocabulary.MODES,
    *vocabulary.INSTANCES,
]
CONNECTIVES = (
    "Instance Core Ram Cpu GPU running in attached to VMs Commitment v1: for 1 Year Reserved "
    "Calendar Mode Custom Extended Sole Tenancy Local SSD Iowa Americas suspended Premium "
    "Overcommit TpuV6e V6e TPU Confidential Virtual Workstation Capacity Optimized backed Storage"
)
words = st.sampled_from(
    [*sorted({word for name in VOCABULARY for word in name.split()}), *CONNECTIVES.split()]
)
starts = st.sampled_from(
    [
        "",
        "N2 Instance Core running in",
        "Commitment v1: N2 Cpu in",
        "Nvidia L4 GPU attached to",
        "Reserved",
        "SSD backed Local Storage",
    ]
)


@settings(max_examples=1500, deadline=None)
@given(starts, st.lists(words, max_size=8))
def test_no_rule_overlaps_one_that_gives_a_price(start: str, rest: list[str]) -> None:
    matches = grammar.matching_rules(" ".join([*start.split(), *rest]))
    assert len(matches) <= 1 or not set(matches) & set(grammar.PRICED_RULES)


@settings(deadline=None)
@given(
    st.text(max_size=80),
    st.sampled_from(["CPU", "RAM", "GPU", "TPU", "LocalSSD", "", "x"]),
    st.sampled_from(["OnDemand", "Preemptible", "Commit1Yr", ""]),
)
def test_any_text_is_read_or_refused_without_an_error(text: str, group: str, usage: str) -> None:
    for family in ("Compute", "License", "Storage"):
        assert isinstance(classified(text, group, usage, family), Meaning)


# -- the 412 patterns of another project
# ---------------------------------------------------------------------------------

FILLINGS = [
    *(
        "",
        " Core running in Iowa",
        " running in Iowa",
        " in Iowa",
        " GPU running in Iowa",
        " Instance Core running in Iowa",
        "Core running in Iowa",
    ),
    *(
        " Cpu in Iowa for",
        " in Iowa for",
        " GPU in Iowa for",
        "Cpu in Iowa for",
        " Iowa",
        " (CPU cost)",
        " on VM",
        " Preemptible VMs running in Iowa",
    ),
    *(
        " Ram running in Iowa",
        " Ram in Iowa for",
        " to Spot Preemptible VMs running in Iowa",
        " VMs in Iowa",
        " Arm Cpu in Iowa for",
        " AMD Cpu in Iowa for",
        " transfer in Iowa",
    ),
]
"""What stands for a LIKE pattern's ``%``: one of them makes it a description of Google's."""

NOT_MACHINE_FAMILIES = {"Storage", "Network", "ApplicationServices"}


def described(pattern: str) -> list[str]:
    filled = [
        pattern.replace("(CPU cost)", "")
        .replace("%CPU%", "%")
        .replace("%", f"{filling} ", 1)
        .replace("%", "")
        for filling in FILLINGS
    ]
    return [" ".join(text.split()) for text in filled]


@pytest.mark.shared
def test_the_patterns_of_another_project_are_matched_or_listed(shared: Path) -> None:
    rows = [
        r
        for r in csv.DictReader((shared / "truth" / "gcp_sku_description_patterns.csv").open())
        if r["GROUP"]
    ]
    tally = {"priced": 0, "reserved": 0, "license": 0, "snapshot_transfer": 0, "out_of_scope": 0}
    for row in rows:
        if row["FAMILY"] in NOT_MACHINE_FAMILIES and row["GROUP"] != "LocalSSD":
            tally["out_of_scope"] += 1
            continue
        usage = {"1y": "Commit1Yr", "3y": "Commit3Yr", "spot": "Preemptible"}.get(
            row["MAPPING"].rpartition(".")[2], "OnDemand"
        )
        read = [
            classified(text, row["GROUP"], usage, row["FAMILY"])
            for text in described(row["SKU_DESCRIPTION"])
        ]
        best = next((p for p in read if isinstance(p, PricedComponent)), None) or next(
            (p for p in read if not isinstance(p, Unknown)), None
        )
        assert best is not None, row
        tally["priced" if isinstance(best, PricedComponent) else best.reason] += 1
        if isinstance(best, PricedComponent) and best.series != "license":
            assert ("spot" in row["MAPPING"]) == (best.purchase_option == "spot"), row
            assert {"1y": 12, "3y": 36}.get(
                row["MAPPING"].rpartition(".")[2], 0
            ) == best.term_months, row
    assert sum(tally.values()) == len(rows) == 395  # 412 lines, of which 17 are headings
    # license: SLES for SAP by commitment and on f1-micro and g1-small, which are not published;
    # reserved: paid already, $0
    assert tally == {
        "priced": 321,
        "reserved": 4,
        "license": 8,
        "snapshot_transfer": 1,
        "out_of_scope": 61,
    }
