"""Read, check and land a price sheet.

A price is written as the page prints it (``$49.24``, ``Contact sales``, ``from $1.82``). Known
words instead of a single number say why the price is unknown; anything else is a problem.
The lines of one address and day are landed as one page, dated that day.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from hwprices.errors import FetchError, HwpricesError
from hwprices.landing.bodies import RefusedItemError
from hwprices.landing.pages import Landing, Page, Unit
from hwprices.providers import Context
from hwprices.providers.price_sheets import folder, names, sheet_file
from hwprices.release.wording import STALE_AFTER
from hwprices.schemas import NAME_PATTERN, PLACE_PATTERN
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher
from hwprices.specs.sheets import load

SHEET = "sheet"
SHOWN_PROBLEMS = 3  # Refused lines that an error names; ``hwprices admin sheets`` lists them all

COLUMNS = (
    *("id", "vendor", "region", "page_region", "instance_type", "page_label", "form_factor"),
    *("unit", "gpus", "gpu_memory_gb", "vcpus", "memory_gib", "local_disk", "purchase_option"),
    *("page_option", "currency", "price", "seen_on", "source_url", "license", "note"),
)
"""The columns of a sheet, in this order."""

UNITS = ("machine", "gpu")
PURCHASE_OPTIONS = ("on_demand", "spot")
FORM_FACTORS = ("", "sxm", "pcie", "oam", "superchip")

PRICE = re.compile(r"([$€]?)(\d{1,7}(?:\.\d{1,6})?)(/GPU-hr| per hour)?")
"""``$49.24``, ``$3.90/GPU-hr``, ``$4.41 per hour``."""

SIGNS = {"$": "USD", "€": "EUR"}
PER_GPU = "/GPU-hr"

NO_PRICE = (
    ("contact_sales", re.compile(r".*\b(?:contact|talk to).*", re.IGNORECASE)),
    ("floor_price", re.compile(r"(?:from|starting at)\b.*", re.IGNORECASE)),
    ("no_price_on_page", re.compile(r"|n/?a|[-–—]+", re.IGNORECASE)),
    ("listed_at_zero", re.compile(r"[$€]?0+(?:\.0+)?(?:/GPU-hr| per hour)?")),
)
"""Reason why a price is missing → what the page prints."""

DISK = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) (TB|TiB|GB|GiB)")
GIB = {"TB": 1e12 / 2**30, "TiB": 1024.0, "GB": 1e9 / 2**30, "GiB": 1.0}
WHOLE = re.compile(r"[1-9]\d{0,4}")
NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,3})?")
URL = re.compile(r"https://[^\s/]+\.[^\s/]+(?:/\S*)?")
CURRENCY = re.compile(r"[A-Z]{3}")
PLACE = re.compile(PLACE_PATTERN)
NAME = re.compile(NAME_PATTERN)
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class SheetLine:
    """One price of a sheet. ``number`` is the line of the file; the header is line 1.

    ``price`` is for one ``unit``, or None with a ``price_reason``. ``gpus`` is None if the page
    does not say how many a machine has.
    """

    number: int
    id: str
    region: str
    page_region: str
    instance_type: str
    page_label: str
    form_factor: str
    unit: str
    gpus: int | None
    gpu_memory_gb: float | None
    vcpus: int | None
    memory_gib: float | None
    local_disk_gib: float | None
    purchase_option: str
    currency: str
    price: Decimal | None
    price_reason: str | None
    seen_on: date
    source_url: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the price is for; unique in a sheet."""
        return self.region, self.instance_type, self.purchase_option, self.currency

    @property
    def machine(self) -> tuple[object, ...]:
        """What the line says about the machine; all lines of the type must agree."""
        return (
            self.page_label,
            self.form_factor,
            self.gpus,
            self.gpu_memory_gb,
            self.vcpus,
            self.memory_gib,
            self.local_disk_gib,
        )


