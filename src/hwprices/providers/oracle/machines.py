"""Read the cost estimator's shapes: machines, their parts, and facts from the sheets.

A shape lists parts (``products``) with a quantity: OCPUs, GB of memory, decimal TB of NVMe. A
machine with GPUs has one part, the GPU. The estimator lists it as OCPUs: its quantity is the OCPUs
of the host, and ``gpuQty`` is the number of GPUs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from hwprices.errors import HwpricesError
from hwprices.landing.bodies import RefusedItemError, items, member, number, text
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.oracle import BUNDLED, SHAPES
from hwprices.rows.vendor_rows import NO_ACCELERATORS, VendorRows, gpus
from hwprices.schemas.tables import InstanceTypes
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher
from hwprices.specs.sheets import load


@dataclass(frozen=True)
class ShapeSeries:
    """The machine series of a shape and its CPU.

    ``vcpus_per_ocpu`` is 2 if a core has two threads (x86) or an OCPU two cores (AmpereOne).
    ``ocpus`` and ``memory_gb`` are set for fixed shapes whose figures the estimator omits.
    """

    name: str
    arch: str
    cpu_vendor: str | None
    cpu_models: tuple[str, ...]
    vcpus_per_ocpu: int
    threads_per_core: int
    ocpus: Decimal | None
    memory_gb: Decimal | None
    status: str | None


@dataclass(frozen=True)
class OracleSize:
    """One size of a flexible shape; ``nvme_tb`` is in decimal terabytes, None without a disk."""

    name: str
    ocpus: Decimal
    memory_gib: Decimal
    nvme_tb: Decimal | None


class OracleSheets:
    """The sheets as lookups, made by ``load``."""

    def __init__(
        self,
        series: Sequence[Mapping[str, Any]],
        sizes: Sequence[Mapping[str, Any]],
        gpus: Mapping[str, str],
        match_accelerator: Matcher,
    ) -> None:
        """Index the rows of oracle_series and oracle_sizes, and GPUs by their part number."""
        self._series = [(re.compile(row["instance_type_pattern"]), row) for row in series]
        self._sizes = {row["shape"]: row for row in sizes}
        self.gpus = gpus
        self.match_accelerator = match_accelerator

    @classmethod
    def load(cls, directory: Path | None = None) -> Self:
        """Read the sheets of the checkout or the package, or of another folder.

        Raises:
            HwpricesError: a sheet is missing or a cell does not fit; names file, line and column.
        """
        gpus = load("oracle_gpus", directory).select("part_number", "gpu")
        return cls(
            load("oracle_series", directory).to_dicts(),
            load("oracle_sizes", directory).to_dicts(),
            dict(gpus.iter_rows()),
            accelerator_matcher("oracle", directory),
        )

    def series_of(self, shape: str) -> ShapeSeries | None:
        """Return the series of a shape, None if the sheet has none.

        Raises:
            HwpricesError: two patterns of the sheet match.
        """
        rows = [row for pattern, row in self._series if pattern.fullmatch(shape)]
        if len(rows) > 1:
            raise HwpricesError(
                f"oracle_series.csv: {len(rows)} patterns fit {shape}",
                "Make them exclude each other.",
            )
        if not rows:
            return None
        row = rows[0]
        return ShapeSeries(
            row["series"],
            row["arch"],
            row["cpu_vendor"],
            tuple(row["cpu_models"]),
            row["vcpus_per_ocpu"],
            row["threads_per_core"],
            _decimal(row["ocpus"]),
            _decimal(row["memory_gb"]),
            row["status"],
        )

    def sizes_of(self, shape: str) -> list[OracleSize]:
        """List the published sizes of a flexible shape; empty if the sheet lacks it.

        Memory is a whole number of GB up to the shape's limit. A size is named
        ``<shape>.<OCPUs>-<GB>``, or ``<shape>.<OCPUs>`` if the OCPUs determine the memory.
        """
        row = self._sizes.get(shape)
        if row is None:
            return []
        ratios = [Decimal(text) for text in row["gb_per_ocpu"]]
        limit = Decimal(str(row["max_memory_gb"]))
        per_ocpu = row["nvme_tb_per_ocpu"]
        sizes: dict[str, OracleSize] = {}
        for ocpus in map(Decimal, row["ocpus"]):
            for ratio in ratios:
                memory = min(ocpus * ratio, limit)
                if memory != memory.to_integral_value():
                    continue
                suffix = f"{ocpus}" if len(ratios) == 1 else f"{ocpus}-{int(memory)}"
                name = f"{shape}.{suffix}"
                nvme = None if per_ocpu is None else ocpus * per_ocpu
                sizes[name] = OracleSize(name, ocpus, memory, nvme)
        return list(sizes.values())


def _decimal(figure: float | None) -> Decimal | None:
    return None if figure is None else Decimal(str(figure))


QUANTITY_KINDS = {"ocpu": "core", "memory": "ram", "disk": "local_ssd"}
"""Oracle's type of a part → kind of component."""

