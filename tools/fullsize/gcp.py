"""Answer Google's APIs: the billing catalog, and Compute Engine's and Cloud TPU's lists."""

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from bench.gcp_compose import (
    PAGE,
    SKUS,
    Line,
    license_lines,
    network_lines,
    region_lines,
    sku,
)

from hwprices.providers.gcp.fetch import CLOUD_TPU, COMPUTE_ENGINE, COMPUTE_PAGE_SIZE, VERTEX_AI
from hwprices.specs import data_directory
from tools.fullsize.answers import Answer, Handler, Request, json_answer
from tools.fullsize.environment import GCP_PROJECT
from tools.fullsize.sizes import Size

BASE_PRICES = {
    "CPU": 30_000_000,
    "N1Standard": 30_000_000,
    "RAM": 4_000_000,
    "GPU": 2_500_000_000,
    "TPU": 1_200_000_000,
    "LocalSSD": 80_000_000,
}
"""Billionths of a dollar for a unit on demand, by resource group, in the vendor's order of
magnitude."""

USAGE_PERCENTS = {"OnDemand": 100, "Preemptible": 30, "Commit1Yr": 63, "Commit3Yr": 45}

MODES = re.compile(
    r"Spot Preemptible |DWS \w+ \w+ |attached to .* VMs |Commitment v1: | for \d Year"
)
"""Words of a description that say how something is bought, and not what it is."""

TPU_SLICES = {"V5LITE_POD": ("v5litepod", ("2x4", "4x4", "8x8")), "V6E": ("v6e", ("2x4", "8x8"))}
"""Types of TPU, the first part of a slice's name, and topologies."""


def handlers(size: Size, url: str) -> dict[str, Handler]:
    """Return what Google's APIs answer, by path."""
    machine_types = _machine_types(size)
    zones = [scope.removeprefix("zones/") for scope in machine_types]
    regions = sorted({_region(zone) for zone in zones})
    lines = _catalog(size, regions)
    tpu_lines = [line for region in regions for line in _tpu_lines(region, is_new=False)]
    vertex_lines = [line for region in regions for line in _vertex_lines(region)]
    compute = f"/compute/v1/projects/{GCP_PROJECT}"
    locations = f"/v2/projects/{GCP_PROJECT}/locations"
    listed = [(scope, one) for scope, types in machine_types.items() for one in types]
    plain = {
        f"{compute}/regions": {"items": [{"name": name, "status": "UP"} for name in regions]},
        f"{compute}/zones": {"items": [_zone(zone, f"{url}{compute}") for zone in zones]},
        f"{compute}/aggregated/acceleratorTypes": {"items": _accelerators(machine_types)},
        locations: {"locations": [{"locationId": zone} for zone in zones]},
        **{f"{locations}/{zone}/acceleratorTypes": _slices(zone) for zone in zones},
    }
    return {
        f"/v1/{COMPUTE_ENGINE}/skus": partial(_sku_page, size, lines, 0),
        f"/v1/{CLOUD_TPU}/skus": partial(_sku_page, size, tpu_lines, len(lines)),
        f"/v1/{VERTEX_AI}/skus": partial(
            _sku_page, size, vertex_lines, len(lines) + len(tpu_lines)
        ),
        f"{compute}/aggregated/machineTypes": partial(_machine_type_page, listed),
        **{path: partial(_fixed, body) for path, body in plain.items()},
    }


def _fixed(body: Any, _request: Request) -> Answer:
    return json_answer(body, compresses=True)


def _region(zone: str) -> str:
    return zone.rpartition("-")[0]


def _machine_types(size: Size) -> dict[str, list[dict[str, Any]]]:
    """Return the bundled machine types by scope, those of the served regions."""
    gzipped = data_directory() / "bundled" / "gcp" / "machine_types.json.gz"
    items = json.loads(gzip.decompress(gzipped.read_bytes()))["items"]
    types = {scope: listed.get("machineTypes", []) for scope, listed in items.items()}
    counts: dict[str, int] = {}
    for scope, listed in types.items():
        region = _region(scope.removeprefix("zones/"))
        counts[region] = counts.get(region, 0) + len(listed)
    by_size = sorted(counts, key=lambda region: (-counts[region], region))
    served = set(size.nearest(by_size[: size.count(len(by_size))]))
    return {s: v for s, v in types.items() if _region(s.removeprefix("zones/")) in served}


