"""Mistakes and genuine events that the gate is measured by, as changes of a release's tables.

Their authors did not write the gate, and they name no check of it. The cases are in
``tests/cases/gate``, and ``changes`` reads them; this module has the changes that they are made of
and the comparison of tables that says which cells a change altered and which of them were
published.

They are applied to a release of any size: to the sample in the tests, to one of millions of rows
elsewhere. A case that alters no row of a release is refused there.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import polars as pl

from hwprices.rows.prices import price_id
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import TABLES
from hwprices.units import Money

Tables = dict[str, pl.DataFrame]
"""The tables of one provider by name."""

Change = Callable[[Tables, int], Tables]
"""What a collection has in place of these tables, on the nth day of the case (from 1)."""

Value = pl.Expr | str | float | bool | None
"""What a column becomes: an expression, or a value (text is a value, not a column)."""

MONEY = ("hourly", "upfront", "effective_hourly")

PLAN = ("purchase_option", "commitment_plan", "payment_option")
SAME = {
    "machine": ("region", "zone", "instance_type", "tenancy", "currency"),
    "system": ("os", "software", "license_model"),
    "plan": PLAN,
    "term": (*PLAN, "term_months"),
}
"""Columns of a price that have the same values in two prices, by what the two share."""

EVERY = pl.lit(True)

ROUNDING = 1e-12
"""A sum of parts that differs by less, as a share of it, is the same sum."""


@dataclass(frozen=True)
class Case:
    """Something that happened to one provider, and what a collection has after it.

    ``days`` is how many daily collections have it: a fault of a parser stays until somebody
    repairs it, and so does what a vendor really did. ``slack`` is for what creeps: on the last day
    a published price may be so far from the right one, as a share of it. ``tables`` names those of
    which the altered rows are wrong, if it is not so of all: a new type at a wrong price is a type.
    """

    id: str
    happened: str
    provider: str
    change: Change
    days: int = 3
    slack: float = 0.0
    tables: tuple[str, ...] = ()

    def apply(self, frames: Tables, day: int = 1) -> Tables:
        """Return the tables that are collected on a day; ``frames`` are those without the case."""
        return self.change(frames, day)

    def wrong(self, frames: Tables, after: Tables) -> pl.DataFrame:
        """List the ``differences`` of what is collected that are wrong, or an event's own."""
        names = self.tables or after.keys()
        return differences(frames, {**frames, **{name: after[name] for name in names}})


# -- comparison -------------------------------------------------------------------------------

CELLS = {"table": pl.String, "key": pl.String, "column": pl.String, "value": pl.String}


def differences(before: Tables, after: Tables) -> pl.DataFrame:
    """List the cells of ``after`` that are not as in ``before``: table, key, column, value as text.

    A row that is new or gone is one cell, of the column ``row``, which is ``new`` or ``gone``.
    """
    empty = pl.DataFrame(schema=CELLS)
    cells = [
        _differences(table, before.get(table), after.get(table))
        for table in sorted(before.keys() | after.keys())
        if before.get(table) is not after.get(table)
    ]
    return pl.concat([empty, *cells])


def _differences(
    table: str, before: pl.DataFrame | None, after: pl.DataFrame | None
) -> pl.DataFrame:
    known = before if before is not None else after
    before, after = (known.clear() if frame is None else frame for frame in (before, after))
    on = key_of(table)
    pairs = _side_by_side(before, after, on)
    is_pair = pl.all_horizontal(pl.col("is_old", "is_new").is_not_null())
    is_gone = pl.col("is_new").is_null()
    row = pl.when(is_gone).then(pl.lit("gone")).otherwise(pl.lit("new"))
    parts = [pairs.filter(~is_pair).select(_text_of(on), column=pl.lit("row"), value=row)]
    pairs = pairs.filter(is_pair)
    compared = [name for name in after.columns if name in before.columns and name not in on]
    differs = pairs.select(pl.col(c).ne_missing(pl.col(f"{c}_after")).any() for c in compared)
    for name in [c for c in compared if differs[c].item()]:
        value = pl.col(f"{name}_after")
        cells = pairs.filter(pl.col(name).ne_missing(value))
        parts.append(cells.select(_text_of(on), column=pl.lit(name), value=value))
        if after.schema[name].is_nested():
            values = [str(one) for one in parts[-1]["value"].to_list()]
            parts[-1] = parts[-1].with_columns(value=pl.Series(values, dtype=pl.String))
    cells = pl.concat([part.cast({"value": pl.String}) for part in parts])
    value = pl.col("value").fill_null("null")
    return cells.select(pl.lit(table).alias("table"), "key", "column", value)


