"""Write OVHcloud's order catalog for tests, land it and normalise it."""

import json
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, get
from hwprices.providers.ovh.fetch import CATALOG

NOW = datetime(2026, 8, 22, tzinfo=UTC)


def plan(code: str = "h100-380.consumption", price: int = 280000000, **more: Any) -> dict[str, Any]:
    """Make a plan of the catalog, by default one hour of h100-380.

    ``technical``, ``tags``, ``pricings`` and ``product`` replace its members.
    """
    gpu = {"model": "H100", "number": 1, "memory": {"size": 80}}
    technical = {"cpu": {"cores": 30, "type": "vCore"}, "memory": {"size": 380}, "gpu": gpu}
    pricing = {"price": price, "interval": 1, "intervalUnit": "hour", "type": "consumption"}
    return {
        "planCode": code,
        "invoiceName": code.split(".", maxsplit=1)[0],
        "product": more.get("product", "publiccloud-instance"),
        "pricings": more.get("pricings", [pricing]),
        "blobs": {
            "tags": more.get("tags", ["active"]),
            "technical": more.get("technical", technical),
        },
    }


B3_8 = {"cpu": {"cores": 2, "type": "vCore"}, "memory": {"size": 8}}
"""What b3-8 is."""


@dataclass(frozen=True)
class Tables:
    """The rows of every table, quarantine rows with their words, and what was left out."""

    rows: dict[str, pl.DataFrame]
    refused: list[tuple[str, str]]
    words: list[tuple[str, str | None]]
    counts: dict[str, int]


def read(*plans: dict[str, Any], currency: str = "EUR") -> Tables:
    """Normalise a catalog."""
    with tempfile.TemporaryDirectory() as folder:
        landing = Landing(folder)
        unit = Unit("ovh", CATALOG)
        page = landing.land_bytes(
            unit, body(*plans, currency=currency), url="https://ovh.test/c", retrieved_at=NOW
        )
        run = Run("r", "ovh", "live", NOW, "test", (UnitResult(unit, "ok", (page,)),))
        parts = list(get("ovh").normalise(Pages(run, landing)))
    frames: dict[str, list[pl.DataFrame]] = {}
    for part in parts:
        frames.setdefault(part.table, []).append(part.frame.lazy().collect())
    return Tables(
        {table: pl.concat(tables) for table, tables in frames.items()},
        [
            row
            for part in parts
            if part.refused is not None
            for row in part.refused.select("reason", "message").rows()
        ],
        [
            row
            for part in parts
            if part.refused is not None
            for row in part.refused.select("reason", "word").rows()
        ],
        {name: count for part in parts for name, count in part.counts.items()},
    )


def body(*plans: dict[str, Any], currency: str = "EUR", subsidiary: str = "FR") -> bytes:
    """Write a catalog."""
    locale = {"currencyCode": currency, "subsidiary": subsidiary, "taxRate": 20}
    return json.dumps({"locale": locale, "plans": [], "addons": plans}).encode()