def _catalog(size: Size, regions: list[str]) -> list[Line]:
    """List the SKUs of Compute Engine; those of networks fill up to the size of the catalog."""
    lines = [line for region in regions for line in region_lines(region)]
    lines += [line for region in regions for line in _tpu_lines(region, is_new=True)]
    lines += license_lines()
    return lines + list(network_lines(regions, max(0, size.count(SKUS) - len(lines))))


def _tpu_lines(region: str, *, is_new: bool) -> Iterator[Line]:
    """Yield the chips of a region: those of today are Compute Engine's, older ones Cloud TPU's."""
    for name in ("TpuV5e", "TpuV6e") if is_new else ("Tpu-v2", "Tpu-v3"):
        for words, usage in (
            ("", "OnDemand"),
            ("attached to Spot Preemptible VMs ", "Preemptible"),
        ):
            yield f"{name} {words}running in {region}", "TPU", usage, region, "h", "Compute"


def _vertex_lines(region: str) -> Iterator[Line]:
    """Yield the cores and memory of a region as Vertex AI sells them."""
    for line in region_lines(region):
        is_listed = line[2] == "OnDemand" and " Instance " in line[0]
        if is_listed and not re.search("Sole Tenancy|DWS", line[0]):  # Vertex has neither
            yield f"Vertex AI: Online/Batch Prediction {line[0]}", *line[1:]


def _sku_page(size: Size, lines: Sequence[Line], start: int, request: Request) -> Answer:
    """Answer a page of the SKUs of a service, whose ids are numbers from ``start`` on."""
    first = int(request.query.get("pageToken") or 0)
    following = first + int(request.query.get("pageSize") or PAGE)
    page = [_sku(size, start + n, lines[n]) for n in range(first, min(following, len(lines)))]
    token = str(following) if following < len(lines) else ""
    return json_answer({"skus": page, "nextPageToken": token}, compresses=True)


def _sku(size: Size, number: int, line: Line) -> dict[str, Any]:
    """Make a SKU, with a price that is lower for spot and for commitments."""
    description, group, usage, *_ = line
    base = BASE_PRICES.get(group, 100_000_000)
    varied = base * (100 + size.draw(20, MODES.sub("", description))) // 100
    nanos = varied * USAGE_PERCENTS[usage] // 100
    made = sku(number, *line)
    price = {"currencyCode": "USD", "units": str(nanos // 10**9), "nanos": nanos % 10**9}
    made["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"] = price
    return made


def _machine_type_page(listed: Sequence[tuple[str, dict[str, Any]]], request: Request) -> Answer:
    """Answer a page of machine types, grouped by zone."""
    first = int(request.query.get("pageToken") or 0)
    following = first + int(request.query.get("maxResults") or COMPUTE_PAGE_SIZE)
    items: dict[str, dict[str, list[Any]]] = {}
    for scope, one in listed[first:following]:
        items.setdefault(scope, {"machineTypes": []})["machineTypes"].append(one)
    token = {"nextPageToken": str(following)} if following < len(listed) else {}
    return json_answer({"items": items, **token}, compresses=True)


def _zone(zone: str, url: str) -> dict[str, str]:
    return {"name": zone, "region": f"{url}/regions/{_region(zone)}", "status": "UP"}


def _accelerators(machine_types: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """List the GPUs of each zone's machine types."""
    items: dict[str, Any] = {}
    for scope, types in machine_types.items():
        gpus = [gpu["guestAcceleratorType"] for t in types for gpu in t.get("accelerators", [])]
        if gpus:
            items[scope] = {"acceleratorTypes": [{"name": name} for name in sorted(set(gpus))]}
    return items


def _slices(zone: str) -> dict[str, Any]:
    """List the TPU slices of a zone; the zones that end with a have them."""
    if not zone.endswith("-a"):
        return {}
    slices = []
    for kind, (word, topologies) in TPU_SLICES.items():
        for topology in topologies:
            chips = 1
            for side in topology.split("x"):
                chips *= int(side)
            config = {"type": kind, "topology": topology}
            name = f"{word}-{chips}"
            slices.append({"name": name, "type": name, "acceleratorConfigs": [config]})
    return {"acceleratorTypes": slices}
