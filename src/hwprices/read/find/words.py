"""Understand a question in a few words: "8xH100 europe spot", "16vcpu 64gb arm64 frankfurt".

Each phrase of one to three words must mean exactly one kind of thing: an accelerator, a machine
type or family, a CPU, a place, a purchase option, a system or an amount. A number before an
accelerator counts it: "8 h100" is 8xH100. A word that means nothing, or two kinds of things, is an
error with a suggestion.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from functools import reduce
from itertools import dropwhile
from pathlib import Path
from shlex import quote
from typing import Any

from hwprices.errors import HwpricesError, near
from hwprices.read.currency import LAST_PLACE
from hwprices.read.find.names import (
    CODES,
    FORMATS,
    NVLINK,
    WHOLE_WORDS,
    NamedMachine,
    NamedPlace,
    ReleaseWords,
    continent_code,
    country_code,
    find_family,
    find_machines,
    find_one,
    regions_by_city,
    regions_by_name,
    squeeze,
)
from hwprices.read.find.options import FIGURES, SEPARATOR, check_name
from hwprices.read.find.search import (
    ANY,
    COMMITMENT,
    FIELDS,
    NO_ACCELERATOR,
    RDMA,
    WITH_TERM,
    Bounds,
    Search,
)
from hwprices.schemas.vocabulary import (
    ARCHITECTURES,
    CONTINENTS,
    LICENSE_MODELS,
    OPERATING_SYSTEMS,
    PURCHASE_OPTIONS,
    SOFTWARE,
    TENANCIES,
)
from hwprices.specs import csv_rows
from hwprices.units import HOURS_PER_MONTH, HOURS_PER_YEAR

MAX_WORDS = 4  # of one name: "united arab emirates", "standard nc24ads a100 v4"

_SKIPPED = """a against all an and any are at available but by can card cards change changed cheap
cheapest cloud clouds come comes compare cost costs current currently did discount discounts do does
families family find for from get give has have hbm2 hbm2e hbm3 hbm3e history hour hourly how i in
instance instances is kind kinds list lowest machine machines me much need node nodes now of offer
offers on only option options or per please price prices pricing region regions rent running sell
sells series server servers show the there to today type types versus vm vms vs want way ways what
where which who with you"""
SKIPPED = frozenset(_SKIPPED.split())
"""Words without a meaning here. Some are country codes: "in" is not India in "h100 in europe"."""

_ENDS = "?!.:\"'"  # Signs of a sentence around a word

_FOLDER = Path(__file__).parent
OTHER_NAMES = {r["name"]: (r["kind"], r["code"]) for r in csv_rows(_FOLDER / "synonyms.csv")}
"""Synonyms: kind of thing and code."""

OTHER_CLOUDS = {row["name"]: row["provider"] for row in csv_rows(_FOLDER / "clouds.csv")}
"""Names of clouds besides those of the release: the code of the provider."""

KINDS = {
    "gpu": "gpu",
    "gpus": "gpu",
    "tpu": "tpu",
    "tpus": "tpu",
    "fpga": "fpga",
    "fpgas": "fpga",
    "cpu": NO_ACCELERATOR,
    "cpus": NO_ACCELERATOR,
}
"""Words for every accelerator of a kind, or for machines without accelerators."""

FORMS = ("sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "pcie", "nvl")
"""Form factors: after an accelerator they narrow it, and never name another one."""

BRIDGE = "nvlink"  # built in, or a bridge between PCIe cards

FEATURES = (*FORMS, *NVLINK, *FORMATS)
"""Words for what accelerators have. They narrow accelerators, also those after them: "fp8 a100" is
not every accelerator with FP8."""

NO_NAMES = ("edition", "generation", "max", "standard", "super", "ti", "ultra", "workstation")
"""Words that follow the name of an accelerator, and are none alone: "rtx 3090 ti" is not the GTX
1080 Ti."""

NARROWED = "narrowed"  # The kind of a meaning that leaves fewer of the accelerators named before

ANY_ACCELERATOR = "gpu"  # Often means any accelerator: "trainium gpus" are Trainium

AS_OPTION = {
    "accelerator": "hwprices find --accelerator",
    "option": "hwprices find --option",
    "os": "hwprices find --os",
    "place": "hwprices find --region",
    "provider": "hwprices find --provider",
    "type": "hwprices find --type",
}
"""Kinds of things that have an option: the command in which a word means that kind.

