"""Say what a run did: in a line for the screen, as Markdown for Prefect's artifact pages."""

from collections.abc import Iterable, Mapping

from hwprices.errors import HwpricesError
from hwprices.publish.release import Published
from hwprices.stage.stage import Staged
from hwprices.storage import layout
from hwprices.storage.provider_status import ProviderStatus
from hwprices.storage.release_manifest import Trouble
from hwprices.storage.store import Store


def collected(staged: Staged) -> str:
    """Describe a collection: what was staged, what was refused, which units gave trouble."""
    tables = sorted({file.table for file in staged.files})
    units = ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in staged.units.items()
    )
    lines = [
        f"# {staged.provider}: run {staged.run_id} ({staged.origin})",
        *_counts("table", "rows", ((name, staged.rows(name)) for name in tables)),
        "",
        f"Units: {units}.",
    ]
    if staged.troubles:
        lines += [
            "",
            "| unit | status | reason |",
            "|---|---|---|",
            *(f"| {t.unit} | {_status(t)} | {t.reason} |" for t in staged.troubles),
        ]
    lines += _counts("refused because", "rows", staged.quarantined.items())
    lines += _counts("not ours", "vendor rows", staged.accounted.items())
    return "\n".join(lines)


def _status(trouble: Trouble) -> str:
    return trouble.status if trouble.requested else f"{trouble.status} earlier, not requested now"


def failure(provider: str, error: object) -> str:
    """Describe a failed collection in one line that begins with the provider."""
    text = str(error) if isinstance(error, HwpricesError) else f"{type(error).__name__}: {error}"
    return text if text.startswith(f"{provider}:") else f"{provider}: {text}"


def held_back(outcome: Published) -> str:
    """Name the providers that the gate held back, with the checks: ``held back: aws (…)``."""
    providers = outcome.status.providers
    named = [f"{name} ({providers[name].reason})" for name in outcome.held_back]
    return f"held back: {'; '.join(named)}"


def headline(outcome: Published | None, failed: Mapping[str, str] | None = None) -> str:
    """Say what came of a run in one line, what needs a person first."""
    parts = [f"failed: {', '.join(failed)}"] if failed else []
    if outcome is None:
        return "; ".join([*parts, "nothing published"])
    if outcome.held_back:
        parts.append(held_back(outcome))
    if outcome.new:
        parts.append(f"new release {outcome.version}")
    elif parts:
        parts.append(f"release {outcome.version} stays")
    else:
        parts.append(f"nothing new: release {outcome.version} stays")
    return "; ".join(parts)


def refreshed(outcome: Published | None, failed: Mapping[str, str]) -> str:
    """Describe a refresh: the headline, how each provider fares, and the failures in full."""
    lines = [f"# {headline(outcome, failed)}"]
    if outcome is not None:
        lines += ["", "| provider | outcome | origin | units | reason |", "|---|---|---|---|---|"]
        lines += [
            f"| {entry.title or name} | {entry.outcome} | {entry.origin or ''} | {_units(entry)}"
            f" | {entry.reason} |"
            for name, entry in outcome.status.providers.items()
        ]
    if failed:
        lines += ["", "Failures:", "", *(f"- {line}" for line in failed.values())]
    return "\n".join(lines)


def _units(entry: ProviderStatus) -> str:
    counts = vars(entry.units).items()
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts if count)


def published(outcome: Published) -> str:
    """Describe a release: the rows of its tables and the results of the gate's checks."""
    manifest = outcome.manifest
    lines = [
        f"# {headline(outcome)}",
        *_counts(
            "table", "rows", ((name, table["rows"]) for name, table in manifest["tables"].items())
        ),
        "",
        "| provider | origin | partition | check | outcome | detail |",
        "|---|---|---|---|---|---|",
    ]
    for result in outcome.results:
        entry = manifest["providers"].get(result.provider, {})
        lines.append(
            f"| {result.provider} | {entry.get('origin', '')} | {entry.get('status', 'left out')}"
            f" | {result.check}"
            f" | {result.outcome} | {result.detail} |"
        )
    if manifest["unmatched_accelerators"]:
        unmatched = ", ".join(map(str, manifest["unmatched_accelerators"]))
        lines += ["", f"Accelerators without a spec sheet: {unmatched}"]
    return "\n".join(lines)


def release_notes(outcome: Published, store: Store) -> str:
    """Return the notes of the release in force, as Markdown; a line if they are missing."""
    data = store.get(layout.release_file(outcome.version, layout.NOTES[0]))
    return data.decode() if data else f"Release {outcome.version} has no notes."


def _counts(heading: str, unit: str, rows: Iterable[tuple[str, int]]) -> list[str]:
    """Write the lines of a table with two columns; none if there are no rows."""
    lines = [f"| {name} | {count:,} |" for name, count in rows]
    return ["", f"| {heading} | {unit} |", "|---|---:|", *lines] if lines else []
