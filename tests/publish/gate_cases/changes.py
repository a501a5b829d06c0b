"""A hundred mistakes, none of which may be published, and thirty genuine events, which all are.

A mistake is a page misread, a vendor's slip or a fault of ours. An event is what vendors do: it is
published, and holds nothing else back. Both are in ``tests/cases/gate``. A case has the change that
happens, or a list of changes, by the name of a function here:

    change: {scale: {factor: 0.1, rows: {instance_type: p5.*}}}

``rows`` selects rows by their columns; ``set`` has the new values, where a text that begins with =
is an expression in SQL.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from tests.helpers.cases import entries
from tests.publish import gate_cases
from tests.publish.gate_cases import (
    EVERY,
    MONEY,
    Case,
    Change,
    Tables,
    Value,
    drop,
    edit,
    expression,
    launch,
    one_in,
    reprice,
    scale,
    share_of,
    together,
    types,
    where,
)

SPOT = where(purchase_option="spot")


def rounded(places: int, rows: pl.Expr = EVERY) -> Change:
    """Prices that lost their decimals on the way; none is zero."""

    def shortened(column: str) -> pl.Expr:
        return pl.col(column).cast(pl.Float64).round(places).clip(10.0**-places)

    return edit("prices", rows, **{column: shortened(column) for column in MONEY})


def next_line(rows: pl.Expr = EVERY) -> Change:
    """Each price on the line of the machine that follows, the last one on the first."""

    def change(tables: Tables, _: int) -> Tables:
        prices = tables["prices"].sort("price_id")
        chosen = prices.filter(rows).sort("region", "instance_type", "price_id")
        money = [pl.concat([pl.col(c).tail(1), pl.col(c).head(pl.len() - 1)]) for c in MONEY]
        moved = chosen.with_columns(money)
        return {**tables, "prices": pl.concat([prices.filter(~rows.fill_null(False)), moved])}

    return change


def trade(table: str, first: str, second: str, rows: pl.Expr = EVERY) -> Change:
    """Two columns of a table, each with the values of the other."""
    return edit(table, rows, **{first: pl.col(second), second: pl.col(first)})


def accelerators(rows: pl.Expr, **fields: Value) -> Change:
    """Machines whose accelerators have other figures, in the list and in the columns beside it."""
    values = {name: expression(value) for name, value in fields.items()}
    changed = pl.col("accelerators").list.eval(pl.element().struct.with_fields(**values))
    return types(rows, accelerators=changed)


def devices(factor: float, rows: pl.Expr) -> Change:
    """Machines with so many times their accelerators."""
    count = accelerators(rows, count=pl.field("count") * factor)
    columns = ("accelerator_count", "accelerator_memory_gib")
    more = {name: pl.col(name) * factor for name in columns}
    return together(count, types(rows, **more))


def older(table: str, column: str, days: int, rows: pl.Expr = EVERY) -> Change:
    """A date of some rows that lies further back, or ahead if ``days`` is negative."""
    return edit(table, rows, **{column: pl.col(column) - timedelta(days=days)})


SPOT_KEY = ("region", "instance_type", "os", "software", "license_model", "tenancy", "currency")


def flagged_spot(tables: Tables, _: int) -> Tables:
    """Spot prices that are not below on-demand have the flag that says so, as when parsed."""
    prices = tables["prices"]
    is_on_demand = where(purchase_option="on_demand")
    on_demand = prices.filter(is_on_demand).select(*SPOT_KEY, limit="effective_hourly")
    pairs = prices.join(
        on_demand.unique(SPOT_KEY, keep="first", maintain_order=True),
        on=list(SPOT_KEY),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    rate = pl.col("effective_hourly")
    added = pl.when(rate > pl.col("limit")).then(pl.lit("spot_above_on_demand"))
    flag = added.otherwise(pl.lit("spot_equals_on_demand"))
    flags = pl.col("flags").list.set_union(pl.concat_list(flag))
    is_flagged = (SPOT & (rate >= pl.col("limit"))).fill_null(False)
    column = pl.when(is_flagged).then(flags).otherwise("flags").alias("flags")
    return {**tables, "prices": pairs.with_columns(column).drop("limit")}


def move_spot(rows: pl.Expr, low: float, high: float) -> Change:
    """Spot prices that each move by a factor between two bounds, by the digits of their ids."""
    share = pl.col("price_id").str.slice(4, 4).str.to_integer(base=16) / 65535
    factor = low + share * (high - low)

    def moved(column: str) -> pl.Expr:
        return (pl.col(column).cast(pl.Float64) * factor).round(6)

    return together(
        edit("prices", rows, hourly=moved("hourly"), effective_hourly=moved("effective_hourly")),
        flagged_spot,
    )


def new_sheet(factor: float, sheet: str, rows: pl.Expr = EVERY) -> Change:
    """A price sheet that was edited: other prices, another page, a newer date on every row."""
    digest = sheet.encode().hex().ljust(64, "0")[:64]
    newer = pl.lit(datetime(2026, 11, 22, tzinfo=UTC))
    return together(scale(factor, rows), edit("prices", raw_sha256=digest, effective_from=newer))


def reprice_series(rows: pl.Expr, factors: Mapping[str, float]) -> Change:
    """Reprice the SKUs of each series by a factor of its own."""
    return together(
        *(reprice(factor, rows & where(series=name)) for name, factor in factors.items())
    )


def of_one_page(rows: pl.Expr) -> Change:
    """Name the page of the first region as that of other prices."""
    first = {name: pl.col(name).sort_by("region").first() for name in ("source_url", "raw_sha256")}
    return edit("prices", rows, **first)


def on_table(table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Replace one table by a function of it."""
    return lambda tables, _: {**tables, table: change(tables[table])}