A word of a kind without an option has no other meaning."""

ONE_VALUE = FIGURES | {row["field"]: row["one_value"] for row in FIELDS if row["one_value"]}
"""Fields of a search that hold one value: the name of each in an error."""

EMPTY = Search(os="", software="", license_model="", tenancy="")
"""The search to which the words of a question are added."""

EVERY = {
    "any software": ("software", ANY),
    "any license": ("license_model", None),
    "any tenancy": ("tenancy", None),
    "bare metal": ("bare_metal", True),
    "bare-metal": ("bare_metal", True),
    "baremetal": ("bare_metal", True),
}
"""Words that ask for every software, license or tenancy, or for bare metal."""

# a number of four digits before other words is a model: 4090, 6000; x86 is an instruction set
_NUMBER = re.compile(
    r"(\d{1,3}(?:\.\d+)?)|(\d+(?:\.\d+)?)[x×*]|[x×](?!86|64)(\d{1,3})", re.IGNORECASE
)
_TIMES = ("x", "×", "*")
_COUNTED = re.compile(r"(\d+(?:\.\d+)?)\s*[x×*]\s*(.*)")
_TERM = re.compile(r"(\d+)[ -]?(y|yr|yrs|year|years|m|month|months)")
_VCPUS = re.compile(r"(\d+)[ -]?(?:v?cpus?|cores?)")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)[ -]?([gt])i?b(v?ram)?")
_DISK = re.compile(r"(\d+(?:\.\d+)?)([gt]i?b)(disk|nvme|ssd)")
_UNCLEAR_DISK = re.compile(r".*-(?:disk|nvme|ssd)|(?:disk|nvme|ssd)-.*")
_NAMED_AFTER = re.compile(r"(\S.*?)((?:\s+[x×$]?\d+(?:\.\d+)?(?:[x×]|gi?b?)?)+)", re.IGNORECASE)
_COUNTED_BEHIND = re.compile(r"([a-z].*?)\s*[x×*]\s*(\d{1,3})")
_ABOUT_CPUS = re.compile(r"\d*[ -]?(?:v?cpus?|cores?)|arm(?:64)?")
_GENERATION = re.compile(r"([a-z]{5,})\d")
_PAYMENT = re.compile(r"(all|partial|no)[ _-]?upfront")

_PARTS = {
    "{GIB}": r"(\d+(?:\.\d+)?\s*[gt]i?b)",
    "{OF_ACCELERATOR}": r"(?:vram|(?:gpu|accelerator|video) memory)",
    "{DISK}": r"(?<![\w-])(disk|nvme|ssd)(?![\w-])",
    "{UNIT}": r"(?:[gt]i?b(?:v?ram)?|v?cpus?|cores?|y(?:(?:ea)?rs?)?|m(?:onths?)?)",
    "{DEVICE}": r"\s+(?:(?:nvidia|amd|rtx|[gt]pus?)\b|[a-z]+\d)",
}
"""Parts of several patterns in ``rewritten.csv``."""


def complete(pattern: str) -> str:
    """Insert _PARTS into a pattern."""
    return reduce(lambda text, part: text.replace(*part), _PARTS.items(), pattern)


REWRITTEN = {
    complete(row["pattern"]): row["written"] for row in csv_rows(_FOLDER / "rewritten.csv")
}
"""Patterns to replace before words are read, in this order, each with an example there. Amounts are
minimums, so "at least" is dropped; a maximum such as "no more than 24 GB" is not understood. The
number after TPU v5e or v6e counts chips, the number after older TPUs counts cores:
https://cloud.google.com/tpu/docs/v6e. The page does the same, except for local disks."""

_LIMIT = re.compile(
    r"(?:\b(?:under|below|(?:less|cheaper|not? more) than|at most|up to|max)|<=?)\s*"
    r"\$?\s*(\d+(?:,\d{3})*(?:\.\d+)?)(?![\d.])"
    r"(?!\s*(?:\$|usd|dollars?)?\s*(?:/|per|an?)\s*(?:v?cpu|core))"
    r"\s*(?:\$|usd\b|dollars?\b)?"
    r"((?:\s*(?:/|per|an?)\s*"
    r"(?:h|hr|hour|mo|month|y|yr|year"
    r"|(?:[gt]pu|accelerator|card|chip)s?(?:[ -]?(?:h|hr|hour))?)\b){0,2})"
    r"(?!\s*(?:/|[gt]i?b\b|(?:v?cpus?|cores?|gpus?|y(?:ea)?rs?|months?)\b))",
    re.IGNORECASE,
)
"""A limit on the price of a machine, or of one accelerator, per hour, month or year: "under 30$/h",
"below 3 usd per gpu", "< 1,500 a month"."""

_HOURS = {"h": 1, "m": HOURS_PER_MONTH, "y": HOURS_PER_YEAR}
"""Hours by the first letter of the period of a limit."""

_MONEY = re.compile(r"[€£¥$].*|(?:eur|gbp|usd|cny|chf|inr)|euros?|pounds?|dollars?")
_SPAN = re.compile(r"(months?|monthly)|years?|yearly|annual(?:ly)?")
_LIMITS = ("under", "below", "max", "budget", "around", "between")

_PERIOD = re.compile(r"(?:/|per|an?)\s*([my])", re.IGNORECASE)
_EACH = re.compile("[gt]pu|accelerator|card|chip", re.IGNORECASE)

PATTERNS = {
    "separator": SEPARATOR,
    "number": _NUMBER,
    "counted": _COUNTED,
    "counted_behind": _COUNTED_BEHIND,
    "named_after": _NAMED_AFTER,
    "term": _TERM,
    "vcpus": _VCPUS,
    "about_cpus": _ABOUT_CPUS,
    "memory": _MEMORY,
    "payment": _PAYMENT,
    "limit": _LIMIT,
    "period": _PERIOD,
    "each": _EACH,
}
"""Patterns by name, for the page of a report, which reads questions too."""

CPU_NAMES = {"genoa": "zen 4", "xeon 6": "granite rapids"}
"""Names of CPUs: the microarchitecture. Milan, Rome and Turin are missing: they are also places."""

MAKERS = ("amd", "ampere", "intel")
"""Names of makers of CPUs that also mean accelerators. In a question about CPUs they mean CPUs."""

WITHOUT = ("not", "no", "except", "excluding", "without", "outside")
"""Words that exclude what is after them, one thing or several joined by "and" or commas: clouds,
places, purchase options, an instruction set."""

_LEFT_OUT = re.compile(rf"\b(?:{'|'.join(WITHOUT)})\b.*", re.IGNORECASE)
_AND_WITHOUT = re.compile(rf"\b(?:(?:and|or)\s+)+(?=(?:{'|'.join(WITHOUT)})\b)", re.IGNORECASE)

SHORT, SHORT_ALIKE, ALIKE = 5, 0.75, 0.65
"""Minimum similarity of a suggestion, 0 to 1. Words of up to SHORT letters match by chance."""

MIN_BEGUN, MAX_BEGUN = 3, 5  # letters of a word, and number of suggestions that begin with it

