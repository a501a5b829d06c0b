"""Trace prices to the vendor's line: ``hwprices explain``, ``cite`` and ``recheck``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, described, open_dataset, print_frame, print_json
from hwprices.cli.tables import Row, codes, money, place, table, table_of
from hwprices.errors import HwpricesError, escaped
from hwprices.read import explain as tracing
from hwprices.read.dataset import Dataset
from hwprices.read.explain import Explanation
from hwprices.release.landed import Trace
from hwprices.release.wording import plain, purchase, system, why_unknown

if TYPE_CHECKING:
    from hwprices.read.citation import Recheck


SHOWN = 40  # prices


@filters.add_options("provider")
@described()
def explain(
    *,
    price: str,
    options: filters.Options,
    region: str | None = None,
    os: str | None = None,
    purchase_option: str | None = None,
    raw: bool = False,
) -> None:
    """Trace a price back to the vendor's line."""
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
    """Draw the prices of ``explain.find_prices``, one a line, each with its id."""
    hidden = prices.height - top
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
        caption=f"and {hidden} more: {hint}" if hidden > 0 else "",
    )


def _amount(row: Row) -> str:
    if row["effective_hourly"] is None:
        return why_unknown(row["price_reason"])
    return f"{money(row['effective_hourly'])} {row['currency']}"


def render_explanation(explanation: Explanation, *, raw: bool = False) -> RenderableType:
    """Draw one price: the sum, its parts, its terms, and the vendor's lines.

    ``raw``: print the lines as the vendor wrote them, instead of as tables.
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
        "valid from": f"{valid_from:%Y-%m-%d}" if valid_from else "",
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
    """Shorten names of JSON values that stay unique: unitPrice.nanos to nanos."""
    short = [name.rpartition(".")[2] for name in names]
    return [
        name if short.count(last) > 1 else last for name, last in zip(names, short, strict=True)
    ]


@filters.add_options("region", "os")
@described()
def cite(
    *,
    words: list[str],
    options: filters.Options,
    as_: Literal["text", "markdown", "json", "bibtex"] = "text",
) -> None:
    """Cite a price in one line, with SKU, page and release."""
    from hwprices.read.citation import FORMATS

    citation = open_dataset().cite(" ".join(words), **options)
    typer.echo(FORMATS["json" if call().as_json else as_](citation))


MAX_BYTES = 16 << 20  # about 20,000 citations


@described()
def recheck(
    citations: list[str],
    live: bool = False,
) -> None:
    """Check whether cited prices still hold."""
    from hwprices.read.citation import EXIT_STATUS

    dataset = open_dataset()
    answers = dataset.recheck(*map(_text, citations))
    if live:
        answers = [_recheck_live(dataset, answer) for answer in answers]
    if call().as_json:
        print_json([answer.to_dict() for answer in answers])
    else:
        for answer in answers:
            typer.echo(escaped(str(answer)))
    raise typer.Exit(max(EXIT_STATUS[answer.status] for answer in answers))


def _recheck_live(dataset: Dataset, answer: "Recheck") -> "Recheck":
    """Ask the vendor for the price of an answer; progress is printed on stderr."""
    from hwprices.publish import reproduce
    from hwprices.read.citation import compare_live, find_source
    from hwprices.settings import load

    place = find_source(dataset, answer.reference.price_id)
    if answer.status == "ALTERED" or place is None:
        return answer
    sought = reproduce.SoughtPrice(**place)
    try:
        current = reproduce.ask(
            dataset.store, dataset.release, sought, load(), lambda line: typer.echo(line, err=True)
        )
    except HwpricesError as error:
        return replace(answer, status="UNREACHABLE", release="live", amount=None, reason=str(error))
    return compare_live(answer, current.amount, current.re_read, current.at)


def _text(citation: str) -> str:
    """Return the content of a file, or the citation itself."""
    if citation == "-":
        return typer.get_text_stream("stdin").read(MAX_BYTES)
    path = Path(citation)
    try:
        if not path.is_file():
            return citation
        if path.stat().st_size > MAX_BYTES:
            raise HwpricesError(f"{path} is longer than {MAX_BYTES:,} bytes", "Split it.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise HwpricesError(f"{path} is not text", "Name a file with citations.") from None
    except OSError:  # a citation may be too long for a file name
        return citation
