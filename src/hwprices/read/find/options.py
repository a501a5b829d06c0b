"""The options of a question: their one declaration.

Type checkers and editors read it from the methods of ``Dataset``, which take
``**options: Unpack[Options]``; the command line makes its options of it (``cli.filters``), and
``request`` reads the values. A figure of a machine, such as its memory, needs a line here and a
field of its column in ``search.Search``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, TypedDict, get_args, get_type_hints

Names = str | Iterable[str] | None  # One name, several with commas, or a list of either
Amount = str | float | None  # 16 is at least 16, "16-32" a range, "=16" exactly 16


@dataclass(frozen=True)
class OptionFacts:
    """What is known of an option besides the kind of its value.

    ``help``: for the command line. ``column``: the column of ``search.machine_types`` whose figure
    it asks for. ``noun``: name of the figure in a sentence. ``exactly``: 8 means 8, not at least 8.
    """

    help: str
    column: str = ""
    noun: str = ""
    exactly: bool = False


class PastOptions(TypedDict, total=False):
    """What a question about past prices may ask for besides its words. None asks for nothing.

    Options of names take several: with commas, as on the command line, or as a list.
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
            "on_demand, spot, reserved …, a term: 1y, 3y; commitment is every option with one."
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
    """What a question about offers may ask for besides its words."""

    max_price: Annotated[
        str | float | Decimal | None, OptionFacts("At most so many USD for an hour.")
    ]
    in_stock: Annotated[
        bool | None,
        OptionFacts("Only machines that their vendor had in stock when asked (table stock)."),
    ]
    usd_per: Annotated[
        Mapping[str, object] | None,
        OptionFacts(
            "Exchange rate, to compare prices in another currency: EUR=1.08. May be repeated."
        ),
    ]


OTHER_NAMES = {"purchase_option": "option"}
"""Other names of options, as the command line has them: the name in ``Options``."""


def _declared() -> Iterable[tuple[str, tuple[Any, OptionFacts]]]:
    for name, annotated in get_type_hints(Options, include_extras=True).items():
        kind, about = get_args(annotated)
        yield name, (kind, about)


OPTIONS: Mapping[str, tuple[Any, OptionFacts]] = dict(_declared())
"""Each option of ``Options``: the kind of its value, and what else is known of it."""

FIGURES = {about.column: about.noun for _, about in OPTIONS.values() if about.column}
"""Columns of ``search.machine_types`` that a question may set limits to: the name of each."""