MONTHS = 12
GIB_PER_TIB = 1024
GIB_PER_DISK_UNIT = {"gb": 1e9 / 2**30, "gib": 1, "tb": 1e12 / 2**30, "tib": GIB_PER_TIB}
"""Disks are sold by decimal units, unlike memory: https://www.nist.gov/pml/owm/metric-si-prefixes"""
KINDS_OF_DISK = {
    "disk": frozenset[str](),
    "nvme": frozenset({"nvme_ssd"}),
    "ssd": frozenset({"ssd", "nvme_ssd"}),
}
"""Kinds of local disks that a word asks for; none: any, also one that is not stated."""
MAX_ACCELERATOR_GIB = 512  # no accelerator that a cloud sells has as much
MIN_BEGUN_DEVICE = 2  # characters of "v5": every TPU v5
MIN_BEGUN_CPU = 5  # letters of "xeon6", "graviton"
MAX_JOINED = 14  # letters of several words written as one: "rtxpro6000bse"
MIN_CITY = 3  # letters of a city


def resolve_machines(
    names: ReleaseWords, texts: Sequence[str], providers: Collection[str] = ()
) -> tuple[list[NamedMachine], list[str]]:
    """Return the machine type of each name, and a note on names that are accelerators as well.

    "H100" is a machine type of one cloud, but the user may mean every machine with an H100.

    Raises:
        HwpricesError: a name is not a text or too long; or see ``find_one``. The remedy includes
            the note.
    """
    for text in texts:
        check_name(text)
    notes = _accelerator_notes(names, texts)
    try:
        return [find_one(names.machines, text, providers) for text in texts], notes
    except HwpricesError as error:
        raise HwpricesError(error.message, " ".join([error.remedy, *notes])) from None


def _accelerator_notes(names: ReleaseWords, texts: Sequence[str]) -> list[str]:
    """Note which names are also names of accelerators, and the commands that show those."""
    types = {machine.instance_type for machine in names.machines}
    devices = {
        text: accelerators(text.lower(), names.accelerators) for text in texts if text not in types
    }
    ambiguous = [text for text, ids in devices.items() if ids]
    if not ambiguous:
        return []
    ids = [key for text in ambiguous for key in devices[text]]
    others = f" (or {', '.join(ids[1:])})" if ids[1:] else ""
    is_one = len(ambiguous) == 1
    kind = "is also the name of an accelerator" if is_one else "are also names of accelerators"
    return [
        f"{', '.join(ambiguous)} {kind}:"
        f" hwprices find --accelerator {quote(','.join(ambiguous))} lists every machine with one,"
        f" hwprices device {ids[0]} shows one{others}."
    ]


@dataclass(frozen=True)
class Meaning:
    """One meaning of a phrase: its kind, and the changes to the search."""

    kind: str
    change: Mapping[str, object] = field(default_factory=dict)


def understand(text: str, names: ReleaseWords, options: Search) -> Search:
    """Turn a question into a search; fields that it does not set are as in EMPTY.

    ``options``: the search of the options. If it names an accelerator, memory in the question is
    accelerator memory.

    Raises:
        HwpricesError: a word means nothing, or two kinds of things.
    """
    search = _limits_of(text)
    words = _words_of(_LIMIT.sub(" ", text))
    about_cpus = options.vcpus or any(_ABOUT_CPUS.fullmatch(word.lower()) for word in words)
    left_out, makers, is_by_feature = EMPTY, EMPTY, False
    is_left_out, kind, phrase = False, "", ""
    features: list[str] = []  # of the first accelerator that follows: "nvlink h100"
    while words or features:
        has_accelerator = bool(search.accelerators or search.unknown_accelerators)
        if words and not has_accelerator and words[0].lower() in FEATURES:
            features.append(words.pop(0))
            continue
        if features and (has_accelerator or not words):
            is_by_feature = is_by_feature or not has_accelerator
            words, features = [*features, *words], []
        is_added = phrase.lower() in ("and", "or")
        goes_on = is_left_out and words[0].lower() in ("and", "or")
        is_payment = _PAYMENT.fullmatch(" ".join(words[:2]).lower())  # no upfront
        is_negative = words[0].lower() in WITHOUT and not is_payment
        is_left_out = len(words) > 1 and (goes_on or is_negative)
        if is_left_out:
            words = [*dropwhile(lambda word: word.lower() in SKIPPED, words[1:])] or words[:1]
        number = _NUMBER.fullmatch(words[0])
        if number and number[3] and _machines(words[0], names):
            number = None  # x1 is a family of AWS
        context = search if asks_for_accelerators(search) else options
        first = _counted_ahead(number, words, names, context) if number else None
        used, meaning = first or _first_meaning(words, names, context)
        phrase, words = " ".join(words[:used]), words[used:]
        if goes_on and (meaning is None or meaning.kind not in (kind, "provider", "place")):
            is_left_out = False  # "not china and spot"
        if is_left_out:
            meaning = _left_out(phrase, meaning, kind if goes_on else "")
            left_out, kind = _merge(left_out, meaning, is_added=True), meaning.kind
        elif about_cpus and phrase.lower() in MAKERS:
            makers = _merge(makers, _cpu(with_cpu(phrase, names)))
        elif meaning is not None:
            search = _merge(search, meaning, is_added=is_added)
    if makers.cpu_machines is not None:
        cpus = makers.cpu_machines
        named = search.cpu_machines
        search = replace(search, cpu_machines=cpus if named is None else cpus & named)
    search = _subtract(search, left_out, names)
    if is_by_feature:
        return _of_kinds(search, names)
    if search.machines is not None and search.accelerators:
        search = _with_machines(search, names)
    return _with_kinds(search, names) if search.accelerator_kinds else search


def _limits_of(text: str) -> Search:
    search = EMPTY
    for limit in _LIMIT.finditer(text):
        period, part = re.search(_PERIOD, limit[2]), re.search(_EACH, limit[2])
        hourly = Decimal(limit[1].replace(",", "")) / _HOURS[period[1].lower() if period else "h"]
        hourly = hourly.quantize(LAST_PLACE, ROUND_FLOOR)
        name = "max_price_per_accelerator" if part else "max_price"
        search = _merge(search, Meaning("price", {name: hourly}))
    return search