SHAPE_TYPES = ("vm", "bm")
NO_MACHINES = ("container",)  # shapeType of shapes that are not machines

OPTIONAL = ("hidden", "allowPreemptible", "bundleMemoryQty", "gpuMemoryQty", "processorType")
"""Members that an on-demand price does not need. A missing one is still reported."""

FLEXIBLE = ".Flex"

REMARK = re.compile(r"\s*\([^)]*\)")
"""The estimator's remark on a shape, such as "(NVL72)". The compute API's names have none:
https://docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm"""

LARGEST_QUANTITY = 100_000
"""More of anything than a machine has. The largest has 8 TB of memory and 82 TB of disk."""

LARGEST_GPU_GB = 1_000  # More memory than one GPU has; the largest of 2026 has 288
GIB_PER_TB = 10**12 / 2**30  # Oracle sells NVMe disk by the decimal terabyte

ARCHITECTURES = {"amd": "x86_64", "intel": "x86_64", "arm": "arm64"}
"""The estimator's processorType → instruction set."""


@dataclass(frozen=True)
class Machine:
    """One machine type: a shape, or one size of a flexible shape.

    ``parts``: part number → kind of component by Oracle's type. ``quantities``: kind of component →
    quantity; unknown ones are absent. ``gpus`` is 0 without GPUs.
    """

    name: str
    shape: str
    series: ShapeSeries | None
    processor: str | None
    bare_metal: bool
    preemptible: bool
    parts: Mapping[str, str]
    quantities: Mapping[str, Decimal]
    gpus: int
    gpu_memory_gib: float | None
    page: Page

    @property
    def ocpus(self) -> Decimal | None:
        """OCPUs, None if neither the shape nor the sheet has them."""
        return self.quantities.get("core")

    @property
    def arch(self) -> str | None:
        """The instruction set, None for a machine with GPUs that the sheet does not list.

        The estimator wrongly calls hosts of A10 and A100 ``arm``.
        """
        if self.series is not None:
            return self.series.arch
        return None if self.gpus else ARCHITECTURES.get(self.processor or "")


def read_machines(pages: Pages, sheets: OracleSheets, rows: VendorRows) -> list[Machine]:
    """Read every shape of the run.

    Raises:
        UnreadablePageError: a page is not a list of shapes. Prices need the shapes.
    """
    machines: list[Machine] = []
    for page in pages.of(SHAPES):
        with pages.parsing(page):
            for item in items(pages.read_json(page), "items"):
                with rows.reading(page, item, InstanceTypes):
                    if reason := _out_of_scope(item):
                        rows.counts[reason] += 1
                        continue
                    machines += _machines(item, page, sheets)
                    for name in OPTIONAL:
                        member(item, name)
    return machines


def _out_of_scope(item: Any) -> str | None:
    """Explain why a shape is left out: it is not sold, or is not a machine."""
    status = text(item, "status")
    if item.get("hidden"):
        return "out_of_scope:hidden=true"
    if status.upper() != "ACTIVE":
        return f"out_of_scope:status={status}"
    kind = _word(item, "shapeType")
    if kind in NO_MACHINES:
        return f"out_of_scope:shapeType={kind}"
    if kind not in SHAPE_TYPES:
        raise RefusedItemError("unknown_product", f"a shape of type {kind}", kind)
    return None


def _word(item: Mapping[str, Any], name: str) -> str:
    return text(member(item, name), "value").lower()


def _machines(item: dict[str, Any], page: Page, sheets: OracleSheets) -> Iterator[Machine]:
    """Yield the machine of a shape, or the sizes of a flexible one."""
    shape = REMARK.sub("", text(item, "name")).strip()
    parts = _parts(item)
    count = int(_quantity(item, "gpuQty") or 0)
    memory = _quantity(item, "gpuMemoryQty") if "gpuMemoryQty" in item else None

    def machine(name: str, quantities: Mapping[str, Decimal]) -> Machine:
        return Machine(
            name=name,
            shape=shape,
            series=sheets.series_of(shape),
            processor=str((item.get("processorType") or {}).get("value")).lower(),
            bare_metal=_word(item, "shapeType") == "bm",
            preemptible=item.get("allowPreemptible") is True,
            parts=parts,
            quantities=quantities,
            gpus=count,
            gpu_memory_gib=_memory_per_gpu(memory, count),
            page=page,
        )

    if not shape.endswith(FLEXIBLE):
        yield machine(shape, _listed_quantities(item, sheets.series_of(shape)))
        return
    sizes = sheets.sizes_of(shape)
    if not sizes:
        problem = f"the sizes of {shape} are not in oracle_sizes.csv"
        raise RefusedItemError("no_size_name", problem, shape)
    for size in sizes:
        amounts = {"core": size.ocpus, "ram": size.memory_gib, "local_ssd": size.nvme_tb}
        yield machine(size.name, {k: v for k, v in amounts.items() if v is not None})


