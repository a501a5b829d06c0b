"""Answers for people: devices, recommendations and break-even as tables of rich."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from hwprices.read.explain import Explanation, arithmetic

MILLION = 1_000_000

LONG_LIST = 8  # regions and machines shown before "and n more"


def money(value: Any) -> str:
    """An amount in USD with as many digits as one reads; empty where it is not known."""
    if value is None:
        return ""
    amount = Decimal(value)
    if amount >= MILLION:
        return f"{amount / MILLION:,.2f} M"
    return (
        f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.2f}" if amount >= 1 else f"{amount:.4f}"
    )


def number(value: Any, unit: str = "") -> str:
    if value is None:
        return ""
    if abs(value) >= MILLION:
        shown = f"{value / MILLION:,.3g} M"
    elif abs(value) >= MILLION / 10:
        shown = f"{value / 1000:,.0f} k"
    else:
        shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"
    return f"{shown} {unit}".strip()


def some(values: list[str] | None) -> str:
    """A list in one line, cut where nobody would read on."""
    shown = list(values or [])
    more = f" and {len(shown) - LONG_LIST} more" if len(shown) > LONG_LIST else ""
    return ", ".join(shown[:LONG_LIST]) + more


def render_device(frame: pl.DataFrame) -> Table:
    """The one row of ``device.device``, a question a line; unanswered ones at the end with the reason."""
    row = frame.row(0, named=True)
    table = Table(
        title=f"{row['name']} ({row['device_id']})", show_header=False, title_justify="left"
    )
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
        (
            "memory",
            ", ".join(
                part
                for part in (
                    number(row["memory_gb"], "GB"),
                    number(row["memory_bandwidth_gbs"], "GB/s"),
                )
                if part
            ),
        ),
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
        (
            "to buy",
            _with(
                f"{money(row['purchase_amount'])} {row['purchase_currency'] or ''}".strip(),
                row["purchase_basis"],
            ),
        ),
        ("USD/h owned", money(row["owned_hourly_usd"])),
    ]


def _speed(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    results = sorted(
        row["measured"] or [], key=lambda m: not m["unit"].startswith("Tokens")
    )  # language models are what most ask for
    measured = [
        f"{m['model']} {m['scenario']} {m['round']}: {number(m['per_accelerator'], m['unit'])}"
        for m in results[:LONG_LIST]
    ]
    measured += (
        [f"and {len(results) - LONG_LIST} more in the benchmarks table"]
        if len(results) > LONG_LIST
        else []
    )
    tokens = [
        f"{t['model']}: {money(t['usd'])} ({t['basis']})"
        for t in row["usd_per_million_tokens"] or []
    ]
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


FIGURES: list[tuple[str, str, Callable[[Any], str]]] = [
    ("spot", "spot_usd_per_hour", money),
    ("1 year", "best_1y_usd_per_hour", money),
    ("3 years", "best_3y_usd_per_hour", money),
    ("hours", "hours", number),
    ("USD in all", "usd", money),
    ("tokens/s", "tokens_per_second", number),
    ("USD/M tok", "usd_per_million_tokens", money),
    ("kWh", "kwh", number),
    ("gCO2e", "operational_gco2e", number),
]
"""Heading, column and how it is shown."""


def render_recommendation(frame: pl.DataFrame, top: int = 10, excluded: int = 0) -> Table:
    """The first ``top`` machines of ``recommend.recommend``, and as many of those left out as asked.

    Figures that no machine has (hours, for inference) are no column.
    """
    fit, out = frame.filter(pl.col("excluded").is_null()), frame.drop_nulls("excluded")
    needed = number(fit["memory_needed_gib"].min(), "GiB")
    title = f"{fit.height} machines fit, {out.height} do not; the job needs at least {needed or 'more than any has'}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    # a training is asked for its cost and a service for its pace: either fits a line
    spare = (
        ("tokens_per_second", "best_3y_usd_per_hour", "usd_per_million_tokens")
        if fit["hours"].count()
        else ("usd",)
    )
    figures = [
        (name, column, show)
        for name, column, show in FIGURES
        if fit.head(top)[column].count() and column not in spare
    ]
    for name in (
        "",
        "machine",
        "where",
        "\u00d7",
        "USD/h",
        "how",
        *(name for name, _, _ in figures),
    ):
        table.add_column(
            name, justify="left" if name in ("machine", "where", "how") else "right", no_wrap=True
        )
    for row in fit.head(top).iter_rows(named=True):
        place = "/".join(part for part in (row["provider"], row["region"]) if part)
        shown = (show(row[column]) for _, column, show in figures)
        table.add_row(
            str(row["rank"]),
            row["machine"],
            place,
            str(row["nodes"]),
            money(row["usd_per_hour"]),
            str(row["price_basis"]).replace("_", " "),
            *shown,
        )
    if excluded:
        table.caption = "\n".join(
            f"{row['machine']}: {row['excluded']}"
            for row in out.head(excluded).iter_rows(named=True)
        )
        table.caption_justify = "left"
    return table


def render_break_even(frame: pl.DataFrame) -> Table:
    """``tco.break_even``: what owning costs against the cheapest cloud offer of the same accelerators."""
    table = Table(title="Owning against renting", title_justify="left", box=None, pad_edge=False)
    for name in (
        "machine",
        "USD",
        "USD/h owned",
        "USD/h cloud",
        "cheapest offer",
        "pays after",
        "",
    ):
        table.add_column(
            name, justify="right" if name.startswith("USD") else "left", no_wrap=name != "machine"
        )
    for row in frame.iter_rows(named=True):
        hours, years = (
            number(row["break_even_hours"], "h"),
            number(row["break_even_years"], "years"),
        )
        table.add_row(
            row["name"],
            money(row["usd"]),
            money(row["tco_usd_per_hour"]),
            money(row["cloud_usd_per_hour"]),
            row["cloud_offer"] or "",
            hours,
            years,
        )
    return table


def render_prices(found: pl.DataFrame, top: int = 40) -> Table:
    """Prices of ``explain.find``, one a line, with the id that explains each."""
    table = Table(title=f"{found.height} prices", title_justify="left", box=None, pad_edge=False)
    for name in ("price_id", "where", "os", "licence", "tenancy", "how", "per hour", "flags"):
        table.add_column(name, justify="right" if name == "per hour" else "left", no_wrap=True)
    for row in found.head(top).iter_rows(named=True):
        place = "/".join(part for part in (row["provider"], row["region"], row["zone"]) if part)
        system = row["os"] if row["software"] == "none" else f"{row['os']} + {row['software']}"
        plan = [
            row["commitment_plan"],
            f"{row['term_months']} months" if row["term_months"] else None,
            row["payment_option"] if row["term_months"] else None,
        ]
        how = " ".join(str(part) for part in (row["purchase_option"], *plan) if part).replace(
            "_", " "
        )
        amount = (
            f"{row['effective_hourly']:.4f} {row['currency']}"
            if row["effective_hourly"] is not None
            else str(row["price_reason"])
        )
        table.add_row(
            row["price_id"],
            place,
            system,
            row["license_model"],
            row["tenancy"],
            how,
            amount,
            ", ".join(row["flags"]),
        )
    if found.height > top:
        table.caption = f"and {found.height - top} more: narrow it with --region, --os, --option"
    return table


def render_explanation(found: Explanation) -> Table:
    """One price: what it is, how it is made, and the vendor's line behind each SKU."""
    price = found.price
    table = Table(
        show_header=False,
        title=f"{price['instance_type']} in {price['provider']}/{price['region']} ({price['price_id']})",
        title_justify="left",
    )
    system = f"{price['os']}, software {price['software']}, licence {price['license_model']}, tenancy {price['tenancy']}"
    committed = (
        f", {price['commitment_plan'] or ''} {price['term_months']} months, {price['payment_option']}"
        if price["term_months"]
        else ""
    )
    rows = [
        ("what", f"{system}; {price['purchase_option']}{committed}"),
        ("price", arithmetic(found)),
        ("flags", ", ".join(price["flags"])),
        ("seen", f"{price['observed_at']:%Y-%m-%d %H:%M} UTC at {price['source_url']}"),
        ("holds from", f"{price['effective_from']:%Y-%m-%d}" if price["effective_from"] else ""),
    ]
    for trace in found.traces:
        rows.append(
            (
                f"SKU {trace.sku}",
                f"{trace.line or 'not found by this id on the page'}\n{trace.page} ({trace.state})"
                if trace.page
                else "its landed page is not below this root",
            )
        )
    for what, value in rows:
        if value:
            table.add_row(what, Text(value, overflow="fold"))
    return table
