"""Write pages as Google's APIs send them, land them and normalise them."""

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hwprices import providers
from hwprices.providers import Part, gcp
from hwprices.providers.gcp.normalise import normalise
from hwprices.providers.gcp.sheets import Sheets
from tests.helpers.vendor_tables import Landed, sample_pages

RETRIEVED_AT = datetime(2026, 7, 30, tzinfo=UTC)
RECORDINGS = Path(__file__).resolve().parents[1] / "recordings" / "gcp"

N2_RATES = {"core": "0.031611", "ram": "0.004237"}


def sku(
    description: str,
    price: str,
    *,
    group: str = "",
    usage: str = "OnDemand",
    regions: Iterable[str] = ("us-central1",),
    **members: Any,
) -> dict[str, Any]:
    """Make a SKU as services.skus.list sends it.

    ``group`` is guessed from the description. ``members`` are ``unit``, ``family``, ``sku_id``, or
    any member of the SKU under Google's own name.
    """
    group = group or guess_group(description)
    amount = Decimal(price)
    unit = members.pop("unit", {"RAM": "GiBy.h", "LocalSSD": "GiBy.mo"}.get(group, "h"))
    unit_price = {
        "currencyCode": "USD",
        "units": str(int(amount)),
        "nanos": int(amount % 1 * 10**9),
    }
    expression = {"usageUnit": unit, "tieredRates": [{"unitPrice": unit_price}]}
    return {
        "skuId": members.pop("sku_id", description.upper().replace(" ", "-")),
        "description": description,
        "category": {
            "resourceFamily": members.pop("family", "Compute"),
            "resourceGroup": group,
            "usageType": usage,
        },
        "serviceRegions": list(regions),
        "pricingInfo": [
            {"effectiveTime": "2026-07-01T00:00:00.5Z", "pricingExpression": expression}
        ],
        **members,
    }


def guess_group(description: str) -> str:
    """Guess category.resourceGroup of a SKU from its description."""
    if "Local S" in description:
        return "LocalSSD"
    if any(word in description for word in ("GPU", "gpu", "RTX")):
        return "GPU"
    return "RAM" if " Ram " in description else "CPU"


def core_and_ram(series: str, core: str, ram: str) -> list[dict[str, Any]]:
    """Make the two SKUs of a series on demand in Iowa."""
    return [
        sku(f"{series} Instance Core running in Iowa", core),
        sku(f"{series} Instance Ram running in Iowa", ram),
    ]


def spot_core_and_ram(series: str, core: str, ram: str) -> list[dict[str, Any]]:
    """Make the two spot SKUs of a series in Iowa."""
    words = f"Spot Preemptible {series} Instance"
    return [
        sku(f"{words} Core running in Iowa", core, usage="Preemptible"),
        sku(f"{words} Ram running in Iowa", ram, usage="Preemptible"),
    ]


def fee(text: str, price: str, **members: Any) -> dict[str, Any]:
    """Make the SKU of a license."""
    what = {"family": "License", "group": "Google", "regions": ["global"]}
    return sku(f"Licensing Fee for {text}", price, **what | members)


def n2_skus() -> list[dict[str, Any]]:
    """Make core and memory of N2 on demand in us-central1."""
    return [
        sku("N2 Instance Core running in Americas", N2_RATES["core"]),
        sku("N2 Instance Ram running in Americas", N2_RATES["ram"]),
    ]


def n2_zones() -> dict[str, list[dict[str, Any]]]:
    """Make one zone with one N2 machine type."""
    return {"us-central1-a": [machine_type("n2-standard-2", 2, 8192)]}


def machine_type(
    name: str, vcpus: int, memory_mb: int, gpu: tuple[str, int] | None = None, **members: Any
) -> dict[str, Any]:
    """Make a machine type as machineTypes.aggregatedList sends it; ``gpu`` is (name, count)."""
    listed: dict[str, Any] = {
        "name": name,
        "guestCpus": vcpus,
        "memoryMb": memory_mb,
        "isSharedCpu": False,
        "description": f"{vcpus} vCPUs",
        **members,
    }
    if gpu:
        listed["accelerators"] = [{"guestAcceleratorType": gpu[0], "guestAcceleratorCount": gpu[1]}]
    return listed


