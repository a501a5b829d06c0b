"""Declare the options of a question, and check their values.

The methods of ``Dataset`` take ``**options: Unpack[Options]``, the command line makes its options
from the declaration (``cli.filters``), and ``request`` reads the values. To add a figure of a
machine, such as its memory, add a line here and a field with the name of its column to
``search.Search``.

Values may come from any program. A wrong value is a HwpricesError before anything is looked up,
never an error of Python or polars.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Number
from typing import Annotated, Any, TypedDict, cast, get_args, get_type_hints

from hwprices.errors import HwpricesError, did_you_mean

Names = str | Iterable[str] | None  # One name, several with commas, or a list of either
Amount = str | float | None  # 16 is at least 16, "16-32" a range, "=16" exactly 16


@dataclass(frozen=True)
class OptionFacts:
    """Facts of an option besides its type.

    ``help``: for the command line. ``column``: the column of ``search.machine_types`` to which it
    sets limits. ``noun``: the column in a sentence. ``exactly``: 8 means 8, not at least 8.
    """

    help: str
    column: str = ""
    noun: str = ""
    exactly: bool = False


class PastOptions(TypedDict, total=False):
    """Options of a question about past prices; None sets no condition.

    Options of names take several names: separated by commas, or as a list.
    """

    accelerator: Annotated[
        Names, OptionFacts("An accelerator: h100, 'a100 80gb'; or a kind: gpu, tpu, fpga.")
    ]
    count: Annotated[
        Amount,
        OptionFacts(
            "Accelerators of the machine, exactly.",
            "accelerator_count",
            "number of accelerators",
            exactly=True,
        ),
    ]
    accelerator_memory: Annotated[
        Amount,
        OptionFacts(
            "GiB of one accelerator: 80 or 80GB is at least 80; 40-80 a range; =80 exactly.",
            "accelerator_gib",
            "accelerator memory",
        ),
    ]
    vcpus: Annotated[Amount, OptionFacts("vCPUs: 16, 16-32 or =16.", "vcpus", "number of vCPUs")]
    memory: Annotated[
        Amount, OptionFacts("GiB of main memory: 64, 64GB, 64-128.", "memory_gib", "memory")
    ]
    local_disk: Annotated[
        Amount,
        OptionFacts("GiB of all local disks: 900, 900-2000.", "local_disk_gib", "local disk"),
    ]
    arch: Annotated[str | None, OptionFacts("x86_64 or arm64.")]
    cpu: Annotated[
        Names, OptionFacts("A CPU or its maker: amd, graviton4, 'sapphire rapids', 'zen 4'.")
    ]
    bare_metal: Annotated[bool | None, OptionFacts("Only machines without a hypervisor.")]
    type: Annotated[Names, OptionFacts("A machine type or family: g6.xlarge, p5, d4s_v5.")]
    provider: Annotated[Names, OptionFacts("A cloud: aws, google.")]
    region: Annotated[
        Names,
        OptionFacts(
            "A region, direction, country or continent: us-east-1, us-east, germany, europe."
        ),
    ]
    country: Annotated[Names, OptionFacts("A country: DE, germany.")]
    continent: Annotated[Names, OptionFacts("A continent: europe, north_america.")]
    option: Annotated[
        Names,
        OptionFacts(
            "on_demand, spot, reserved …; a term: 1y, 3y; commitment: every option with a term."
        ),
    ]
    purchase_option: Annotated[Names, OptionFacts("Another name of option.")]
    term: Annotated[Names | int, OptionFacts("Length of commitment: 1y, 3y.")]
    os: Annotated[str | None, OptionFacts("linux (the default), windows, rhel …; any for all.")]
    software: Annotated[
        str | None, OptionFacts("Software in the price: none (the default), sql_server … or any.")
    ]
    license: Annotated[str | None, OptionFacts("included (the default), byol or any.")]
    tenancy: Annotated[str | None, OptionFacts("shared (the default), dedicated, host or any.")]


class Options(PastOptions, total=False):
    """Options of a question about offers."""

    max_price: Annotated[str | float | Decimal | None, OptionFacts("Highest price in USD/h.")]
    in_stock: Annotated[
        bool | None,
        OptionFacts("Only machines that were in stock at the last collection (table stock)."),
    ]
    usd_per: Annotated[
        Mapping[str, object] | None,
        OptionFacts(
            "Exchange rate, to compare prices in another currency: EUR=1.08. May be repeated."
        ),
    ]


OTHER_NAMES = {"purchase_option": "option"}
"""Synonyms of options: the name in ``Options``."""

OPTIONS: Mapping[str, tuple[Any, OptionFacts]] = {
    name: get_args(annotated)
    for name, annotated in get_type_hints(Options, include_extras=True).items()
}
"""Each option of ``Options``: the type of its value, and its facts."""

FIGURES = {about.column: about.noun for _, about in OPTIONS.values() if about.column}
"""Columns of ``search.machine_types`` to which options set limits: their nouns."""

MAX_WORDS, MAX_LETTERS = 40, 1000
"""Longest question. A word takes about 40 ms; the longest machine name has ten words of 60 letters
in total."""

SEPARATOR = re.compile(r"[\s,;]+")  # between the words of a question
MAX_NAME_LETTERS = 200  # Longest name or amount in an option

_TAKES = {
    Names: "It takes a name, or a list of names.",
    Names | int: "It takes 1y, 3y or a number of months; several as texts.",
    str | None: "It takes one text.",
    Amount: "It takes a number or a text.",
}
"""Types in ``Options``: the remedy for a value of another type."""


def check_question(text: object) -> None:
    """Check that a question is a short text.

    Raises:
        HwpricesError: it is not a text, or is too long.
    """
    if not isinstance(text, str):
        raise HwpricesError(
            f"the question is not a text: {text!r:.40}", "Write a few words: '8xH100 europe'."
        )
    if len(text) > MAX_LETTERS or len(SEPARATOR.split(text)) > MAX_WORDS:
        raise HwpricesError(
            f"the question {text[:20]!r} … has more than {MAX_WORDS} words or {MAX_LETTERS:,}"
            " letters",
            "Write a few words, and lists of names as options.",
        )


def check_name(text: object) -> None:
    """Check that the name of a machine type is a text of plausible length.

    Raises:
        HwpricesError: it is not a text, or longer than any name.
    """
    if not isinstance(text, str):
        raise HwpricesError(
            f"a machine type is not a text: {text!r:.40}",
            "Give one name, or several one after the other.",
        )
    if len(text) > MAX_NAME_LETTERS:
        raise HwpricesError(
            f"{text[:20]!r} … is longer than any name of a machine type", "Check the name."
        )


def read(options: Mapping[str, Any]) -> Options:
    """Check names and values of options, replace synonyms, and leave out None.

    Raises:
        HwpricesError: there is no such option (the message suggests similar ones), or it does not
            take such a value.
    """
    known = [name for name in OPTIONS if name not in OTHER_NAMES]
    for other, name in OTHER_NAMES.items():
        if options.get(other):
            if options.get(name):
                raise HwpricesError(f"{other} is another name of {name}", "Give one of them.")
            options = {**options, name: options[other]}
    options = {name: value for name, value in options.items() if name not in OTHER_NAMES}
    for name in options:
        if name not in known:
            short = name[:MAX_NAME_LETTERS]
            raise HwpricesError(
                f"unknown option {short!r}",
                did_you_mean(short, known) or f"There are: {', '.join(known)}.",
            )
    values = {name: value for name, value in options.items() if value is not None}
    return cast(Options, {name: _checked(name, value) for name, value in values.items()})


def _checked(name: str, value: Any) -> Any:
    """Return a value of a type that the option takes; an iterator becomes a list."""
    kind, _ = OPTIONS[name]
    kinds = set(get_args(kind))
    if bool in kinds:
        return _instance(name, value, bool, "It takes True or False.")
    if float in kinds and isinstance(value, Number) and not isinstance(value, bool):
        return _finite(name, value)
    if int in kinds and isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if str not in kinds:  # exchange rates, which have errors of their own
        return _instance(name, value, Mapping, 'It takes {"EUR": "1.08"}.')
    is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    texts = list(value) if is_list and Iterable[str] in kinds else [value]
    if not all(isinstance(text, str) for text in texts):
        raise HwpricesError(f"{name} takes no {value!r:.40}", _TAKES.get(kind, _TAKES[Amount]))
    if any(len(part) > MAX_NAME_LETTERS for text in texts for part in text.split(",")):
        raise HwpricesError(
            f"{name} has more than {MAX_NAME_LETTERS} letters: {texts[0]:.20} …",
            "No name and no amount is so long.",
        )
    return texts if is_list else value


def _instance(name: str, value: Any, kind: type, remedy: str) -> Any:

    if isinstance(value, kind):
        return value
    raise HwpricesError(f"{name} takes no {value!r:.40}", remedy)


def _finite(name: str, value: Any) -> Any:
    """Return a number if a float can hold it."""
    try:
        is_finite = math.isfinite(value)
    except (OverflowError, ValueError, TypeError):  # beyond all floats, signalling NaN, complex
        is_finite = False
    if not is_finite:
        raise HwpricesError(f"{name}: this is not a number, or too large", "Write 12.5.")
    return value
