"""Draw who sells a device."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.read.terminal.tables import money, table

HEADINGS = ["cloud", "USD/h", "spot", "other currency", "offer", "seen"]

PRIVATE = "community hosts"
"""Name of community hosts, beside that of their cloud."""

Row = dict[str, Any]


def render_where_sold(rows: list[Row]) -> RenderableType:
    """Draw a line for each cloud, and what to do about prices in another currency."""
    drawn = table(
        HEADINGS,
        [_cloud(row) for row in rows],
        right=["USD/h", "spot"],
        wrap=["offer"],
        least=["offer", "seen", "other currency"],
    )
    others = sorted({row["currency"] for row in rows if _is_not_comparable(row)})
    hints = (f"--usd-per {currency}=… makes its prices comparable" for currency in others)
    return Group(drawn, *(Text(hint, "dim") for hint in hints))


def _is_not_comparable(row: Row) -> bool:
    return (
        row["currency"] is not None
        and row["on_demand_usd_per_hour"] is None
        and bool(row["on_demand_per_hour"])
    )


def _cloud(row: Row) -> list[RenderableType]:
    on_demand, spot = row["on_demand_usd_per_hour"], row["spot_usd_per_hour"]
    native = ""
    if row["currency"] not in (None, "USD") and row["on_demand_per_hour"] is not None:
        native = f"{money(row['on_demand_per_hour'])} {row['currency']}"
    reason = str(row["reason"] or "").replace("_", " ")
    seen = f"{row['seen']}, stale" if row["stale"] else str(row["seen"] or "")
    return [
        f"{row['provider']}, {PRIVATE}" if row["private_host"] else row["provider"],
        money(on_demand),
        money(spot),
        native,
        row["on_demand_offer"] or row["spot_offer"] or reason,
        Text(seen, "yellow" if row["stale"] else ""),
    ]
