"""Read landed products: machine types with their specification, by zone.

A zone is a region here, because products and prices are listed by zone.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.scaleway import kinds
from hwprices.rows import frames, machine_figures
from hwprices.rows.accelerators import accelerator_totals
from hwprices.rows.origin import origin
from hwprices.schemas.columns import Accelerators, Table
from hwprices.schemas.columns import key as table_key
from hwprices.schemas.inventory import Availability, InstanceTypes, Regions
from hwprices.specs.accelerator_names import Matcher

PLACES = {
    "fr-par": ("FR", "europe", "Paris"),
    "it-mil": ("IT", "europe", "Milan"),
    "nl-ams": ("NL", "europe", "Amsterdam"),
    "pl-waw": ("PL", "europe", "Warsaw"),
}
"""Region: country, continent, city. https://www.scaleway.com/en/docs/account/reference-content/products-availability/"""

MIG_PROFILE = re.compile(r"(\d)g\.\d+gb", re.IGNORECASE)
"""A slice of a GPU: 1g.10gb is one of its seven compute slices, with 10 GB."""

MIG_SLICES = 7
"""https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ (A100 and H100)"""

ARCHITECTURES = {"x86_64": "x86_64", "arm64": "arm64"}


@dataclass(frozen=True)
class Server:
    """One machine type in one zone, as Scaleway lists it."""

    name: str
    zone: str
    fields: dict[str, Any]
    page: Page

    @property
    def has_windows(self) -> bool:
        """Whether the price includes Windows: its type has a name of its own."""
        return self.name.endswith("-WIN")


def read_servers(pages: Pages) -> list[Server]:
    """Read the machine types of every zone, sorted by zone and name.

    A page that cannot be read is left out.
    """
    servers: list[Server] = []
    for zone in pages.regions(kinds.SERVERS):
        for page in pages.of(kinds.SERVERS, zone):
            with pages.leave_out(page):
                listed = pages.read_json(page)["servers"]
                servers += [_server(name, zone, row, page) for name, row in listed.items()]
    return sorted(servers, key=lambda server: (server.zone, server.name))


def _server(name: str, zone: str, row: dict[str, Any], page: Page) -> Server:
    """Check the types of the figures that are read; another type is an error of the page."""
    gpu_info = row.get("gpu_info")
    numbers = [row.get("ncpus"), row.get("ram"), row.get("gpu") or 0]
    if gpu_info is not None:
        numbers.append(gpu_info.get("gpu_memory") or 0)
    if not name.strip() or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{name}: a figure is no whole number")
    return Server(name, zone, row, page)


def region_rows(servers: list[Server]) -> pl.DataFrame:
    """Make a row of regions for each zone."""
    first = {server.zone: server for server in reversed(servers)}
    return _table(((_region(zone), server.page) for zone, server in first.items()), Regions)


def _region(zone: str) -> dict[str, Any]:
    region, _, number = zone.rpartition("-")
    country, continent, city = PLACES.get(region, (None, None, None))
    return {
        "region": zone,
        "display_name": f"{city} {number}" if city else None,
        "kind": "region",
        "country": country,
        "continent": continent,
    }


def instance_type_rows(servers: list[Server], match: Matcher) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make a row of instance_types for each machine type, and quarantine rows of what is none.

    A type is as the first zone that lists it describes it.
    """
    first = {server.name: server for server in reversed(servers)}
    possible, refused = machine_figures.split(
        (_machine(server, match), server.page) for server in first.values()
    )
    return _table(possible, InstanceTypes), refused


def _machine(server: Server, match: Matcher) -> dict[str, Any]:
    """Make the row of a machine type, whatever its figures."""
    fields = server.fields
    accelerators = [_accelerator(server, match)] if fields.get("gpu") else []
    network = (fields.get("network") or {}).get("sum_internal_bandwidth")
    # in bytes, says https://github.com/scaleway/scaleway-sdk-go (api/instance/v1), unlike network
    storage = fields.get("block_bandwidth")
    return {
        "provider": "scaleway",
        "instance_type": server.name,
        "family": server.name.split("-")[0],
        "status": "retiring" if fields.get("end_of_service") is True else "current",
        "arch": ARCHITECTURES.get(str(fields.get("arch"))),
        "vcpus": fields["ncpus"] or None,
        "memory_gib": fields["ram"] / 2**30 or None,
        "accelerators": accelerators,
        "accelerator_kind": "gpu" if accelerators else "none",
        "network_gbps_max": _gbps(network, bits=1),
        "block_storage_gbps_max": _gbps(storage, bits=8),
        "spec_source": "api",
        "corrections": [],
    }


def _gbps(bandwidth: Any, bits: int) -> float | None:
    """Convert units of so many bits in a second to Gbit/s; None for what is no such number."""
    return bandwidth * bits / 1e9 if type(bandwidth) is int and bandwidth > 0 else None


def _accelerator(server: Server, match: Matcher) -> dict[str, Any]:
    """Describe the GPUs of a machine; of a slice the count is a fraction, the memory not known."""
    fields = server.fields
    info = fields.get("gpu_info") or {}
    name = info.get("gpu_name")
    spec = match(name if isinstance(name, str) else None, server.name)
    profile = fields.get("mig_profile")
    count: float | None = float(fields["gpu"])
    memory = info.get("gpu_memory")
    if profile:
        shape = MIG_PROFILE.fullmatch(str(profile))
        count = float(fields["gpu"]) * int(shape[1]) / MIG_SLICES if shape else None
        memory = None
    return {
        "accelerator_id": spec.accelerator_id if spec else None,
        "vendor_name": name if isinstance(name, str) else None,
        "count": count,
        "memory_gib": memory / 2**30 if memory else None,
    }


def availability_rows(servers: list[Server]) -> pl.DataFrame:
    """Make a row of availability for each type in each zone that lists it."""
    first = {(server.zone, server.name): server for server in reversed(servers)}
    return _table(((_listed(server), server.page) for server in first.values()), Availability)


def _listed(server: Server) -> dict[str, Any]:
    return {"region": server.zone, "instance_type": server.name, "offered": True}


def _table(rows: Iterable[tuple[dict[str, Any], Page]], model: type[Table]) -> pl.DataFrame:
    """Make a table of rows, each with its page, sorted by the table's key."""
    pages: dict[str, Page] = {}
    by_page: dict[str, list[dict[str, Any]]] = {}
    for row, page in rows:
        pages[page.key] = page
        by_page.setdefault(page.key, []).append(row)
    made = [_of_page(of_page, pages[key], model) for key, of_page in by_page.items()]
    return pl.concat([frames.empty(model), *made]).sort(table_key(model))


def _of_page(rows: list[dict[str, Any]], page: Page, model: type[Table]) -> pl.DataFrame:
    overrides: dict[str, Any] = {"accelerators": Accelerators} if model is InstanceTypes else {}
    frame = pl.LazyFrame(rows, schema_overrides=overrides, infer_schema_length=None).with_columns(
        pl.lit("scaleway").alias("provider"), *origin(page)
    )
    if model is InstanceTypes:
        frame = frame.with_columns(
            *accelerator_totals(), pl.col("corrections").cast(pl.List(pl.String))
        )
    return frames.conform(frame.drop("source_url"), model).collect()
