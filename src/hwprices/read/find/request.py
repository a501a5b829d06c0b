"""Turn the options of a question into a search, and combine it with the search of its words."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any, Unpack

from hwprices.errors import HwpricesError, did_you_mean
from hwprices.read import currency
from hwprices.read.find import words
from hwprices.read.find.names import (
    CODES,
    NamedMachine,
    ReleaseWords,
    continent_code,
    country_code,
    find_family,
    find_machines,
    near_machines,
)
from hwprices.read.find.options import OPTIONS, Names, OptionFacts, Options, check_question, read
from hwprices.read.find.search import ANY, COMMITMENT, NO_ACCELERATOR, USUAL, Bounds, Search
from hwprices.schemas import TERMS_IN_MONTHS, vocabulary

ACCELERATORS = ("accelerators", "unknown_accelerators", "accelerator_kinds")
"""Fields of a search, of which a machine must match any one."""


def combine(a: Search, b: Search, set_in_b: Collection[str], names: ReleaseWords) -> Search:
    """Return the search that finds what both searches find.

    ``a``: the search of the words, as ``words.understand`` returns it. ``b``: the search of the
    options. ``set_in_b``: the fields that options set, even if to their usual value.

    Raises:
        HwpricesError: the searches contradict each other.
    """
    singles: dict[str, Any] = {name: _one_value(name, a, b, set_in_b) for name in words.ONE_VALUE}
    return replace(
        b,
        **singles,
        **_combined_accelerators(a, b, names),
        machines=_intersection(a.machines, b.machines, "machine type", unset=None),
        cpu_machines=_intersection(a.cpu_machines, b.cpu_machines, "CPU", unset=None),
        bare_metal=a.bare_metal or b.bare_metal,
        regions=_intersection(a.regions, b.regions, "place", unset=None),
        providers=_intersection(a.providers, b.providers, "provider"),
        purchase_options=_combined_options(a.purchase_options, b.purchase_options),
        terms=_intersection(a.terms, b.terms, "term"),
        payments=a.payments,
        disk_kinds=a.disk_kinds,
    )


def _nothing(thing: str) -> HwpricesError:
    return HwpricesError(
        f"the words and the options ask for no {thing} in common", "Ask for it in one of the two."
    )


def _one_value(name: str, a: Search, b: Search, set_in_b: Collection[str]) -> object:
    value, other = getattr(a, name), getattr(b, name)
    if value == getattr(words.EMPTY, name):
        return other
    if name in set_in_b and other not in (None, value):
        raise words.more_than_one(name)
    return value


def _intersection(a: Any, b: Any, thing: str, unset: Any = frozenset()) -> Any:
    """Return what is in both sets, or one of them if the other is ``unset``."""
    if a == unset:
        return b
    if b == unset:
        return a
    if not a & b:
        raise _nothing(thing)
    return a & b


def _combined_options(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    if a and b:
        a, b = words.with_term(a), words.with_term(b)
    return frozenset(_intersection(a, b, "purchase option"))


def _combined_accelerators(a: Search, b: Search, names: ReleaseWords) -> dict[str, Any]:
    """Combine the fields of ACCELERATORS; an id and its kind have the id in common."""
    if not _names_accelerators(a):
        return {}  # keep those of b
    if not _names_accelerators(b):
        return {name: getattr(a, name) for name in ACCELERATORS}
    ids = frozenset(
        key
        for search, other in ((a, b), (b, a))
        for key in search.accelerators
        if key in other.accelerators
        or _names_kind(other, names.kinds_of(frozenset({key}), frozenset()))
    )
    unknown = frozenset(
        machine
        for search, other in ((a, b), (b, a))
        for machine in search.unknown_accelerators
        if machine in other.unknown_accelerators
        or _names_kind(other, names.kinds_of(frozenset(), frozenset({machine})))
    )
    kinds = a.accelerator_kinds & b.accelerator_kinds
    if not (ids or unknown or kinds):
        raise _nothing("accelerator")
    return {"accelerators": ids, "unknown_accelerators": unknown, "accelerator_kinds": kinds}


def _names_accelerators(search: Search) -> bool:
    return any(getattr(search, name) for name in ACCELERATORS)


def _names_kind(search: Search, kinds: set[str]) -> bool:
    named = search.accelerator_kinds - {NO_ACCELERATOR}
    return bool(named & kinds) or words.ANY_ACCELERATOR in named


_RANGE = re.compile(r"(?:(=)|(\d+(?:\.\d+)?)(?:-|\.\.))?(\d+(?:\.\d+)?)")

_GIB = re.compile(r"(?<=\d)\s*gi?b\b", re.IGNORECASE)
"""The unit of an amount of memory. GB means GiB, as in words and as vendors write it."""

MAX_USD = Decimal(10) ** 10  # too large for ``units.Money``
ALL = "all"  # synonym of ANY


def request(
    names: ReleaseWords, text: str = "", usual: Search = USUAL, /, **options: Unpack[Options]
) -> Search:
    """Build a search from the words of a question and from options; both must hold.

    ``text``: a question in a few words; see ``words.understand``. ``usual``: the values of fields
    that neither words nor options set.

    Raises:
        HwpricesError: a word or a value is not understood, or there is no such option; the message
            suggests similar ones.
    """
    check_question(text)
    values = read(options)
    fields = {**_figures(values), **_software(values), **_machines_by_name(names, values)}
    regions = _regions(
        names,
        region=values.get("region"),
        country=values.get("country"),
        continent=values.get("continent"),
    )
    purchase = _purchase_options(values.get("option"), values.get("term"))
    search = replace(usual, **fields, **purchase, **regions)
    in_words = words.understand(text, names, search)
    return combine(in_words, search, fields.keys(), names)


def _figures(options: Options) -> dict[str, Any]:
    """Read the conditions on the figures of the machine and on the price."""
    limit = options.get("max_price")
    fields = {
        **{
            about.column: _range(name, options.get(name), about)
            for name, (_, about) in OPTIONS.items()
            if about.column
        },
        "arch": _code("arch", options.get("arch"), vocabulary.ARCHITECTURES),
        "max_price": None if limit is None else _price("max_price", limit),
        "in_stock": options.get("in_stock"),
        "bare_metal": options.get("bare_metal"),
        "usd_per": currency.read_rates(options.get("usd_per") or {}),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _software(options: Options) -> dict[str, Any]:
    """Read operating system, software, license and tenancy."""
    codes = {
        "os": _code("os", options.get("os"), [*vocabulary.OPERATING_SYSTEMS, ANY]),
        "software": _code("software", options.get("software"), [*vocabulary.SOFTWARE, ANY]),
        "license_model": _code(
            "license_model", options.get("license"), [*vocabulary.LICENSE_MODELS, ANY]
        ),
        "tenancy": _code("tenancy", options.get("tenancy"), [*vocabulary.TENANCIES, ANY]),
    }
    fields = {name: code for name, code in codes.items() if code is not None}
    any_is_none = {name: None for name in ("license_model", "tenancy") if fields.get(name) == ANY}
    return {**fields, **any_is_none}


def _price(name: str, value: object) -> Decimal:
    """Read an amount of money, rounded down to the last decimal place of prices."""
    amount = _decimal(name, value)
    if amount.copy_abs() >= MAX_USD:
        raise HwpricesError(f"{name} {value}: no price is so large", "Write 12.5.")
    return amount.quantize(currency.LAST_PLACE, ROUND_FLOOR)


def _decimal(name: str, value: object) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise HwpricesError(f"{name} {value}: this is not a number", "Write 12.5.") from None
    if not amount.is_finite():
        raise HwpricesError(f"{name} {value}: this is not a number", "Write 12.5.")
    return amount


def _range(name: str, value: Any, about: OptionFacts) -> Bounds | None:
    """Read an amount: 16 for at least 16 (or exactly), 16-32, =16."""
    if value is None:
        return None
    if about.exactly:
        number = float(_decimal(name, value))
        return Bounds(number, number)
    text = _GIB.sub("", str(value)) if about.column.endswith("_gib") else str(value)
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise HwpricesError(
            f"{name} {value}: this is not an amount",
            "Write 16 for at least 16, 16-32 for a range, =16 for exactly 16.",
        )
    exactly, least, last = match.groups()
    if exactly:
        return Bounds(float(last), float(last))
    if least and float(least) > float(last):
        raise HwpricesError(
            f"{name} {value}: {least} is more than {last}",
            f"Write the smaller amount first: {last}-{least}.",
        )
    return Bounds(float(least), float(last)) if least else Bounds(least=float(last))


def split(value: Names) -> list[str]:
    """List the names of an option that takes several.

    >>> split("aws, gcp"), split(["aws,gcp", "azure"]), split(None)
    (['aws', 'gcp'], ['aws', 'gcp', 'azure'], [])
    """
    texts = [value] if isinstance(value, str) else value or []
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _code(name: str, value: str | None, known: Any) -> str | None:
    """Return the code of a vocabulary that a value means; spaces and - are read as _."""
    if value is None:
        return None
    code = re.sub(r"[ -]", "_", value.strip().lower())
    kind, other = words.OTHER_NAMES.get(code, ("", ""))
    code = other if kind == name else code
    code = ANY if code == ALL and ANY in known else code
    if code not in known:
        raise HwpricesError(
            f"{name} {value}: there is no such {name.replace('_', ' ')}",
            did_you_mean(code, known) or f"There are: {', '.join(known)}.",
        )
    return code


def _purchase_options(option: Names, term: Names | int) -> dict[str, Any]:
    known = [*vocabulary.PURCHASE_OPTIONS, COMMITMENT]
    parts = split(option)
    lengths = [part for part in parts if part[0].isdigit()]  # "reserved,1y"
    options = [str(_code("option", part, known)) for part in parts if part not in lengths]
    terms = lengths + split(str(term) if isinstance(term, int) else term)
    return {"purchase_options": frozenset(options), "terms": frozenset(map(_months, terms))}


def _months(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*(y|yr|year|years|m|months?)?", text.lower())
    months = int(match[1]) * (12 if (match[2] or "").startswith("y") else 1) if match else -1
    if months not in TERMS_IN_MONTHS:
        listed = ", ".join(str(months) for months in TERMS_IN_MONTHS)
        raise HwpricesError(
            f"term {text}: no vendor sells this term", f"Write 1y or 3y, or months: {listed}."
        )
    return months


def _machines_by_name(names: ReleaseWords, options: Options) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if accelerator := options.get("accelerator"):
        parts = [part.lower() for part in split(accelerator)]
        kinds = {part: words.KINDS[part] for part in parts if part in words.KINDS}
        kinds = {part: kind for part, kind in kinds.items() if kind != NO_ACCELERATOR}
        devices = [_accelerator(names, part) for part in parts if part not in kinds]
        for name in ("accelerators", "unknown_accelerators"):
            fields[name] = frozenset().union(*(device[name] for device in devices))
        fields["accelerator_kinds"] = frozenset(kinds.values())
    if type_names := options.get("type"):
        fields["machines"] = frozenset(
            machine for part in split(type_names) for machine in _machines(names, part)
        )
    if cpus := options.get("cpu"):
        fields["cpu_machines"] = frozenset(
            pair for part in split(cpus) for pair in _with_cpu(names, part)
        )
    if clouds := options.get("provider"):
        fields["providers"] = providers(names, clouds)
    return fields


def _accelerator(names: ReleaseWords, text: str) -> Mapping[str, Any]:
    name = text.lower()
    meaning = words.accelerator(name, names) or words.accelerator(name, names, start=True)
    if meaning is None:
        words.check_sold([text], names)
        spellings = [*names.accelerators, *words.short_names(names.accelerators)]
        raise HwpricesError(
            f"no machine of this release has an accelerator {text!r}",
            did_you_mean(text, spellings) or f"There are: {', '.join(names.accelerators)}.",
        )
    return meaning.change


def _with_cpu(names: ReleaseWords, text: str) -> frozenset[tuple[str, str]]:
    machines = words.with_cpu(text, names)
    if not machines:
        listed = 'hwprices query "select cpu_id, name, microarchitecture from cpus" lists them.'
        raise HwpricesError(f"no machine of this release is known to have a CPU {text!r}", listed)
    return machines


def _machines(names: ReleaseWords, text: str) -> list[NamedMachine]:
    chosen = find_machines(names.machines, text) or find_family(names.machines, text)
    if not chosen:
        raise HwpricesError(
            f"no machine type {text!r} is in this release",
            near_machines(names.machines, text),
        )
    return chosen


def providers(names: ReleaseWords, value: Names) -> frozenset[str]:
    """Look up clouds by name: aws, google.

    Raises:
        HwpricesError: the release has no such provider.
    """
    all_chosen: frozenset[str] = frozenset()
    for text in split(value):
        chosen = words.providers(text.lower(), names)
        if not chosen:
            raise HwpricesError(
                f"no provider {text!r} is in this release", words.which_provider(text, names)
            )
        all_chosen |= chosen
    return all_chosen


def _regions(names: ReleaseWords, **options: Names) -> dict[str, Any]:
    """Look up the regions that match region, country and continent."""
    regions: frozenset[tuple[str, str]] | None = None
    for kind, value in options.items():
        if not value:
            continue
        matches = frozenset(pair for part in split(value) for pair in _place(names, kind, part))
        regions = matches if regions is None else regions & matches
    return {} if regions is None else {"regions": regions}


def _place(names: ReleaseWords, kind: str, text: str) -> list[tuple[str, str]]:
    if kind == "continent":
        code = continent_code(text)
        chosen = [place for place in names.places if code and place.continent == code]
        known = list(vocabulary.CONTINENTS)
    elif kind == "country":
        code = country_code(text, names.countries)
        chosen = [place for place in names.places if code and place.country == code]
        known = [*sorted(names.countries), *CODES]
    else:
        chosen = words.places(text.lower(), names)
        known = [place.region for place in names.places]
    if not chosen:
        raise HwpricesError(
            f"no {kind} {text!r} is in this release",
            did_you_mean(text, known) or "hwprices show coverage lists the regions.",
        )
    return [(place.provider, place.region) for place in chosen]