def _words_of(text: str) -> list[str]:
    for pattern, written in REWRITTEN.items():
        text = re.sub(pattern, written, text, flags=re.IGNORECASE)
    text = _LEFT_OUT.sub(lambda left_out: re.sub("[,;]", " and ", left_out[0]), text)
    stripped = (word.strip(_ENDS) for word in SEPARATOR.split(_AND_WITHOUT.sub("", text)))
    words = [word for word in stripped if word]
    if "NO" in words[:-1] and not re.search(r"\bNO[ _-]?upfront", text, re.IGNORECASE):
        raise HwpricesError("'NO' may be Norway or 'no'", "Write norway or no.")
    return words


def _left_out(phrase: str, meaning: Meaning | None, kind: str) -> Meaning:
    """Check what to leave out; ``kind``: the kind of the phrase before "and", or ""."""
    if meaning is None or meaning.kind not in ("provider", "place", "option", "arch"):
        raise HwpricesError(
            f"{phrase!r} cannot be excluded",
            "You can exclude clouds, places, purchase options and instruction sets: h100 not china,"
            " h100 without spot, 16vcpu no arm. Write cpu for machines without accelerators.",
        )
    if kind not in ("", meaning.kind):  # "not china and aws"
        raise HwpricesError(
            f"{phrase!r} may be requested or left out",
            f"Put it before what is left out, or write: not {phrase}.",
        )
    return meaning


def _subtract(search: Search, left_out: Search, names: ReleaseWords) -> Search:
    """Exclude ``left_out``; excluding a place also excludes regions known only by its continent."""
    if left_out.arch is not None:
        (arch,) = {*ARCHITECTURES} - {left_out.arch}
        search = _merge(search, Meaning("arch", {"arch": arch}))
    if left_out.purchase_options:
        interrupted = {"spot", "low_priority"}
        options = with_term(search.purchase_options or frozenset(PURCHASE_OPTIONS))
        excluded = with_term(left_out.purchase_options)
        options -= excluded | ({COMMITMENT} if excluded & WITH_TERM else set())
        options -= interrupted if "spot" in left_out.purchase_options else frozenset()
        search = replace(search, purchase_options=options)
        if not options:
            raise _all_left_out()
    if left_out.providers:
        providers = (search.providers or frozenset(names.providers)) - left_out.providers
        search = replace(search, providers=providers)
        if not providers:
            raise _all_left_out()
    if left_out.regions is not None:
        places = {(place.provider, place.region): place for place in names.places}
        continents = {places[key].continent for key in left_out.regions} | {""}
        outside = {
            key
            for key, place in places.items()
            if place.country or place.continent not in continents
        }
        regions = frozenset(outside if search.regions is None else search.regions & outside)
        search = replace(search, regions=regions - left_out.regions)
        if not search.regions:
            raise _all_left_out()
    return search


def _all_left_out() -> HwpricesError:
    return HwpricesError(
        "nothing is left: the question excludes everything it asks for", "Exclude less."
    )


def with_term(options: frozenset[str]) -> frozenset[str]:
    """Add to COMMITMENT, if it is in a set of purchase options, the options that it represents."""
    return options | WITH_TERM if COMMITMENT in options else options


def asks_for_accelerators(search: Search) -> bool:
    """Check whether a search names accelerators or a kind of accelerator."""
    named = search.accelerators or search.unknown_accelerators
    return bool(named or search.accelerator_kinds - {NO_ACCELERATOR})


def _with_kinds(search: Search, names: ReleaseWords) -> Search:
    """Leave out the kinds of named accelerators: "h100 gpu" means the H100."""
    named = search.accelerators or search.unknown_accelerators
    others = search.accelerator_kinds - {NO_ACCELERATOR}
    if others != search.accelerator_kinds and (named or others or search.accelerator_count):
        raise HwpricesError(
            "'cpu' asks for machines without accelerators, and another word for accelerators",
            "Leave one of them out; 16cpu asks for 16 vCPUs.",
        )
    if not named:
        return search
    kinds = names.kinds_of(search.accelerators, search.unknown_accelerators)
    return replace(search, accelerator_kinds=others - kinds - {ANY_ACCELERATOR})


def _of_kinds(search: Search, names: ReleaseWords) -> Search:
    """Leave out accelerators of other kinds: those of "fp8 tpu" are TPUs."""
    kinds = search.accelerator_kinds - {ANY_ACCELERATOR}
    if not kinds or NO_ACCELERATOR in kinds:
        return _with_kinds(search, names)
    ids = search.accelerators & names.of_kinds(kinds)
    if not ids:
        raise HwpricesError(
            f"no {' or '.join(sorted(kinds))} of this release is known to have that",
            "Leave out the format or the kind.",
        )
    return replace(search, accelerators=ids, accelerator_kinds=frozenset())


def _with_machines(search: Search, names: ReleaseWords) -> Search:
    """Find the machines too if none has a requested accelerator: "g6.xlarge vs h100"."""
    machines = search.machines or frozenset()
    if _have_any(machines, search, names):
        return search
    others = search.unknown_accelerators | (names.with_accelerators(machines) or machines)
    return replace(search, machines=None, unknown_accelerators=others)


def _have_any(machines: frozenset[tuple[str, str]], search: Search, names: ReleaseWords) -> bool:
    """Check whether one of the machines has an accelerator of a search."""
    known = names.accelerators_of(machines) & search.accelerators
    return bool(known or machines & search.unknown_accelerators)


