"""Machines and their prices, composed from parts. Figures are Oracle's, of 2026-07 and 2026-08."""

from decimal import Decimal

import pytest
from tests.helpers.cases import cases, number
from tests.helpers.oracle_pages import (
    E4_MEMORY,
    E4_OCPU,
    E4_SHAPE,
    H100,
    H100_SHAPE,
    memory,
    ocpus,
    product,
    read,
    shape,
)

DENSE_PARTS = (("B93121", 128, "ocpu"), ("B93122", 2048, "memory"), ("B93123", 54.4, "disk"))
DENSE = [
    ocpus("B93121"),
    memory("B93122"),
    ocpus("B93123", 0.0612, metric="NVMe Terabyte Per Hour"),
]


def test_a_machine_is_the_sum_of_its_parts() -> None:
    """128 × 0.025 + 2048 × 0.0015 + 54.4 × 0.0612; terabytes are decimal."""
    tables = read(DENSE, [shape("BM.DenseIO.E4.128", *DENSE_PARTS)])
    assert tables.hourly("BM.DenseIO.E4.128") == Decimal("9.60128")
    lines = tables.rows["price_components"].select("component", "quantity", "unit", "unit_price")
    assert set(lines.rows()) == {
        ("core", Decimal("128"), "ocpu", Decimal("0.025")),
        ("ram", Decimal("2048"), "gib", Decimal("0.0015")),
        ("local_ssd", Decimal("54.4"), "tb", Decimal("0.0612")),
    }
    machine = tables.machine("BM.DenseIO.E4.128")
    assert machine["local_disk_gib"] == pytest.approx(50663.948)
    assert (machine["vcpus"], machine["physical_cores"]) == (256, 128)


def test_a_gpu_is_not_multiplied_by_the_ocpus_of_its_host() -> None:
    """The estimator lists the part of the GPU as 112 OCPUs: 8 × 10, not 112 × 10."""
    tables = read([product()])
    assert tables.hourly("BM.GPU.H100.8") == 80
    (line,) = tables.rows["price_components"].to_dicts()
    assert (line["component"], line["quantity"], line["sku_id"]) == ("slice", 8, H100)
    machine = tables.machine("BM.GPU.H100.8")
    assert (machine["vcpus"], machine["memory_gib"]) == (224, 2048)
    assert machine["accelerators"] == [
        {
            "accelerator_id": "nvidia-h100-sxm5-80gb",
            "vendor_name": "H100",
            "count": 8,
            "memory_gib": 80,
        }
    ]


def test_a_gpu_machine_that_does_not_say_how_many_gpus_has_no_price() -> None:
    tables = read([product()], [H100_SHAPE | {"gpuQty": None}])
    assert tables.reason("BM.GPU.H100.8") == "slice_sku_missing"


@cases("oracle/shapes", vcpus=number, cores=number)
def test_an_ocpu_is_two_vcpus_or_one(name, processor, vcpus, cores, arch) -> None:
    """Of an Arm machine that no sheet lists it is not known."""
    listed = shape(name, (E4_OCPU, 10, "ocpu"), processorType={"value": processor})
    machine = read([ocpus()], [listed]).machine(name)
    assert (machine["vcpus"], machine["physical_cores"], machine["arch"]) == (vcpus, cores, arch)


def test_an_ocpu_of_ampereone_is_two_cores() -> None:
    parts = (("B109529", None, "ocpu"), ("B109530", None, "memory"))
    listed = shape("VM.Standard.A2.Flex", *parts, processorType={"value": "arm"})
    tables = read([ocpus("B109529", 0.014), memory("B109530", 0.002)], [listed])
    machine = tables.machine("VM.Standard.A2.Flex.16-256")
    assert (machine["vcpus"], machine["physical_cores"]) == (32, 32)
    assert tables.hourly("VM.Standard.A2.Flex.16-256") == Decimal("0.736")


def test_a_host_of_a10_is_not_arm() -> None:
    """The estimator says it is."""
    listed = shape("VM.GPU.A10.1", ("B95909", 15, "ocpu"), gpuQty=1)
    listed["processorType"] = {"value": "arm"}
    machine = read([product("B95909", 2)], [listed]).machine("VM.GPU.A10.1")
    assert (machine["arch"], machine["vcpus"]) == ("x86_64", 30)


def test_flexible_shapes_are_published_in_usual_sizes() -> None:
    flex = shape("VM.Standard.E4.Flex", (E4_OCPU, None, "ocpu"), (E4_MEMORY, None, "memory"))
    tables = read([ocpus(), memory()], [flex])
    assert tables.hourly("VM.Standard.E4.Flex.8-128") == Decimal("0.392")
    assert tables.hourly("VM.Standard.E4.Flex.64-1024") == Decimal("3.136")
    sizes = tables.rows["instance_types"]
    assert set(sizes["family"]) == {"VM.Standard.E4.Flex"}
    assert sizes["memory_gib"].max() == 1024
    parts = tables.rows["component_prices"].select("series", "component", "unit", "hourly").rows()
    assert set(parts) == {
        ("standard-e4", "ocpu", "ocpu", Decimal("0.025")),
        ("standard-e4", "ram", "gib", Decimal("0.0015")),
    }