@dataclass(frozen=True)
class SheetProblem:
    """Why a line is refused: a code of the quarantine table, and a sentence.

    ``word``: a cell with an unknown value; None if the line is broken in another way.
    """

    number: int
    reason: str
    message: str
    cells: Mapping[str, str]
    word: str | None = None

    def __str__(self) -> str:
        """Return the line and what is wrong with it."""
        return f"line {self.number}: {self.message}"


@dataclass(frozen=True)
class Sheet:
    """A parsed sheet. ``text`` maps line numbers to the lines of the file."""

    lines: tuple[SheetLine, ...]
    problems: tuple[SheetProblem, ...]
    text: Mapping[int, str]


def parse(content: bytes) -> Sheet:
    """Read a sheet, or the part of one that was landed as a page.

    Raises:
        HwpricesError: it is not a sheet: not UTF-8, other columns, or a cell with a line break.
    """
    text = _text_lines(content)
    rows = list(csv.reader(text.values(), strict=True))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise HwpricesError(
            f"the first line of the price sheet is not {','.join(COLUMNS)}",
            "Copy it from another sheet in data/price_sheets.",
        )
    lines: list[SheetLine] = []
    problems: list[SheetProblem] = []
    for number, row in enumerate(rows[1:], 2):
        cells = dict(zip(COLUMNS, (cell.strip() for cell in row), strict=False))
        try:
            lines.append(_line(number, row, cells))
        except RefusedItemError as refused:
            reason, message, word = refused.reason, refused.message, refused.word
            problems.append(SheetProblem(number, reason, message, cells, word))
    lines = list({replace(line, number=0): line for line in reversed(lines)}.values())[::-1]
    repeated = _repeated(lines)
    problems += [
        SheetProblem(line.number, "duplicate_key", message, {"id": line.id})
        for line, message in repeated.items()
    ]
    good = tuple(line for line in lines if line not in repeated)
    return Sheet(good, tuple(sorted(problems, key=lambda problem: problem.number)), text)


def _text_lines(content: bytes) -> dict[int, str]:
    try:
        text = content.decode("utf-8-sig").splitlines()  # Excel's UTF-8 has a mark
        if sum(1 for _ in csv.reader(text, strict=True)) != len(text):
            raise ValueError("a cell has a line break")
    except (ValueError, csv.Error) as error:
        raise HwpricesError(
            f"the price sheet is not a UTF-8 CSV with one line per price ({error})", "Correct it."
        ) from None
    return dict(enumerate(text, 1))


def _line(number: int, row: list[str], cells: Mapping[str, str]) -> SheetLine:
    if len(row) != len(COLUMNS):
        raise RefusedItemError(
            "unreadable_line", f"{len(row)} cells instead of {len(COLUMNS)}: is a comma not quoted?"
        )
    seen_on = _source(cells)
    price, price_reason = _price(cells)
    return SheetLine(
        number=number,
        id=_needed(cells, "id", "unreadable_line"),
        region=_identifier(cells, "region", "no_region", PLACE),
        page_region=cells["page_region"],
        instance_type=_identifier(cells, "instance_type", "no_instance_type", NAME),
        page_label=_needed(cells, "page_label", "no_instance_type"),
        form_factor=_one_of(cells, "form_factor", FORM_FACTORS, "unreadable_line"),
        unit=_unit(cells),
        gpus=_gpus(cells),
        gpu_memory_gb=_figure(cells, "gpu_memory_gb", NUMBER, float),
        vcpus=_figure(cells, "vcpus", WHOLE, int),
        memory_gib=_figure(cells, "memory_gib", NUMBER, float),
        local_disk_gib=_figure(cells, "local_disk", DISK, _gib),
        purchase_option=_one_of(cells, "purchase_option", PURCHASE_OPTIONS, "unknown_price_type"),
        currency=cells["currency"],
        price=price,
        price_reason=price_reason,
        seen_on=seen_on,
        source_url=cells["source_url"],
    )


