"""The gate: hold back implausible rows of a provider's new tables and publish the rest.

docs/gates.md explains what a value is compared with, and lists limits and reasons.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import polars as pl

from hwprices.publish.gate import compare, facts, held, levels, machine_prices, moves, pages
from hwprices.publish.gate.candidate import PRICES, SUSPECT, Candidate, PriceFile, Releases
from hwprices.publish.gate.held import Replacement
from hwprices.publish.gate.levels import per_accelerator
from hwprices.release.manifest import CheckResult, Outcome
from hwprices.release.wording import counted
from hwprices.rows import frames
from hwprices.schemas.tables import Held
from hwprices.storage.store import Store

__all__ = ["PRICES", "Candidate", "Judgement", "PriceFile", "judge", "per_accelerator", "stopped"]


@dataclass(frozen=True)
class Judgement:
    """The decision about one provider.

    ``held`` are rows of the table held. ``results`` has one result for each reason, and for what is
    accepted or released. If one of them is a stop, none of ``new`` is published.
    """

    new: Candidate
    old: Candidate
    results: tuple[CheckResult, ...]
    held: pl.DataFrame

    @cached_property
    def replacements(self) -> Mapping[str, Replacement]:
        """The tables that are published with some rows other than those of ``new``."""
        return held.replacements(self.old, self.held)

    def published(self, table: str) -> pl.DataFrame:
        """Return the published rows of a table, if nothing is a stop."""
        rows = self.new.table(table).collect()
        return self.replacements[table].publish(rows) if table in self.replacements else rows


def judge(
    new: Candidate,
    old: Candidate | None,
    accepted: Collection[str] = (),
    *,
    past: Sequence[pl.LazyFrame] = (),
    held_before: pl.DataFrame | None = None,
    peers: pl.LazyFrame | None = None,
    now: datetime | None = None,
    store: Store | None = None,
) -> Judgement:
    """Judge one provider's new tables.

    Args:
        new: The tables collected.
        old: The tables of the last release; None for a first one.
        accepted: Parts that a person lets through: ``aws:p5.48xlarge``, ``aws:us-east-1``,
            ``aws:*``.
        past: Prices of about a week, a month and a quarter ago, if available.
        held_before: The table held of the last release.
        peers: The result of ``per_accelerator`` for all clouds.
        now: The time of the run.
        store: Has the landed pages. Without it no prices are traced.
    """
    provider, is_first = new.provider, old is None or old.origin != new.origin
    names = [name.partition(":")[2] for name in accepted if name.startswith(f"{provider}:")]
    published = old or Candidate(provider, new.origin, {})
    base = Candidate(provider, new.origin, {}) if is_first else published
    known = frames.empty(Held) if held_before is None else held_before.filter(provider=provider)

    def stop(check: str, text: str, outcome: Outcome = "stop") -> Judgement:
        result = CheckResult(provider, check, outcome, text, accept=f"{provider}:{check}")
        return Judgement(new, published, (result,), known if outcome == "stop" else known.clear())

    if published.origin == "live" and new.origin != "live":
        text = "the published figures are live; the sample would replace them: use another --root"
        let_through = {"sample_over_live", held.ALL} & set(names)
        return stop("sample_over_live", text, "accepted" if let_through else "stop")
    # also true after the clock was set back
    seen, before = new.seen, base.seen
    times = [time for time in (now, before) if time]
    is_older = seen and before and seen < min(times) - compare.CLOCK
    is_ahead = seen and now and seen > max(times) + compare.CLOCK
    if (is_ahead or is_older) and not {"older", held.ALL} & set(names):
        text = f"the pages are of {seen:%Y-%m-%d}, those published of {before or seen:%Y-%m-%d}"
        return stop("older", text)
    judged_at = now or seen or datetime.now(UTC)
    results, untraced = [], pl.DataFrame(schema=SUSPECT)
    if store:
        untraced, text = pages.trace(store, new)
        results.append(CheckResult(provider, "traced", "pass", text))
    releases = Releases(new, base, judged_at, past, is_first, known, peers, untraced)
    rows = held.with_past(_found(releases), provider, known)
    is_accepted = held.is_accepted(names)
    passed_on, rest = rows.filter(is_accepted), rows.filter(~is_accepted)
    stops = _is_implausible(rest, releases)
    is_released = held.is_released() & (not stops)
    released, kept = rest.filter(is_released), rest.filter(~is_released)
    needed = held.needed_by(kept, releases)
    kept = pl.concat([kept, needed.join(kept, on=held.CELL, how="anti")])
    passed_on, released = (
        rows.join(needed, on=held.CELL, how="anti") for rows in (passed_on, released)
    )
    results += [
        *_results(provider, kept, "stop" if stops else "held"),
        *_results(provider, passed_on, "accepted"),
        *_results(provider, released, "released"),
    ]
    for part in names:
        if part != held.ALL and rows.filter(held.is_accepted([part])).is_empty():
            text = f"nothing is held under {provider}:{part}"
            results.append(CheckResult(provider, "accept", "warn", text))
    if is_first:
        results.append(CheckResult(provider, "baseline", "pass", "nothing to compare with"))
    broken = {result.check for result in results}
    passed = (CheckResult(provider, n, "pass", "holds") for n in compare.REASONS if n not in broken)
    kept = kept.select(list(Held.dtypes))
    if stops:  # the old tables stay, with what is held of them
        kept = pl.concat([kept, known.join(kept, on=held.CELL, how="anti", nulls_equal=True)])
    return Judgement(new, base, (*results, *passed), kept)


def stopped(results: Collection[CheckResult]) -> list[CheckResult]:
    """List the results that keep the provider from being replaced."""
    return [r for r in results if r.outcome == "stop"]


def _found(releases: Releases) -> pl.DataFrame:
    """List what breaks a limit: the columns of facts.FOUND, family and seen."""
    rows, refused = releases.differences(machine_prices.refused_rows)
    found = []
    if not releases.is_first:
        cells = facts.found(releases)
        wrong = machine_prices.refused(releases, facts.skus(cells, releases))
        refused = pl.concat(
            [
                refused,
                wrong.join(rows, on="price_id", how="semi"),
                *levels.refused_levels(rows, releases),
                *moves.refused_moves(rows, releases),
                *moves.refused(releases, rows),
            ]
        )
        refused = held.as_first_held(refused, rows, releases.held)
        refused = pl.concat([refused, *moves.beside(refused, rows, releases)])
        refused = pl.concat([refused, machine_prices.made_of(refused, rows, releases)])
        unchanged = wrong.join(rows, on="price_id", how="anti").rename({"price_id": "row"})
        of_parts = facts.cells(
            *("price_components", unchanged, "parts", pl.col("reference")), new_value="changed"
        )
        families = releases.types.select("instance_type", "family")
        cells = pl.concat([cells, of_parts], how="diagonal")
        found.append(cells.join(families, on="instance_type", how="left"))
    found.append(held.price_rows(refused, rows))
    return pl.concat(found, how="diagonal_relaxed").with_columns(
        pl.col("family").fill_null(""), pl.col("seen").fill_null(releases.new.seen or releases.now)
    )


def _is_implausible(rows: pl.DataFrame, releases: Releases) -> bool:
    """Return whether most prices are held for good, or gone with nothing in their place.

    New prices that stay out count only in a first release.
    """
    prices = rows.filter(table=PRICES)
    if prices.is_empty():
        return False
    lasting = prices.filter(pl.col("reason").is_in(compare.LASTING))
    if not releases.is_first:
        lasting = lasting.filter(pl.col("published_value").is_not_null())
    gone = prices.filter(pl.col("new_value").is_null())
    most = compare.IMPLAUSIBLE * _priced(releases.new if releases.is_first else releases.old)
    return lasting.height > most or (gone.height > most > _priced(releases.new))


def _priced(side: Candidate) -> int:
    return int(side.priced.select(pl.len()).collect(engine="streaming").item())


SHOWN = 3  # parts that a message names


def _results(provider: str, rows: pl.DataFrame, outcome: Outcome) -> list[CheckResult]:
    """Describe held rows: one result for each reason, with the parts that have most rows."""
    results = []
    for reason in sorted(rows["reason"].unique(), key=compare.REASONS.index):
        own = rows.filter(reason=reason)
        parts = own.group_by("part").agg(rows=pl.len(), first=pl.col("reference").first())
        parts = parts.sort("rows", "part", descending=[True, False])
        named = [f"{part}: {first}" for part, _, first in parts.head(SHOWN).rows()]
        more = f"; and {parts.height - SHOWN:,} more parts" if parts.height > SHOWN else ""
        detail = f"{counted(own.height, 'row')}, {'; '.join(named)}{more}"
        accept = f"{provider}:{parts['part'][0] if parts.height == 1 else reason}"
        results.append(CheckResult(provider, reason, outcome, detail, own.height, accept))
    return results
