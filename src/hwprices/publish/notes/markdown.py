"""Write release notes as Markdown, whole for notes.md and short for the changelog.

Texts come from vendors: each is escaped, so that it is neither Markdown nor HTML.
"""

import re
from collections.abc import Iterable, Sequence

from hwprices import hidden_characters
from hwprices.release import notes as release_notes
from hwprices.release.notes import WORDS, Move, NewWord, ProviderNote, ReleaseNotes, Sold

MAX_NAMES = 20
"""Machine types listed by name; the rest is counted."""

MAX_WORDS = 5
"""Words of a provider that are listed; the rest is counted, and in the table new_words."""

MAX_LENGTH = 300
"""Characters of a text from outside."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&$])")


def escaped(text: object) -> str:
    """Make a text harmless in Markdown: one line, special and hidden characters escaped."""
    line = " ".join(str(text).split())[:MAX_LENGTH]
    harmless = _SPECIAL.sub(r"\\\1", hidden_characters.escaped(line))
    return harmless.replace("://", ":\\/\\/").replace("www.", "www\\.")  # or GitHub links them


def notes(release: ReleaseNotes) -> str:
    """Write the notes of a release."""
    before = [f"Compared with {release.previous}.", ""] if release.previous else []
    return (
        "\n".join(
            [
                f"# Release {release.version}",
                "",
                *before,
                *_summary(release),
                *_providers(release),
                *_moves(release),
                *_types_or_regions(release, "Machine types", release.instance_types),
                *_types_or_regions(release, "Regions", release.regions),
                *_collection(release),
                *_restated(release),
                *new_words(release),
                *_refused(release),
                *_gate(release),
            ]
        ).rstrip("\n")
        + "\n"
    )


def changelog_entry(release: ReleaseNotes) -> str:
    """Write what the changelog says of a release."""
    lines = [f"## {release.version}", "", *_summary(release)]
    lines += [f"- {_move(release, move)}" for move in release.moves[:3]]
    return "\n".join(lines).rstrip("\n") + "\n"


def _summary(release: ReleaseNotes) -> list[str]:
    """Say in a few lines what a reader wants to know first."""
    return [*(f"- {line}" for line in release_notes.lines(release, escaped)), ""]


def _providers(release: ReleaseNotes) -> list[str]:
    rows = [
        [escaped(provider.title), option.replace("_", " "), f"{count:,}", _state(provider)]
        for provider in release.providers.values()
        for option, count in (provider.prices or {"none": 0}).items()
    ]
    head = ["provider", "purchase option", "prices", "figures"]
    return ["## Prices by provider and purchase option", "", *_table(head, rows, right=(2,))]


def _state(provider: ProviderNote) -> str:
    first, last = ((text or "?")[:10] for text in (provider.observed_from, provider.observed_to))
    seen = f"seen {first}" if first == last else f"seen {first} to {last}"
    kept = f", kept from {provider.kept_from}" if provider.status == "kept" else ""
    return escaped(f"{provider.origin}, {seen}{kept}")


def _title(release: ReleaseNotes, provider: str) -> str:
    """Return a provider's name for people; its id if it is not in the release."""
    note = release.providers.get(provider)
    return escaped(note.title if note else provider)


def _moves(release: ReleaseNotes) -> list[str]:
    if not release.moves:
        return []
    lines = (f"- {_move(release, move)}" for move in release.moves)
    return ["## Largest moves", "", *lines, ""]


def _move(release: ReleaseNotes, move: Move) -> str:
    term = f" {move.term_months // 12} y" if move.term_months else ""
    option = f"{move.purchase_option.replace('_', ' ')}{term}"
    what = escaped(f"{move.instance_type} in {move.region}, {option}, {move.os}")
    amounts = f"{move.old} to {move.new} {move.currency}/h"
    return f"{_title(release, move.provider)} {what}: {amounts} ({move.percent:+.1f} %)"