def _source(cells: Mapping[str, str]) -> date:
    """Return the day on which the page was seen; refuse a line without day, address or license."""
    try:
        seen_on = date.fromisoformat(cells["seen_on"])
    except ValueError:
        raise RefusedItemError("no_source", f"seen_on {cells['seen_on']!r} is not a day") from None
    if not URL.fullmatch(cells["source_url"]):
        raise RefusedItemError(
            "no_source", f"source_url {cells['source_url']!r} is not an https address"
        )
    if not cells["license"]:
        raise RefusedItemError(
            "no_source", "license is empty: say under which the figure was taken"
        )
    return seen_on


def _price(cells: Mapping[str, str]) -> tuple[Decimal | None, str | None]:
    """Read the price as the page prints it: a number, or the reason why there is none."""
    printed = cells["price"]
    for reason, pattern in NO_PRICE:
        if pattern.fullmatch(printed):
            return None, reason
    match = PRICE.fullmatch(printed)
    if match is None:
        raise RefusedItemError("price_not_a_number", f"price {printed!r} is not understood")
    if not CURRENCY.fullmatch(cells["currency"]):
        raise RefusedItemError("no_currency", f"currency {cells['currency']!r} is no ISO 4217 code")
    if SIGNS.get(match[1], cells["currency"]) != cells["currency"]:
        currency = cells["currency"]
        message = f"{printed!r} is not in {currency}"
        if currency in SIGNS.values():
            raise RefusedItemError("no_currency", message)
        raise RefusedItemError("unknown_currency", message, currency)
    if match[3] == PER_GPU and _unit(cells) != "gpu":
        raise RefusedItemError("unknown_unit", f"{printed!r} is per GPU, and unit says otherwise")
    return Decimal(match[2]), None


def _unit(cells: Mapping[str, str]) -> str:
    """Read the unit, singular or plural."""
    singular = {**cells, "unit": cells["unit"].lower().removesuffix("s")}
    return _one_of(singular, "unit", UNITS, "unknown_unit")


def _gpus(cells: Mapping[str, str]) -> int | None:
    """Read the number of GPUs, which a price per machine needs."""
    if "^" in cells["gpus"]:
        raise RefusedItemError(
            "unreadable_line", f"gpus {cells['gpus']!r} has a footnote: write the number before ^"
        )
    gpus = _figure(cells, "gpus", WHOLE, int)
    if gpus is None and _unit(cells) == "machine":
        raise RefusedItemError("unreadable_line", "a price for a machine, and gpus is empty")
    return gpus


def _needed(cells: Mapping[str, str], column: str, reason: str) -> str:
    if not cells[column]:
        raise RefusedItemError(reason, f"{column} is empty")
    return cells[column]


def _identifier(
    cells: Mapping[str, str], column: str, reason: str, pattern: re.Pattern[str]
) -> str:
    """Return an id that the tables accept."""
    name = _needed(cells, column, reason)
    if not pattern.fullmatch(name):
        raise RefusedItemError(
            reason, f"{column} {name!r} is not a name: see the README of the sheets"
        )
    return name


def _one_of(cells: Mapping[str, str], column: str, values: Iterable[str], reason: str) -> str:
    value = cells[column].lower()
    if value not in values:
        choice = ", ".join(value for value in values if value)
        message = f"{column} {cells[column]!r} is not one of {choice}"
        raise RefusedItemError(reason, message, cells[column] or None)
    return value


def _figure(
    cells: Mapping[str, str],
    column: str,
    pattern: re.Pattern[str],
    convert: Callable[[str], Number],
) -> Number | None:
    """Read a figure; None if the cell is empty."""
    if not cells[column]:
        return None
    if not pattern.fullmatch(cells[column]):
        raise RefusedItemError("unreadable_line", f"{column} {cells[column]!r} is not understood")
    return convert(cells[column])


def _gib(disk: str) -> float:
    amount, unit = disk.split(" ")
    return float(amount) * GIB[unit]


