"""What vendors do to their pages: lines added beside the known ones, and lines changed.

A mutation is data where words differ by vendor (``vendors.py``), and one function where it is the
same for every page. Each gives the changed world, and the world without the lines that it changed,
whose prices have to stay.
"""

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from tests.future.pages import NAME, Keyed, Record, World

FACTOR = 3
"""What the prices of added lines are multiplied by: a price of theirs on a known row shows."""

MIN_TELLING = 3
"""Characters from which a new text says which word it is: "5yr" does, a "5" does not."""

NAMES = (
    *("new_family", "new_accelerator", "new_region", "new_place_in_page", "new_term"),
    *("new_currency", "new_arch"),
)
"""Mutations whose new word is a name, a place, a length or a currency: what they state may also be
published under it. Every other new word is one of a closed list, and its price is refused."""


@dataclass(frozen=True)
class Copy:
    """Lines added: of the lists of ``kind``, each record whose first member has the first text.

    ``edits`` maps a member (``category.usageType``) to the text in it and its replacement.
    """

    kind: str
    edits: Mapping[str, tuple[Any, Any]]
    ids: tuple[str, ...] | None = None
    """Members that identify the lines; None means those of the vendor."""


@dataclass(frozen=True)
class CopyPages:
    """Pages added: those of a region, as those of a new region.

    ``inside`` is the member of a page that holds what belongs to a region by name (Google's zones);
    without it, pages are of one region.
    """

    kinds: Sequence[str]
    words: Mapping[str, str]
    inside: str = ""


@dataclass(frozen=True)
class Change:
    """Every second SKU of ``kind`` that has the text, with another text in its place."""

    kind: str
    member: str
    pattern: str
    becomes: str


@dataclass(frozen=True)
class Vendor:
    """What a harness has to know of a vendor's pages beyond their format.

    Attributes:
        keep: whether a record is in the slice of the sample that is tried.
        more: adds what the sample lacks.
        prices: the kind of pages that state prices.
        amounts: names of the members that are prices, at any depth.
        ids: members that identify a line, new in each line added.
        members: members of ``prices`` that are renamed and left out, one at a time.
        followers: kinds whose records name an id, and the member that does: what is sold under a
            line that is added is added too.
        words: new texts in our own columns, with what they were copied from.
        is_own_format: whether the columns are the project's own, which no vendor changes.
        added: lines that are added, by mutation.
        changed: lines that are changed, by mutation.
    """

    prices: str
    amounts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    keep: Callable[[str, Record], bool] = lambda kind, record: True
    more: Callable[[World], None] = lambda world: None
    followers: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    is_own_format: bool = False
    added: Mapping[str, Sequence[Copy | CopyPages]] = field(default_factory=dict)
    changed: Mapping[str, Sequence[Change]] = field(default_factory=dict)


@dataclass(frozen=True)
class Future:
    """A changed world.

    Attributes:
        world: the pages as changed.
        rest: the pages without the lines that were changed; None where none was.
        words: the new texts, with what they were copied from.
        must_name: whether the change is a new word, which has to be in quarantine by name.
        new: the texts of which one has to be in that row.
        factor: what the prices of added lines are multiplied by.
    """

    world: World
    rest: World | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    must_name: bool = False
    new: tuple[str, ...] = ()
    factor: int = FACTOR


# Lines added


def added(world: World, vendor: Vendor, mutation: str) -> Future:
    """Add lines with a new word, at prices of their own."""
    steps = vendor.added[mutation]
    future = world.copy()
    new: list[tuple[list[Record], Record]] = []
    ids: dict[str, str] = {}
    for step in steps:
        if isinstance(step, CopyPages):
            _copy_pages(future, vendor, step)
        else:
            copies = list(_copies(future, step))
            members = vendor.ids if step.ids is None else step.ids
            ids |= _new_ids(members, mutation, [record for _, record in copies])
            new += copies
    followers = [(rates, copy.deepcopy(r)) for rates, r in _followers(future, vendor, ids)]
    lists, lines = zip(*new, *followers, strict=True) if new or followers else ((), ())
    for records, record in zip(lists, with_texts([*lines], ids), strict=True):
        records.append(scaled(record, vendor.amounts))
    words: dict[str, str] = {}
    for step in steps:
        pairs = step.words.items() if isinstance(step, CopyPages) else step.edits.values()
        words |= {str(new): str(old) for old, new in pairs}
    origins = words | vendor.words if mutation in NAMES else {}
    telling = tuple(word for word in words if len(word) >= MIN_TELLING)
    return Future(future, words=origins, must_name=True, new=telling)


def _copies(world: World, step: Copy) -> Iterator[tuple[list[Record], Record]]:
    selector, (old, _) = next(iter(step.edits.items()))
    found = False
    for records in world.lists(step.kind):
        for record in list(records):
            if has(get(record, selector), old):
                new = copy.deepcopy(record)
                for member, (text, becomes) in step.edits.items():
                    put(new, member, replaced(get(new, member), text, becomes))
                found = True
                yield records, new
    assert found, f"no record of {world.provider} has {old!r} in {selector}"