def _types_or_regions(release: ReleaseNotes, title: str, rows: Sequence[Sold]) -> list[str]:
    lines = []
    groups = dict.fromkeys((row.provider, row.change) for row in rows)
    for provider, change in groups:
        names = [row.name for row in rows if (row.provider, row.change) == (provider, change)]
        shown = ", ".join(escaped(name) for name in names[:MAX_NAMES])
        more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        lines.append(f"- {_title(release, provider)}, {WORDS[change]}: {shown}{more}.")
    return [f"## {title}", "", *lines, ""] if lines else []


def _collection(release: ReleaseNotes) -> list[str]:
    rows = [
        [
            _title(release, row.provider),
            escaped(row.unit or "all of it"),
            WORDS[row.change],
            f"{row.prices:,}",
        ]
        for row in release.collection
    ]
    failed = [
        f"- {escaped(line)}" for one in release.providers.values() for line in one.failed_units
    ]
    if not rows and not failed:
        return []
    head = ["provider", "unit", "what", "prices"]
    table = _table(head, rows, right=(3,)) if rows else []
    return ["## Collection", "", *table, *failed, *([""] if failed else [])]


def _restated(release: ReleaseNotes) -> list[str]:
    lines = [
        f"- {row.count:,} {'prices' if row.subject == 'price' else 'figures'}:"
        f" {escaped(row.name)}, {escaped(row.field.replace('_', ' '))}"
        for row in release.restated
    ]
    lines += [
        f"- {_title(release, name)}: what changed is unclear where vendor and program both changed:"
        f" {escaped(problem)}"
        for name, problem in release.problems.items()
    ]
    if not lines:
        return []
    text = "Our own corrections. What the vendor says is the same."
    return ["## Restated", "", text, "", *lines, ""]


def new_words(release: ReleaseNotes) -> list[str]:
    """List what is new from the vendors; of each provider the words that cost most rows."""
    rows = []
    for provider in dict.fromkeys(word.provider for word in release.new_words):
        own = [word for word in release.new_words if word.provider == provider]
        rows += [_new_word(release, word) for word in own[:MAX_WORDS]]
        if rest := len(own[MAX_WORDS:]):
            rows.append([_title(release, provider), f"… and {rest:,} more", *[""] * 5])
    if not rows:
        return []
    text = "Words that are not known yet. None of these lines is published, nor the further rows."
    head = ["provider", "word", "reason", "lines", "further rows", "since", "example and its page"]
    return ["## New from the vendors", "", text, "", *_table(head, rows, right=(3, 4))]


def _new_word(release: ReleaseNotes, word: NewWord) -> list[str]:
    return [
        _title(release, word.provider),
        escaped(word.word),
        escaped(word.reason),
        f"{word.lines:,}",
        f"{word.dependants:,}",
        escaped(word.since),
        f"{escaped(word.example)} ({escaped(word.source_url)})",
    ]


def _refused(release: ReleaseNotes) -> list[str]:
    rows = [
        [escaped(provider.title), escaped(reason), f"{count:,}"]
        for provider in release.providers.values()
        for reason, count in provider.quarantined.items()
    ]
    head = ["provider", "reason", "rows"]
    return ["## Refused rows", "", *_table(head, rows, right=(2,))] if rows else []


def _gate(release: ReleaseNotes) -> list[str]:
    passed = sum(provider.checks_passed for provider in release.providers.values())
    others = f", {len(release.gate)} did not" if release.gate else ""
    lines = [f"{passed} checks passed{others}.", ""]
    rows = [
        [_title(release, row.provider), escaped(row.check), row.outcome, escaped(row.detail)]
        for row in release.gate
    ]
    if rows:
        lines += _table(["provider", "check", "outcome", "detail"], rows)
    return ["## Gate", "", *lines]


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()
) -> list[str]:
    rule = ["---:" if index in right else "---" for index in range(len(head))]
    return [*(f"| {' | '.join(line)} |" for line in (head, rule, *rows)), ""]
