"""Make the release notes, as Markdown and JSON, and the changelog of the data."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from hwprices import errors
from hwprices.errors import HwpricesError
from hwprices.publish.choose import ProviderSource
from hwprices.publish.history import Record
from hwprices.publish.history.snapshot import Moment
from hwprices.release import notes as release_notes
from hwprices.release.manifest import CheckResult
from hwprices.release.notes import (
    WORDS,
    Collected,
    GateNote,
    Move,
    NewWord,
    ProviderNote,
    ReleaseNotes,
    Restated,
    Sold,
)
from hwprices.release.versions import versions
from hwprices.release.wording import plain
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

LARGEST_MOVES = 10


def make_notes(
    moment: Moment,
    sources: Collection[ProviderSource],
    results: Collection[CheckResult],
    past: Record,
    titles: Mapping[str, str],
    new_words: pl.DataFrame,
) -> ReleaseNotes:
    """Gather the notes of a release."""
    changes, intervals = past.changes, past.intervals
    prices = changes.filter(subject="price")
    return ReleaseNotes(
        version=moment.version,
        previous=moment.previous,
        providers={
            source.provider: _provider(source, intervals.get(source.provider), titles)
            for source in sources
        },
        changes=dict(prices.group_by("change").len().sort("change").iter_rows()),
        moves=largest_moves(prices),
        instance_types=_types_or_regions(changes, "instance_type"),
        regions=_types_or_regions(changes, "region"),
        new_providers=tuple(changes.filter(subject="provider", change="added")["provider"]),
        collection=_collection(changes),
        restated=_restated(changes),
        spec_changes=changes.filter(change="spec_changed").height,
        new_words=_new_words(new_words),
        gate=tuple(
            GateNote(result.provider, result.check, result.outcome, result.detail, result.accept)
            for result in results
            if result.outcome != "pass"
        ),
        problems=past.problems,
    )


def _provider(
    source: ProviderSource, intervals: pl.LazyFrame | None, titles: Mapping[str, str]
) -> ProviderNote:
    prices: dict[str, int] = {}
    if intervals is not None:
        current = intervals.filter(state="current").group_by("purchase_option").len()
        prices = dict(current.sort("purchase_option").collect().iter_rows())
    starts = [file.observed_from for file in source.files if file.observed_from]
    ends = [file.observed_to for file in source.files if file.observed_to]
    return ProviderNote(
        title=titles.get(source.provider) or source.provider,
        origin=source.origin,
        status=source.status,
        kept_from=source.kept_from,
        observed_from=min(starts, default=None),
        observed_to=max(ends, default=None),
        prices=prices,
        quarantined=dict(source.report.quarantined),
        failed_units=tuple(
            f"{trouble.unit} {trouble.status}: {trouble.reason}"
            for trouble in source.report.troubles
            if trouble.status in ("failed", "carried")
        ),
        checks_passed=sum(result.outcome == "pass" for result in source.results),
    )


def largest_moves(prices: pl.DataFrame) -> tuple[Move, ...]:
    """Select the vendors' largest changes in percent, one for each machine type and option."""
    moved = prices.filter(pl.col("change").is_in(["price_up", "price_down"]))
    by = ["provider", "instance_type", "purchase_option", "os", "term_months"]
    order = [pl.col("change_percent").abs(), *map(pl.col, [*by, "region", "price_id"])]
    ranked = moved.sort(order, descending=[True] + [False] * (len(order) - 1))
    largest = ranked.unique(by, keep="first", maintain_order=True).head(LARGEST_MOVES)
    named = largest.select(
        *("provider", "region", "instance_type", "purchase_option", "os", "term_months"),
        "currency",
        old="old_effective_hourly",
        new="new_effective_hourly",
        percent="change_percent",
    )
    return tuple(
        Move(**row | {"old": plain(row["old"]), "new": plain(row["new"])})
        for row in named.iter_rows(named=True)
    )


def _types_or_regions(changes: pl.DataFrame, subject: str) -> tuple[Sold, ...]:
    rows = changes.filter(subject=subject).filter(
        pl.col("change").is_in(["added", "returned", "removed", "restated", "unclear"]),
        pl.col("field").is_null(),
    )
    named = rows.sort("provider", "change", subject).select("provider", subject, "change", "prices")
    return tuple(Sold(*row) for row in named.iter_rows())


def _collection(changes: pl.DataFrame) -> tuple[Collected, ...]:
    rows = changes.filter(pl.col("evidence") == "collection", pl.col("change") != "added").sort(
        "provider", "collection_unit", "change", nulls_last=False
    )
    named = rows.select("provider", "collection_unit", "change", "prices")
    return tuple(Collected(*row) for row in named.iter_rows())


def _restated(changes: pl.DataFrame) -> tuple[Restated, ...]:
    rows = changes.filter(change="restated").filter(
        (pl.col("subject") == "price") | pl.col("field").is_not_null()
    )
    name = pl.coalesce("provider", pl.lit("sheets"))
    counted = (
        rows.group_by("subject", name=name, field=pl.coalesce("field", "purchase_option"))
        .len()
        .sort("subject", "name", "field", descending=[True, False, False])
    )
    return tuple(Restated(*row) for row in counted.iter_rows())


