"""The command ``hwprices explain``: a price back to the vendor's line."""

from collections.abc import Sequence
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, open_dataset, print_frame, print_json
from hwprices.cli.tables import Row, codes, money, place, table, table_of
from hwprices.read import explain as tracing
from hwprices.read.explain import Explanation
from hwprices.release.landed import Trace
from hwprices.release.wording import plain, purchase, system, why_unknown

PriceOrType = Annotated[
    str, typer.Argument(metavar="PRICE", help="A price_id, or an instance type.")
]

Region = Annotated[str | None, typer.Option(help="Only this region.")]

System = Annotated[
    str | None, typer.Option("--os", help="Only this operating system: linux, windows, rhel …")
]

PurchaseOption = Annotated[
    str | None,
    typer.Option(
        "--purchase-option",
        "--option",
        help="Only this purchase option: on_demand, spot, reserved …",
    ),
]

Raw = Annotated[bool, typer.Option("--raw", help="Show the vendor's lines as they are.")]
SHOWN = 40  # prices: more are to be narrowed down, not to be read


@filters.add_options("provider")
def explain(
    *,
    price: PriceOrType,
    options: filters.Options,
    region: Region = None,
    os: System = None,
    purchase_option: PurchaseOption = None,
    raw: Raw = False,
) -> None:
    """Trace a price back to the vendor's line.

    Prints the sum, the parts it is computed from, and what the vendor's page says about each SKU.
    If several prices match, it lists them with their ids; call it again with one of the ids. --csv
    gives the parts of one price, or its row where it has none; --json everything.

    Example:

        hwprices explain p5.48xlarge --region us-east-1 --os linux
    """
    dataset = open_dataset()
    prices = tracing.find_prices(
        dataset,
        price,
        provider=options["provider"],
        region=region,
        os=os,
        purchase_option=purchase_option,
    )
    if prices.height > 1:
        print_frame(prices, lambda rows: render_prices(rows, call().limit or SHOWN))
        return
    explanation = tracing.explain(dataset, prices.row(0, named=True))
    if call().as_json:
        print_json(explanation.to_dict())
        return
    parts = explanation.components if explanation.components.height else prices
    print_frame(parts, lambda _: render_explanation(explanation, raw=raw))


def render_prices(prices: pl.DataFrame, top: int) -> Table:
    """Draw the prices of ``explain.find_prices``, one a line, with the id that explains each."""
    rest = prices.height - top
    several = prices["provider"].n_unique() > 1
    hint = f"narrow it with {'--provider, ' * several}--region, --os, --purchase-option"
    where = ("provider", "region", "zone") if several else ("region", "zone")
    return table_of(
        prices.head(top),
        {
            "price_id": "price_id",
            "where": lambda row: place(row, *where),
            "system": system,
            "option": purchase,
            "per hour": _amount,
            "flags": lambda row: ", ".join(row["flags"]),
        },
        title=f"{prices.height} prices",
        right=["per hour"],
        least=["flags"],
        caption=f"and {rest} more: {hint}" if rest > 0 else "",
    )


def _amount(row: Row) -> str:
    if row["effective_hourly"] is None:
        return why_unknown(row["price_reason"])
    return f"{money(row['effective_hourly'])} {row['currency']}"


def render_explanation(explanation: Explanation, *, raw: bool = False) -> RenderableType:
    """Draw one price: the sum, its parts, what it is, and the vendor's lines as tables.

    ``raw``: show the lines as they are instead.
    """
    price = explanation.price
    total = f"{money(price['effective_hourly'])} {price['currency']}/h" * (
        price["effective_hourly"] is not None
    )
    where = f"{price['instance_type']} in {place(price, 'provider', 'region', 'zone')}"
    parts: list[RenderableType] = [
        Text.assemble((total or "not known", "bold"), f"  {where}"),
        Text(explanation.arithmetic),
    ]
    if explanation.components.height:
        parts.append(_components(explanation.components))
    valid_from = price["effective_from"]
    facts = {
        "what": _terms(price),
        "flags": ", ".join(price["flags"]),
        "seen": f"{price['observed_at']:%Y-%m-%d %H:%M} UTC" + ", stale" * bool(explanation.stale),
        "at": price["source_url"],
        "holds from": f"{valid_from:%Y-%m-%d}" if valid_from else "",
        "price_id": price["price_id"],
    }
    rows = [(name, Text(fact, overflow="fold")) for name, fact in facts.items() if fact]
    parts += [Text(), table(["", " "], rows, wrap=[" "], least=())]
    pages = {_page(trace) for trace in explanation.traces}
    for trace in explanation.traces:
        parts += [Text(), *_source(trace, raw=raw)]
        parts += [Text(_page(trace), "dim", no_wrap=True, overflow="ignore")] * (len(pages) > 1)
    if len(pages) == 1:
        parts += [Text(), Text(pages.pop(), no_wrap=True, overflow="ignore")]
    return Group(*parts)


def _page(trace: Trace) -> str:
    return (
        f"{trace.page} ({trace.state})" if trace.page else "its landed page is not below this root"
    )


def _components(components: pl.DataFrame) -> Table:
    return table_of(
        components.sort("component"),
        {
            "part": "component",
            "quantity": lambda row: f"{plain(row['quantity'])} {row['unit']}",
            "× each": ("unit_price", plain),
            "= per hour": lambda row: money(row["quantity"] * row["unit_price"]),
            "option": lambda row: codes(row["purchase_option"]),
            "SKU": "sku_id",
        },
        right=["quantity", "= per hour"],
        least=["SKU", "option"],
    )


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


def _source(trace: Trace, *, raw: bool) -> list[RenderableType]:
    title = Text(f"SKU {trace.sku}", "bold")
    if not trace.line:
        return [title, *([Text("not found by this id on the page")] if trace.page else [])]
    if raw or not trace.fields:
        return [title, Text(trace.line, no_wrap=True, overflow="ignore")]
    fields = [(name, value) for name, value in trace.fields if not value.endswith(trace.sku)]
    names = _short_names([name for name, _ in fields])
    rows = [
        (name, Text(value, overflow="fold")) for name, (_, value) in zip(names, fields, strict=True)
    ]
    return [title, table(["", " "], rows, wrap=[" "], least=())]


def _short_names(names: Sequence[str]) -> list[str]:
    """Leave out what the names of JSON values do not need to differ: unitPrice.nanos is nanos."""
    short = [name.rpartition(".")[2] for name in names]
    return [
        name if short.count(last) > 1 else last for name, last in zip(names, short, strict=True)
    ]
