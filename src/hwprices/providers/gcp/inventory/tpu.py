"""TPU slices: what the Cloud TPU API lists (v5litepod-16, v3-32 …), as types made of chips.

The wire shape is ``projects.locations.acceleratorTypes.list``: https://cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.acceleratorTypes.
The number in a name counts cores up to v4 and v5p and chips after; the topology always counts chips, and is what is used. Which
SKU prices a slice is data/specs/gcp_tpu.csv: v2 and v3 by boards of four chips (8 cores), v2-8 and v3-8 as single devices and
what is larger as pods; v4 as pods; from v5e on by the chip.
"""

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.providers import Pages
from hwprices.providers.gcp import sheets
from hwprices.specs.accelerator_names import accelerator_matcher


def chips(topology: str) -> int:
    """Chips of a topology: 4x4 → 16, 2x2x2 → 8.

    Raises:
        HwpricesError: it is not numbers joined by x.
    """
    try:
        return math.prod(int(side) for side in topology.split("x"))
    except ValueError:
        raise HwpricesError(
            f"gcp: {topology!r} is not a TPU topology", "Report it: the Cloud TPU API has changed."
        ) from None


def slices(pages: Pages) -> Iterator[tuple[str, dict[str, Any]]]:
    """(zone, type) of every slice whose generation is known, in the shape of machines' specs; the vCPUs and memory of its hosts
    are not told by this API."""
    for page in pages.of("tpu-types"):
        zone = page.params.get("location", "")
        for raw in json.loads(pages.read(page)).get("acceleratorTypes", ()):
            found = sheets.tpu_slice(raw["type"])
            configs = raw.get("acceleratorConfigs") or ()
            if found is None or not configs:
                continue
            machine_accelerator, _ = found
            yield zone, _spec(raw["type"], machine_accelerator, chips(configs[0]["topology"]), page)


def _spec(name: str, vendor_name: str, count: int, page: Any) -> dict[str, Any]:
    match = accelerator_matcher("gcp")(vendor_name, name)
    device = {
        "accelerator_id": match.accelerator_id if match else None,
        "vendor_name": vendor_name,
        "count": Decimal(count),
        "memory_gib": match.memory_gib if match else None,
    }
    return {
        "instance_type": name,
        "series": sheets.Series("tpu", None, None, None, None),
        "vcpus": None,
        "gib": None,
        "arch": None,
        "shared": False,
        "accelerators": [device],
        "disks": None,
        "disk_count": 0,
        "deprecated": {},
        "source": "api",
        "observed_at": page.retrieved_at,
        "source_url": page.url,
        "raw_sha256": page.sha256,
    }
