"""Keep the outcomes, and write the table in docs/reliability.md that is made of them."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.future.judge import CHANGED, INVENTED, LOST, OK, UNNAMED
from tests.future.table import ADDED, ANY_PAGE, EACH_MEMBER, PROJECT, tried
from tests.future.table import CHANGED as REWORDED
from tests.future.vendors import SHEETS

OUTCOMES = Path(__file__).parent / "outcomes.csv"
"""Every change that was tried: provider, change, outcome. What is not ok is a known failure."""

TARGET = PROJECT / "docs" / "reliability.md"
BEGIN, END = "<!-- tests.future begins -->\n", "<!-- tests.future ends -->\n"

Outcomes = Mapping[tuple[str, str], str]


def read_outcomes() -> Outcomes:
    """Read the outcomes by provider and change."""
    with OUTCOMES.open(encoding="utf-8", newline="") as file:
        return {(r["provider"], r["change"]): r["outcome"] for r in csv.DictReader(file)}


def write_outcomes(outcomes: Outcomes) -> None:
    """Write the outcomes, those of other providers as they were."""
    providers = {provider for provider, _ in outcomes}
    earlier = read_outcomes() if OUTCOMES.exists() else {}
    kept = {key: word for key, word in earlier.items() if key[0] not in providers}
    with OUTCOMES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("provider", "change", "outcome"))
        writer.writerows((*key, word) for key, word in sorted({**kept, **outcomes}.items()))


def page(outcomes: Outcomes) -> str:
    """Return docs/reliability.md with the table of these outcomes."""
    text = TARGET.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + "\n".join(_table(outcomes)) + "\n\n" + END + after


def _table(outcomes: Outcomes) -> Iterator[str]:
    names = tried()
    heads = ["price sheets" if name == SHEETS else name for name in names]
    yield f"| change | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    titles = {
        **{name: f"new: {title}" for name, title in ADDED.items()},
        **REWORDED,
        **{name: title for name, (_, title) in ANY_PAGE.items()},
        **{name: title for name, (_, title) in EACH_MEMBER.items()},
    }
    for change, title in titles.items():
        cells = [_cell(outcomes, name, change) for name in names]
        yield f"| {title} | {' | '.join(cells)} |"


def _cell(outcomes: Outcomes, provider: str, change: str) -> str:
    """Write the outcome of a change, or of one change to each of several members."""
    words = [
        word
        for (name, tried_change), word in outcomes.items()
        if name == provider and tried_change.partition(":")[0] == change
    ]
    wrong = [word for word in words if word != OK]
    if not wrong:
        return OK if words else ""
    worst = next(word for word in (INVENTED, CHANGED, LOST, UNNAMED) if word in wrong)
    return worst if len(words) == 1 else f"{worst} ({len(wrong)} of {len(words)})"
