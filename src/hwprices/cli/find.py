"""The command ``hwprices find``: offers by words and options."""

from typing import Annotated

import typer

from hwprices.cli import filters
from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Limit,
    Release,
    Root,
    open_dataset,
    print_frame,
)

Sort = Annotated[
    str,
    typer.Option(
        help="A figure: price, price_per_accelerator, price_per_vcpu, memory, vcpu, accelerators, "
        "network, carbon, or a column of --json."
    ),
]
Descending = Annotated[bool, typer.Option("--descending", help="The highest figure first.")]


@filters.add_options(
    *filters.MACHINE, "provider", *filters.PLACE, *filters.PURCHASE, "max_price", *filters.VALUE
)
def find(
    *,
    words: filters.Words = None,
    options: filters.Options,
    sort: Sort = "price",
    descending: Descending = False,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Find offers by words or options.

    Say it in words, with options, or both: then both must hold. Prints one line for each price, the
    cheapest first; of Linux on shared hardware unless another system or tenancy is requested. Says
    why, if there is nothing: not sold, or not in this release.

    Example:

        hwprices find 8xH100 europe 1y

        hwprices find --gpu l4 --count 1 --country germany --option on_demand

        hwprices find 16vcpu 64gb arm64 --sort price_per_vcpu
    """
    from hwprices.read.find import offers
    from hwprices.read.terminal.find import render_offers
    from hwprices.release.root import root_option

    dataset = open_dataset(root, version)
    answer = offers.answer(
        dataset,
        " ".join(words or []),
        sort=sort,
        descending=descending,
        **options,
    )
    first = answer.rows["price_id"][0] if answer.rows.height else ""
    hint = f"hwprices explain {first}{root_option(dataset.store.root)}"
    print_frame(
        answer.rows,
        as_json,
        lambda _: render_offers(answer, limit, hint),
        as_csv=as_csv,
        limit=limit,
        notes=answer.notes,
    )
