"""Land a price sheet: the lines of one address and one day are one page, dated that day."""

from collections import defaultdict
from datetime import UTC, date, datetime, time

from hwprices.errors import FetchError
from hwprices.landing.pages import Landing, Page, Unit
from hwprices.providers import Context
from hwprices.providers.price_sheets import sheet_file
from hwprices.providers.price_sheets.sheet import Sheet, parse

SHEET = "sheet"
SHOWN_PROBLEMS = 3  # Refused lines that an error names; ``hwprices admin sheets`` lists them all


def plan(name: str) -> list[Unit]:
    """List the one unit of a sheet."""
    return [Unit(name, SHEET)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the sheet that comes with the program.

    Raises:
        FetchError: a line of it is refused.
        HwpricesError: it is not a sheet, or the landing root cannot be written.
    """
    file = sheet_file(unit.provider)
    return land(context.landing, unit, parse(file.read_bytes()), today=context.now().date())


def land(landing: Landing, unit: Unit, sheet: Sheet, *, today: date) -> list[Page]:
    """Land the pages of a sheet, the oldest first.

    A page has the address and the day of its lines, so that a price's source_url and observed_at
    are the vendor's page and the day on which a person read it.

    Raises:
        FetchError: a line is refused, or is of a day to come.
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
    """List the lines whose day has not come yet."""
    return [
        f"line {line.number}: seen_on {line.seen_on} is a day to come"
        for line in sheet.lines
        if line.seen_on > today
    ]
