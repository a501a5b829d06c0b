"""Make price rows: hourly, in euros without tax. The monthly price is 730 times as much, no cap."""

from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.providers.scaleway.inventory.servers import Server
from hwprices.rows import frames, quarantine
from hwprices.rows.origin import origin
from hwprices.rows.prices import LARGEST_PRICE, PriceRows, price_rows
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.units import Money

CURRENCY = "EUR"
"""The API has no field for it. Prices are without VAT: https://www.scaleway.com/en/pricing/"""

LINE: dict[str, Any] = {
    "region": pl.String,
    "instance_type": pl.String,
    "os": pl.String,
    "hourly": Money,
    "sku_id": pl.String,
}


def read_prices(servers: list[Server], zone: str) -> PriceRows:
    """Make the price rows of a zone, and refuse prices that are none."""
    good: dict[str, list[Server]] = {}
    refused = [frames.empty(Quarantine)]
    for server in (server for server in servers if server.zone == zone):
        price = _price(server)
        if price is None or not 0 < price < LARGEST_PRICE:
            refused.append(_refused(server, price))
        else:
            good.setdefault(server.page.key, []).append(server)
    if not good:
        return PriceRows(frames.empty(Prices).lazy(), pl.concat(refused))
    rows = price_rows(
        pl.concat(_lines(of_page) for of_page in good.values()).lazy(),
        provider="scaleway",
        purchase_option="on_demand",
        currency=CURRENCY,
    )
    return PriceRows(rows, pl.concat(refused))


def _lines(servers: list[Server]) -> pl.DataFrame:
    """Make the columns of LINE and those of the page that the servers share."""
    rows = [_row(server) for server in servers]
    return pl.DataFrame(rows, schema=LINE).with_columns(origin(servers[0].page))


def _price(server: Server) -> Decimal | None:
    """Return the hourly price; None where it is missing or no number."""
    value = server.fields.get("hourly_price")
    is_number = isinstance(value, Decimal | int) and not isinstance(value, bool)
    return Decimal(value) if is_number and value is not None else None


def _row(server: Server) -> dict[str, Any]:
    return {
        "region": server.zone,
        "instance_type": server.name,
        "os": "windows" if server.has_windows else "linux",
        "hourly": _price(server),
        "sku_id": server.name,
    }


def _refused(server: Server, price: Decimal | None) -> pl.DataFrame:
    listed = server.fields.get("hourly_price")
    row = {"region": server.zone, "instance_type": server.name, "hourly_price": str(listed)}
    frame = pl.LazyFrame([row]).with_columns(
        pl.lit("scaleway").alias("provider"), *origin(server.page)
    )
    reason = "price_not_positive" if price is not None and price <= 0 else "price_not_a_number"
    return quarantine.refused(
        frame, table="prices", reason=reason, message=f"{server.name} costs {listed!s:.100}"
    ).collect()