def test_a_flexible_shape_without_known_sizes_is_in_quarantine() -> None:
    tables = read([ocpus()], [shape("VM.Standard.E9.Flex", (E4_OCPU, 1, "ocpu"))])
    assert [reason for reason, _ in tables.refused] == ["no_size_name"]
    assert tables.rows["instance_types"].is_empty()


@pytest.mark.parametrize("second", [(E4_OCPU, 20, "ocpu"), ("B93121", 20, "ocpu")])
def test_a_shape_with_two_quantities_of_one_part_is_in_quarantine(second) -> None:
    """Which of the two holds is not known: 10 × 0.025 and 20 × 0.03 are neither 20 of each."""
    parts = ((E4_OCPU, 10, "ocpu"), second, (E4_MEMORY, 100, "memory"))
    products = [ocpus(), ocpus("B93121", 0.03), memory()]
    tables = read(products, [shape("BM.Two.1", *parts), E4_SHAPE])
    ((reason, message),) = tables.refused
    assert reason == "repeated_part"
    assert "BM.Two.1" in message
    assert tables.rows["instance_types"]["instance_type"].to_list() == ["BM.Standard.E4.128"]
    assert set(tables.rows["prices"]["instance_type"]) == {"BM.Standard.E4.128"}


def test_preemptible_is_half_and_said_to_be_derived() -> None:
    parts = ((E4_OCPU, 2, "ocpu"), (E4_MEMORY, 32, "memory"))
    allowed = shape("VM.Fixed.1", *parts, allowPreemptible=True)
    refused = shape("VM.Fixed.2", *parts)
    tables = read([ocpus(), memory()], [allowed, refused])
    assert tables.hourly("VM.Fixed.1", "spot") == Decimal("0.049")
    spot = tables.rows["prices"].filter(purchase_option="spot")
    assert spot.select("instance_type", "basis").rows() == [("VM.Fixed.1", "derived")]
    derived = spot["price_id"].item()
    assert tables.rows["price_components"].filter(price_id=derived).is_empty()


def test_windows_is_a_license_for_each_ocpu() -> None:
    windows = product("B88318", 0.092, metric="OCPU Per Hour", category="Compute - OS Images")
    virtual = shape("VM.Fixed.1", (E4_OCPU, 4, "ocpu"), (E4_MEMORY, 64, "memory"))
    arm = shape("VM.Fixed.2", (E4_OCPU, 4, "ocpu"), processorType={"value": "arm"})
    tables = read([ocpus(), memory(), windows], [virtual, arm, E4_SHAPE])
    assert tables.hourly("VM.Fixed.1", os="windows") == Decimal("0.196") + 4 * Decimal("0.092")
    assert tables.rows["prices"].filter(os="windows")["instance_type"].to_list() == ["VM.Fixed.1"]


def test_a_machine_with_a_part_without_price_has_none() -> None:
    assert read([ocpus()], [E4_SHAPE]).reason("BM.Standard.E4.128") == "ram_sku_missing"
    nothing = read([product()], [shape("BM.Empty.1")])
    assert nothing.reason("BM.Empty.1") == "instance_sku_missing"


def test_shapes_that_are_not_sold_or_no_machines_are_counted() -> None:
    others = [
        E4_SHAPE | {"name": "BM.A", "hidden": True},
        E4_SHAPE | {"name": "BM.B", "status": "RETIRED"},
        E4_SHAPE | {"name": "C", "shapeType": {"value": "container"}},
    ]
    tables = read([product()], [H100_SHAPE, *others])
    assert tables.rows["instance_types"]["instance_type"].to_list() == ["BM.GPU.H100.8"]
    assert tables.counts == {
        "out_of_scope:hidden=true": 1,
        "out_of_scope:status=RETIRED": 1,
        "out_of_scope:shapeType=container": 1,
    }


def test_a_new_gpu_is_published_by_its_part_name_without_an_id() -> None:
    new = product("B999999", 20, name="OCI - Compute - GPU - R100")
    host = shape("BM.GPU.R100.8", ("B999999", 144, "ocpu"), gpuQty=8, gpuMemoryQty=2304)
    (accelerator,) = read([new], [host]).machine("BM.GPU.R100.8")["accelerators"]
    assert accelerator == {
        "accelerator_id": None,
        "vendor_name": "OCI - Compute - GPU - R100",
        "count": 8,
        "memory_gib": 288,
    }


