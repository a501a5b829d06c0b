"""Write what a run did as Markdown, for Prefect's artifact pages."""

from collections.abc import Iterable

from hwprices.publish.release import Published
from hwprices.stage.stage import Staged


def collected(staged: Staged) -> str:
    """Describe a collection: what was staged, what was refused, which units gave trouble."""
    tables = sorted({file.table for file in staged.files})
    units = ", ".join(f"{count} {status}" for status, count in staged.units.items())
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
            *(f"| {t.unit} | {t.status} | {t.reason} |" for t in staged.troubles),
        ]
    lines += _counts("refused because", "rows", staged.quarantined.items())
    lines += _counts("not ours", "vendor rows", staged.accounted.items())
    return "\n".join(lines)


def published(outcome: Published) -> str:
    """Describe a release: the rows of its tables and the results of the gate's checks."""
    manifest = outcome.manifest
    lines = [
        f"# Release {outcome.version}"
        if outcome.new
        else f"# Nothing new: release {outcome.version} stays",
        *_counts(
            "table", "rows", ((name, table["rows"]) for name, table in manifest["tables"].items())
        ),
        "",
        "| provider | origin | partition | check | outcome | detail |",
        "|---|---|---|---|---|---|",
    ]
    for result in outcome.results:
        entry = manifest["providers"][result.provider]
        lines.append(
            f"| {result.provider} | {entry['origin']} | {entry['status']} | {result.check}"
            f" | {result.outcome} | {result.detail} |"
        )
    if manifest["unmatched_accelerators"]:
        unmatched = ", ".join(map(str, manifest["unmatched_accelerators"]))
        lines += ["", f"Accelerators without a spec sheet: {unmatched}"]
    return "\n".join(lines)


def _counts(heading: str, unit: str, rows: Iterable[tuple[str, int]]) -> list[str]:
    """Write the lines of a table with two columns; none if there are no rows."""
    lines = [f"| {name} | {count:,} |" for name, count in rows]
    return ["", f"| {heading} | {unit} |", "|---|---:|", *lines] if lines else []
