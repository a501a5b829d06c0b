"""A small Google: SKUs and machine types in wire shape, landed and normalised."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hwprices import providers
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, Part

AT = datetime(2026, 7, 30, tzinfo=UTC)
URL = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"


def sku(
    description: str,
    price: str,
    *,
    group: str = "",
    usage: str = "OnDemand",
    regions: Iterable[str] = ("us-central1",),
    **more: Any,
) -> dict[str, Any]:
    """One SKU. ``group`` is guessed from the description; ``unit``, ``family``, ``sku_id`` and any wire key can be given."""
    amount = Decimal(price)
    guess = (
        "GPU"
        if "GPU" in description or "gpu" in description or "RTX" in description
        else "RAM"
        if " Ram " in description
        else "CPU"
    )
    guess = "LocalSSD" if "Local S" in description else guess
    unit = more.pop("unit", {"RAM": "GiBy.h", "LocalSSD": "GiBy.mo"}.get(group or guess, "h"))
    rate = {
        "unitPrice": {
            "currencyCode": "USD",
            "units": str(int(amount)),
            "nanos": int(amount % 1 * 10**9),
        }
    }
    raw = {
        "skuId": more.pop("sku_id", description.upper().replace(" ", "-")),
        "description": description,
        "category": {
            "resourceFamily": more.pop("family", "Compute"),
            "resourceGroup": group or guess,
            "usageType": usage,
        },
        "serviceRegions": list(regions),
        "pricingInfo": [
            {
                "effectiveTime": "2026-07-01T00:00:00.5Z",
                "pricingExpression": {"usageUnit": unit, "tieredRates": [rate]},
            }
        ],
    }
    return {**raw, **more}


def machine(
    name: str, vcpus: int, memory_mb: int, gpu: tuple[str, int] | None = None, **more: Any
) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "name": name,
        "guestCpus": vcpus,
        "memoryMb": memory_mb,
        "isSharedCpu": False,
        "description": f"{vcpus} vCPUs",
        **more,
    }
    if gpu:
        raw["accelerators"] = [{"guestAcceleratorType": gpu[0], "guestAcceleratorCount": gpu[1]}]
    return raw


class World:
    """Tables that the provider makes of it."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.counts: dict[str, int] = {k: v for p in parts for k, v in p.counts.items()}

    def table(self, name: str) -> pl.DataFrame:
        frames = [
            p.frame.collect() if isinstance(p.frame, pl.LazyFrame) else p.frame
            for p in self.parts
            if p.table == name
        ]
        return pl.concat(frames) if frames else pl.DataFrame()

    @property
    def refused(self) -> list[dict[str, Any]]:
        return [row for p in self.parts if p.refused is not None for row in p.refused.to_dicts()]

    def prices(
        self, instance_type: str, region: str = "us-central1", os: str = "linux"
    ) -> dict[tuple[str, int], dict[str, Any]]:
        rows = (
            self.table("prices")
            .filter(
                pl.col("instance_type") == instance_type,
                pl.col("region") == region,
                pl.col("os") == os,
            )
            .to_dicts()
        )
        return {(r["purchase_option"], r["term_months"]): r for r in rows}

    def hourly(
        self, instance_type: str, option: str = "on_demand", term: int = 0, **more: str
    ) -> Decimal | None:
        return self.prices(instance_type, **more)[(option, term)]["hourly"]  # type: ignore[no-any-return]

    def components(self, price_id: str) -> dict[str, dict[str, Any]]:
        return {
            r["component"]: r
            for r in self.table("price_components")
            .filter(pl.col("price_id") == price_id)
            .to_dicts()
        }


def world(
    root: Path,
    skus: list[dict[str, Any]],
    zones: Mapping[str, list[dict[str, Any]]],
    more_skus: Iterable[list[dict[str, Any]]] = (),
) -> World:
    """Land and normalise. ``zones``: zone → machine types; ``more_skus``: further pages."""
    landing = Landing(root)
    types = {"items": {f"zones/{zone}": {"machineTypes": listed} for zone, listed in zones.items()}}

    def land(kind: str, *bodies: Any) -> UnitResult:
        unit = Unit("gcp", kind)
        return UnitResult(
            unit,
            "ok",
            tuple(
                landing.land_bytes(unit, json.dumps(b).encode(), url=URL, retrieved_at=AT)
                for b in bodies
            ),
        )

    results = (
        land("skus", {"skus": skus}, *({"skus": page} for page in more_skus)),
        land("machine_types", types),
    )
    return World(
        list(
            providers.get("gcp").normalise(
                Pages(Run("r", "gcp", "live", AT, "1", results), landing)
            )
        )
    )


def sample(project: Path) -> World:
    """The bundled sample."""
    landing = Landing(project / "data" / "sample")
    run = landing.latest_run("gcp")
    assert run is not None
    return World(list(providers.get("gcp").normalise(Pages(run, landing))))
