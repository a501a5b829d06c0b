"""Understand a question about the past: what is gone by now is known by its name too.

Words and options mean what they mean in any question (``request``). Names are looked up in the
release and in its price history, so that a machine type that nobody sells any more is found.
"""

from dataclasses import replace
from functools import cached_property
from typing import Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import option_values, request, words
from hwprices.read.find import search as searching
from hwprices.read.find.options import PastOptions
from hwprices.read.find.search import Search
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.release.release import Tables, names_of, scan_types

TYPE = ["provider", "instance_type"]
REGION = ["provider", "region"]

_DEVICE = pl.struct(
    "accelerator_id",
    pl.lit(None, pl.String).alias("vendor_name"),
    pl.col("accelerator_count").alias("count"),
    pl.lit(None, pl.Float64).alias("memory_gib"),
)
"""A device in the list ``accelerators`` of a machine type that is gone."""

NOT_OF_THE_PAST = ("max_price", "usd_per")
"""Options that compare prices, of which a history has one for each time."""


class PastTables:
    """The tables of a release, with the machine types and regions that only its past has.

    Of a type that is gone the history knows the accelerators, of a region nothing but the name.
    """

    def __init__(self, now: Tables) -> None:
        """Take a release."""
        self.now = now

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame; that of types and that of regions with those of the past.

        What is gone has null in each column of which nothing is known.
        """
        rows = self.now.scan(table)
        if table == "instance_types":
            return pl.concat([rows, self._gone_types.lazy()], how="diagonal")
        if table == "regions":
            gone = self._only_in_history("regions", REGION, [])
            return pl.concat([rows, gone.lazy()], how="diagonal")
        return rows

    @property
    def names(self) -> pl.DataFrame:
        """Which machines have prices, or had: see ``names_of``."""
        return names_of(self.now)

    @cached_property
    def _gone_types(self) -> pl.DataFrame:
        """Types with their accelerators; null where the history has no id of theirs."""
        counted = self._only_in_history(
            "instance_types", TYPE, ["accelerator_id", "accelerator_count"]
        )
        sheet = self.now.scan("accelerators").select("accelerator_id", accelerator_kind="kind")
        gone = counted.unique(TYPE, keep="first", maintain_order=True).lazy()
        rows = gone.join(sheet, on="accelerator_id", how="left", maintain_order="left")
        known = pl.col("accelerator_id").is_not_null()
        return rows.select(
            *TYPE,
            "accelerator_kind",
            "accelerator_count",
            accelerators=pl.when(known).then(pl.concat_list(_DEVICE)),
        ).collect()

    def _only_in_history(self, table: str, key: list[str], more: list[str]) -> pl.DataFrame:
        """Return the keys that the history has and the table has not, with more columns of it."""
        listed = self.now.scan(table).select(key).collect()
        rows = names_of(self.now).select(*key, *more).unique()
        return rows.join(listed, on=key, how="anti").sort(*key, *more, nulls_last=True)


def understand(
    names: ReleaseWords, text: str, usual: Search, **options: Unpack[PastOptions]
) -> Search:
    """Read which prices of the past are requested.

    Args:
        names: of ``PastTables``.
        text: a question in a few words, as ``request.request`` takes it; or the name of a machine
            type as a whole, though its words may mean other things: "NVIDIA L40S with AMD CPU".
        usual: what holds where neither words nor options say.
        options: those of ``PastOptions``; NOT_OF_THE_PAST have an error of their own.

    Raises:
        HwpricesError: a word or option is not understood (the line names near ones), or none of
            them says of which machines.
    """
    for name in NOT_OF_THE_PAST:
        if options.get(name):
            raise HwpricesError(
                f"a history has no option {name!r}", "Choose among the rows that it gives."
            )
    option_values.check_question(text)
    wanted = text.strip().casefold()
    named = frozenset(
        (machine.provider, machine.instance_type)
        for machine in names.machines
        if machine.instance_type.casefold() == wanted
    )
    search = request.request(names, "" if named else text, usual, **options)
    if named:
        of_name = replace(words.NOTHING_ASKED, machines=named)
        search = request.combine(of_name, search, (), names)
    if search.machines is None and not searching.asks_of_machines(search):
        raise HwpricesError(
            "no machine is requested", "Write a machine type or an accelerator: p5.48xlarge, h100."
        )
    return search


def of_history(tables: PastTables, search: Search) -> tuple[set[str], pl.LazyFrame]:
    """Select the rows of the price history that a search asks for; and name their machine types."""
    types = searching.types_of(tables, search) or set()  # ``understand`` refuses any
    rows = scan_types(tables.now, "price_history", types).filter(searching.of_prices(search))
    if not searching.asks_of_machines(search):
        return types, rows
    machines = searching.machine_types(tables).filter(searching.of_machines(search))
    return types, rows.join(machines.select(TYPE), on=TYPE, how="semi", maintain_order="left")