class Tables:
    """The tables that normalising gave."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self._tables: dict[str, pl.DataFrame] = {}
        self.counts: dict[str, int] = {k: v for p in parts for k, v in p.counts.items()}

    def table(self, name: str) -> pl.DataFrame:
        """Return all rows of one table; an empty frame without columns where there are none."""
        if name not in self._tables:
            frames = [p.frame.lazy().collect() for p in self.parts if p.table == name]
            self._tables[name] = pl.concat(frames) if frames else pl.DataFrame()
        return self._tables[name]

    @property
    def refused(self) -> list[dict[str, Any]]:
        """All quarantine rows."""
        return [row for p in self.parts if p.refused is not None for row in p.refused.to_dicts()]

    def instance_type(self, name: str) -> dict[str, Any]:
        """Find the one row of instance_types."""
        return self.table("instance_types").filter(instance_type=name).row(0, named=True)

    def prices(
        self,
        instance_type: str,
        region: str = "us-central1",
        os: str = "linux",
        software: str = "none",
    ) -> dict[tuple[str, int], dict[str, Any]]:
        """Return rows of prices by (purchase option, months); flexible commitments apart."""
        of_type = self.table("prices").filter(instance_type=instance_type, region=region)
        rows = of_type.filter(os=os, software=software)
        composed = rows.filter(pl.col("commitment_plan").ne_missing("flexible"))
        return {(r["purchase_option"], r["term_months"]): r for r in composed.to_dicts()}

    def flexible(
        self, instance_type: str, region: str = "us-central1", os: str = "linux"
    ) -> dict[int, dict[str, Any]]:
        """Return rows of prices under a flexible commitment by months."""
        rows = self.table("prices").filter(
            instance_type=instance_type, region=region, os=os, commitment_plan="flexible"
        )
        return {row["term_months"]: row for row in rows.to_dicts()}

    def hourly(
        self, instance_type: str, option: str = "on_demand", term: int = 0, **where: str
    ) -> Decimal:
        """Return an hourly price; ``where`` is region and os. Fails where the price is null."""
        hourly = self.prices(instance_type, **where)[(option, term)]["hourly"]
        assert isinstance(hourly, Decimal)
        return hourly

    def amounts(self, instance_type: str, **where: str) -> dict[tuple[str, int], Decimal | None]:
        """Return hourly prices by (purchase option, months)."""
        return {key: row["hourly"] for key, row in self.prices(instance_type, **where).items()}

    def lines(
        self, instance_type: str, option: str = "on_demand", term: int = 0, **where: str
    ) -> dict[str, dict[str, Any]]:
        """Return the rows of price_components of one price of a type by component."""
        return self.components(self.prices(instance_type, **where)[(option, term)]["price_id"])

    def components(self, price_id: str) -> dict[str, dict[str, Any]]:
        """Return the rows of price_components of one price by component."""
        rows = self.table("price_components").filter(price_id=price_id)
        return {row["component"]: row for row in rows.to_dicts()}


def normalise_skus(
    root: Path,
    skus: list[dict[str, Any]],
    zones: Mapping[str, list[dict[str, Any]]] | list[dict[str, Any]],
    more_pages: Iterable[list[dict[str, Any]]] = (),
    sheets: Sheets | None = None,
) -> Tables:
    """Land SKUs and machine types below ``root``, and normalise them.

    ``zones`` has the machine types of each zone, or those of us-central1-a alone; ``more_pages``
    further pages of SKUs. ``sheets`` are Google's rules, None those of the checkout.
    """
    zones = {"us-central1-a": zones} if isinstance(zones, list) else zones
    types = {"items": {f"zones/{zone}": {"machineTypes": listed} for zone, listed in zones.items()}}
    bodies = {
        gcp.SKUS: [{"skus": page} for page in (skus, *more_pages)],
        gcp.MACHINE_TYPES: [types],
    }
    packed = {kind: [json.dumps(b).encode() for b in listed] for kind, listed in bodies.items()}
    return normalise_pages(root, packed, sheets)


def normalise_pages(
    root: Path, bodies: Mapping[str, Iterable[bytes]], sheets: Sheets | None = None
) -> Tables:
    """Land the bodies of each kind below ``root``, and normalise them."""
    landed = Landed("gcp", root, RETRIEVED_AT)
    for kind, listed in bodies.items():
        landed.add(kind, "global", *listed)
    return Tables(list(normalise(landed.pages(), sheets)))


def normalise_sample(project: Path) -> Tables:
    """Normalise the bundled sample."""
    return Tables(list(providers.get("gcp").normalise(sample_pages("gcp", project))))


def recording(name: str) -> bytes:
    """Read a page recorded from Google (see tests/recordings/gcp/README.md)."""
    return gzip.decompress((RECORDINGS / f"{name}.json.gz").read_bytes())
