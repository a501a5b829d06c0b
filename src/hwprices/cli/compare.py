"""The command ``hwprices compare``: machine types side by side."""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import described, open_dataset, print_frame
from hwprices.cli.device import SERVED, render_devices
from hwprices.cli.tables import (
    PAYS_FROM,
    PAYS_FROM_CAPTION,
    STALE_CAPTION,
    STALE_MARK,
    FittingTable,
    money,
    number,
    pays_from,
    ranged,
    table,
)
from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.read.find import compare as comparing
from hwprices.read.find import words
from hwprices.read.find.break_even import COLUMN as BREAK_EVEN
from hwprices.read.find.compare import COMMITMENT_COLUMNS, COMMITMENTS
from hwprices.read.find.names import ReleaseWords
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.recommend import PRIVATE_HOST, recommend
from hwprices.release.release import Tables
from hwprices.release.wording import purchase
from hwprices.specs import csv_rows


@filters.add_options("region", "os", "usd_per")
@described(machine_types=filters.machines, model=filters.models)
def compare(
    *,
    machine_types: list[str],
    equals: bool = False,
    model: str = "",
    options: filters.Options,
    overlays: filters.OverlayFile = None,
) -> None:
    """Compare machine types side by side."""
    machine_types = [name for name in machine_types if name.lower() not in words.SKIPPED]
    dataset = open_dataset()
    if devices := _accelerators(dataset, machine_types):
        values = {"--equals": equals, "--region": options["region"], "--os": options["os"]}
        if ignored := [name for name, value in values.items() if value]:
            raise HwpricesError(
                f"{', '.join(ignored)}: not for accelerators",
                "Leave it out, or name machine types.",
            )
        described = pl.concat(dataset.device(each, usd_per=options["usd_per"]) for each in devices)
        notes = ["These are list prices: --overlays is for machine types."] if overlays else []
        if model:
            described = with_serving(described, model, dataset, options["usd_per"])
            notes += map(_served_on, described.iter_rows(named=True))
        print_frame(described, lambda rows: Group(render_devices(rows), *notes), notes)
        return
    comparison = comparing.compare(
        dataset, *machine_types, equals=equals, overlays=overlays, **options
    )
    rows = comparison.rows
    if model:
        rows = with_serving(rows, model, dataset, options["usd_per"])
    print_frame(
        rows,
        lambda rows: render_comparison(rows, comparison.notes, comparison.sheets),
        notes=comparison.notes,
    )


