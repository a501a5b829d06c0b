"""Make the release notes, as Markdown and JSON, and the changelog of the data."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

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
from hwprices.release.wording import counted, plain
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
    observed_from, observed_to = source.observed
    return ProviderNote(
        title=titles.get(source.provider) or source.provider,
        origin=source.origin,
        status=source.status,
        kept_from=source.kept_from,
        observed_from=observed_from,
        observed_to=observed_to,
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


@cache
def templates(package: str) -> Environment:
    """Return the Markdown templates of a package. Texts from outside go through the filter md."""
    made = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=False,  # noqa: S701 - not HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"md": escaped, "count": "{:,}".format, "counted": counted}
    return made


def _rendered(template: str, release: ReleaseNotes, **values: object) -> str:
    return (
        templates("hwprices.publish")
        .get_template(template)
        .render(
            notes=release,
            title=partial(_title, release),
            grouped=_grouped,
            state=_state,
            move_line=_move,
            WORDS=WORDS,
            MAX_NAMES=MAX_NAMES,
            MAX_WORDS=MAX_WORDS,
            **values,
        )
    )


def as_markdown(release: ReleaseNotes) -> str:
    """Write the notes of a release as Markdown."""
    text = _rendered(
        "notes.md",
        release,
        summary=release_notes.lines(release, escaped),
        refused=any(provider.quarantined for provider in release.providers.values()),
        passed=sum(provider.checks_passed for provider in release.providers.values()),
    )
    return text.rstrip("\n") + "\n"


def new_words(release: ReleaseNotes) -> str:
    """List the vendors' new words; for each provider those that affect most rows."""
    return _rendered("new_words.md", release)


def changelog_entry(release: ReleaseNotes) -> str:
    """Write the changelog's entry of a release."""
    lines = [f"- {line}" for line in release_notes.lines(release, escaped)]
    moves = [f"- {_move(release, move)}" for move in release.moves[:3]]
    return "\n".join([f"## {release.version}", "", *lines, "", *moves]).rstrip("\n") + "\n"


def _state(provider: ProviderNote) -> str:
    first, last = ((text or "?")[:10] for text in (provider.observed_from, provider.observed_to))
    seen = f"seen {first}" if first == last else f"seen {first} to {last}"
    kept = f", kept from {provider.kept_from}" if provider.status == "kept" else ""
    return escaped(f"{provider.origin}, {seen}{kept}")


def _title(release: ReleaseNotes, provider: str) -> str:
    note = release.providers.get(provider)
    return escaped(note.title if note else provider)


def _move(release: ReleaseNotes, move: Move) -> str:
    term = f" {move.term_months // 12} y" if move.term_months else ""
    option = f"{move.purchase_option.replace('_', ' ')}{term}"
    what = escaped(f"{move.instance_type} in {move.region}, {option}, {move.os}")
    amounts = f"{move.old} to {move.new} {move.currency}/h"
    return f"{_title(release, move.provider)} {what}: {amounts} ({move.percent:+.1f} %)"


def _grouped(rows: Iterable[Sold]) -> dict[tuple[str, str], list[str]]:
    """Group names by provider and change."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        names.setdefault((row.provider, row.change), []).append(row.name)
    return names