def _repeated(lines: Iterable[SheetLine]) -> dict[SheetLine, str]:
    """Return a message for each line that repeats or contradicts another one."""
    by_machine: defaultdict[str, set[tuple[object, ...]]] = defaultdict(set)
    lines = list(lines)
    zeros = [line for line in lines if line.price_reason == "listed_at_zero"]
    lines = [line for line in lines if line not in zeros]
    priced = {line.key for line in lines}
    for line in lines:
        by_machine[line.instance_type].add(line.machine)
    keys, ids = Counter(line.key for line in lines), Counter(line.id for line in lines)
    messages = {
        line: f"{' / '.join(line.key)} has a price on another line"
        for line in zeros
        if line.key in priced
    }
    for line in lines:
        if keys[line.key] > 1:
            messages[line] = f"{' / '.join(line.key)} has several lines"
        elif ids[line.id] > 1:
            messages[line] = f"the id {line.id} has several lines"
        elif len(by_machine[line.instance_type]) > 1:
            messages[line] = f"the lines of {line.instance_type} describe different machines"
    return messages


def plan(name: str) -> list[Unit]:
    """List the one unit of a sheet."""
    return [Unit(name, SHEET)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the sheet that comes with the program.

    Raises:
        FetchError: a line is refused.
        HwpricesError: it is not a sheet, or the landing root is not writable.
    """
    file = sheet_file(unit.provider)
    return land(context.landing, unit, parse(file.read_bytes()), today=context.now().date())


def land(landing: Landing, unit: Unit, sheet: Sheet, *, today: date) -> list[Page]:
    """Land the pages of a sheet, the oldest first.

    A page has the address and the day of its lines, so that a price's source_url and observed_at
    are the vendor's page and the day on which a person read it.

    Raises:
        FetchError: a line is refused, or dated in the future.
    """
    problems = [*map(str, sheet.problems), *future_days(sheet, today)]
    if problems:
        raise FetchError(
            f"price sheet {unit.provider}: {'; '.join(problems[:SHOWN_PROBLEMS])}"
            + (f"; and {len(problems) - SHOWN_PROBLEMS} more" if problems[SHOWN_PROBLEMS:] else ""),
            f"Correct it; hwprices admin sheets {unit.provider}.csv lists all.",
        )
    pages: defaultdict[tuple[date, str], list[str]] = defaultdict(lambda: [sheet.text[1]])
    for line in sheet.lines:
        pages[line.seen_on, line.source_url].append(sheet.text[line.number])
    return [
        landing.land_bytes(
            unit,
            "".join(f"{text}\n" for text in lines).encode(),
            url=url,
            retrieved_at=datetime.combine(seen_on, time(), UTC),
            suffix="csv",
        )
        for (seen_on, url), lines in sorted(pages.items())
    ]


def future_days(sheet: Sheet, today: date) -> list[str]:
    """Describe the lines that are dated after ``today``."""
    return [
        f"line {line.number}: seen_on {line.seen_on} is in the future"
        for line in sheet.lines
        if line.seen_on > today
    ]


READ_AGAIN = timedelta(days=60)
"""A month before a sheet is stale (``STALE_AFTER``), to leave time to read its page."""

Key = tuple[str, str, str]  # Region, machine type and purchase option of a price
NOTHING = "-"


@dataclass(frozen=True)
class Change:
    """One difference: what the price is for, and the price before and after. ``-`` means none."""

    key: Key
    before: str
    after: str


@dataclass(frozen=True)
class Report:
    """The result of checking a sheet.

    ``refused``: lines that cannot be published. ``last``: the sheet it is compared with; empty if
    there is none.
    """

    name: str
    prices: int
    refused: list[str]
    notes: list[str]
    last: str
    changes: list[Change]
    unchanged: int


@dataclass(frozen=True)
class SheetPage:
    """A page of a sheet: when its oldest line was read, and the figures to confirm on it."""

    provider: str
    page: str
    read_on: date
    days: int
    due: bool
    figures: list[str]


def pages(now: datetime) -> list[SheetPage]:
    """List the pages of all sheets, the oldest first; ``due`` are those older than READ_AGAIN."""
    listed = []
    for name in names():
        lines = parse(sheet_file(name).read_bytes()).lines
        for url in sorted({line.source_url for line in lines}):
            page_lines = [line for line in lines if line.source_url == url]
            read_on = min(line.seen_on for line in page_lines)
            days = (now.date() - read_on).days
            figures = [_figure_text(line) for line in page_lines]
            listed.append(SheetPage(name, url, read_on, days, days > READ_AGAIN.days, figures))
    return sorted(listed, key=lambda page: (page.read_on, page.provider, page.page))


def _figure_text(line: SheetLine) -> str:
    """Write a figure to look for on the page: ``8 NVIDIA H100 SXM, spot: 3.99 USD per gpu``."""
    count = f"{line.gpus} " if line.gpus and line.gpus > 1 else ""
    spot = ", spot" if line.purchase_option == "spot" else ""
    place = f" in {line.page_region}" if line.page_region else ""
    return f"{count}{line.page_label}{place}{spot}: {_priced_text(line)}"


def check(file: Path, landings: Iterable[Landing], now: datetime) -> Report:
    """Check a sheet, and compare it with the newest landed one.

    The name of the file is the provider. The first of ``landings`` with a sheet is used.

    Raises:
        HwpricesError: the file cannot be read, or is not a sheet.
    """
    name = file.stem
    try:
        sheet = parse(file.read_bytes())
    except OSError as error:
        raise HwpricesError(
            f"{file} cannot be read ({error.strerror})", f"Sheets are in {folder()}."
        ) from None
    last, lines = _last(name, landings)
    before, after = _prices(lines), _prices(sheet.lines)
    changes = [
        Change(key, before.get(key, NOTHING), after.get(key, NOTHING))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]
    return Report(
        name=name,
        prices=sum(1 for line in sheet.lines if line.price is not None),
        refused=[*map(str, sheet.problems), *future_days(sheet, now.date())],
        notes=[*_stale(sheet, now), *_accelerators(name, sheet)],
        last=last,
        changes=changes if last else [],
        unchanged=len(after) - sum(1 for change in changes if change.after != NOTHING),
    )


def _last(name: str, landings: Iterable[Landing]) -> tuple[str, list[SheetLine]]:
    """Find the newest landed sheet: its place and its lines."""
    for landing in landings:
        run = landing.latest_run(name)
        if run is not None and (pages := run.of(SHEET)):
            lines = [line for page in pages for line in parse(landing.read(page)).lines]
            return f"{landing.store.root}/{name}", lines
    return "", []


def _prices(lines: Iterable[SheetLine]) -> dict[Key, str]:
    """Write each price with its unit, or the reason why there is none."""
    return {line.key[:3]: _priced_text(line) for line in lines}


def _priced_text(line: SheetLine) -> str:
    if line.price is None:
        return str(line.price_reason)
    return f"{line.price} {line.currency} per {line.unit}"


def _stale(sheet: Sheet, now: datetime) -> list[str]:
    """Describe the oldest line if it is older than ``STALE_AFTER``."""
    oldest = min((line.seen_on for line in sheet.lines), default=now.date())
    days = (now.date() - oldest).days
    if timedelta(days=days) <= STALE_AFTER:
        return []
    return [f"stale: the oldest line was read on {oldest}, {days} days ago"]


def _accelerators(name: str, sheet: Sheet) -> list[str]:
    """List GPUs without a spec sheet, and GPUs whose form factor differs from their spec sheet."""
    try:
        match = accelerator_matcher(name)
    except HwpricesError as error:
        return [f"no GPU has a spec sheet: {error}"]
    form_factors = dict(load("accelerators").select("accelerator_id", "form_factor").iter_rows())
    notes = (_accelerator(line, match, form_factors) for line in sheet.lines)
    return list(dict.fromkeys(note for note in notes if note))


def _accelerator(line: SheetLine, match: Matcher, form_factors: dict[str, str]) -> str:
    spec = match(line.page_label, line.instance_type)
    if spec is None:
        return f"no spec sheet for {line.page_label}: add a rule to accelerator_names"
    known = form_factors[spec.accelerator_id]
    if line.form_factor and line.form_factor != known:
        return f"{line.page_label} is {line.form_factor}, but {spec.accelerator_id} is {known}"
    return ""