def rows_that_differ(before: Tables, after: Tables) -> pl.DataFrame:
    """List the rows with such cells, without the cells: table and key."""
    parts = [pl.DataFrame(schema={"table": pl.String, "key": pl.String})]
    for table in sorted(before.keys() & after.keys()):
        if before[table] is after[table]:
            continue
        on = key_of(table)
        pairs = _side_by_side(before[table], after[table], on)
        columns = [c for c in after[table].columns if f"{c}_after" in pairs.columns and c not in on]
        differs = pl.any_horizontal(
            pl.col("is_old", "is_new").is_null(),
            *(pl.col(c).ne_missing(pl.col(f"{c}_after")) for c in columns),
        )
        parts.append(pairs.filter(differs).select(pl.lit(table).alias("table"), _text_of(on)))
    return pl.concat(parts)


def key_of(table: str) -> list[str]:
    """List the columns that name a row of a table."""
    return ["price_id"] if table == "prices" else TABLES[table].key


def _side_by_side(before: pl.DataFrame, after: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """Pair the rows of two frames: is_old, is_new are true or null, ``after`` has a suffix."""
    before, after = before.with_columns(is_old=True), after.with_columns(is_new=True)
    if before.select(on).equals(after.select(on)):  # a join of the same rows takes ten times longer
        shared = [name for name in after.columns if name in before.columns]
        return before.hstack(after.rename({name: f"{name}_after" for name in shared}))
    return before.join(after, on=on, how="full", suffix="_after", nulls_equal=True)


def _text_of(on: list[str]) -> pl.Expr:
    values = (pl.coalesce(name, f"{name}_after").cast(pl.String).fill_null("-") for name in on)
    return pl.concat_str(values, separator=" ").alias("key")


def advanced(frames: Tables, days: int) -> Tables:
    """Return the tables of an ordinary day some days later: everything was seen again."""
    later = (pl.col("observed_at") + timedelta(days=days)).alias("observed_at")
    return {name: frame.with_columns(later) for name, frame in frames.items()}


# -- selections -------------------------------------------------------------------------------


def where(**values: object) -> pl.Expr:
    """Select rows by their columns: a value, a list of values, or text in which * is any text."""
    return pl.all_horizontal(EVERY, *(_matches(name, value) for name, value in values.items()))


def _matches(name: str, value: object) -> pl.Expr:
    if isinstance(value, list):
        return pl.any_horizontal(_matches(name, one) for one in value)
    if isinstance(value, str) and "*" in value:
        pattern = ".*".join(re.escape(part) for part in value.split("*"))
        return pl.col(name).str.contains(f"^{pattern}$")
    return pl.col(name).is_null() if value is None else pl.col(name) == value


def one_in(count: int) -> pl.Expr:
    """Select a fixed share of the prices, scattered over all of them."""
    return pl.col("price_id").str.slice(0, 8).str.to_integer(base=16) % count == 0


def share_of(share: float) -> pl.Expr:
    """Select a fixed pseudo-random share of the prices."""
    return pl.col("price_id").str.slice(0, 6).str.to_integer(base=16) < int(share * 16**6)


# -- changes ----------------------------------------------------------------------------------


def together(*changes: Change) -> Change:
    """Make several changes, one after the other."""

    def change(tables: Tables, day: int) -> Tables:
        for one in changes:
            tables = one(tables, day)
        return tables

    return change


def edit(table: str, rows: pl.Expr = EVERY, **columns: Value) -> Change:
    """Set columns of some rows. Prices whose key changes get the id of the new key."""

    def change(tables: Tables, _: int) -> Tables:
        frame = tables[table]
        values = [
            pl.when(rows.fill_null(False))
            .then(expression(value).cast(frame.schema[name]))
            .otherwise(name)
            .alias(name)
            for name, value in columns.items()
        ]
        edited = frame.with_columns(values)
        if table == "prices" and columns.keys() & set(PRICE_KEY):
            edited = edited.with_columns(price_id()).unique("price_id", maintain_order=True)
        return {**tables, table: edited}

    return change


def expression(value: Value) -> pl.Expr:
    """Return the expression of a value."""
    return value if isinstance(value, pl.Expr) else pl.lit(value)


def scale(factor: float, rows: pl.Expr = EVERY, columns: Sequence[str] = MONEY) -> Change:
    """Multiply the money of some prices: all of its columns, or those that are named."""
    return edit("prices", rows, **{c: _times(c, factor) for c in columns})


def _times(column: str, factor: float) -> pl.Expr:
    return (pl.col(column) * Decimal(str(factor))).cast(Money)


def types(rows: pl.Expr = EVERY, **columns: Value) -> Change:
    """Set columns of some machine types."""
    return edit("instance_types", rows, **columns)


def saved(factor: float) -> Change:
    """Add savings plans at so many times the on-demand price."""
    usual = where(purchase_option="on_demand", os="linux", tenancy="shared")
    plan = {"purchase_option": "savings_plan", "commitment_plan": "compute"}
    terms = {"term_months": 12, "payment_option": "no_upfront"}
    added = launch(usual, ["prices"], **plan, **terms)
    return together(added, scale(factor, where(purchase_option="savings_plan")))


def drop(rows: pl.Expr = EVERY, tables: Sequence[str] = ("prices",)) -> Change:
    """Leave rows out of some tables."""

    def change(frames: Tables, _: int) -> Tables:
        return {**frames, **{name: _without(frames[name], rows) for name in tables}}

    return change


def _without(frame: pl.DataFrame, rows: pl.Expr) -> pl.DataFrame:
    is_lost = rows.fill_null(False).alias("is_lost")
    return frame.with_columns(is_lost).filter(~pl.col("is_lost")).drop("is_lost")


def creeping(percent: float, rows: pl.Expr = EVERY) -> Change:
    """Move the money of some prices by a percentage a day, compounded since the first day."""

    def change(tables: Tables, day: int) -> Tables:
        factor = (1 + Decimal(str(percent)) / 100) ** day
        return scale(float(round(factor, 9)), rows)(tables, day)

    return change


def by_figure(column: str, rows: pl.Expr = EVERY, *, divide: bool = False) -> Change:
    """Multiply or divide the money of some prices by a figure of their machine type."""

    def change(tables: Tables, day: int) -> Tables:
        figure = tables["instance_types"].select("instance_type", figure=pl.col(column))
        prices = tables["prices"].join(
            figure, on="instance_type", how="left", maintain_order="left"
        )
        number = 1 / pl.col("figure") if divide else pl.col("figure")
        money = {c: (pl.col(c).cast(pl.Float64) * number).cast(Money) for c in MONEY}
        edited = edit("prices", rows & pl.col("figure").is_not_null(), **money)
        return {**tables, "prices": edited({"prices": prices}, day)["prices"].drop("figure")}

    return change


def take(to: pl.Expr, other: pl.Expr, same: Sequence[str]) -> Change:
    """Put the money of other prices in the place of these, where the columns ``same`` agree.

    ``same`` are names of columns and of SAME.
    """
    on = [column for name in same for column in SAME.get(name, (name,))]

    def change(tables: Tables, _: int) -> Tables:
        prices = tables["prices"]
        donors = prices.filter(other, pl.col("effective_hourly").is_not_null())
        donors = donors.select(*on, *(pl.col(c).alias(f"{c}_other") for c in MONEY))
        donors = donors.unique(on, keep="first", maintain_order=True).with_columns(has=True)
        pairs = prices.join(donors, on=on, how="left", nulls_equal=True, maintain_order="left")
        taken = to & pl.col("has").is_not_null()
        money = [pl.when(taken).then(f"{c}_other").otherwise(c).alias(c) for c in MONEY]
        return {**tables, "prices": pairs.with_columns(money).select(prices.columns)}

    return change


def exchange(column: str, first: str, second: str, rows: pl.Expr = EVERY) -> Change:
    """Exchange the money of prices that differ in one column only: each has the other's."""
    on = [name for name in PRICE_KEY if name != column]
    both = pl.col(column).cast(pl.String).fill_null("")

    def change(tables: Tables, day: int) -> Tables:
        one, two = rows & (both == first), rows & (both == second)
        forth = take(one, two, on)(tables, day)["prices"]
        back = take(two, one, on)(tables, day)["prices"]
        prices = pl.concat([back.filter(two), forth.filter(~two)])
        return {**tables, "prices": prices}

    return change


def launch(rows: pl.Expr = EVERY, only: Sequence[str] = (), **columns: Value) -> Change:
    """Add copies of rows under another name, in every table that has the columns concerned.

    ``rows`` and ``columns`` say what is copied and what the copies have instead: a region under
    another name brings its prices, zones, offers and parts. ``only`` names the tables instead.
    """

    def change(tables: Tables, _: int) -> Tables:
        concerned = set(rows.meta.root_names())
        values = {name: expression(value) for name, value in columns.items()}
        added = dict(tables)
        for name, frame in tables.items():
            has = [c for c in values if c in frame.columns]
            if name == "price_components" or not concerned <= set(frame.columns) or not has:
                continue
            if only and name not in only:
                continue
            copies = frame.filter(rows).with_columns(
                values[c].cast(frame.schema[c]).alias(c) for c in has
            )
            if name == "prices":
                copies = copies.with_columns(old_id="price_id").with_columns(price_id())
                ids = copies.select(price_id="old_id", new_id="price_id")
                copies = copies.drop("old_id")
                if "price_components" in tables:
                    added["price_components"] = _parts(tables["price_components"], ids, values)
            added[name] = pl.concat([frame, copies])
        return added

    return change


def _parts(parts: pl.DataFrame, ids: pl.DataFrame, values: dict[str, pl.Expr]) -> pl.DataFrame:
    """Add the parts of copied prices under the ids of the copies."""
    copies = parts.join(ids, on="price_id").with_columns(price_id="new_id").select(parts.columns)
    has = ("region", "instance_type", "purchase_option", "currency", "sku_id")
    return pl.concat([parts, copies.with_columns(values[c].alias(c) for c in has if c in values)])


def name_again(old: str, new: str) -> Change:
    """Give all machine types another name; prices get the ids of the new ones."""

    def change(tables: Tables, _: int) -> Tables:
        name = pl.col("instance_type").str.replace(old, new, literal=True)
        has = (table for table in tables if "instance_type" in tables[table].columns)
        named = {table: tables[table].with_columns(name) for table in has}
        named["prices"] = named["prices"].with_columns(price_id())
        return {**tables, **named}

    return change


def reprice(factor: float, rows: pl.Expr) -> Change:
    """Multiply the prices of SKUs and of all machines that have them as a part.

    ``rows`` select component prices, of clouds that sell parts. The parts of each machine add up
    to its price before and after.
    """

    def change(tables: Tables, day: int) -> Tables:
        skus = tables["component_prices"].filter(rows)["sku_id"].unique()
        of_sku = pl.col("sku_id").is_in(skus.implode())
        parts = edit("price_components", of_sku, unit_price=_times("unit_price", factor))
        listed = edit("component_prices", rows, hourly=_times("hourly", factor))
        return summed_up(together(parts, listed)(tables, day), tables)

    return change


def repart(rows: pl.Expr, **columns: Value) -> Change:
    """Edit the parts of machines, and their prices with them."""

    def change(tables: Tables, day: int) -> Tables:
        return summed_up(edit("price_components", rows, **columns)(tables, day), tables)

    return change


def summed_up(after: Tables, before: Tables) -> Tables:
    """Make the price of each machine follow its parts where they have changed."""

    def total(tables: Tables) -> pl.LazyFrame:
        amount = pl.col("quantity").cast(pl.Float64) * pl.col("unit_price").cast(pl.Float64)
        return tables["price_components"].lazy().group_by("price_id").agg(total=amount.sum())

    ratio = pl.col("total") / pl.col("total_before")
    ratios = total(after).join(total(before), on="price_id", suffix="_before")
    ratios = ratios.select("price_id", ratio=ratio).collect()
    ratios = ratios.filter((pl.col("ratio") - 1).abs() > ROUNDING)
    prices = after["prices"].join(ratios, on="price_id", how="left", maintain_order="left")
    money = [
        pl.when(pl.col("ratio").is_not_null())
        .then((pl.col(c).cast(pl.Float64) * pl.col("ratio")).cast(Money))
        .otherwise(c)
        .alias(c)
        for c in ("hourly", "effective_hourly")
    ]
    return {**after, "prices": prices.with_columns(money).drop("ratio")}


def beside_licenses(*changes: Change) -> Change:
    """Change prices without a license, and those with one by the same amounts."""
    on = [name for name in PRICE_KEY if name not in ("os", "software", "license_model")]

    def change(tables: Tables, day: int) -> Tables:
        before, after = tables["prices"], together(*changes)(tables, day)["prices"]
        plain = before.filter(where(os="linux", software="none", license_model="included"))
        changed = plain.join(after.select("price_id", *MONEY), on="price_id", suffix="_after")
        less = changed.select(*on, *(pl.col(c) - pl.col(f"{c}_after") for c in MONEY))
        both = before.join(less, on=on, how="left", nulls_equal=True, suffix="_less",
                           maintain_order="left")  # fmt: skip
        money = ((pl.col(c) - pl.col(f"{c}_less").fill_null(0)).cast(Money) for c in MONEY)
        return {**tables, "prices": both.with_columns(*money).select(before.columns)}

    return change


def of_machines(*changes: Change) -> Change:
    """Change the prices of machines; those with a license are the machine's and the license's."""
    plain = [name for name in PRICE_KEY if name not in ("os", "software", "license_model")]

    def change(tables: Tables, day: int) -> Tables:
        after = together(*changes)(tables, day)
        prices, parts = after["prices"], after["price_components"]
        composed = prices.join(parts, on="price_id", how="semi")
        is_windows = (pl.col("software") != "none") & (pl.col("os") == "windows")
        runs = pl.when(is_windows).then(pl.lit("windows")).otherwise(pl.lit("linux"))
        machines = prices.join(composed, on="price_id", how="anti").filter(
            where(software="none", license_model="included")
        )
        costs = machines.select(*plain, runs="os", machine="hourly")
        # reservations of Windows are Linux's with a license
        machine = pl.concat(
            composed.with_columns(runs=one).join(costs, on=[*plain, "runs"], nulls_equal=True)
            for one in (runs, pl.lit("linux"))
        ).unique("price_id", keep="first", maintain_order=True)
        parts = parts.join(
            machine.select("price_id", "machine"), on="price_id", how="left", maintain_order="left"
        )
        rate = pl.when(component="instance").then(pl.coalesce("machine", "unit_price"))
        parts = parts.with_columns(rate.otherwise("unit_price").alias("unit_price"))
        cost = (pl.col("quantity") * pl.col("unit_price")).sum().cast(Money).alias("total")
        totals = parts.group_by("price_id").agg(cost)
        prices = prices.join(totals, on="price_id", how="left", maintain_order="left")
        money = [pl.coalesce("total", c).alias(c) for c in ("hourly", "effective_hourly")]
        prices = prices.with_columns(money).drop("total")
        return {**after, "prices": prices, "price_components": parts.drop("machine")}

    return change
