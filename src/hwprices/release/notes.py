"""The contents of ``notes.json``, the release notes, and their sentences."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hwprices.errors import HwpricesError
from hwprices.release.release import Release
from hwprices.release.wording import counted
from hwprices.storage import layout, manifests

FORMAT = 1  # Increased when a field of the notes changes its meaning or is removed


@dataclass(frozen=True)
class Move:
    """One price that the vendor changed."""

    provider: str
    region: str
    instance_type: str
    purchase_option: str
    os: str
    term_months: int
    currency: str
    old: str
    new: str
    percent: float


@dataclass(frozen=True)
class Sold:
    """A machine type or region that came or went. ``change`` is a code of the table changes."""

    provider: str
    name: str
    change: str
    prices: int


@dataclass(frozen=True)
class Collected:
    """A unit that was not collected, collected again or collected for the first time.

    ``unit`` is None for a complete provider. ``prices`` is the number of prices affected.
    """

    provider: str
    unit: str | None
    change: str
    prices: int


@dataclass(frozen=True)
class Restated:
    """Prices or figures that our own reading changed, and their number.

    ``field`` is the purchase option of prices, or the column of figures.
    """

    subject: str
    name: str
    field: str
    count: int


@dataclass(frozen=True)
class GateNote:
    """A check of the gate that did not pass."""

    provider: str
    check: str
    outcome: str
    detail: str
    accept: str = ""


@dataclass(frozen=True)
class NewWord:
    """A vendor's word that is not known yet: a row of the table new_words."""

    provider: str
    reason: str
    word: str
    lines: int
    dependants: int
    example: str
    source_url: str
    since: str


@dataclass(frozen=True)
class ProviderNote:
    """One provider in a release: its status, prices by purchase option, and refused rows."""

    title: str
    origin: str
    status: str
    kept_from: str | None
    observed_from: str | None
    observed_to: str | None
    prices: Mapping[str, int]
    quarantined: Mapping[str, int]
    failed_units: tuple[str, ...]
    checks_passed: int


@dataclass(frozen=True, kw_only=True)
class ReleaseNotes:
    """What is new in a release.

    ``changes``: number of prices by change. ``moves``: the largest changes in percent.
    ``problems``: why a provider's older pages could not be read again, so changes are unclear.
    """

    format: int = FORMAT
    version: str
    previous: str | None
    providers: Mapping[str, ProviderNote]
    changes: Mapping[str, int] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    instance_types: tuple[Sold, ...] = ()
    regions: tuple[Sold, ...] = ()
    new_providers: tuple[str, ...] = ()
    collection: tuple[Collected, ...] = ()
    restated: tuple[Restated, ...] = ()
    spec_changes: int = 0
    new_words: tuple[NewWord, ...] = ()
    gate: tuple[GateNote, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


MAX_UNITS = 8  # Units that were not collected, listed by name

WORDS = {
    "added": "new",
    "removed": "gone",
    "returned": "back",
    "price_up": "more expensive",
    "price_down": "cheaper",
    "placeholder": "to or from a placeholder",
    "price_known": "with a price at last",
    "price_unknown": "without a price now",
    "terms_changed": "with other terms",
    "restated": "restated by us",
    "unclear": "unclear",
    "refused": "refused",
    "not_collected": "not collected; prices stay as they were",
    "collected_again": "collected again",
    "first_collected": "collected for the first time",
}
"""Words for the codes of the table changes in a sentence."""


def read(dataset: Release) -> ReleaseNotes | None:
    """Read the notes of a release; None if its manifest lists none."""
    key = layout.release_file(dataset.version, layout.NOTES[1])
    if layout.NOTES[1] not in dataset.release.notes or dataset.store.leads_out(key):
        return None
    data = dataset.store.get(key, manifests.MAX_BYTES)
    if data is None:
        raise HwpricesError(
            f"{dataset.store.uri(key)} is missing", "hwprices admin verify lists what else is."
        )
    remedy = "hwprices admin verify lists what else is altered."
    return manifests.decode(data, ReleaseNotes, file=dataset.store.uri(key), remedy=remedy)


def lines(notes: ReleaseNotes, text: Callable[[object], str] = str) -> list[str]:
    """Describe what is new. ``text`` escapes text from outside."""
    sentences = [
        *_providers(notes, text),
        *_counts(notes),
        *_kept_providers(notes, text),
        *_held(notes, text),
    ]
    if notes.spec_changes:
        sentences.append(f"Figures of machine types that the vendor changed: {notes.spec_changes}.")
    missing = [row for row in notes.collection if row.change == "not_collected"]
    if missing:
        names = ", ".join(
            text(f"{row.provider}/{row.unit}" if row.unit else row.provider)
            for row in missing[:MAX_UNITS]
        )
        more = f" and {len(missing) - MAX_UNITS} more" if len(missing) > MAX_UNITS else ""
        count = sum(row.prices for row in missing)
        sentences.append(
            f"Not collected: {names}{more}. Left as before: {counted(count, 'price')}."
        )
    return sentences or ["No price changed."]


def _providers(notes: ReleaseNotes, text: Callable[[object], str]) -> Iterator[str]:
    """List the new providers; for the first release only count them."""
    if notes.previous is None:
        priced = [name for name, note in notes.providers.items() if note.prices]
        providers = counted(len(priced), "provider")
        yield f"First release: {_prices_of(notes, notes.providers)} of {providers}."
    elif notes.new_providers:
        new = notes.new_providers
        known = (notes.providers.get(name) for name in new)
        titles = [text(note.title if note else name) for name, note in zip(new, known, strict=True)]
        are = "is" if len(new) == 1 else "are"
        who = f"{', '.join(titles)} {are} in a release for the first time"
        yield f"{who}: {_prices_of(notes, new)}."


def _prices_of(notes: ReleaseNotes, names: Iterable[str]) -> str:
    known = (notes.providers[name] for name in names if name in notes.providers)
    return counted(sum(sum(note.prices.values()) for note in known), "price")


def _counts(notes: ReleaseNotes) -> Iterator[str]:
    """Count the changes of prices, machine types and regions."""
    subjects = {
        "Prices": notes.changes,
        "Machine types": Counter(row.change for row in notes.instance_types),
        "Regions": Counter(row.change for row in notes.regions),
    }
    for subject, counts in subjects.items():
        listed = [f"{counts[code]:,} {word}" for code, word in WORDS.items() if code in counts]
        if listed:
            yield f"{subject}: {', '.join(listed)}."


def _kept_providers(notes: ReleaseNotes, text: Callable[[object], str]) -> Iterator[str]:
    for note in notes.providers.values():
        if note.status == "kept":
            yield (
                f"{text(note.title)} is as in release {text(note.kept_from)}: nothing newer came"
                " through the gate."
            )


def _held(notes: ReleaseNotes, text: Callable[[object], str]) -> Iterator[str]:
    """Describe what the gate held, with how to publish it, and what it has released since."""
    sentences = {
        "held": "as published before ({}): {}. Publish it with --accept {}.",
        "released": "published after three collections ({}): {}.",
    }
    for row in notes.gate:
        if row.outcome in sentences:
            note = notes.providers.get(row.provider)
            sentence = sentences[row.outcome].format(row.check, text(row.detail), text(row.accept))
            yield f"{text(note.title if note else row.provider)}, {sentence}"