def _counted_ahead(
    number: re.Match[str], words: list[str], names: ReleaseWords, search: Search
) -> tuple[int, Meaning]:
    """Understand "8 h100", "8 x h100" or "8 gpus"; return the number of words and the meaning.

    The accelerator of "8x" may come later in the question, that of "x8" before.
    """
    amount = _amount(" ".join(words[:2]).lower(), search)  # "16 vcpu", "64 gb"
    if amount is not None:
        return 2, amount
    count = float(number[1] or number[2] or number[3])
    is_times = not number[1]
    used = 1
    if not is_times and words[1:] and words[1].lower() in _TIMES:
        is_times, used = True, 2
    ahead = words[used : used + MAX_WORDS]
    for length in range(len(ahead), 0, -1):
        phrase = " ".join(ahead[:length])
        if phrase.lower() in SKIPPED or _splits_amount(words, used + length, search):
            continue
        for meaning in meanings_of(phrase, names, search):
            if meaning.kind in ("accelerator", NARROWED):
                return used + length, _exactly(count, meaning)
    if is_times:
        return used, _exactly(count, Meaning("accelerator"))
    raise HwpricesError(
        f"{words[0]!r} is not understood",
        f"Write what it counts: {words[0]} h100, {words[0]} gpus, {words[0]}vcpu, {words[0]}gb.",
    )


def _splits_amount(words: Sequence[str], count: int, search: Search) -> bool:
    """Check whether so many words end within an amount: "h100 1" in "h100 1 year"."""
    amount = " ".join(words[count - 1 : count + 1]).lower()
    is_number = count < len(words) and _NUMBER.fullmatch(words[count - 1]) is not None
    return is_number and _amount(amount, search) is not None


def _first_meaning(
    words: list[str], names: ReleaseWords, search: Search
) -> tuple[int, Meaning | None]:
    """Understand the longest phrase at the beginning; return its number of words and meaning."""
    # "fp8 google" is not Google's TPU with FP8, but "pcie a100" is an A100
    is_alone = words[0].lower() in (*NVLINK, *FORMATS)
    for count in range(1 if is_alone else min(MAX_WORDS, len(words)), 0, -1):
        phrase = " ".join(words[:count])
        if phrase.lower() in SKIPPED:
            return 1, _edition(phrase.lower(), names, search)
        if count > 1 and _splits_amount(words, count, search):
            continue
        meanings = meanings_of(phrase, names, search)
        kinds = {meaning.kind for meaning in meanings}
        if len(kinds) > 1:
            commands = [f"{AS_OPTION[kind]} {quote(phrase)}" for kind in sorted(kinds)]
            raise HwpricesError(
                f"{phrase!r} may be {' or '.join(sorted(kinds))}",
                f"Say which: {' or '.join(commands)}.",
            )
        if meanings:
            return count, meanings[0]
    check_sold(words, names)
    is_disk = _UNCLEAR_DISK.fullmatch(words[0].lower())  # its words were joined: 64gb-ssd
    shown = words[0].replace("-", " ") if is_disk else words[0]
    raise HwpricesError(f"{shown!r} is not understood", _suggestions(words[0], names))


def check_sold(words: Sequence[str], names: ReleaseWords) -> None:
    """Check that the first words do not name an accelerator that no machine of the release has.

    Raises:
        HwpricesError: they name one of the sheet.
    """
    for count in range(min(MAX_WORDS, len(words)), 0, -1):
        phrase = " ".join(words[:count])
        is_model = len(phrase) > MIN_BEGUN_DEVICE and any(map(str.isdigit, phrase))
        if is_model and (ids := accelerators(phrase.lower(), names.not_sold)):
            raise HwpricesError(
                f"no machine in this release has {' or '.join(ids)}",
                f"hwprices device {ids[0]} shows what is known of it.",
            )


def meanings_of(phrase: str, names: ReleaseWords, search: Search) -> list[Meaning]:
    """List the meanings of a phrase, at most one of each kind of thing.

    The beginning of a name counts only if no complete name matches.
    """
    text = phrase.lower()
    simple = _amount(text, search) or _kind(text) or _narrowed(text, names, search)
    if simple is not None:
        return [simple]
    counted = _COUNTED.fullmatch(text)
    if counted:
        return _counted(float(counted[1]), counted[2], names, search)
    regions = frozenset((place.provider, place.region) for place in places(text, names))
    clouds = providers(text, names)
    complete = [
        _code(text),
        _machines(phrase, names),
        _named_accelerator(text, names),
        Meaning("provider", {"providers": clouds}) if clouds else None,
        Meaning("place", {"regions": regions}) if regions else None,
    ]
    meanings = _preferred([meaning for meaning in complete if meaning], names)
    if meanings:
        return meanings
    behind = _COUNTED_BEHIND.fullmatch(text)  # h100x8
    if behind and (counted_behind := _counted(float(behind[2]), behind[1], names, search)):
        return counted_behind
    if begun := _named_accelerator(text, names, start=True):
        return [begun]
    is_of_tpus = "tpu" in search.accelerator_kinds  # the v2 of "tpu v2" is no CPU
    cpus = frozenset() if is_of_tpus else with_cpu(text, names)
    return [_cpu(cpus)] if cpus else []


def _narrowed(text: str, names: ReleaseWords, search: Search) -> Meaning | None:
    """Understand a word about the accelerators named before: "a100 80 gb sxm4" is one board.

    A form does not affect devices that never come in it: "l40s h100 sxm" is the L40S and one H100.

    Raises:
        HwpricesError: none of them has that form.
    """
    if not search.accelerators and search.unknown_accelerators and text in names.architectures:
        return Meaning(NARROWED)  # "rtx 4000 ada", without a spec sheet, is not every Ada
    if not search.accelerators or providers(text, names) or places(text, names):
        return None
    named = {key: names.accelerators[key] for key in search.accelerators}
    ids = frozenset(accelerators(text, named, start=any(word in FORMS for word in text.split())))
    unknown = search.unknown_accelerators & unknown_machines(text, names)
    if text == BRIDGE:
        unknown |= _with_bridge(search.accelerators, names)
    if text in FEATURES and not ids and not unknown:
        raise HwpricesError(
            f"no {' or '.join(sorted(named))} has {text!r}", f"Ask without {text!r}."
        )
    if ids and text in FORMS:
        devices = set(map(without_form, ids))
        ids |= {key for key in named if without_form(key) not in devices}
    change = {"accelerators": ids, "unknown_accelerators": unknown}
    return Meaning(NARROWED, change) if ids or unknown else None


