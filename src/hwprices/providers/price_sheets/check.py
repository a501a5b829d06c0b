"""Check a new price sheet before it is used, and compare it with the last one that was landed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.providers.price_sheets import folder, names, sheet_file
from hwprices.providers.price_sheets.fetch import SHEET, future_days
from hwprices.providers.price_sheets.sheet import Sheet, SheetLine, parse
from hwprices.release.wording import STALE_AFTER
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher
from hwprices.specs.sheets import load

READ_AGAIN = timedelta(days=60)
"""A month before a sheet is stale (``STALE_AFTER``), which leaves time to read its page."""

Key = tuple[str, str, str]  # Region, machine type and purchase option of a price
NOTHING = "-"


@dataclass(frozen=True)
class Change:
    """One difference: what the price is of, and what it was and is. ``-`` means nothing."""

    key: Key
    before: str
    after: str


@dataclass(frozen=True)
class Report:
    """What checking a sheet gives.

    ``refused``: lines that cannot be published. ``notes``: what is worth knowing. ``last``: which
    sheet it is compared with; empty where there is none.
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
            of_page = [line for line in lines if line.source_url == url]
            read_on = min(line.seen_on for line in of_page)
            days = (now.date() - read_on).days
            figures = [_figure(line) for line in of_page]
            listed.append(SheetPage(name, url, read_on, days, days > READ_AGAIN.days, figures))
    return sorted(listed, key=lambda page: (page.read_on, page.provider, page.page))


def _figure(line: SheetLine) -> str:
    """Write a figure as a person looks for it: ``8 NVIDIA H100 SXM, spot: 3.99 USD per gpu``."""
    count = f"{line.gpus} " if line.gpus and line.gpus > 1 else ""
    spot = ", spot" if line.purchase_option == "spot" else ""
    place = f" in {line.page_region}" if line.page_region else ""
    return f"{count}{line.page_label}{place}{spot}: {_price(line)}"


def check(file: Path, landings: Iterable[Landing], now: datetime) -> Report:
    """Check a sheet, and compare it with the newest one that one of the landings has.

    The provider is the name of the file. ``landings`` are looked at in their order.

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
    """Find the sheet that was landed last: where it is, and its lines."""
    for landing in landings:
        run = landing.latest_run(name)
        if run is not None and (pages := run.of(SHEET)):
            lines = [line for page in pages for line in parse(landing.read(page)).lines]
            return f"{landing.store.root}/{name}", lines
    return "", []


def _prices(lines: Iterable[SheetLine]) -> dict[Key, str]:
    """Write each price with its unit, or the reason why there is none."""
    return {line.key[:3]: _price(line) for line in lines}


def _price(line: SheetLine) -> str:
    if line.price is None:
        return str(line.price_reason)
    return f"{line.price} {line.currency} per {line.unit}"


def _stale(sheet: Sheet, now: datetime) -> list[str]:
    """Describe how many lines are older than the limit."""
    oldest = min((line.seen_on for line in sheet.lines), default=now.date())
    days = (now.date() - oldest).days
    if timedelta(days=days) <= STALE_AFTER:
        return []
    return [f"stale: the oldest line was read on {oldest}, {days} days ago"]


def _accelerators(name: str, sheet: Sheet) -> list[str]:
    """List the GPUs without a spec sheet, and those of another form factor than their sheet."""
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