def _copy_pages(world: World, vendor: Vendor, step: CopyPages) -> None:
    old, new = next(iter(step.words.items()))
    for document in [d for d in world.documents if d.unit.kind in step.kinds]:
        if step.inside:
            groups = document.content[step.inside]
            copied = {name: copy.deepcopy(group) for name, group in groups.items() if old in name}
            groups |= {name.replace(old, new): group for name, group in copied.items()}
        elif document.unit.region == old:
            content = with_texts(copy.deepcopy(document.content), step.words)
            content = scaled(content, vendor.amounts)
            unit = replace(document.unit, region=new)
            world.documents.append(replace(document, unit=unit, content=content))


def _new_ids(members: Sequence[str], mutation: str, records: Sequence[Record]) -> dict[str, str]:
    """Make the ids of added lines, from those that they were copied from."""
    old = {get(record, member) for record in records for member in members}
    texts = {text for text in old if isinstance(text, str) and text}
    return {
        text: hashlib.sha256(f"{mutation}{text}".encode()).hexdigest()[:16].upper()
        for text in texts
    }


def _followers(
    world: World, vendor: Vendor, ids: Mapping[str, str]
) -> Iterator[tuple[list[Record], Record]]:
    """Yield the records that name the id of a copied line."""
    for kind, member in vendor.followers.items():
        for records in world.lists(kind):
            for record in list(records):
                if record.get(member) in ids:
                    yield records, record


def twin(world: World, vendor: Vendor) -> Future | None:
    """Repeat every tenth line as it is."""
    future = world.copy()
    for records in list(future.lists(vendor.prices)):
        if isinstance(records, Keyed):
            return None
        records.extend(copy.deepcopy(records[::10]))
    return Future(future, factor=1)