HOSTS = {
    # shape: part, GPUs, gpuMemoryQty, OCPUs, memory; then what is right
    "BM.GPU.MI355X.8": ("B111758", 8, 288, 128, 3072, ("x86_64", 256, 3072, 8 * 288, "68.8")),
    "BM.GPU.GB200.4 (NVL72)": ("B110979", 4, 756, 144, 960, ("arm64", 144, 960, 4 * 186, "64")),
    "BM.GPU.GB300.4 (NVL72)": ("B112140", 4, 278, None, None, ("arm64", 144, 960, 4 * 278, "72")),
    "BM.GPU.B300.8": ("B112237", 8, 2100, None, None, ("x86_64", 256, 4096, 8 * 270, "120")),
    "BM.GPU.RTXPRO.8": ("B112613", 8, 768, None, None, ("x86_64", 288, 3072, 8 * 96, "36")),
}
RATES = {"B111758": 8.6, "B110979": 16, "B112140": 18, "B112237": 15, "B112613": 4.5}
"""Shapes and prices of one GPU, recorded 2026-09-18; the hosts are of Oracle's table of shapes."""


@pytest.mark.parametrize("listed", HOSTS)
def test_o10_o11_new_gpu_shapes_have_their_names_hosts_and_memory(listed) -> None:
    """Known wrong numbers O10 and O11: a GB300 with a quarter of its memory and no host."""
    part, gpus, gpu_memory, ocpu, ram, right = HOSTS[listed]
    host = shape(listed, (part, ocpu, "ocpu"), gpuQty=gpus, gpuMemoryQty=gpu_memory)
    host |= {"bundleMemoryQty": ram, "processorType": {"value": "blackwell"}}
    name = listed.removesuffix(" (NVL72)")
    tables = read([product(part, RATES[part])], [host])
    machine = tables.machine(name)
    figures = (machine["arch"], machine["vcpus"], machine["memory_gib"])
    assert (*figures, machine["accelerator_memory_gib"]) == right[:4]
    assert tables.hourly(name) == Decimal(right[4])


@pytest.mark.parametrize(
    ("gpus", "listed", "memory"), [(8, 2304, 288), (1, 16, 16), (8, 288, None), (2, 32, None)]
)
def test_o10_memory_of_one_gpu_or_of_all_is_not_guessed(gpus, listed, memory) -> None:
    """Of a GPU that no sheet has; the estimator gives either."""
    new = product("B999999", 20, name="OCI - Compute - GPU - R100")
    host = shape("BM.GPU.R100.8", ("B999999", 144, "ocpu"), gpuQty=gpus, gpuMemoryQty=listed)
    (device,) = read([new], [host]).machine("BM.GPU.R100.8")["accelerators"]
    assert device["memory_gib"] == memory


@pytest.mark.parametrize(
    ("bad", "reason", "word"),
    [
        (shape("BM.A.1", (E4_OCPU, 1, "crate")), "unknown_product", "crate"),
        (shape("BM.A.1", shapeType={"value": "pod"}), "unknown_product", "pod"),
        (shape("BM.A.1", (E4_OCPU, 0, "ocpu")), "impossible_figure", None),
        (shape("BM.A.1", (E4_OCPU, "many", "ocpu")), "unreadable_line", None),
        (shape("BM.A.1", (E4_OCPU, 10**9, "ocpu")), "impossible_figure", None),
        ({"name": "BM.A.1"}, "unknown_column", "status"),
        (shape("VM.Standard.E9.Flex"), "no_size_name", "VM.Standard.E9.Flex"),
    ],
)
def test_a_shape_that_is_not_understood_takes_no_other(bad, reason, word) -> None:
    tables = read([ocpus(), memory()], [bad, E4_SHAPE])
    assert tables.words == [(reason, word)]
    assert tables.rows["instance_types"]["instance_type"].to_list() == ["BM.Standard.E4.128"]
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")


@pytest.mark.parametrize("name", ["allowPreemptible", "bundleMemoryQty", "processorType", "hidden"])
def test_a_shape_without_an_optional_member_keeps_its_price(name) -> None:
    without = {key: value for key, value in E4_SHAPE.items() if key != name}
    tables = read([ocpus(), memory()], [without])
    assert tables.words == [("unknown_column", name)]
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")


def test_words_of_a_shape_are_known_in_any_case() -> None:
    upper = shape("BM.Standard.E4.128", (E4_OCPU, 128, "OCPU"), (E4_MEMORY, 2048, "Memory"))
    upper |= {"shapeType": {"value": "BM"}, "status": "Active", "processorType": {"value": "AMD"}}
    both = [upper, E4_SHAPE]
    assert read([ocpus(), memory()], both).hourly("BM.Standard.E4.128") == Decimal("6.272")
