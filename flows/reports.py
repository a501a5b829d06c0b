"""What a run reports in Prefect's pages, as Markdown."""

from hwprices.publish.release import Published
from hwprices.stage.stage import Staged


def collected(staged: Staged) -> str:
    """What was staged, what was refused, which units gave trouble."""
    tables = sorted({f.table for f in staged.files})
    lines = [
        f"# {staged.provider}: run {staged.run_id} ({staged.origin})",
        "",
        "| table | rows |",
        "|---|---:|",
    ]
    lines += [f"| {name} | {staged.rows(name):,} |" for name in tables]
    lines += ["", f"Units: {', '.join(f'{n} {status}' for status, n in staged.units.items())}."]
    if staged.troubles:
        lines += [
            "",
            "| unit | status | reason |",
            "|---|---|---|",
            *(f"| {t.unit} | {t.status} | {t.reason} |" for t in staged.troubles),
        ]
    if staged.quarantined:
        lines += [
            "",
            "| refused because | rows |",
            "|---|---:|",
            *(f"| {reason} | {count:,} |" for reason, count in staged.quarantined.items()),
        ]
    if staged.accounted:
        lines += [
            "",
            "| not ours | vendor rows |",
            "|---|---:|",
            *(f"| {what} | {count:,} |" for what, count in staged.accounted.items()),
        ]
    return "\n".join(lines)


def published(outcome: Published) -> str:
    """The release and how the gate's checks came out."""
    manifest = outcome.manifest
    head = (
        f"# Release {outcome.version}"
        if outcome.new
        else f"# Nothing new: release {outcome.version} stays"
    )
    lines = [
        head,
        "",
        "| table | rows |",
        "|---|---:|",
        *(f"| {name} | {entry['rows']:,} |" for name, entry in manifest["tables"].items()),
    ]
    lines += [
        "",
        "| provider | origin | partition | check | outcome | detail |",
        "|---|---|---|---|---|---|",
    ]
    for result in outcome.results:
        entry = manifest["providers"][result.provider]
        lines.append(
            f"| {result.provider} | {entry['origin']} | {entry['status']} | {result.check} | {result.outcome} | {result.detail} |"
        )
    if manifest["unmatched_accelerators"]:
        lines += [
            "",
            "Accelerators without a spec sheet: "
            + ", ".join(map(str, manifest["unmatched_accelerators"])),
        ]
    return "\n".join(lines)