def _edition(word: str, names: ReleaseWords, search: Search) -> Meaning | None:
    """Understand a skipped word that ends the name of a device: "rtx pro 6000 server".

    It has no meaning if other devices are named too: "nvidia server" is not one board.
    """
    if not (meaning := _narrowed(word, names, search)):
        return None
    device = min(_merge(EMPTY, meaning).accelerators, default="").partition(f"-{word}")[0]
    return meaning if all(key.startswith(device) for key in search.accelerators) else None


def _with_bridge(ids: Collection[str], names: ReleaseWords) -> frozenset[tuple[str, str]]:
    """Find machines with these accelerators whose name has NVLink: PCIe cards with a bridge."""
    machines = (m for m in names.machines if BRIDGE in m.normal_name)
    return frozenset(m for m in machines if names.accelerators_of(frozenset({m})) & {*ids})


def without_form(key: str) -> str:
    """Return an id without form and memory, in which the forms of a device differ: nvidia-h100."""
    return "-".join(part for part in key.split("-") if part not in FORMS and part[-2:] != "gb")


def _cpu(machines: frozenset[tuple[str, str]]) -> Meaning:
    return Meaning("cpu", {"cpu_machines": machines})


def with_cpu(text: str, names: ReleaseWords) -> frozenset[tuple[str, str]]:
    """Find the machines with a CPU of that name, maker or microarchitecture.

    The beginning of a long word is enough: "graviton" is every Graviton. A number belongs to the
    word before it: "zen 4" matches, "epyc 4" does not.
    """
    text = text.lower()
    text = CPU_NAMES.get(text, text.replace("genoa", CPU_NAMES["genoa"]))
    wanted = _split_words(re.sub(r"(?<=[a-z])[ -](?=\d{1,3}\b)", "", text))
    if "".join(wanted).isdigit():
        return frozenset()
    start = len(wanted) == 1 and len(wanted[0]) >= MIN_BEGUN_CPU
    cpus = {cpu for cpu in {*names.cpus.values()} if _has_words(cpu, wanted, start=start)}
    return frozenset(machine for machine, cpu in names.cpus.items() if cpu in cpus)


def _named_accelerator(text: str, names: ReleaseWords, start: bool = False) -> Meaning | None:
    """Understand the name of an accelerator; its words after the first may be abbreviated.

    "h100 sxm" is the H100 SXM5, although a cloud has a family of machines with that name. A skipped
    word is never part of a name, although the names of some accelerators have such words in
    brackets: "google gpus", "gb200 on".
    """
    words = text.split()
    if any(word in SKIPPED or KINDS.get(word) == ANY_ACCELERATOR for word in words):
        return None
    if words[0] in NO_NAMES:
        return None
    complete = accelerator(text, names)
    may_be_begun = start or (len(words) > 1 and accelerator(words[0], names))
    return complete or (accelerator(text, names, start=True) if may_be_begun else None)


def _preferred(meanings: list[Meaning], names: ReleaseWords) -> list[Meaning]:
    """Drop meanings that another meaning of the phrase rules out.

    An accelerator rules out machines that have it: "h100" is not h100-380, but "t4g" may be AWS's
    family without a GPU. A cloud rules out an accelerator and places: "google" is not the maker of
    TPUs, "aws" is not AWS GovCloud.
    """
    by_kind = {meaning.kind: meaning for meaning in meanings}
    kinds = by_kind.keys()
    if kinds - AS_OPTION.keys():
        return [meaning for meaning in meanings if meaning.kind not in AS_OPTION]
    if "provider" in kinds:
        return [meaning for meaning in meanings if meaning.kind not in ("accelerator", "place")]
    if not {"accelerator", "type"} <= kinds:
        return meanings
    change: Any = by_kind["accelerator"].change
    machines: Any = by_kind["type"].change["machines"]
    are_others = not _have_any(machines, replace(EMPTY, **change), names)
    return [meaning for meaning in meanings if are_others or meaning.kind != "type"]


def _amount(text: str, search: Search) -> Meaning | None:
    """Understand a term, a number of vCPUs or an amount of memory or of local disk.

    Memory after an accelerator is the memory of one accelerator: "a100 80gb"; an amount larger than
    any accelerator's ("h100 1tb") is the machine's memory.
    """
    term = _TERM.fullmatch(text)
    if term:
        months = int(term[1]) * (MONTHS if term[2].startswith("y") else 1)
        return Meaning("term", {"terms": frozenset({months})})
    vcpus = _VCPUS.fullmatch(text)
    if vcpus:
        return Meaning("vcpus", {"vcpus": Bounds(least=float(vcpus[1]))})
    disk = _DISK.fullmatch(text)
    if disk:
        gib = float(disk[1]) * GIB_PER_DISK_UNIT[disk[2]]
        return Meaning(
            "disk", {"local_disk_gib": Bounds(least=gib), "disk_kinds": KINDS_OF_DISK[disk[3]]}
        )
    memory = _MEMORY.fullmatch(text)
    if memory:
        gib = float(memory[1]) * (GIB_PER_TIB if memory[2] == "t" else 1)
        may_be = not memory[3] and gib < MAX_ACCELERATOR_GIB and asks_for_accelerators(search)
        of_accelerator = memory[3] == "vram" or may_be
        field_name = "accelerator_gib" if of_accelerator else "memory_gib"
        return Meaning("memory", {field_name: Bounds(least=gib)})
    return None


