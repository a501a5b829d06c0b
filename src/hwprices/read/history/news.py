"""Read the release notes, and say in a few lines what is new."""

from collections.abc import Callable, Iterable, Iterator

from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.read.wording import counted
from hwprices.storage import layout, manifests
from hwprices.storage.release_notes import ReleaseNotes, Sold

MAX_UNITS = 8
"""Units that were not collected, listed by name."""

WORDS = {
    "added": "new",
    "removed": "gone",
    "returned": "back",
    "price_up": "dearer",
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
"""What the codes of the table changes are called in a sentence."""


def read(dataset: Dataset) -> ReleaseNotes | None:
    """Read the notes of a release; None if it has none, as those of older programs.

    Raises:
        HwpricesError: they are damaged.
    """
    key = layout.release_file(dataset.version, layout.NOTES[1])
    if layout.NOTES[1] not in dataset.release.notes or dataset.store.leads_out(key):
        return None
    data = dataset.store.get(key, manifests.MAX_BYTES)
    if data is None:
        raise HwpricesError(
            f"{dataset.store.uri(key)} is missing", "hwprices verify lists what else is."
        )
    remedy = "hwprices verify lists what else is altered."
    return manifests.decode(data, ReleaseNotes, file=dataset.store.uri(key), remedy=remedy)


def lines(notes: ReleaseNotes, text: Callable[[object], str] = str) -> list[str]:
    """Say what is new. ``text`` makes a text from outside fit for where the lines are shown."""
    sentences = [
        *_providers(notes, text),
        *_prices(notes),
        *_types_and_regions(notes),
        *_kept_providers(notes, text),
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
    """Name the providers that are new; of the first release, where all are, only say how many."""
    if notes.previous is None:
        providers = counted(len(notes.providers), "provider")
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


def _prices(notes: ReleaseNotes) -> Iterator[str]:
    counts = [
        f"{notes.changes[change]:,} {word}"
        for change, word in WORDS.items()
        if change in notes.changes
    ]
    if counts:
        yield f"Prices: {', '.join(counts)}."


def _types_and_regions(notes: ReleaseNotes) -> Iterator[str]:
    both = (("Machine types", notes.instance_types), ("Regions", notes.regions))
    for subject, rows in both:
        counts = [
            f"{_count(rows, code):,} {word}" for code, word in WORDS.items() if _count(rows, code)
        ]
        if counts:
            yield f"{subject}: {', '.join(counts)}."


def _count(rows: tuple[Sold, ...], change: str) -> int:
    return sum(row.change == change for row in rows)


def _kept_providers(notes: ReleaseNotes, text: Callable[[object], str]) -> Iterator[str]:
    for note in notes.providers.values():
        if note.status == "kept":
            yield (
                f"{text(note.title)} is as in release {text(note.kept_from)}: nothing newer came"
                " through the gate."
            )
