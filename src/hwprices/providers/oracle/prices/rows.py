"""Make rows of prices, price_components and component_prices."""

import re
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers.oracle.inventory.regions import REGION
from hwprices.providers.oracle.inventory.shapes import Machine
from hwprices.providers.oracle.kinds import CURRENCY
from hwprices.providers.oracle.prices.compose import Line, MachinePrice
from hwprices.providers.oracle.prices.products import Products, Rate
from hwprices.providers.oracle.sheets import Sheets
from hwprices.rows import frames, prices
from hwprices.rows.origin import ORIGIN
from hwprices.schemas.price import ComponentPrices, PriceComponents, Prices

UNITS = {"core": "ocpu", "ram": "gib", "slice": "gpu", "local_ssd": "tb", "license": "ocpu"}
"""Kind of component → what one unit of it is."""

PRICE_COLUMNS = (
    *("instance_type", "os", "purchase_option", "basis", "hourly", "price_reason"),
    *ORIGIN,
)

KEY = ("instance_type", "os", "purchase_option")


def price_rows(machine_prices: list[MachinePrice]) -> pl.DataFrame:
    """Return rows of prices, in the order of the machines.

    A row names the page of its first part, and is as old as the oldest page it was made from.
    """
    rows = [_price_row(price) for price in machine_prices]
    dtypes = frames.dtypes(Prices)
    return prices.price_rows(
        pl.LazyFrame(rows, schema={name: dtypes[name] for name in PRICE_COLUMNS}),
        provider="oracle",
        region=REGION,
        currency=CURRENCY,
        flags=pl.lit(["availability_unknown"]),
    ).collect()


def _price_row(price: MachinePrice) -> dict[str, Any]:
    pages = [line.rate.page for line in price.lines] or [price.machine.page]
    return {
        "instance_type": price.machine.name,
        "os": price.os,
        "purchase_option": price.purchase_option,
        "basis": price.basis,
        "hourly": price.hourly,
        "price_reason": price.reason,
        **_origin(pages[0]),
        "observed_at": min(page.retrieved_at for page in [*pages, price.machine.page]),
    }


def _origin(page: Page) -> dict[str, Any]:
    return {
        "observed_at": page.retrieved_at,
        "source_url": page.url,
        "raw_sha256": page.sha256,
    }


def price_component_rows(
    price_table: pl.DataFrame, machine_prices: list[MachinePrice]
) -> pl.DataFrame:
    """Return rows of price_components for the composed rows of ``price_table``."""
    ids = {tuple(row[1:]): row[0] for row in price_table.select("price_id", *KEY).iter_rows()}
    rows = [
        _component_row(ids[price.machine.name, price.os, price.purchase_option], price, line)
        for price in machine_prices
        if price.basis == "composed"
        for line in price.lines
    ]
    frame = pl.DataFrame(rows, schema=frames.dtypes(PriceComponents))
    return frames.conform(frame.lazy(), PriceComponents).collect()


def _component_row(price_id: str, price: MachinePrice, line: Line) -> dict[str, Any]:
    rate = line.rate
    return {
        "price_id": price_id,
        "component": rate.kind,
        "provider": "oracle",
        "region": REGION,
        "instance_type": price.machine.name,
        "purchase_option": price.purchase_option,
        "quantity": line.quantity,
        "unit": UNITS[rate.kind],
        "unit_price": rate.price,
        "currency": CURRENCY,
        "sku_id": rate.part_number,
        "observed_at": rate.page.retrieved_at,
        "raw_sha256": rate.page.sha256,
    }


def component_price_rows(
    products: Products, machines: list[Machine], sheets: Sheets
) -> pl.DataFrame:
    """Return the rate of every part that a listed machine has, and of every GPU.

    With them the price of any size of a flexible shape can be computed: it is linear. Licenses are
    no part of a machine, and a part at 0 has no price.
    """
    series = {
        part: machine.series.name
        for machine in reversed(machines)
        if machine.series is not None
        for part in machine.parts
    }
    rows = [
        _part_row(rate, series.get(number, "any"), sheets)
        for number, rate in sorted(products.rates.items())
        if rate.price and (number in series or rate.kind == "slice") and rate.kind != "license"
    ]
    frame = pl.DataFrame(rows, schema=frames.dtypes(ComponentPrices))
    return frames.conform(frame.lazy(), ComponentPrices).collect()


def _part_row(rate: Rate, series: str, sheets: Sheets) -> dict[str, Any]:
    gpu = sheets.gpus.get(rate.part_number, rate.name) if rate.kind == "slice" else None
    match = sheets.match_accelerator(gpu, "") if gpu else None
    return {
        "provider": "oracle",
        "region": REGION,
        "series": series,
        "component": _part_name(rate.kind, gpu),
        "purchase_option": "on_demand",
        "term_months": 0,
        "currency": CURRENCY,
        "unit": UNITS[rate.kind],
        "hourly": rate.price,
        "accelerator_id": match.accelerator_id if match else None,
        "sku_id": rate.part_number,
        "observed_at": rate.page.retrieved_at,
        "raw_sha256": rate.page.sha256,
    }


def _part_name(kind: str, gpu: str | None) -> str:
    """Name a part as the vocabulary of parts does: ``ocpu``, ``ram``, ``slice:a100-80gb``."""
    if gpu is not None:
        return "slice:" + re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    return {"core": "ocpu", "local_ssd": "local_nvme"}.get(kind, kind)
