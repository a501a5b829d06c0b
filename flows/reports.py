"""Describe a run: in a line for terminal and log, and as Markdown for Prefect's artifacts.

Texts of vendors (reasons, names of units) are escaped, because a browser shows the artifacts.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.download import redact
from hwprices.providers import SkippedError
from hwprices.publish import status
from hwprices.publish.notes import escaped, new_words
from hwprices.publish.release import Published
from hwprices.publish.status import reason_of
from hwprices.read.dataset import Dataset
from hwprices.release import notes
from hwprices.release.manifest import ProviderStatus, Trouble
from hwprices.release.notes import ReleaseNotes
from hwprices.release.wording import counted
from hwprices.stage import Staged
from hwprices.storage import layout
from hwprices.storage.store import Store

RELEASE_NOTES = "release-notes"
"""The key of the artifact with the release notes. Prefect shows it below /artifacts/key/."""


def title(provider: str) -> str:
    """Return a provider's display name; for anything else (publish), its id."""
    return providers.get(provider).about.title if provider in providers.names() else provider


def collected(staged: Staged) -> str:
    """Describe a collection: what was staged and refused, and which units had trouble."""
    tables = sorted({file.table for file in staged.files})
    lines = [
        f"# {escaped(outcome_line(staged))}",
        "",
        f"Run {staged.run_id} ({staged.origin}). Units: {_unit_counts(staged.units)}.",
    ]
    troubles = [[trouble.unit, _status(trouble), trouble.reason] for trouble in staged.troubles]
    lines += _table(["unit", "status", "reason"], troubles)
    lines += _counts("refused because", "rows", staged.quarantined.items())
    lines += _counts("left out on purpose", "vendor rows", staged.accounted.items())
    lines += _counts("table", "rows", ((name, staged.rows(name)) for name in tables))
    return "\n".join(lines)


def staged_line(staged: Staged) -> str:
    """Describe what was staged: ``21 prices of 21 machine types staged, 3 rows refused``."""
    refused = sum(staged.quarantined.values())
    types = staged.rows("instance_types")
    line = found(staged) + (f" of {types:,} machine types staged" if types else " staged")
    return line + (f", {refused:,} rows refused" if refused else "")


def found(staged: Staged) -> str:
    """Count the prices: ``21 prices``; for a market without prices, its quantiles."""
    prices, quantiles = staged.rows("prices"), staged.rows("market_quantiles")
    is_market = quantiles and not prices
    return f"{quantiles:,} rows of market_quantiles" if is_market else f"{prices:,} prices"


def outcome_line(collected: Staged | SkippedError) -> str:
    """Describe a collection that did not fail, in one line."""
    if isinstance(collected, SkippedError):
        return str(collected)
    line = f"{title(collected.provider)}: {staged_line(collected)}"
    missing = status.shortfall_line(collected)
    return f"{line}; {missing}" if missing else line


def _unit_counts(units: Mapping[str, int]) -> str:
    return ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in units.items() if count
    )


def _status(trouble: Trouble) -> str:
    return trouble.status if trouble.requested else f"{trouble.status} earlier, not requested now"


def failure(provider: str, error: object) -> str:
    """Describe a failed collection in one line that begins with the provider."""
    if isinstance(error, HwpricesError):
        text = str(error)
    else:  # it may quote a URL with a password, such as that of Prefect's server
        text = redact(f"{type(error).__name__}: {error}")
    named = text.startswith((f"{provider}:", f"{title(provider)}:"))
    return text if named else f"{provider}: {text}"


def held_back(outcome: Published) -> str:
    """List the providers that the gate held back, with the checks that stopped them."""
    stopped = outcome.held_back.items()
    named = [f"{title(name)} ({reason_of(stops)})" for name, stops in stopped]
    return f"held back: {'; '.join(named)}"


def headline(outcome: Published | None, failed: Mapping[str, str] | None = None) -> str:
    """Describe the outcome of a run in a short line, first what needs a person.

    A provider that failed in this run is not listed again if the gate holds its older tables back.
    """
    failed = failed or {}
    parts = [f"failed: {', '.join(map(title, failed))}"] if failed else []
    if outcome is None:
        return "; ".join([*parts, "nothing published"])
    held = [
        f"{title(name)} ({', '.join(stop.check for stop in stops)})"
        for name, stops in outcome.held_back.items()
        if name not in failed
    ]
    if held:
        parts.append(f"held back: {', '.join(held)}")
    rows: Counter[str] = Counter()
    for result in outcome.held:
        rows[title(result.provider)] += int(result.value or 0)
    if rows:
        named = [f"{name} ({counted(count, 'row')})" for name, count in rows.items()]
        parts.append(f"held: {', '.join(named)}")
    partial = [
        title(name)
        for name, entry in outcome.status.providers.items()
        if entry.outcome == "partial" and name not in failed
    ]
    if partial:
        parts.append(f"partial: {', '.join(partial)}")
    if outcome.new_words:
        counts = Counter(provider for provider, _ in outcome.new_words)
        named = [f"{title(name)} ({counted(count, 'word')})" for name, count in counts.items()]
        parts.append(f"new from the vendor: {', '.join(named)}")
    if outcome.new:
        parts.append(f"new release {outcome.version}")
    elif parts:
        parts.append(f"release {outcome.version} stays")
    else:
        parts.append(f"nothing new: release {outcome.version} stays")
    return "; ".join(parts)


