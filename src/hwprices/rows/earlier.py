"""Reuse the rows of an earlier run whose inputs have not changed.

Normalising is pure: the same pages, program and sheets produce the same rows, apart from the times
at which the pages were fetched. For each part a provider states the pages that its rows are read
from (``Source``). ``stage`` compares them with those staged last, and returns the facts that later
parts need (``Earlier.facts``).
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
    """All inputs of the rows of one part.

    ``pages`` are in the same order in every run. ``about`` lists other inputs, such as the regions
    that have their own page. The time at which a page was fetched may only influence
    ``observed_at``, which is the time of one of the pages, and which prices are current:
    ``Part.holds_until`` says how long those stay the same.
    """

    table: str
    region: str
    pages: tuple[Page, ...]
    about: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of the pages and of how they were requested, but not when."""
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
    """One part as an earlier run staged it, verified, with the times of this run's pages.

    Attributes:
        run_id: the run that normalised it.
        file: its table file; None if it has no rows.
        data: the bytes of the file.
        refused: its refused rows, with the columns of the quarantine table.
        facts: frames that later parts of the provider need.
        counts: vendor rows left out on purpose, by kind.
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
    earlier: Iterable[datetime], current: Iterable[datetime]
) -> Mapping[datetime, datetime] | None:
    """Map the times at which pages were fetched by an earlier run to those of the current run.

    None if the pages are in another order: a row with the first or last time of several pages would
    get that of another page. Also None if a page is older now: a price may not have begun yet, or
    not have ended.
    """
    pairs = sorted(set(zip(earlier, current, strict=True)))
    if any(old > new for old, new in pairs):
        return None
    old_times, new_times = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    is_one_to_one = len(set(old_times)) == len(set(new_times)) == len(pairs)
    return dict(pairs) if is_one_to_one and new_times == sorted(new_times) else None


def with_times(rows: pl.DataFrame, times: Mapping[datetime, datetime]) -> pl.DataFrame | None:
    """Replace the times in ``observed_at``; None if a row has a time that is not in ``times``."""
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
