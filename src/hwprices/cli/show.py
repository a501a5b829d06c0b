"""The command ``hwprices show``: a release in a screenful, and how two releases differ."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import (
    LATEST,
    call,
    described,
    open_dataset,
    print_frame,
    print_json,
)
from hwprices.cli.tables import (
    PRIVATE,
    Row,
    codes,
    count_hidden,
    cut,
    money,
    option,
    print_table,
    table,
    table_of,
)
from hwprices.errors import escaped
from hwprices.read import status
from hwprices.read.status import COUNTED, cheapest_per_accelerator, provider_title
from hwprices.release import notes as release_notes
from hwprices.release.manifest import ReleaseManifest
from hwprices.release.release import Release as OpenRelease
from hwprices.release.versions import SAMPLE, root_option
from hwprices.release.wording import counted, seen_words, sheet_seen


@described()
def show(version: str = LATEST) -> None:
    """Summarize a release in a screenful."""
    dataset = open_dataset(version)
    if call().as_json:
        print_json(status.summary_json(dataset))
        return
    print_frame(status.providers(dataset), lambda _: render_summary(dataset))


MAX_ISSUES = 5  # failed units shown per provider; the manifest has all of them
GPU_HEADINGS = ["", "cheapest", "option", "on demand from", "machine", "region", "device"]


def render_summary(
    dataset: OpenRelease, *, new: bool | None = None, notices: Sequence[str] | None = None
) -> RenderableType:
    """Draw the summary.

    Args:
        dataset: the release.
        new: whether a run just published the release; False if nothing had changed; None if no
            run was made.
        notices: lines to show first, such as a provider that the gate held back; None if all went
            well: only then may the headline be "Nothing new".
    """
    unchanged = "Nothing new: still release" if notices is None else "Still release"
    headline = {True: "New release", False: unchanged, None: "Release"}[new]
    title = Text.assemble(
        (f"{headline} ", "bold"), (dataset.version, "bold green"), f"  in {dataset.store.root}"
    )
    gpus = cheapest_per_accelerator(dataset)
    parts: list[RenderableType] = [
        "",
        *(Text(escaped(notice), "bold yellow") for notice in notices or ()),
        title,
        *([""] if new is False else _news(dataset)),
        _rows(dataset.release),
        _gpus(dataset, gpus),
        *_notes(dataset.release),
        render_next_steps(dataset, gpus),
    ]
    if _shown_root(dataset.store.root) == SAMPLE:
        parts.append("\nThis is a sample: real prices, but old ones and of a few regions.")
    return Group(*parts)


def _rows(release: ReleaseManifest) -> RenderableType:
    """Count the rows of each provider in the most informative tables."""
    lines = [
        _counts(provider_title(release, provider), entry.rows)
        for provider, entry in release.providers.items()
    ]
    totals = {name: entry.rows for name, entry in release.tables.items()}
    lines.append(_counts("total", totals))
    headings = list(COUNTED.values())
    return table(["", *headings], lines, title="Rows", right=headings)


def _counts(title: str, rows: Mapping[str, int]) -> list[Text]:
    """Write the line of one provider; the cell of a table without rows is empty."""
    cells = [
        Text(f"{rows[name]:,}" if rows.get(name) else "", "yellow" if name == "quarantine" else "")
        for name in COUNTED
    ]
    return [Text(title), *cells]


def _news(dataset: OpenRelease) -> list[RenderableType]:
    """Describe in a few lines what is new since the previous release."""
    notes = release_notes.read(dataset)
    if notes is None:
        return []
    before = f" since release {notes.previous}" if notes.previous else ""
    lines = [Text(f"  {line}") for line in release_notes.lines(notes)]
    more = [Text("  hwprices show diff lists the prices.")] if notes.previous else []
    return ["", Text(f"What is new{before}", style="bold"), *lines, *more, ""]


def _gpus(dataset: OpenRelease, prices: pl.DataFrame) -> RenderableType:
    """Show the cheapest and the on-demand price of one H100, by provider.

    ``prices`` are those of ``cheapest_per_accelerator``.
    """
    rows, without = [], []
    for provider in dataset.release.providers:
        title = provider_title(dataset.release, provider)
        if prices.filter(provider=provider).is_empty():
            without.append(title)
        for is_private, name in ((False, title), (True, f"{title}, {PRIVATE}")):
            listed = prices.filter(provider=provider, private_host=is_private)
            if listed.height:
                rows.append([name, *_gpu(listed)])
    return table(
        GPU_HEADINGS,
        rows,
        title="\nOne H100 for an hour",
        right=["cheapest", "on demand from"],
        wrap=["", "machine", "region", "device"],
        least=["on demand from", "region"],
        caption=f"no H100 price from {', '.join(without)}" if without else "",
    )


def _gpu(prices: pl.DataFrame) -> list[str]:
    """Write the cells of one provider: its cheapest price, and its cheapest on-demand price."""
    cheapest = prices.row(0, named=True)
    on_demand = prices.filter(purchase_option="on_demand").to_dicts()
    return [
        _price(cheapest),
        _purchase(cheapest),
        _price(on_demand[0]) if on_demand else "-",
        cheapest["instance_type"],
        cheapest["region"],
        (cheapest["accelerator_id"] or cheapest["vendor_name"]).removeprefix("nvidia-"),
    ]


def _price(row: Mapping[str, Any]) -> str:
    """Write a price with the sign of the dollar or the code of another currency."""
    amount = money(row["per_accelerator_hour"])
    return f"${amount}" if row["currency"] == "USD" else f"{amount} {row['currency']}"


def _purchase(row: Mapping[str, Any]) -> str:
    option = codes(row["purchase_option"])
    return f"{option}, {row['term_months'] // 12} y" if row["term_months"] else option


def _notes(release: ReleaseManifest) -> list[RenderableType]:
    """Draw the age of each provider's figures, and the units that are missing.

    Price sheets that were read on the same day share a line.
    """
    ages: list[tuple[str, str]] = []
    sheets: dict[str, list[str]] = {}
    missing: list[Text] = []
    for provider, entry in release.providers.items():
        title = provider_title(release, provider)
        kept = f", kept from release {entry.kept_from}" if entry.kept_from else ""
        first, last = ((seen or "?")[:10] for seen in (entry.observed_from, entry.observed_to))
        days = f"on {first}" if first == last else f"{first} to {last}"
        if (sheet := sheet_seen(entry)) is not None:
            day = seen_words(sheet, datetime.now(UTC))
            sheets.setdefault(f"{entry.origin}, read {day}{kept}", []).append(title)
        else:
            ages.append((title, f"{entry.origin}, seen {days}{kept}"))
        missing += [
            Text(f"{title} {unit.unit} {unit.status}: {unit.reason}", style="yellow")
            for unit in entry.report.troubles[:MAX_ISSUES]
        ]
    ages += [("price sheets", f"{day}: {', '.join(names)}") for day, names in sheets.items()]
    drawn = table(["", " "], ages, title="\nHow fresh", wrap=[" "], least=())
    return [drawn, *missing]


@dataclass(frozen=True)
class Example:
    """A machine type and a region where it has a price.

    ``provider`` is "" if no other provider has a machine type of the same name.
    """

    name: str
    region: str
    provider: str = ""


WELL_KNOWN = Example("p5.48xlarge", "us-east-1")  # used if the release has a price of it
WELL_KNOWN_COMPOSED = Example("a3-highgpu-8g", "us-central1")  # its price has several parts
PLAIN_NAME = re.compile(r"[\w. -]+")  # needs no escapes inside quotes, in a shell and in SQL


def render_next_steps(dataset: OpenRelease, gpus: pl.DataFrame) -> RenderableType:
    """List commands to copy, with machines that the release has. Lines are not broken.

    ``gpus``: prices of H100s with provider, private_host, instance_type and region. The first one
    is the example if no well-known machine has a price.
    """
    root = dataset.store.root
    command = _command()
    root_flag = root_option(root)
    steps = {"offers": f"{command} find 8xH100 europe{root_flag}"}
    if example := _example(dataset, gpus, WELL_KNOWN):
        name = quote(example.name) + f" --provider {example.provider}" * bool(example.provider)
        steps["one machine"] = f"{command} price {name}{root_flag}"
        where = f"{name} --region {quote(example.region)}"
        steps["one price"] = f"{command} explain {where}{root_flag}   (back to the vendor's line)"
    steps |= {
        "one device": f"{command} device h100-sxm{root_flag}",
        "which machine": f"{command} recommend llama-3.3-70b{root_flag}",
        "what is in it": f"{command} show coverage{root_flag}",
    }
    if example := _example(dataset, gpus, WELL_KNOWN_COMPOSED):
        sql = "select region, on_demand_usd_per_hour from offers "
        sql += f"where instance_type = '{example.name}'"
        sql += f" and provider = '{example.provider}'" if example.provider else ""
        sql += " order by 2"
        steps["SQL"] = f'{command} query "{sql}"{root_flag}'
    steps |= {
        "files": f"{root}/releases/{dataset.version}/  (Parquet; manifest.json has the checksums)",
        "Python": f"import hwprices; hwprices.open({_shown_root(root)!r}).find('8xH100')",
    }
    is_sample = any(entry.origin == "sample" for entry in dataset.release.providers.values())
    if is_sample and Path("Makefile").is_file():
        steps["live figures"] = "make live"
    lines = [
        Text(f"{purpose:<15}{step}", no_wrap=True, overflow="ignore")
        for purpose, step in steps.items()
    ]
    return Group(Text("\nWhat next", style="bold"), *lines)


def _example(dataset: OpenRelease, gpus: pl.DataFrame, preferred: Example) -> Example | None:
    """Return the preferred example if the release has a price of it, else the first of ``gpus``.

    None if none of them has a plain name.
    """
    prices = dataset.scan("prices")
    priced = prices.filter(instance_type=preferred.name, region=preferred.region)
    if priced.head(1).select("region").collect().height:
        return preferred
    others = gpus.filter(~pl.col("private_host")).select("instance_type", "region", "provider")
    plain = (row for row in others.iter_rows() if all(map(PLAIN_NAME.fullmatch, row)))
    return next((Example(*row) for row in plain), None)


def _shown_root(root: str) -> str:
    """Return the display name of a root: the built-in release is "sample"."""
    return SAMPLE if root_option(root) == f" --root {SAMPLE}" else root


def _command() -> str:
    """Return how to call the program from the current folder: .venv/bin/hwprices in a checkout."""
    script = Path(sys.executable).with_name("hwprices")
    if script.is_file() and script.is_relative_to(Path.cwd()):
        return quote(str(script.relative_to(Path.cwd())))
    return "hwprices"


SHOWN = 20  # prices, a screenful


@filters.add_options("provider", "region", "type", *filters.PURCHASE)
@described()
def diff(
    *,
    older: str = "",
    newer: str = "latest",
    options: filters.Options,
) -> None:
    """Show how the prices of two releases differ."""
    dataset = open_dataset(newer)
    rows = dataset.diff(older or None, **options)
    if call().for_programs:
        print_frame(rows, lambda _: "")
        return
    before = older or dataset.release.previous or ""
    print_table(render_diff(rows, before, dataset.version, call().limit or SHOWN))


CHANGES = (
    *("price_up", "price_down", "added", "removed", "price_known", "price_unknown"),
    *("placeholder", "terms_changed", "restated", "first_collected", "unclear"),
)
"""Codes of changes in the order in which they are counted."""

NOTES = {
    "added": "new",
    "removed": "gone",
    "price_known": "known",
    "price_unknown": "unknown",
    "terms_changed": "terms",
    "restated": "restated",
    "first_collected": "first seen",
    "unclear": "unclear",
}
"""Notes in the table. Rises and falls need none: the table has the amounts."""
MAX_REASON = 20  # Characters of a reason for an unknown amount


def render_diff(rows: pl.DataFrame, older: str, newer: str, limit: int) -> RenderableType:
    """Draw a comparison of two releases: the counts, then the largest changes."""
    heading = Text(f"{newer} compared with {older}")
    if rows.is_empty():
        return Group(heading, Text("No price differs."))
    counts = dict(rows.group_by("change").len().iter_rows())
    changes = [
        f"{counts[code]:,} {release_notes.WORDS[code]}" for code in CHANGES if code in counts
    ]
    shown = [row | _amounts(row) for row in rows.head(limit).iter_rows(named=True)]
    return Group(
        heading,
        Text(f"Prices: {', '.join(changes)}."),
        *(Text(note) for note in _unknown_placeholders(rows)),
        Text(),
        table_of(
            shown,
            {
                "machine": "instance_type",
                "region": lambda row: row["zone"] or row["region"],
                "option": option,
                "before": "before",
                "now": "now",
                "change": ("change_percent", _percent),
                "note": _note,
                "cloud": "provider",
            },
            right=["before", "now"],
            wrap=["option"],
            least=["cloud", "region"],
            caption="\n".join(count_hidden(rows.height, limit, "prices")),
        ),
    )


def _amounts(row: Row) -> dict[str, str]:
    """Write the amounts before and now, with more digits if they would otherwise look the same."""
    old, new = (_amount(row, when) for when in ("old", "new"))
    amounts = [row[f"{when}_effective_hourly"] for when in ("old", "new")]
    if old == new and None not in amounts and amounts[0] != amounts[1]:
        old, new = (f"{amount.normalize():,f}" for amount in amounts)
    currency = f" {row['currency']}" if row["currency"] != "USD" else ""
    return {"before": old, "now": f"{new}{currency}"}


def _percent(change: float | None) -> str:
    """Write a change in per cent; empty for None.

    >>> _percent(-44.02), _percent(0.02), _percent(0)
    ('-44.0 %', '+<0.1 %', '+0.0 %')
    """
    if change is None:
        return ""
    rounds_to_zero = 0 < abs(change) < 0.05
    return f"{change:+.0f}"[0] + "<0.1 %" if rounds_to_zero else f"{change:+.1f} %"


def _unknown_placeholders(rows: pl.DataFrame) -> Iterator[str]:
    """Count the rises and falls whose earlier price may have been a placeholder."""
    moved = rows.filter(pl.col("change").is_in(["price_up", "price_down"]))
    count = moved["old_placeholder"].null_count()
    if count:
        yield (
            f"Up or down since a release that is not kept: {counted(count, 'price')}."
            " Whether that was a placeholder before is not known."
        )


def _note(row: Row) -> str:
    """Write a note on a change, and which of the two prices is a placeholder."""
    note = NOTES.get(row["change"], "") or ("partly restated" if row["partly_restated"] else "")
    if row["old_placeholder"] and row["new_placeholder"]:
        flag = "placeholder"
    elif row["old_placeholder"]:
        flag = "was placeholder"
    else:
        flag = "now placeholder" if row["new_placeholder"] else ""
    return ", ".join(text for text in (note, flag) if text)


def _amount(row: Row, when: str) -> str:
    """Write an amount, or the reason why it is unknown; a dash without a price."""
    reason = row[f"{when}_price_reason"]
    return money(row[f"{when}_effective_hourly"]) or (cut(reason, MAX_REASON) if reason else "-")