def new_device(of: str, **fields: Value) -> Change:
    """Launch a machine like another one, at its price, with another accelerator."""
    launched = launch(where(instance_type=of), ["prices", "instance_types"], instance_type="new")
    return together(launched, accelerators(where(instance_type="new"), **fields))


def new_size(like: str, factor: float) -> Change:
    """Launch a machine like another one, at so many times its price."""
    launched = launch(where(instance_type=like), ["prices", "instance_types"], instance_type="new")
    return together(launched, scale(factor, where(instance_type="new")))


DATE = pl.col("retirement_date")
DAY = pl.when(DATE.dt.day() <= 12).then(DATE.dt.day())

NOISE = 0.88 + pl.col("price_id").str.slice(6, 4).str.to_integer(base=16) / 65536 * 0.12
MOVED = pl.col("effective_hourly").cast(pl.Float64) * NOISE

NAMED: dict[str, Change] = {
    "flagged_spot": flagged_spot,
    # every spot price moves by up to 12 %, a tenth of the markets close
    "spot_by_the_hour": together(
        edit("prices", SPOT, hourly=MOVED, effective_hourly=MOVED), drop(SPOT & share_of(0.1))
    ),
    "swap_day_and_month": types(
        DATE.dt.day() < 12, retirement_date=pl.date(DATE.dt.year(), DAY, DATE.dt.month())
    ),
    "no_accelerators": types(
        where(instance_type="a3-*"),
        accelerators=pl.col("accelerators").list.head(0),
        accelerator_count=0,
    ),
    "every_second_offer": on_table("availability", lambda rows: rows.gather_every(2)),
    "without_boost": on_table("instance_types", lambda rows: rows.drop("boost_ghz")),
    # the ids stay those of the other currency
    "currency_without_id": on_table(
        "prices",
        lambda rows: rows.with_columns(
            currency=pl.when(region="us-east-1").then(pl.lit("CNY")).otherwise("currency")
        ),
    ),
}
"""Changes that a case names as they are."""


# -- reading ----------------------------------------------------------------------------------


def read_rows(columns: Mapping[str, Any]) -> pl.Expr:
    """Read which rows a change is of: by values of columns, see ``where``, and by SELECTIONS."""
    special = [SELECTIONS[name](value) for name, value in columns.items() if name in SELECTIONS]
    usual = {name: value for name, value in columns.items() if name not in SELECTIONS}
    return pl.all_horizontal(where(**usual), *special)


SELECTIONS: dict[str, Callable[[Any], pl.Expr]] = {
    "one_in": one_in,
    "share": share_of,
    "sql": pl.sql_expr,
    "not": lambda columns: ~read_rows(columns),
}


def read_value(value: Any) -> Value:
    """Read what a column becomes."""
    is_expression = isinstance(value, str) and value.startswith("=")
    return pl.sql_expr(value[1:]) if is_expression else value


def read_change(written: Any) -> Change:
    """Read a change, or several that are made one after the other."""
    if isinstance(written, list):
        return together(*map(read_change, written))
    if isinstance(written, str):
        return NAMED[written]
    [(name, given)] = written.items()
    function = globals().get(name) or getattr(gate_cases, name)
    if isinstance(given, list):  # of changes
        return function(*map(read_change, given))
    columns = {column: read_value(value) for column, value in given.get("set", {}).items()}
    arguments = {
        key: read_rows(value) if key in ("rows", "to", "other") else value
        for key, value in given.items()
        if key != "set"
    }
    return function(**arguments, **columns)


def read(name: str) -> dict[str, dict[str, Any]]:
    """Read the cases of ``tests/cases/gate/<name>.yaml``, with their changes."""
    cases = entries(f"gate/{name}")
    return {key: {**case, "change": read_change(case["change"])} for key, case in cases.items()}


MISTAKES = [Case(key, **case) for key, case in read("mistakes").items()]
EVENTS = [Case(key, **case) for key, case in read("events").items()]
