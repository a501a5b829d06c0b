"""Take over the rows of an earlier run where nothing that decides them has changed.

Normalising is pure, so the same pages read by the same program and sheets give the same rows, but
for the time at which the pages were fetched. A provider says of a part which pages its rows are
read from (``Source``); ``stage`` compares that with what it staged last, and hands back what later
parts need to know (``Earlier.facts``).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from hwprices.landing.pages import Page
from hwprices.release.manifest import TableFile
from hwprices.units import Timestamp


@dataclass(frozen=True)
class Source:
    """What the rows of one part are read from; nothing else decides them.

    ``pages`` come in an order that is the same in every run. ``about`` is what else decides, such
    as the regions that have a page of their own. The time at which a page was fetched may decide
    ``observed_at``, which is the time of one of the pages, and which prices are current: for these
    ``Part.holds_until`` says until when they stay.
    """

    table: str
    region: str
    pages: tuple[Page, ...]
    about: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of the pages and of how they were requested, but not of when."""
        pages = [
            [page.key, page.sha256, page.url, dict(page.params), page.status] for page in self.pages
        ]
        text = json.dumps([self.table, self.region, pages, self.about], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def times(self) -> tuple[datetime, ...]:
        """When each page was fetched."""
        return tuple(page.retrieved_at for page in self.pages)


@dataclass(frozen=True)
class Earlier:
    """What an earlier run staged of one part, verified, with the times of this run's pages.

    Attributes:
        run_id: the run that normalised it.
        file: its table file, and ``data`` the bytes of it; None where it has no rows.
        refused: its refused rows, with the columns of the quarantine table.
        facts: what the provider said that later parts need of it.
        counts: vendor rows left out on purpose, by what they are.
        with_amount: number of its prices that have an amount.
        holds_until: as in ``Part``.
    """

    run_id: str
    file: TableFile | None
    data: bytes
    refused: pl.DataFrame
    facts: Mapping[str, pl.DataFrame]
    counts: Mapping[str, int] = field(default_factory=dict)
    with_amount: int = 0
    holds_until: datetime | None = None


def match_times(
    then: Iterable[datetime], now: Iterable[datetime]
) -> Mapping[datetime, datetime] | None:
    """Map the times at which pages were fetched then to those of the same pages now.

    None where the order of the pages is another one: a row that has the first or the last time of
    several pages would have that of another page. None too where a page is older now: a price may
    not have begun yet, or not have ended.
    """
    pairs = sorted(set(zip(then, now, strict=True)))
    if any(before > after for before, after in pairs):
        return None
    befores, afters = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    is_same_order = len(set(befores)) == len(set(afters)) == len(pairs) and afters == sorted(afters)
    return dict(pairs) if is_same_order else None


def with_times(rows: pl.DataFrame, times: Mapping[datetime, datetime]) -> pl.DataFrame | None:
    """Write today's times into ``observed_at``; None where a row has a time of no page."""
    before = rows["observed_at"]
    after = before.replace_strict(
        pl.Series(list(times), dtype=Timestamp),
        pl.Series(list(times.values()), dtype=Timestamp),
        default=None,
        return_dtype=Timestamp,
    )
    if after.null_count() != before.null_count():
        return None
    return rows.with_columns(after.alias("observed_at"))