def refreshed(
    outcome: Published | None, failed: Mapping[str, str], collected: Collection[str], root: str
) -> str:
    """Describe a refresh on one page: each provider's outcome, the changes, the gate's checks."""
    lines = [f"# {escaped(headline(outcome, failed))}"]
    if outcome is None:
        return "\n".join([*lines, *_failures(failed)])
    entries = outcome.status.providers
    # providers of other runs are listed if they need a person, such as one that is held back
    requested = [name for name in collected if name in entries]
    others = [name for name in entries if name not in collected]
    listed = [*requested, *(name for name in others if not _is_well(entries[name]))]
    rows = [_provider_row(name, entries[name], outcome) for name in listed]
    lines += _table(["provider", "outcome", "prices in the release", "units", "why"], rows)
    if others:
        lines += ["", f"Not requested in this run: {', '.join(map(title, others))}."]
    lines += _failures({name: line for name, line in failed.items() if name not in entries})
    news = notes.read(Dataset(Store(root), outcome.version))
    if news is not None:
        lines += ["", *new_words(news).splitlines()]
        lines += _changes(news, root) if outcome.new else []
    return "\n".join([*lines, *_gate(outcome)])


def _provider_row(name: str, entry: ProviderStatus, outcome: Published) -> list[str]:
    published = outcome.release.providers.get(name)
    prices = f"{published.rows.get('prices', 0):,}" if published else "none"
    verdict = entry.outcome.replace("_", " ")
    return [
        entry.title or name,
        verdict if _is_well(entry) else f"**{verdict}**",
        prices,
        _unit_counts(vars(entry.units)),
        escaped(entry.reason),
    ]


def _is_well(entry: ProviderStatus) -> bool:
    return entry.outcome in ("published", "unchanged")


def _failures(failed: Mapping[str, str]) -> list[str]:
    return ["", *(f"- {escaped(line)}" for line in failed.values())] if failed else []


def _changes(news: ReleaseNotes, root: str) -> list[str]:
    """Describe what is new in a release, with a link to the release notes."""
    before = f" (against {news.previous})" if news.previous else ""
    folder = f"{Store(root).root}/{layout.release_directory(news.version)}"
    return [
        "",
        f"## What changed{before}",
        "",
        *(f"- {line}" for line in notes.lines(news, escaped)),
        "",
        f"[Release notes](/artifacts/key/{RELEASE_NOTES}). Release and report: `{folder}`",
    ]


def _gate(outcome: Published) -> list[str]:
    """List the gate's checks that did not pass, first those that stopped a provider."""
    order = ("stop", "held", "released", "accepted", "warn")
    rows = [
        [
            title(result.provider),
            *(result.check, result.outcome, escaped(result.detail), escaped(result.accept)),
        ]
        for verdict in order
        for result in outcome.results
        if result.outcome == verdict
    ]
    if not rows:
        return ["", f"All {len(outcome.results):,} checks of the gate passed."]
    passed = len(outcome.results) - len(rows)
    heading = f"## The gate: {counted(len(rows), 'check')} did not pass, {passed:,} did"
    head = ["provider", "reason", "outcome", "what it saw", "part to accept"]
    return ["", heading, *_table(head, rows)]


def published(outcome: Published) -> str:
    """Describe a release: the gate's checks, and the rows of its tables."""
    manifest = outcome.release
    lines = [f"# {escaped(headline(outcome))}", *_gate(outcome)]
    lines += _table(
        ["accelerator without a spec sheet", "provider", "machine types"],
        [
            [
                escaped(each.vendor_name or each.accelerator_id or "?"),
                title(each.provider),
                escaped(", ".join(each.instance_types)),
            ]
            for each in manifest.unmatched_accelerators
        ],
    )
    rows = ((name, table.rows) for name, table in manifest.tables.items())
    return "\n".join([*lines, *_counts("table", "rows", rows)])


def release_notes(outcome: Published, store: Store) -> str:
    """Return the notes of the current release, as Markdown; a line if they are missing."""
    data = store.get(layout.release_file(outcome.version, layout.NOTES[0]))
    return data.decode() if data else f"Release {outcome.version} has no notes."


def _counts(heading: str, unit: str, rows: Iterable[tuple[str, int]]) -> list[str]:
    return _table([heading, unit], [[name, f"{count:,}"] for name, count in rows])


def _table(headings: list[str], rows: Iterable[list[str]]) -> list[str]:
    """Write a Markdown table after an empty line; nothing without rows."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    rule = f"|{'---|' * len(headings)}"
    return ["", f"| {' | '.join(headings)} |", rule, *lines] if lines else []