def with_serving(
    frame: pl.DataFrame, model: str, dataset: Tables, usd_per: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Add how machines or accelerators serve a model on demand, as ``recommend`` answers.

    ``frame`` has provider and instance_type, or device_id. Of several machines of a name or with an
    accelerator, of which tokens per second are those of one, that of the best rank counts; without
    one, those that serve the model come first, then those in data centers, then the most memory.

    Adds, or replaces, tokens_per_second (of all users, cautious) and tokens_per_second_high,
    usd_per_million_tokens (of input and output together, at tokens_per_second) and _low (at
    tokens_per_second_high), tokens_from (the basis), served_on (the machine) and does_not_serve,
    the reason where it does not. HwpricesError: the model is not known.
    """
    col, of_devices = pl.col, "device_id" in frame.columns
    of_machines = {"provider": "provider", "instance_type": "machine"}
    key = {"device_id": "accelerator_id"} if of_devices else of_machines
    kinds = "accelerators" if of_devices else "all"
    question = Question(model, where="cloud", machines=kinds, usd_per=usd_per or {})
    share = col.total_accelerators if of_devices else pl.lit(1.0)
    is_community = (col.excluded_reason == PRIVATE_HOST).fill_null(False)
    best_first = [col.rank, col.tokens_per_second_low.is_null(), is_community]
    best_first += [-col.memory_usable_gib, col.provider, col.machine]
    figures = (
        recommend(question, dataset=dataset)
        .sort(best_first, nulls_last=True)
        .select(
            *("usd_per_million_tokens", "usd_per_million_tokens_low"),
            **key,
            tokens_per_second=col.tokens_per_second_low / share,
            tokens_per_second_high=col.tokens_per_second_high / share,
            tokens_from="basis",
            served_on=pl.format("{} at {}", "machine", "provider"),
            does_not_serve=pl.when(col.tokens_per_second_low.is_null()).then("excluded"),
        )
        .unique([*key], keep="first", maintain_order=True)
    )
    others = frame.drop({*figures.columns} - {*key}, strict=False)
    return others.join(figures, [*key], "left", maintain_order="left")


def _served_on(row: dict[str, Any]) -> str:
    """Describe the machine behind the figures of an accelerator, or why there is none."""
    why = row["does_not_serve"] or "no machine with it is for rent"
    served = f"{row['served_on']}, {row['tokens_from']}"
    return f"{row['name']}: {why if row['tokens_per_second'] is None else served}"


def _accelerators(dataset: Dataset, texts: list[str]) -> list[str]:
    """Return the accelerators that the texts name: "h100 a100"; none if any names a machine."""
    names = ReleaseWords.of(dataset)
    types = {machine.instance_type.lower() for machine in names.machines}
    found = [words.accelerators(text.lower(), names.accelerators) for text in texts]
    is_machine = any(text.lower() in types for text in texts)
    return [] if is_machine or not all(found) else list(dict.fromkeys(chain(*found)))


LABELS = {row["column"]: row["label"] for row in csv_rows(Path(__file__).with_suffix(".csv"))}
"""Columns in the order in which they are shown, and their labels."""

UP_TO = LABELS["block_storage_gbps_max"]

PRICE_DETAILS = ("_region", "_how", "_from")
"""Ends of the keys of LABELS that explain the price above; their differences are not marked."""

PRICE_SUFFIX = "_usd_per_hour"
"""End of the keys of LABELS that are prices; ``_stale`` instead is whether the price is stale."""


def render_comparison(
    machines_compared: pl.DataFrame, notes: Iterable[str] = (), sheets: Collection[str] = ()
) -> RenderableType:
    """Draw machines side by side, a figure a line; ≠ marks a line with differences.

    A star marks a stale price, except those of the price sheets ``sheets``: the notes state their
    age.
    """
    columns = [_with_words(column) for column in machines_compared.to_dicts()]
    names = [str(column["instance_type"]) for column in columns]
    rows = []
    has_stale = False
    for key, label in LABELS.items():
        values = [column.get(key) for column in columns]
        if label == UP_TO:  # shown only if it exceeds the usual figure above it
            usual = [column.get(key.replace("_max", "_baseline")) for column in columns]
            values = [
                None if most == base else most for most, base in zip(values, usual, strict=True)
            ]
        if all(value is None for value in values):
            continue
        differs = len({str(value) for value in values}) > 1 and not key.endswith(PRICE_DETAILS)
        style = "bold" if differs else ""
        stale = [_is_stale(key, column, sheets) for column in columns]
        has_stale = has_stale or any(stale)
        cells = [
            Text(_figure(value) + STALE_MARK * is_stale, style)
            for value, is_stale in zip(values, stale, strict=True)
        ]
        rows.append([Text("≠" if differs else ""), Text(label), *cells])
    captions = [STALE_CAPTION] if has_stale else []
    if any(str(row[1]).strip() == PAYS_FROM for row in rows):
        captions.append(PAYS_FROM_CAPTION)
    drawn = SideBySide(["", "", *names], rows)
    below = [Text(line) for line in captions]
    return Group(drawn, *below, *(Text(note, "yellow") for note in notes))


class SideBySide:
    """A table that continues below if the terminal is too narrow for all columns.

    Each block repeats the first two columns, mark and label, and has as many others as fit.
    """

    def __init__(self, headings: list[str], rows: list[list[Text]]) -> None:
        self.headings = headings
        self.rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        remaining = list(range(2, len(self.headings)))
        while remaining:
            block = next(
                block
                for count in range(len(remaining), 0, -1)
                for block in [self._block(remaining[:count])]
                if count == 1 or block.width_needed <= options.max_width
            )
            yield block
            remaining = remaining[len(block.columns) - 2 :]

    def _block(self, columns: list[int]) -> FittingTable:
        shown = [0, 1, *columns]
        names = [self.headings[index] for index in columns]
        rows = [[row[index] for index in shown] for row in self.rows]
        return table(["", "", *names], rows, right=names, least=())


def _with_words(column: dict[str, Any]) -> dict[str, Any]:
    """Add texts for commitments, their break-even, and the speed of a served model."""
    words: dict[str, str | None] = {}
    for name in COMMITMENTS:
        terms = {key: column.get(f"{name}_{key}") for key in COMMITMENT_COLUMNS}
        if terms["purchase_option"] is not None:
            words[f"{name}_how"] = purchase({**terms, "term_months": 0})
        words[f"{name}_{BREAK_EVEN}"] = pays_from(terms[BREAK_EVEN]) or None
    words |= {name: ranged(column, name) or None for name in SERVED}
    return {**column, **words}


def _is_stale(key: str, column: Mapping[str, Any], sheets: Collection[str]) -> bool:
    if not key.endswith(PRICE_SUFFIX) or column["provider"] in sheets:
        return False
    return bool(column[f"{key.removesuffix(PRICE_SUFFIX)}_stale"])


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return money(value) if isinstance(value, Decimal) else number(value)