def _new_words(table: pl.DataFrame) -> tuple[NewWord, ...]:
    cost = (pl.col("lines") + pl.col("dependants")).cast(pl.Int64)
    rows = table.sort("provider", -cost, "reason", "word").select(
        *("provider", "reason", "word", "lines", "dependants", "example", "source_url"),
        pl.col("first_seen").dt.strftime("%Y-%m-%d"),
    )
    return tuple(NewWord(*row) for row in rows.iter_rows())


HEAD = """# Changelog of the data

What changed from release to release, newest first. Each release has more in its notes.md, and every
single change in its table changes.
"""

MAX_ENTRIES = 1000  # Older entries are left out; hourly releases fill a month and a half
_ENTRY = re.compile(r"^## (\S+)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def update_changelog(store: Store) -> None:
    """Add the releases that the changelog lacks."""
    data = store.get(layout.CHANGELOG)
    text = data.decode("utf-8", "replace") if data else ""
    entries = {match[1]: match[0].rstrip("\n") + "\n" for match in _ENTRY.finditer(text)}
    missing = [version for version in versions(store) if version not in entries]
    for version in missing:
        if (notes := read(store, version)) is not None:
            entries[version] = changelog_entry(notes)
    if missing:
        newest = sorted(entries, reverse=True)[:MAX_ENTRIES]
        body = "\n".join([HEAD, *(entries[version] for version in newest)])
        store.put(layout.CHANGELOG, body.encode())


def read(store: Store, version: str) -> ReleaseNotes | None:
    """Read the notes of a release; None if they are missing or unreadable."""
    data = store.get(layout.release_file(version, layout.NOTES[1]), manifests.MAX_BYTES)
    if data is None:
        return None
    try:
        return manifests.decode(data, ReleaseNotes, file=f"the notes of {version}", remedy="")
    except HwpricesError:
        return None


MAX_NAMES = 20  # Machine types listed by name; the others are counted

MAX_WORDS = 5
"""Words of a provider that are listed; the others are counted. The table new_words has all."""

MAX_LENGTH = 300  # Characters of a text from outside
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&$])")


def escaped(text: object) -> str:
    """Make a text harmless in Markdown: one line, special and hidden characters escaped."""
    line = " ".join(str(text).split())[:MAX_LENGTH]
    harmless = _SPECIAL.sub(r"\\\1", errors.escaped(line))
    return harmless.replace("://", ":\\/\\/").replace("www.", "www\\.")  # GitHub would link them


def as_markdown(release: ReleaseNotes) -> str:
    """Write the notes of a release as Markdown."""
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
                *_sold_lines(release, "Machine types", release.instance_types),
                *_sold_lines(release, "Regions", release.regions),
                *_collection_lines(release),
                *_restated_lines(release),
                *new_words(release),
                *_refused(release),
                *_gate(release),
            ]
        ).rstrip("\n")
        + "\n"
    )


def changelog_entry(release: ReleaseNotes) -> str:
    """Write the changelog's entry of a release."""
    lines = [f"## {release.version}", "", *_summary(release)]
    lines += [f"- {_move(release, move)}" for move in release.moves[:3]]
    return "\n".join(lines).rstrip("\n") + "\n"


def _summary(release: ReleaseNotes) -> list[str]:
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


def _sold_lines(release: ReleaseNotes, title: str, rows: Sequence[Sold]) -> list[str]:
    lines = []
    groups = dict.fromkeys((row.provider, row.change) for row in rows)
    for provider, change in groups:
        names = [row.name for row in rows if (row.provider, row.change) == (provider, change)]
        shown = ", ".join(escaped(name) for name in names[:MAX_NAMES])
        more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        lines.append(f"- {_title(release, provider)}, {WORDS[change]}: {shown}{more}.")
    return [f"## {title}", "", *lines, ""] if lines else []


def _collection_lines(release: ReleaseNotes) -> list[str]:
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
        f"- {escaped(line)}" for note in release.providers.values() for line in note.failed_units
    ]
    if not rows and not failed:
        return []
    head = ["provider", "unit", "what", "prices"]
    table = _table(head, rows, right=(3,)) if rows else []
    return ["## Collection", "", *table, *failed, *([""] if failed else [])]


def _restated_lines(release: ReleaseNotes) -> list[str]:
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
    """List the vendors' new words; for each provider those that affect most rows."""
    rows = []
    for provider in dict.fromkeys(word.provider for word in release.new_words):
        words = [word for word in release.new_words if word.provider == provider]
        rows += [_new_word(release, word) for word in words[:MAX_WORDS]]
        if others := len(words[MAX_WORDS:]):
            rows.append([_title(release, provider), f"… and {others:,} more", *[""] * 5])
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
        [
            _title(release, row.provider),
            escaped(row.check),
            row.outcome,
            escaped(row.detail),
            escaped(row.accept),
        ]
        for row in release.gate
    ]
    if rows:
        lines += _table(["provider", "reason", "outcome", "detail", "part to accept"], rows)
    return ["## Gate", "", *lines]


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()
) -> list[str]:
    rule = ["---:" if index in right else "---" for index in range(len(head))]
    return [*(f"| {' | '.join(line)} |" for line in (head, rule, *rows)), ""]
