"""Describe a run: in a line for terminal and log, and as Markdown for Prefect's artifacts.

Texts of vendors (reasons, names of units) are escaped, because a browser shows the artifacts.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.download import redact
from hwprices.providers import SkippedError
from hwprices.publish import status
from hwprices.publish.notes import escaped, new_words, templates
from hwprices.publish.release import Published
from hwprices.publish.status import reason_of
from hwprices.read.dataset import Dataset
from hwprices.release import notes
from hwprices.release.manifest import CheckResult, ProviderStatus
from hwprices.release.wording import counted, unit_counts
from hwprices.stage import Staged
from hwprices.storage import layout
from hwprices.storage.store import Store

RELEASE_NOTES = "release-notes"
"""The key of the artifact with the release notes. Prefect shows it below /artifacts/key/."""


def title(provider: str) -> str:
    """Return a provider's display name; for anything else (publish), its id."""
    return providers.get(provider).about.title if provider in providers.names() else provider


def _rendered(template: str, **values: object) -> str:
    text = templates("hwprices.flows").get_template(template).render(title=title, **values)
    return text.rstrip("\n")


def collected(staged: Staged) -> str:
    """Describe a collection: what was staged and refused, and which units had trouble."""
    tables = sorted({file.table for file in staged.files})
    return _rendered(
        "collected.md",
        staged=staged,
        headline=outcome_line(staged),
        units=unit_counts(staged.units),
        tables=[(name, staged.rows(name)) for name in tables],
    )


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
    entries = outcome.status.providers if outcome else {}
    # providers of other runs are listed if they need a person, such as one that is held back
    requested = [name for name in collected if name in entries]
    others = [name for name in entries if name not in collected]
    listed = [*requested, *(name for name in others if not _is_well(entries[name]))]
    news = notes.read(Dataset(Store(root), outcome.version)) if outcome else None
    return _rendered(
        "refreshed.md",
        headline=headline(outcome, failed),
        outcome=outcome,
        listed={name: entries[name] for name in listed},
        others=map(title, others) if others else (),
        failures=[line for name, line in failed.items() if name not in entries],
        news=news,
        news_lines=notes.lines(news, escaped) if news else (),
        new_words=new_words(news) if news else "",
        folder=f"{Store(root).root}/{layout.release_directory(news.version)}" if news else "",
        notes_key=RELEASE_NOTES,
        is_well=_is_well,
        unit_counts=lambda units: unit_counts(vars(units)),
        not_passed=_not_passed(outcome) if outcome else (),
    )


def _is_well(entry: ProviderStatus) -> bool:
    return entry.outcome in ("published", "unchanged")


def _not_passed(outcome: Published) -> list[CheckResult]:
    """List the gate's checks that did not pass, first those that stopped a provider."""
    order = ("stop", "held", "released", "accepted", "warn")
    return [r for verdict in order for r in outcome.results if r.outcome == verdict]


def published(outcome: Published) -> str:
    """Describe a release: the gate's checks, and the rows of its tables."""
    return _rendered(
        "published.md",
        headline=headline(outcome),
        outcome=outcome,
        not_passed=_not_passed(outcome),
    )


def release_notes(outcome: Published, store: Store) -> str:
    """Return the notes of the current release, as Markdown; a line if they are missing."""
    data = store.get(layout.release_file(outcome.version, layout.NOTES[0]))
    return data.decode() if data else f"Release {outcome.version} has no notes."