def _memory_per_gpu(memory: Decimal | None, count: int) -> float | None:
    """Return the memory of one GPU; None if ``memory`` may be per GPU or the total.

    It is the total in most shapes, and per GPU in those of MI355X and GB300.
    """
    if not memory or not count:
        return None
    return float(memory / count) if count == 1 or memory > LARGEST_GPU_GB else None


def _parts(item: dict[str, Any]) -> dict[str, str]:
    """Return kind of component by part number."""
    products = items(item, "products")
    kinds = [_word(part, "type") for part in products]
    numbers = [text(part, "partNumber") for part in products]
    for listed in (numbers, kinds):
        if twice := [name for name, count in Counter(listed).items() if count > 1]:
            raise RefusedItemError("repeated_part", f"lists {', '.join(twice)} twice")
    if unknown := [kind for kind in kinds if kind not in QUANTITY_KINDS]:
        raise RefusedItemError("unknown_product", f"has a part of type {unknown[0]}", unknown[0])
    return {name: QUANTITY_KINDS[kind] for name, kind in zip(numbers, kinds, strict=True)}


def _listed_quantities(item: dict[str, Any], series: ShapeSeries | None) -> dict[str, Decimal]:
    """Return the quantity of each part of a fixed shape; the sheet has what the shape omits."""
    listed = {QUANTITY_KINDS[_word(p, "type")]: _quantity(p, "qty") for p in item["products"]}
    memory = _quantity(item, "bundleMemoryQty") if "bundleMemoryQty" in item else None
    listed.setdefault("ram", memory)
    if series is not None:
        listed["core"] = listed.get("core") or series.ocpus
        listed["ram"] = listed["ram"] or series.memory_gb
    return {kind: amount for kind, amount in listed.items() if amount is not None}


def _quantity(item: Mapping[str, Any], name: str) -> Decimal | None:
    amount = number(item, name, LARGEST_QUANTITY)
    if amount == 0:
        raise RefusedItemError("impossible_figure", f"{name} is 0")
    return amount


def instance_type_row(
    machine: Machine, gpu_name: str | None, sheets: OracleSheets
) -> dict[str, Any]:
    """Make the row of a machine. ``gpu_name`` is the GPU that it is billed by."""
    series = machine.series
    memory = machine.quantities.get("ram")
    is_bundled = machine.page.params.get("source") == BUNDLED
    return {
        "instance_type": machine.name,
        "family": machine.shape,
        "series": series.name if series else None,
        "status": series.status if series else None,
        "arch": machine.arch,
        "cpu_vendor": series.cpu_vendor if series else None,
        "cpu_models": (list(series.cpu_models) or None) if series else None,
        **_cpu_columns(machine),
        "memory_gib": None if memory is None else float(memory),
        "bare_metal": machine.bare_metal,
        **_accelerator_columns(machine, gpu_name, sheets),
        **_disk_columns(machine),
        "spec_source": "bundled" if is_bundled else "api",
    }


def _cpu_columns(machine: Machine) -> dict[str, Any]:
    """Return vCPUs, cores and threads.

    One OCPU is 2 vCPUs on x86 and AmpereOne, and 1 on Ampere Altra and Grace; it is unknown for an
    Arm machine that the sheet does not list.
    """
    if machine.ocpus is None:
        return {"vcpus": None, "physical_cores": None, "threads_per_core": None}
    if machine.series is not None:
        vcpus = int(machine.ocpus * machine.series.vcpus_per_ocpu)
        threads = machine.series.threads_per_core
        return {"vcpus": vcpus, "physical_cores": vcpus // threads, "threads_per_core": threads}
    cores = int(machine.ocpus) if machine.arch == "x86_64" else None
    return {
        "vcpus": 2 * cores if cores else None,
        "physical_cores": cores,
        "threads_per_core": 2 if cores else None,
    }


def _accelerator_columns(
    machine: Machine, gpu_name: str | None, sheets: OracleSheets
) -> Mapping[str, Any]:
    """Return the GPUs."""
    if not machine.gpus:
        return NO_ACCELERATORS
    match = sheets.match_accelerator(gpu_name, machine.shape)
    memory = (match.memory_gib if match else None) or machine.gpu_memory_gib
    return gpus(gpu_name, match, float(machine.gpus), memory)


def _disk_columns(machine: Machine) -> dict[str, Any]:
    """Return the local disk that is sold as a part. Disks that come with GPUs are not listed."""
    terabytes = machine.quantities.get("local_ssd")
    if terabytes is None:
        return {"local_disk_gib": None, "local_disk_kind": None}
    return {"local_disk_gib": float(terabytes) * GIB_PER_TB, "local_disk_kind": "nvme_ssd"}