def _kind(text: str) -> Meaning | None:
    kind = KINDS.get(text)
    return Meaning("accelerator", {"accelerator_kinds": frozenset({kind})}) if kind else None


def _counted(count: float, name: str, names: ReleaseWords, search: Search) -> list[Meaning]:
    """Understand "8xh100" or "8xgpu"."""
    meaning = _kind(name) or _narrowed(name, names, search)
    meaning = meaning or accelerator(name, names) or accelerator(name, names, start=True)
    return [_exactly(count, meaning)] if meaning else []


def _exactly(count: float, meaning: Meaning) -> Meaning:
    return Meaning(meaning.kind, {**meaning.change, "accelerator_count": Bounds(count, count)})


def _code(text: str) -> Meaning | None:
    """Understand a purchase option, payment, system, software, license or tenancy."""
    payment = _PAYMENT.fullmatch(text)
    if payment:
        return Meaning("payment", {"payments": frozenset({f"{payment[1]}_upfront"})})
    if text in EVERY:
        field_name, every = EVERY[text]
        return Meaning(field_name, {field_name: every})
    code = re.sub(r"[ -]", "_", text)
    kind, value = OTHER_NAMES.get(text, ("", code))
    codes = {
        "option": PURCHASE_OPTIONS,
        "os": OPERATING_SYSTEMS,
        "arch": ARCHITECTURES,
        "rdma": RDMA,
        "software": [code for code in SOFTWARE if code != "none"],
        "license_model": [code for code in LICENSE_MODELS if code != "included"],
        "tenancy": TENANCIES,
    }
    for name, known in codes.items():
        if kind == name or (not kind and value in known):
            change = frozenset({value}) if name == "option" else value
            return Meaning(name, {"purchase_options" if name == "option" else name: change})
    return _code(text[:-1]) if text.endswith("s") else None  # "savings plans"


def providers(text: str, names: ReleaseWords) -> frozenset[str]:
    """Find a provider by its code, its display name, or the first word of its display name."""
    matches = _named(text, names.providers)
    return frozenset(matches) if len(matches) == 1 else frozenset()


def _named(text: str, titles: Mapping[str, str]) -> list[str]:
    text = OTHER_CLOUDS.get(text, text)
    return [
        provider
        for provider, title in titles.items()
        if text == provider or text in (title.lower(), title.lower().split()[0])
    ]


def _market(text: str, names: ReleaseWords) -> str:
    """State where to find the quantiles of a market; empty if the text does not name a market."""
    titles = [names.markets[provider] for provider in _named(text, names.markets)]
    hint = 'a market without list prices. Its quantiles: hwprices query "from market_quantiles".'
    return f"{titles[0]} is {hint}" if titles else ""


def provider_spellings(names: ReleaseWords) -> dict[str, str]:
    """List the names by which ``providers`` finds a provider, each with its code."""
    others = {text: code for text, code in OTHER_CLOUDS.items() if code in names.providers}
    return others | {
        spelling: provider
        for provider, title in names.providers.items()
        for spelling in (title.lower().split()[0], title.lower(), provider)
    }


def which_provider(text: str, names: ReleaseWords) -> str:
    """Write the remedy for an unknown provider: similar names, else all providers."""
    if market := _market(text.lower(), names):
        return market
    spellings = provider_spellings(names)
    alike = dict.fromkeys(spellings[spelling] for spelling in near(text, spellings))
    if alike:
        return f"Did you mean {', '.join(alike)}?"
    return f"There are: {', '.join(names.providers)}."


def _machines(phrase: str, names: ReleaseWords) -> Meaning | None:
    """Understand a machine type, a family, or a word that is both: "a2".

    A number, price or memory behind an accelerator is not part of a machine's name: "h100 2" and
    "h100 $2" are not the machine H100-2 of one cloud, "l40s 48gb" is not another cloud's.
    """
    after = _NAMED_AFTER.fullmatch(phrase)
    if "$" in phrase or (after and accelerators(after[1].lower(), names.accelerators)):
        return None
    machines = [*find_machines(names.machines, phrase), *find_family(names.machines, phrase)]
    chosen = frozenset(machines)
    return Meaning("type", {"machines": chosen}) if chosen else None


def accelerator(text: str, names: ReleaseWords, *, start: bool = False) -> Meaning | None:
    """Understand the name of an accelerator, or its plural: "h100s". ``start`` as below."""
    ids = accelerators(text, names.accelerators, start=start)
    machines = unknown_machines(text, names)
    if (device := text.removesuffix(f" {BRIDGE}")) != text:
        machines |= _with_bridge(accelerators(device, names.accelerators), names)
    if ids or machines:
        change = {"accelerators": frozenset(ids), "unknown_accelerators": machines}
        return Meaning("accelerator", change)
    return accelerator(text[:-1], names, start=start) if text.endswith("s") else None


def unknown_machines(text: str, names: ReleaseWords) -> frozenset[tuple[str, str]]:
    """Find machines whose accelerator has no id, by the vendor's name of the accelerator."""
    wanted = _split_words(text)
    return frozenset(
        machine for machine, device in names.unknown.items() if _has_words(device, wanted)
    )


def accelerators(text: str, names: Mapping[str, str], *, start: bool = False) -> list[str]:
    """Find the accelerators whose id and name contain all words of a text.

    "h100" is every form of the H100, but not the GH200; "a100 sxm4" is both memory sizes of that
    board. With ``start`` the beginning of a word is enough, unless another accelerator has that
    word: "mi300" is the MI300X, but "l4" is not the L40S.
    """
    if text in names:
        return [text]
    devices = {key: f"{key} {name}" for key, name in names.items()}
    wanted = _split_words(text)
    begun = [word for word in wanted if start and _may_be_begun(word, devices.values())]
    return [
        key
        for key, device in devices.items()
        if wanted
        and all(
            _has_word(device.partition(WHOLE_WORDS)[0], word, start=True)
            if word in begun
            else _has_word(device, word, start=False)
            for word in wanted
        )
    ]


