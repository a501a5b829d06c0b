"""Read the cost estimator's shapes: the machines and the parts each is made of.

A shape lists parts (``products``) with a quantity: OCPUs, GB of memory, decimal TB of NVMe. Of a
machine with GPUs the one part is that of the GPU, listed as if it were OCPUs: its quantity is the
OCPUs of the host, and the GPUs are in ``gpuQty``.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.oracle import kinds
from hwprices.providers.oracle.members import exact
from hwprices.providers.oracle.sheets import Series, Sheets
from hwprices.rows import quarantine
from hwprices.rows.members import RefusedItemError, text
from hwprices.rows.origin import origin

QUANTITY_KINDS = {"ocpu": "core", "memory": "ram", "disk": "local_ssd"}
"""Oracle's word for the quantity of a part → kind of component."""

SHAPE_TYPES = ("vm", "bm")

FLEXIBLE = ".Flex"

LARGEST_QUANTITY = 100_000
"""Of anything in one machine. The largest has 8 TB of memory and 82 TB of disk."""


@dataclass(frozen=True)
class Machine:
    """One machine type: a shape, or one size of a flexible shape.

    ``parts`` is part number → kind of component by Oracle's word. ``quantities`` is kind of
    component → how much the machine has; a kind that is not known is missing. ``gpus`` is 0 where
    it has none.
    """

    name: str
    shape: str
    series: Series | None
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
        """OCPUs, None where the shape does not say."""
        return self.quantities.get("core")


@dataclass(frozen=True)
class Shapes:
    """The machines, shapes that are not understood, and how many were left out on purpose."""

    machines: list[Machine]
    refused: pl.DataFrame
    counts: Mapping[str, int]


def read_shapes(pages: Pages, sheets: Sheets) -> Shapes:
    """Read every shape of the run.

    Raises:
        UnreadablePageError: a page is not a list of shapes. Without shapes there are no prices.
    """
    machines: list[Machine] = []
    refused: list[pl.DataFrame] = []
    counts: Counter[str] = Counter()
    for page in pages.of(kinds.SHAPES):
        with pages.parsing(page):
            for item in pages.read_json(page)["items"]:
                if reason := _out_of_scope(item):
                    counts[reason] += 1
                    continue
                try:
                    machines += _machines(item, page, sheets)
                except RefusedItemError as refusal:
                    refused.append(_refused(text(item, "name"), refusal, page))
    return Shapes(machines, quarantine.merge_refused(refused), dict(counts))


def _out_of_scope(item: dict[str, Any]) -> str | None:
    """Say why a shape is left out: it is not sold, or no machine."""
    if item.get("hidden"):
        return "out_of_scope:hidden=true"
    if item["status"] != "ACTIVE":
        return f"out_of_scope:status={item['status']}"
    kind = item["shapeType"]["value"]
    return None if kind in SHAPE_TYPES else f"out_of_scope:shapeType={kind}"


def _machines(item: dict[str, Any], page: Page, sheets: Sheets) -> list[Machine]:
    """Return the machine of a shape, or the sizes of a flexible one.

    Raises:
        RefusedItemError: its parts contradict each other, or its sizes are not known.
    """
    shape = text(item, "name")
    _check_parts(item)
    if not shape.endswith(FLEXIBLE):
        return [_machine(shape, _listed_quantities(item), item, page, sheets)]
    machines = []
    for size in sheets.sizes_of(shape):
        amounts = {"core": size.ocpus, "ram": size.memory_gib, "local_ssd": size.nvme_tb}
        known = {kind: amount for kind, amount in amounts.items() if amount is not None}
        machines.append(_machine(size.name, known, item, page, sheets))
    if not machines:
        problem = f"the sizes of {shape} are not in oracle_sizes.csv"
        raise RefusedItemError("no_size_name", problem)
    return machines


def _check_parts(item: dict[str, Any]) -> None:
    """Refuse a shape that has two quantities of one thing: which of them holds is not known.

    Raises:
        RefusedItemError: a part number, or a kind of part, comes twice.
    """
    for listed in (
        [text(part, "partNumber") for part in item["products"]],
        [part["type"]["value"] for part in item["products"]],
    ):
        if twice := [name for name, count in Counter(listed).items() if count > 1]:
            problem = f"{text(item, 'name')} lists {', '.join(twice)} twice"
            raise RefusedItemError("repeated_part", problem)


def _machine(
    name: str, quantities: Mapping[str, Decimal], item: dict[str, Any], page: Page, sheets: Sheets
) -> Machine:
    gpus = int(_quantity(item.get("gpuQty")) or 0)
    memory = _quantity(item.get("gpuMemoryQty"))
    return Machine(
        name=name,
        shape=text(item, "name"),
        series=sheets.series_of(text(item, "name")),
        processor=(item.get("processorType") or {}).get("value"),
        bare_metal=item["shapeType"]["value"] == "bm",
        preemptible=item.get("allowPreemptible") is True,
        parts={
            text(part, "partNumber"): QUANTITY_KINDS[part["type"]["value"]]
            for part in item["products"]
        },
        quantities=quantities,
        gpus=gpus,
        gpu_memory_gib=float(memory / gpus) if memory and gpus else None,
        page=page,
    )


def _listed_quantities(item: dict[str, Any]) -> dict[str, Decimal]:
    """Return how much of each part a shape of one size has. Memory may be without a part."""
    listed = {
        QUANTITY_KINDS[part["type"]["value"]]: _quantity(part["qty"]) for part in item["products"]
    }
    listed.setdefault("ram", _quantity(item.get("bundleMemoryQty")))
    return {kind: amount for kind, amount in listed.items() if amount is not None}


def _quantity(number: Any) -> Decimal | None:
    """Return a quantity, None where there is none.

    Raises:
        ValueError: no machine has so much or so little.
    """
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise ValueError(f"{number!r} is no quantity")
    if not 0 < number <= LARGEST_QUANTITY:
        raise ValueError(f"no machine has {number} of a part")
    return exact(Decimal(number))


def _refused(shape: str, refusal: RefusedItemError, page: Page) -> pl.DataFrame:
    """Make the quarantine row of a shape."""
    frame = pl.LazyFrame({"provider": ["oracle"], "region": [None], "shape": [shape]})
    return quarantine.refused(
        frame.with_columns(*origin(page)),
        table="instance_types",
        reason=refusal.reason,
        message=refusal.message,
    ).collect()
