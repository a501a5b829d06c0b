"""The command ``hwprices device``: an accelerator, CPU or machine."""

from functools import partial
from itertools import groupby
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import described, open_dataset, print_frame
from hwprices.cli.tables import (
    MAX_LISTED,
    PRIVATE,
    STALE_CAPTION,
    STALE_MARK,
    Row,
    codes,
    listing,
    money,
    number,
    ranged,
    table,
    table_of,
    with_remark,
)
from hwprices.read.device.figures import CPU_RUN
from hwprices.read.device.lookup import SeveralDevicesError
from hwprices.read.device.measured import ALONE, TIMES, label

CPU_SPEEDS_SOURCE = "Spare Cores, https://github.com/SpareCores/sc-inspector-data, CC BY-SA 4.0"
"""Where the sheet cpu_speeds is from, and its license."""


@filters.add_options("usd_per")
@described(name=filters.devices)
def device(
    *,
    name: list[str],
    options: filters.Options,
) -> None:
    """Describe an accelerator, CPU or machine."""
    dataset = open_dataset()
    try:
        answer = dataset.device(" ".join(name), **options)
    except SeveralDevicesError as several:
        answer = pl.concat(dataset.device(name, **options) for name in several.devices)
    draw = render_device if answer.height == 1 else render_devices
    print_frame(answer, draw)


SIDE_BY_SIDE = {
    "name": "device",
    "device_id": "id",
    "memory_gb": "GB",
    "on_demand_usd_per_hour": "USD/h",
    "spot_usd_per_hour": "spot",
    "launch_price_usd": "launch price",
    "memory_bandwidth_gbs": "GB/s",
    "release_year": "released",
}
"""Columns of several devices, and their headings."""

SERVED = {"usd_per_million_tokens": "$/1M\ntokens", "tokens_per_second": "tok/s\nper GPU"}
"""More columns, if the devices are compared serving a model."""


def render_devices(frame: pl.DataFrame) -> Table:
    """Draw devices, one a line."""
    every = SIDE_BY_SIDE | (SERVED if "tokens_per_second" in frame.columns else {})
    shown = {name: heading for name, heading in every.items() if frame[name].count()}
    headings = list(shown.values())
    return table_of(
        frame,
        {heading: partial(_cell, name=name) for name, heading in shown.items()},
        title=f"{frame.height} devices",
        right=headings[2:],
        least=["launch price", "released", "GB/s", "device", "spot", "GB"],
        caption=f"hwprices device ID shows one of them; {STALE_CAPTION}",
    )


def _cell(row: Row, name: str) -> str:
    if name in SERVED:
        return ranged(row, name)
    value = row[name]
    if "usd" in name:
        sold = [sold for sold in row["where_sold"] or [] if value and sold.get(name) == value]
        return money(value) + STALE_MARK * (sold != [] and all(offer["stale"] for offer in sold))
    return number(value) if isinstance(value, float) else str("" if value is None else value)


def render_device(frame: pl.DataFrame) -> Table:
    """Draw the row of ``device.device``, a line a question; the reasons of missing figures last."""
    row = frame.row(0, named=True)
    answers: list[tuple[str, RenderableType]] = [*_identity(row), *_costs(row)]
    if row["where_sold"]:
        answers.append(("where sold", render_where_sold(row["where_sold"])))
    answers += [*_performance(row), *_sources(row)]
    lines = [(Text(question, "bold"), answer) for question, answer in answers if answer]
    lines += [(Text("not known", "dim"), Text(reason, "dim")) for reason in row["missing"]]
    title = f"{row['name']} ({row['device_id']})"
    return table(["", " "], lines, wrap=[" "], least=(), title=title)


def _identity(row: Row) -> list[tuple[str, str]]:
    """Describe what it is and where it is sold."""
    rates = [
        f"{rate['dtype']} {number(rate['rate'], rate['unit'])}" for rate in row["dense_rates"] or []
    ]
    kind = [row["type"], row["vendor"], row["architecture"]]
    memory = [number(row["memory_gb"], "GB"), number(row["memory_bandwidth_gbs"], "GB/s")]
    return [
        ("type", ", ".join(part for part in kind if part)),
        ("released", str(row["release_year"] or "")),
        ("memory", ", ".join(part for part in memory if part)),
        ("computes in", listing(row["dtypes"])),
        ("dense rates", listing(rates)),
        ("AI features", listing(row["ai_features"])),
        ("software", listing(row["software"])),
        ("regions", listing(row["regions"])),
        ("machines to buy", listing(row["local_devices"])),
    ]


