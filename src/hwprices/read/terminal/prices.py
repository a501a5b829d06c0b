"""Draw prices, and the explanation of one."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from hwprices.read.age import is_stale, seen_words
from hwprices.read.explain import Explanation, Trace, arithmetic
from hwprices.read.terminal.tables import place, table

PRICE_HEADINGS = ["price_id", "where", "os", "license", "tenancy", "how", "per hour", "flags"]


def render_prices(prices: pl.DataFrame, top: int = 40) -> Table:
    """Draw the prices of ``explain.find_prices``, one a line, with the id that explains each."""
    rest = prices.height - top
    hint = "narrow it with --region, --os, --purchase-option"
    return table(
        PRICE_HEADINGS,
        [_price(row) for row in prices.head(top).iter_rows(named=True)],
        title=f"{prices.height} prices",
        right=["per hour"],
        caption=f"and {rest} more: {hint}" if rest > 0 else "",
    )


def _price(row: dict[str, Any]) -> list[str]:
    """Write the cells of one price."""
    system = row["os"] if row["software"] == "none" else f"{row['os']} + {row['software']}"
    if row["effective_hourly"] is None:
        amount = str(row["price_reason"])
    else:
        amount = f"{row['effective_hourly']:.4f} {row['currency']}"
    return [
        row["price_id"],
        place(row, "provider", "region", "zone"),
        system,
        row["license_model"],
        row["tenancy"],
        _purchase(row),
        amount,
        ", ".join(row["flags"]),
    ]


def _purchase(row: dict[str, Any]) -> str:
    """Write purchase option, commitment plan, term and payment option in words."""
    words = [row["purchase_option"], row["commitment_plan"]]
    if row["term_months"]:
        words += [f"{row['term_months']} months", row["payment_option"]]
    return " ".join(word for word in words if word).replace("_", " ")


def render_explanation(explanation: Explanation) -> Table:
    """Draw one price: what it is, how it is computed, and the vendor's line behind each SKU."""
    price = explanation.price
    where = f"{price['provider']}/{price['region']}"
    drawn = Table(
        show_header=False,
        title=f"{price['instance_type']} in {where} ({price['price_id']})",
        title_justify="left",
    )
    valid_from = price["effective_from"]
    rows = [
        ("what", _terms(price)),
        ("price", arithmetic(explanation)),
        ("flags", ", ".join(price["flags"])),
        ("seen", f"{_seen(price['observed_at'])} at {price['source_url']}"),
        ("holds from", f"{valid_from:%Y-%m-%d}" if valid_from else ""),
        *((f"SKU {trace.sku}", _source(trace)) for trace in explanation.traces),
    ]
    for heading, value in rows:
        if value:
            drawn.add_row(heading, Text(value, overflow="fold"))
    return drawn


def _seen(seen: datetime) -> str:
    """Write the time at which a price was seen, and that it is stale."""
    now = datetime.now(UTC)
    return seen_words(seen, now) if is_stale(seen, now) else f"{seen:%Y-%m-%d %H:%M} UTC"


def _terms(price: dict[str, Any]) -> str:
    """Write platform, purchase option and commitment of a price in words."""
    platform = (
        f"{price['os']}, software {price['software']}, "
        f"license {price['license_model']}, tenancy {price['tenancy']}"
    )
    if not price["term_months"]:
        return f"{platform}; {price['purchase_option']}"
    commitment = (
        f"{price['commitment_plan'] or ''} {price['term_months']} months, {price['payment_option']}"
    )
    return f"{platform}; {price['purchase_option']}, {commitment}"


def _source(trace: Trace) -> str:
    """Write the vendor's line and the landed page that holds it."""
    if not trace.page:
        return "its landed page is not below this root"
    return f"{trace.line or 'not found by this id on the page'}\n{trace.page} ({trace.state})"
