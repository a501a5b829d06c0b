"""Answers for people: devices, recommendations and break-even as tables of rich."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import polars as pl
from rich.table import Table

LONG_LIST = 8  # regions and machines shown before "and n more"


def money(value: Any) -> str:
    """An amount in USD with as many digits as one reads; empty where it is not known."""
    if value is None:
        return ""
    amount = Decimal(value)
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.2f}" if amount >= 1 else f"{amount:.4f}"


def number(value: Any, unit: str = "") -> str:
    return "" if value is None else f"{value:,.4g} {unit}".strip() if abs(value) < 10_000 else f"{value:,.0f} {unit}".strip()


def some(values: list[str] | None) -> str:
    """A list in one line, cut where nobody would read on."""
    shown = list(values or [])
    more = f" and {len(shown) - LONG_LIST} more" if len(shown) > LONG_LIST else ""
    return ", ".join(shown[:LONG_LIST]) + more


def render_device(frame: pl.DataFrame) -> Table:
    """The one row of ``device.device``, a question a line; unanswered ones at the end with the reason."""
    row = frame.row(0, named=True)
    table = Table(title=f"{row['name']} ({row['device_id']})", show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for question, answer in [*_what(row), *_cost(row), *_speed(row)]:
        if answer:
            table.add_row(question, answer)
    for reason in row["missing"]:
        table.add_row("[dim]not known[/dim]", f"[dim]{reason}[/dim]")
    return table


def _what(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    rates = some([f"{r['dtype']} {number(r['rate'], r['unit'])}" for r in row["dense_rates"] or []])
    return [
        ("type", f"{row['type']}, {row['vendor']}, {row['architecture'] or ''}".rstrip(", ")),
        ("released", str(row["release_year"] or "")),
        ("memory", ", ".join(part for part in (number(row["memory_gb"], "GB"), number(row["memory_bandwidth_gbs"], "GB/s")) if part)),
        ("computes in", some(row["dtypes"])),
        ("dense rates", rates),
        ("AI features", some(row["ai_features"])),
        ("software", some(row["software"])),
        ("clouds", some(row["clouds"])),
        ("regions", some(row["regions"])),
        ("machines to buy", some(row["local_devices"])),
    ]


def _cost(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("USD/h", _with(money(row["hourly_usd"]), row["hourly_offer"])),
        ("USD/h spot", _with(money(row["spot_hourly_usd"]), row["spot_offer"])),
        ("USD/h cheapest", _with(money(row["cheapest_usd"]), row["cheapest_offer"])),
        ("USD/h as a part", money(row["part_hourly_usd"])),
        ("USD/year", money(row["yearly_usd"])),
        ("USD to buy", _with(money(row["purchase_usd"]), row["purchase_basis"])),
        ("USD/h owned", money(row["owned_hourly_usd"])),
    ]


def _speed(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    measured = [f"{m['model']} {m['scenario']} {m['round']}: {number(m['per_accelerator'], m['unit'])}" for m in row["measured"] or []]
    tokens = [f"{t['model']}: {money(t['usd'])} ({t['basis']})" for t in row["usd_per_million_tokens"] or []]
    return [
        ("measured", "\n".join(measured)),
        ("USD/M tokens", "\n".join(tokens)),
        ("power", _with(number(row["watts"], "W"), row["watts_basis"])),
        ("TFLOPS/W", _with(number(row["tflops_per_watt"]), row["tflops_per_watt_dtype"])),
        ("gCO2e/h", _with(number(row["gco2e_per_hour"]), row["gco2e_basis"])),
        ("source", f"{row['source_url']} ({row['confidence']} confidence)"),
        ("notes", row["notes"] or ""),
    ]


def _with(value: str, remark: str | None) -> str:
    return f"{value} ({remark})" if value and remark else value


def render_recommendation(frame: pl.DataFrame, top: int = 10, excluded: int = 0) -> Table:
    """The first ``top`` machines of ``recommend.recommend``, and as many of those left out as asked."""
    fit, out = frame.filter(pl.col("excluded").is_null()), frame.drop_nulls("excluded")
    table = Table(title=f"{fit.height} machines fit, {out.height} do not", title_justify="left")
    for name, right in [
        ("", True),
        ("machine", False),
        ("where", False),
        ("×", True),
        ("GiB needed", True),
        ("USD/h", True),
        ("how", False),
        ("spot", True),
        ("1 year", True),
    ]:
        table.add_column(name, justify="right" if right else "left")
    for name in ("hours", "USD", "tokens/s", "kWh", "gCO2e"):
        table.add_column(name, justify="right")
    for row in fit.head(top).iter_rows(named=True):
        others = (money(row[f"{name}usd_per_hour"]) for name in ("spot_", "best_1y_"))
        prices = (money(row["usd_per_hour"]), row["price_basis"], *others)
        needed = number(row["memory_needed_gib"])
        figures = (number(row["hours"]), money(row["usd"]), number(row["tokens_per_second"]), number(row["kwh"]), number(row["operational_gco2e"]))
        place = "/".join(part for part in (row["provider"], row["region"]) if part)
        table.add_row(str(row["rank"]), row["machine"], place, str(row["nodes"]), needed, *prices, *figures)
    for row in out.head(excluded).iter_rows(named=True):
        table.add_row("", f"[dim]{row['machine']}[/dim]", f"[dim]{row['excluded']}[/dim]")
    return table


def render_break_even(frame: pl.DataFrame) -> Table:
    """``tco.break_even``: what owning costs against the cheapest cloud offer of the same accelerators."""
    table = Table(title="Owning against renting", title_justify="left")
    for name in ("machine", "USD", "USD/h owned", "USD/h cloud", "cheapest offer", "pays after", ""):
        table.add_column(name, justify="right" if name.startswith("USD") else "left")
    for row in frame.iter_rows(named=True):
        hours, years = number(row["break_even_hours"], "h"), number(row["break_even_years"], "years")
        table.add_row(row["name"], money(row["usd"]), money(row["tco_usd_per_hour"]), money(row["cloud_usd_per_hour"]), row["cloud_offer"] or "", hours, years)
    return table