def _may_be_begun(word: str, devices: Iterable[str]) -> bool:
    if word in FORMS:  # sxm begins sxm5, also where H200 has it alone; nvl is not nvlink
        return word == FORMS[0]
    is_complete = any(_has_word(device, word, start=False) for device in devices)
    return len(word) >= MIN_BEGUN_DEVICE and not is_complete


def _split_words(text: str) -> list[str]:
    return [word for word in map(squeeze, re.split(r"[\s_-]+", text)) if word]


def _has_words(name: str, wanted: list[str], *, start: bool = False) -> bool:
    return bool(wanted) and all(_has_word(name, word, start=start) for word in wanted)


def short_names(ids: Iterable[str]) -> list[str]:
    """List the words of accelerator ids that name a device: h100, l40s, mi300x."""
    parts = (part for key in ids for part in key.split("-")[1:])
    no_names = (*NO_NAMES, *SKIPPED)
    return [part for part in dict.fromkeys(parts) if not part.isdigit() and part not in no_names]


def _has_word(name: str, word: str, *, start: bool) -> bool:
    """Check whether a name contains a word, also in parts: "rtx4090" is in "rtx 4090".

    With ``start`` the beginning of a word is enough, but a number must be complete: "40" is in
    "40gb", "4" is not, and "h20" is not the beginning of "h200".
    """
    pattern = re.escape(word) + r"(?!\d)" * word[-1].isdigit()
    matches = re.match if start else re.fullmatch
    return any(matches(pattern, joined) for joined in joined_words(name, len(word)))


def joined_words(name: str, longest: int = MAX_JOINED) -> Iterator[str]:
    """List the words of a name, and its consecutive words joined to one.

    A joined word ends with the first part that makes it at least ``longest`` letters long. A long
    word is also listed without the number of its generation: trainium2 is a Trainium.
    """
    parts = re.findall(r"[a-z0-9]+", name.lower())
    for first in range(len(parts)):
        if generation := _GENERATION.fullmatch(parts[first]):
            yield generation[1]
        joined = ""
        for part in parts[first:]:
            joined += part
            yield joined
            if len(joined) >= longest:
                break


def places(text: str, names: ReleaseWords) -> list[NamedPlace]:
    """Find the regions of a place; none if the text is not a place."""
    continent = continent_code(text)
    country = None if continent else country_code(text, names.countries)
    if continent or country:
        return [
            place
            for place in names.places
            if (continent and place.continent == continent)
            or (country and place.country == country)
            or place.region.lower() == text
        ]
    regions = regions_by_name(names.places, text)
    if regions or text in SKIPPED or len(text) < MIN_CITY:
        return regions
    return regions_by_city(names.places, text)


def _merge(search: Search, meaning: Meaning, *, is_added: bool = False) -> Search:
    """Add a meaning to the search; a second region or provider widens it.

    "frankfurt germany" is Frankfurt, but what is added by "and" or "or" widens the search.
    """
    changes: dict[str, Any] = {}
    for name, value in meaning.change.items():
        before = getattr(search, name)
        if name in ONE_VALUE and before not in (value, getattr(EMPTY, name)):
            raise more_than_one(name)
        changes[name] = value
        if isinstance(value, frozenset) and before and meaning.kind != NARROWED:
            is_within = name == "regions" and not is_added and (value < before or before < value)
            changes[name] = min(before, value, key=len) if is_within else before | value
    return replace(search, **changes)


def more_than_one(name: str) -> HwpricesError:
    """Return the error for two values of a field of ONE_VALUE."""
    return HwpricesError(f"more than one {ONE_VALUE[name]} is requested", "Ask for one at a time.")


def _without_meaning(text: str) -> str:
    """Write the remedy for a place, a currency, a period or a limit that has no meaning here."""
    if text in CODES or text in CONTINENTS:
        return "This release has no region there."
    if _MONEY.fullmatch(text):
        return "Limits and ranks are in USD: --usd-per EUR=1.08 includes prices in EUR."
    if period := _SPAN.fullmatch(text):
        return f"Prices are for an hour, or with --per {'month' if period[1] else 'year'}."
    if text in _LIMITS:
        return "A limit is in USD for an hour, a month or a year: under $3, under $2000 a month."
    return ""


def _suggestions(word: str, names: ReleaseWords) -> str:
    """Write the remedy for an unknown word: similar names of any kind."""
    counted = _COUNTED.fullmatch(word.lower())
    text = counted[2] if counted else word.lower()
    if remedy := _market(word.lower(), names) or _without_meaning(text):
        return remedy
    if _UNCLEAR_DISK.fullmatch(text):
        return "Write 64gb memory with nvme, or 900gb of nvme. Disks cannot be counted or excluded."
    spellings = {
        **{m.normal_name: m.instance_type for m in names.machines},
        **{place.region: place.region for place in names.places},
        **{part: part for part in short_names(names.accelerators)},
        **{key: key for key in names.accelerators},
        **provider_spellings(names),
        **{name: name for name in (*PURCHASE_OPTIONS, *OPERATING_SYSTEMS, *SOFTWARE)},
        **{name: name for name in (*CONTINENTS, *CODES)},
    }
    least = SHORT_ALIKE if len(text) <= SHORT else ALIKE
    alike = near(text, spellings, least)
    if not alike and len(text) >= MIN_BEGUN:
        alike = [spelling for spelling in spellings if spelling.startswith(text)][:MAX_BEGUN]
    matches = dict.fromkeys(spellings[spelling] for spelling in alike)
    if matches:
        return f"Did you mean {', '.join(matches)}?"
    return "Name an accelerator, machine type, place, purchase option: 8xH100 europe spot."
