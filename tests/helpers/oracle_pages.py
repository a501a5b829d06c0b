"""Write Oracle's two public files for tests, land them and normalise them."""

import json
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.landing.pages import Unit
from hwprices.providers.oracle import PRODUCTS, SHAPES
from tests.helpers import vendor_tables
from tests.helpers.vendor_tables import landed_units

E4_OCPU = "B93113"
E4_MEMORY = "B93114"
H100 = "B98415"


def product(part_number: str = H100, value: float = 10, **more: Any) -> dict[str, Any]:
    """Make a product as the list has it, by default one H100 for an hour.

    ``prices`` replaces its prices, ``currency`` their currency; ``name``, ``metric`` and
    ``category`` are its words.
    """
    prices = more.get("prices", [{"model": "PAY_AS_YOU_GO", "value": value}])
    return {
        "partNumber": part_number,
        "displayName": more.get("name", "OCI - Compute - GPU - H100"),
        "metricName": more.get("metric", "GPU Per Hour"),
        "serviceCategory": more.get("category", "Compute - GPU"),
        "currencyCodeLocalizations": more.get(
            "localizations", [{"currencyCode": more.get("currency", "USD"), "prices": prices}]
        ),
    }


def ocpus(part_number: str = E4_OCPU, value: float = 0.025, **more: Any) -> dict[str, Any]:
    """Make the product of an OCPU, by default of E4."""
    words = {"name": "Compute - Standard - E4 - OCPU", "metric": "OCPU Per Hour"}
    return product(part_number, value, category="Compute - Virtual Machine", **words | more)


def memory(part_number: str = E4_MEMORY, value: float = 0.0015, **more: Any) -> dict[str, Any]:
    """Make the product of a gigabyte of memory, by default of E4."""
    words = {"name": "Compute - Standard - E4  - Memory", "metric": "Gigabyte Per Hour"}
    return product(part_number, value, category="Compute - Virtual Machine", **words | more)


def shape(name: str, *parts: tuple[str, float | None, str], **more: Any) -> dict[str, Any]:
    """Make a shape; ``parts`` are (part number, quantity, ocpu | memory | disk)."""
    kind = "vm" if name.startswith("VM.") else "bm"
    members = {
        "hidden": False,
        "status": "ACTIVE",
        "allowPreemptible": False,
        "bundleMemoryQty": None,
        "gpuQty": None,
        "gpuMemoryQty": None,
        "processorType": {"value": "amd"},
        "shapeType": {"value": kind},
        "subType": {"value": "standard"},
    }
    products = [{"partNumber": n, "qty": q, "type": {"value": k}} for n, q, k in parts]
    return {"name": name, **members, "products": products} | more


H100_SHAPE = shape(
    "BM.GPU.H100.8", (H100, 112, "ocpu"), bundleMemoryQty=2048, gpuQty=8, gpuMemoryQty=640
)
E4_SHAPE = shape("BM.Standard.E4.128", (E4_OCPU, 128, "ocpu"), (E4_MEMORY, 2048, "memory"))


class Tables(vendor_tables.Tables):
    """The tables of both files, and what was refused or left out."""

    def hourly(self, instance_type: str, option: str = "on_demand", os: str = "linux") -> Decimal:
        """Return the price of a machine."""
        where = {"instance_type": instance_type, "purchase_option": option, "os": os}
        price: Decimal = self.rows["prices"].filter(**where)["hourly"].item()
        return price

    def reason(self, instance_type: str) -> str:
        """Return why a machine has no price."""
        prices = self.rows["prices"].filter(instance_type=instance_type)
        return str(prices["price_reason"].item())

    def machine(self, instance_type: str) -> dict[str, Any]:
        """Return a row of instance_types."""
        return self.rows["instance_types"].row(
            by_predicate=pl.col("instance_type") == instance_type, named=True
        )


def read(
    products: Sequence[dict[str, Any]], shapes: Sequence[dict[str, Any]] = (H100_SHAPE,)
) -> Tables:
    """Normalise a product list and shapes."""
    units = [(Unit("oracle", PRODUCTS), body(products)), (Unit("oracle", SHAPES), body(shapes))]
    with tempfile.TemporaryDirectory() as folder:
        return Tables("oracle", landed_units("oracle", Path(folder), units))


def body(items: Sequence[dict[str, Any]]) -> bytes:
    """Write a file of items."""
    return json.dumps({"lastUpdated": "2026-08-14T09:09:55.872Z", "items": items}).encode()
