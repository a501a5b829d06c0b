"""Read landed lists into GPU types, and GPU types into machines of one GPU up to the most allowed.

RunPod sells a number of GPUs of one type. vCPUs and memory of a machine depend on the host and are
not in the list.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.runpod import kinds
from hwprices.rows import frames
from hwprices.rows.accelerators import accelerator_totals
from hwprices.rows.origin import origin
from hwprices.schemas.columns import Accelerators
from hwprices.schemas.inventory import Availability, InstanceTypes, Regions
from hwprices.specs.accelerator_names import Matcher

MOST_GPUS = 16
"""More GPUs than any host has; a larger number is no number of GPUs."""

NUMBERS = (int, Decimal)
"""What a number of JSON is read as. Compare types, because bool is a subclass of int."""

TITLES = {"secure": "Secure Cloud", "community": "Community Cloud"}


@dataclass(frozen=True)
class GpuType:
    """A GPU type as RunPod lists it. ``max_gpus`` is 1 where the list does not say."""

    id: str
    memory_gb: float | None
    max_gpus: int
    fields: dict[str, Any]
    page: Page

    def price(self, cloud: str, *, spot: bool = False) -> Decimal | None:
        """Return the price of one GPU in a cloud, as it is listed."""
        value = self.fields.get(f"{cloud}SpotPrice" if spot else f"{cloud}Price")
        return None if value is None else Decimal(value)

    def offered(self, cloud: str) -> bool | None:
        """Tell whether a cloud has the type; None where the list does not say."""
        value = self.fields.get(f"{cloud}Cloud")
        return value if isinstance(value, bool) else None

    @property
    def machines(self) -> list[tuple[int, str]]:
        """List the numbers of GPUs that are sold together, and what the machine is called."""
        return [(count, f"{count}x {self.id}") for count in range(1, self.max_gpus + 1)]


def read_gpu_types(pages: Pages) -> list[GpuType]:
    """Read the GPU types of all landed lists; a later list replaces a type of an earlier one.

    A list that cannot be read is left out.
    """
    types: dict[str, GpuType] = {}
    for page in pages.of(kinds.GPU_TYPES):
        with pages.leave_out(page):
            listed = pages.read_json(page)["data"]["gpuTypes"]
            of_page = {row["id"]: _gpu_type(row, page) for row in listed}
            if len(of_page) < len(listed):
                raise ValueError("a GPU type is listed twice")
            types |= of_page
    return [types[name] for name in sorted(types)]


def _gpu_type(row: dict[str, Any], page: Page) -> GpuType:
    """Read one GPU type.

    Raises:
        ValueError: it has no id, or its memory or a price is no number.
    """
    if not isinstance(row["id"], str) or not row["id"].strip():
        raise ValueError("a GPU type without an id")
    prices = [f"{cloud}{kind}" for cloud in kinds.CLOUDS for kind in ("Price", "SpotPrice")]
    for name in ("memoryInGb", *prices):
        if row.get(name) is not None and type(row[name]) not in NUMBERS:
            raise ValueError(f"{row['id']}: {name} is no number")
    memory, most = row.get("memoryInGb"), row.get("maxGpuCount")
    return GpuType(
        id=row["id"],
        memory_gb=float(memory) if memory else None,
        max_gpus=most if type(most) is int and 1 <= most <= MOST_GPUS else 1,
        fields=row,
        page=page,
    )


def region_rows(types: list[GpuType]) -> pl.DataFrame:
    """Make a row of regions for each cloud."""
    if not types:
        return frames.empty(Regions)
    rows = [
        {"region": cloud, "display_name": TITLES[cloud], "kind": "platform"}
        for cloud in kinds.CLOUDS
    ]
    return _complete(pl.LazyFrame(rows), types[0].page, Regions)


def instance_type_rows(types: list[GpuType], match: Matcher) -> pl.DataFrame:
    """Make a row of instance_types for each machine."""
    made = [
        _complete(
            pl.LazyFrame(
                [row for gpu_type in of_page for row in _machines(gpu_type, match)],
                schema_overrides={"accelerators": Accelerators, "corrections": pl.List(pl.String)},
                infer_schema_length=None,
            ).with_columns(accelerator_totals()),
            of_page[0].page,
            InstanceTypes,
        )
        for of_page in by_page(types)
    ]
    return pl.concat([frames.empty(InstanceTypes), *made])


def _machines(gpu_type: GpuType, match: Matcher) -> Iterator[dict[str, Any]]:
    spec = match(gpu_type.id, "")
    for count, name in gpu_type.machines:
        device = {
            "accelerator_id": spec.accelerator_id if spec else None,
            "vendor_name": gpu_type.id,
            "count": float(count),
            "memory_gib": gpu_type.memory_gb,
        }
        yield {
            "instance_type": name,
            "family": gpu_type.id,
            "accelerators": [device],
            "accelerator_kind": "gpu",
            "spec_source": "api",
            "corrections": [],
        }


def availability_rows(types: list[GpuType]) -> pl.DataFrame:
    """Make a row of availability for each machine and cloud, where the list says it."""
    made = []
    for of_page in by_page(types):
        rows = [row for gpu_type in of_page for row in _offers(gpu_type)]
        if rows:
            made.append(_complete(pl.LazyFrame(rows), of_page[0].page, Availability))
    return pl.concat([frames.empty(Availability), *made])


def _offers(gpu_type: GpuType) -> Iterator[dict[str, Any]]:
    for cloud in kinds.CLOUDS:
        offered = gpu_type.offered(cloud)
        if offered is not None:
            for _, name in gpu_type.machines:
                yield {"region": cloud, "instance_type": name, "offered": offered}


def by_page(types: list[GpuType]) -> list[list[GpuType]]:
    """Group GPU types by the page that they are from."""
    groups: dict[str, list[GpuType]] = {}
    for gpu_type in types:
        groups.setdefault(gpu_type.page.key, []).append(gpu_type)
    return list(groups.values())


def _complete(rows: pl.LazyFrame, page: Page, model: Any) -> pl.DataFrame:
    """Add the provider and the page, and put the columns in order."""
    provider = pl.lit("runpod").alias("provider")
    complete = rows.with_columns(provider, *origin(page)).drop("source_url")
    return frames.conform(complete, model).collect()