def _costs(row: Row) -> list[tuple[str, str]]:
    def rent(column: str, offer: str) -> str:
        known = row[column] is not None
        return with_remark(f"{money(row[column])}{_unit(row)}", row[offer]) if known else ""

    purchase = f"{money(row['purchase_price'])} {row['purchase_currency'] or ''}".strip()
    at_launch = f"USD, {row['release_year']}" if row["release_year"] else "USD"
    return [
        ("USD/h", rent("on_demand_usd_per_hour", "on_demand_offer")),
        ("USD/h, spot", rent("spot_usd_per_hour", "spot_offer")),
        ("USD/h, cheapest", rent("cheapest_usd_per_hour", "cheapest_offer")),
        (f"USD/h, {PRIVATE}", rent("private_host_usd_per_hour", "private_host_offer")),
        ("USD/h, component", money(row["part_usd_per_hour"])),
        ("USD/year", rent("usd_per_year", "usd_per_year_basis")),
        ("prices of", str(row["prices_observed"] or "")),
        ("launch price", with_remark(money(row["launch_price_usd"]), at_launch)),
        ("to buy", with_remark(purchase, row["purchase_basis"])),
        (
            "inside a machine",
            with_remark(money(row["machine_share_usd"]), row["machine_share_basis"]),
        ),
        ("USD/h, owning", money(row["tco_usd_per_hour"])),
    ]


def _unit(row: Row) -> str:
    """Return the unit of costs and emissions of a CPU; those of other devices are per device."""
    return " per vCPU" if row["type"] == "cpu" else ""


def _performance(row: Row) -> list[tuple[str, str]]:
    token_prices = [_token_price(price) for price in row["usd_per_million_tokens"] or []]
    efficiency = number(row["tflops_per_watt"])
    emissions = number(row["gco2e_per_hour"])
    emissions = f"{emissions}{_unit(row)}" if emissions else ""
    return [
        ("measured", "\n".join(_cpu_runs(row) if row["type"] == "cpu" else _measurements(row))),
        ("USD/M tokens", "\n".join(token_prices)),
        ("USD/1000", "\n".join(_sample_prices(row))),
        ("power", with_remark(number(row["power_w"], "W"), row["power_basis"])),
        ("TFLOPS/W", with_remark(efficiency, row["tflops_per_watt_dtype"])),
        ("gCO2e/h", with_remark(emissions, row["gco2e_basis"])),
    ]


def _sample_prices(row: Row) -> list[str]:
    """Write the price of a thousand images, pieces of speech or videos, one line a model."""
    names = {
        "stable-diffusion-xl": "SDXL images",
        "whisper": "Whisper, speech of up to 30 s",
        "wan-2.2-t2v-a14b": "Wan 2.2 videos",
    }
    return [
        f"{names.get(price['model'], price['model'])}: {money(price['usd'])}"
        for price in row["usd_per_thousand_samples"] or []
    ]


def _measurements(row: Row) -> list[str]:
    """Write one line per result: first the results behind token prices, then other tokens."""
    priced = {price["measurement"] for price in row["usd_per_million_tokens"] or []}

    def order(result: Row) -> tuple[bool, bool]:
        is_priced = result["scenario"] == "Offline" and label(result) in priced
        return not is_priced, not result["unit"].startswith("Tokens")

    results = sorted(row["measured"] or [], key=order)
    lines = [
        f"{result['model']} {result['scenario']} {result['round']}: {_figure(result)}"
        for result in results[:MAX_LISTED]
    ]
    if len(results) > MAX_LISTED:
        lines.append(f"and {len(results) - MAX_LISTED} more in the benchmarks table")
    return lines