def dearer_twin(world: World, vendor: Vendor) -> Future | None:
    """Add a line with an id of its own that prices the same thing higher."""
    future, rest = world.copy(), world.copy()
    records, left = (max(w.lists(vendor.prices), key=len) for w in (future, rest))
    if isinstance(records, Keyed) or not vendor.amounts:
        return None
    line = copy.deepcopy(records[len(records) // 2])
    ids = _new_ids(vendor.ids, "dearer", [line])
    records.append(scaled(with_texts(line, ids), vendor.amounts))
    del left[len(left) // 2]
    return Future(future, rest)


def zero(world: World, vendor: Vendor) -> Future | None:
    """Add a line with an id of its own that prices the same thing at 0."""
    future = world.copy()
    records = max(future.lists(vendor.prices), key=len)
    if not vendor.amounts:
        return None
    line = next(
        copy.deepcopy(line)
        for line in records[len(records) // 2 :]
        if scaled(copy.deepcopy(line), vendor.amounts, 0) != line
    )
    ids = _new_ids(vendor.ids, "zero", [line])
    if isinstance(records, Keyed):
        ids = {line[NAME]: f"{line[NAME]}-0"}
    records.append(scaled(with_texts(line, ids), vendor.amounts, 0))
    return Future(future)


# Lines changed


def changed(world: World, vendor: Vendor, mutation: str) -> Future:
    """Write a known word in another way in every second SKU that has it."""
    future, rest = world.copy(), world.copy()
    words = {}
    for step in vendor.changed[mutation]:
        touched = 0
        for records, left in zip(future.lists(step.kind), rest.lists(step.kind), strict=True):
            hits = [r for r in records if re.search(step.pattern, str(get(r, step.member) or ""))]
            half = list(dict.fromkeys(_id(vendor, r) for r in hits))[::2]
            chosen = {id(record) for record in hits if _id(vendor, record) in half}
            for record in records:
                if id(record) in chosen:
                    text = str(get(record, step.member))
                    new = re.sub(step.pattern, step.becomes, text)
                    assert new != text
                    words[new] = text
                    put(record, step.member, new)
            left[:] = [kept for kept, r in zip(left, records, strict=True) if id(r) not in chosen]
            touched += len(chosen)
        assert touched, f"no record of {world.provider} has {step.pattern!r} in {step.member}"
    return Future(future, rest, words, must_name=True, new=tuple(words), factor=1)


def _id(vendor: Vendor, record: Record) -> Any:
    """Return what lines of one SKU have in common; of a record without an id, the record itself."""
    return (get(record, vendor.ids[0]) if vendor.ids else None) or id(record)


def extra_member(world: World, vendor: Vendor) -> Future | None:
    """Add a member to every record of every page."""
    if vendor.is_own_format:
        return None
    future = world.copy()
    for kind in future.kinds:
        for records in future.lists(kind):
            for record in records:
                record["futureMember"] = "x"
    is_column = any(d.suffix == "csv" for d in future.documents)
    return Future(future, must_name=is_column, new=("futureMember",))


def renamed(world: World, vendor: Vendor, member: str) -> Future | None:
    """Rename a member in every second record, or in the last page where it is a column."""
    if vendor.is_own_format:
        return None

    def rename(record: Record) -> None:
        owner, name = owner_of(record, member)
        owner[f"{name}New"] = owner.pop(name)

    future = _half_changed(world, vendor.prices, member, rename)
    name = member.rpartition(".")[2]
    return replace(future, must_name=True, new=(name, f"{name}New"))


def missing(world: World, vendor: Vendor, member: str) -> Future:
    """Leave a member out of one record in a hundred."""
    future, rest = world.copy(), world.copy()
    places = [
        (records, left, i)
        for records, left in zip(
            future.lists(vendor.prices), rest.lists(vendor.prices), strict=True
        )
        for i, record in enumerate(records)
        if get(record, member) not in (None, "")
    ]
    for records, left, i in places[len(places) // 2 % 100 :: 100][::-1]:
        owner, name = owner_of(records[i], member)
        del owner[name]
        del left[i]
    return Future(future, rest, factor=1)


def numbers_as_text(world: World, vendor: Vendor) -> Future:
    """Write every number of every second record as text."""
    return _half_changed(world, vendor.prices, "", lambda record: _convert(record, _as_text))


def text_as_numbers(world: World, vendor: Vendor) -> Future:
    """Write every text that is a number as a number, in every second record."""
    return _half_changed(world, vendor.prices, "", lambda record: _convert(record, _as_number))


def _half_changed(world: World, kind: str, member: str, change: Callable[[Record], None]) -> Future:
    future, rest = world.copy(), world.copy()
    is_csv = any(d.suffix == "csv" for d in world.documents if d.unit.kind == kind)
    pairs = list(zip(future.lists(kind), rest.lists(kind), strict=True))
    for records, left in pairs[-1:] if is_csv else pairs:
        having = [i for i, r in enumerate(records) if not member or get(r, member) is not None]
        for i in (having if is_csv else having[::2])[::-1]:
            change(records[i])
            del left[i]
    return Future(future, rest, factor=1)


def _convert(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        for name, member in value.items():
            value[name] = _convert(member, convert)
        return value
    if isinstance(value, list):
        value[:] = [_convert(member, convert) for member in value]
        return value
    return convert(value)


def _as_text(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number else value


def _as_number(value: Any) -> Any:
    is_number = isinstance(value, str) and re.fullmatch(r"(0|[1-9]\d*)(\.\d+)?", value)
    return json.loads(value) if is_number else value


# Members of records


def members_of(world: World, vendor: Vendor) -> tuple[str, ...]:
    """List the members that the records of the prices have, first those that are numbers."""
    first = [records[0] for records in world.lists(vendor.prices) if records]
    paths = dict.fromkeys(path for record in first for path in _paths(record))
    numbers = [p for p in paths if any(isinstance(get(r, p), int | float) for r in first)]
    return (*numbers, *(path for path in paths if path not in numbers))


def _paths(record: Record, above: str = "") -> Iterator[str]:
    for name, member in record.items():
        if isinstance(member, dict):
            yield from _paths(member, f"{above}{name}.")
        elif not isinstance(member, list) and name != NAME:
            yield f"{above}{name}"


def get(record: Any, member: str) -> Any:
    """Return the member of a path such as ``category.usageType``; None where it is missing."""
    for name in member.split("."):
        if isinstance(record, list):
            record = record[int(name)] if int(name) < len(record) else None
        else:
            record = record.get(name) if isinstance(record, dict) else None
    return record


def owner_of(record: Any, member: str) -> tuple[Any, str]:
    """Return the structure that has a member, and the member's name."""
    *outer, name = member.split(".")
    return (get(record, ".".join(outer)) if outer else record), name


def put(record: Any, member: str, value: Any) -> None:
    """Set the member of a path."""
    owner, name = owner_of(record, member)
    owner[int(name) if isinstance(owner, list) else name] = value


def has(value: Any, text: Any) -> bool:
    """Tell whether a member has a text, or is a value."""
    return text in value if isinstance(value, str) and isinstance(text, str) else value == text


def replaced(value: Any, text: Any, becomes: Any) -> Any:
    """Replace a text in a member, or the value."""
    return value.replace(text, becomes) if isinstance(value, str) else becomes


def with_texts(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a value with texts replaced in every member at any depth."""
    if not texts:
        return value
    pattern = re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda match: texts[match[0]], value)
        if isinstance(value, dict):
            return {name: walk(member) for name, member in value.items()}
        return type(value)(map(walk, value)) if isinstance(value, list) else value

    return walk(value)


def scaled(value: Any, amounts: Sequence[str], factor: int = FACTOR) -> Any:
    """Multiply the amounts in a record."""
    if isinstance(value, list):
        value[:] = [scaled(member, amounts, factor) for member in value]
    elif isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, dict | list) and not (name in amounts and "nanos" in member):
                value[name] = scaled(member, amounts, factor)
            elif name in amounts:
                value[name] = _times(member, factor)
    return value


def _times(amount: Any, factor: int) -> Any:
    if isinstance(amount, dict):  # Google's money
        nanos = (int(amount["units"]) * 10**9 + amount["nanos"]) * factor
        return amount | {"units": str(nanos // 10**9), "nanos": nanos % 10**9}
    if isinstance(amount, str):
        return re.sub(r"\d+(\.\d+)?", lambda match: str(Decimal(match[0]) * factor), amount)
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        return type(amount)(Decimal(str(amount)) * factor)
    return amount