def _cpu_runs(row: Row) -> list[str]:
    """Write one line per model and scenario on a CPU: the smallest and the fastest machine."""
    results = row["measured"] or []
    lines = []
    for (model, scenario, precision, software), group in groupby(
        results, key=lambda result: tuple(result[name] for name in CPU_RUN)
    ):
        runs = list(group)
        smallest, fastest = runs[0], max(runs, key=lambda run: float(run["result"]))
        rates = _on_vcpus(smallest)
        if fastest is not smallest:
            rates += f", at most {_on_vcpus(fastest)}"
        lengths = f"{number(smallest['input_tokens'])}/{number(smallest['output_tokens'])}"
        lines.append(
            f"{model} {scenario}: {rates}; tokens in/out {lengths}, {precision}, {software}"
        )
    if lines:
        lines.append(f"{len(results)} figures, all in --json: {CPU_SPEEDS_SOURCE}")
    return lines


def _on_vcpus(run: Row) -> str:
    """Write the speed of one machine."""
    plural = "" if run["vcpus"] == 1 else "s"
    rate = number(run["result"], "tokens/s")
    return f"{rate} on {run['vcpus']} vCPU{plural} ({run['system']})"


def _format(result: Row) -> str:
    """Write the format of the weights, if the benchmark states it."""
    has_format = result["scenario"] in ALONE and result["precision"]
    return f", {result['precision']}" if has_format else ""


def _figure(result: Row) -> str:
    """Write a rate per accelerator and of the measured system; a time only of the system."""
    rate = number(result["per_accelerator"], result["unit"])
    if result["result"] is None or result["accelerators"] is None:
        return rate + _format(result)
    if result["accelerators"] == 1 or result["result_unit"] in TIMES:
        plural = "" if result["accelerators"] == 1 else "s"
        accelerators = f"{number(result['accelerators'])} accelerator{plural}"
        return (
            f"{number(result['result'], result['result_unit'])} on {accelerators}{_format(result)}"
        )
    return (
        f"{rate} ({number(result['result'])} on {number(result['accelerators'])}){_format(result)}"
    )


def _token_price(price: Row) -> str:
    """Write the price of a million tokens, its input and output length, and the measured rate."""
    basis = price["basis"]
    if price["tokens_per_second"] is not None and price["accelerators"] is not None:
        rate = number(price["tokens_per_second"], "tokens/s")
        mlperf_round = price["measurement"].split("/")[1]
        basis = f"{basis}, {rate} on {number(price['accelerators'])} in {mlperf_round}"
    lengths = f"{number(price['input_tokens'])} tokens in, {number(price['output_tokens'])} out"
    known = price["input_tokens"] is not None and price["output_tokens"] is not None
    condition = f" at {lengths}" if known else ", lengths not known"
    return f"{price['model']}: {money(price['usd'])}{condition} ({basis})"


def _sources(row: Row) -> list[tuple[str, str]]:
    return [
        ("source", f"{row['source_url']} ({row['confidence']} confidence)"),
        ("notes", row["notes"] or ""),
    ]


def render_where_sold(rows: list[dict[str, Any]]) -> RenderableType:
    """Draw a line for each cloud, and how to convert prices in other currencies."""
    drawn = table_of(
        rows,
        {
            "cloud": lambda row: row["provider"] + f", {PRIVATE}" * row["private_host"],
            "USD/h": ("on_demand_usd_per_hour", money),
            "spot": ("spot_usd_per_hour", money),
            "other currency": _native,
            "offer": lambda row: (
                row["on_demand_offer"] or row["spot_offer"] or codes(row["reason"])
            ),
            "seen": lambda row: Text(
                f"{row['seen'] or ''}" + ", stale" * bool(row["stale"]),
                "yellow" if row["stale"] else "",
            ),
        },
        wrap=["offer"],
        least=["offer", "seen", "other currency"],
    )
    others = sorted(
        {
            row["currency"]
            for row in rows
            if row["currency"]
            and row["on_demand_usd_per_hour"] is None
            and row["on_demand_per_hour"]
        }
    )
    hints = (f"--usd-per {currency}=… makes its prices comparable" for currency in others)
    return Group(drawn, *(Text(hint, "dim") for hint in hints))


def _native(row: Row) -> str:
    if row["currency"] in (None, "USD") or row["on_demand_per_hour"] is None:
        return ""
    return f"{money(row['on_demand_per_hour'])} {row['currency']}"
