"""Judge the tables beside prices, column by column, by what was published of the same rows."""

from collections.abc import Iterator, Sequence
from datetime import date
from math import log
from pathlib import Path

import polars as pl

from hwprices.publish.gate import compare
from hwprices.publish.gate.candidate import PRICES, Releases, machines
from hwprices.publish.gate.compare import Spread, Text, is_among
from hwprices.schemas.tables import TABLES
from hwprices.specs import csv_rows

RULES = {
    (row["table"], row["column"]): row for row in csv_rows(Path(__file__).with_name("facts.csv"))
}
"""How a column is judged. A vendor does not change it (same), does not change many values in a day
(common), or not many by a leap (market); or what is outside of least and most is held (within).
``changed`` is the share of the column that may change, by default FACTS_CHANGED."""

FOUND = dict.fromkeys(("row", "field", "region", "instance_type", "published_value", "new_value",
                       "reason", "reference", "table"), pl.String)  # fmt: skip


def row_of(table: str) -> pl.Expr:
    """Write the key of a row without the provider."""
    names = (name for name in TABLES[table].key if name != "provider")
    return pl.concat_str((pl.col(n).cast(pl.String).fill_null("") for n in names), separator=" ")


def cells(
    table: str,
    rows: pl.DataFrame,
    reason: Text,
    reference: Text,
    field: str = "*",
    **values: pl.Expr | str | None,
) -> pl.DataFrame:
    """List held values: columns of FOUND. By default, rows that were published and are gone."""
    texts = {"published_value": "listed", "new_value": None, **values}
    words = {"reason": reason, "reference": reference, **texts}
    return rows.select(
        *(name for name in ("row", "region", "instance_type") if name in rows.columns),
        *(compare.text(value).alias(name) for name, value in words.items()),
        field=pl.lit(field),
        table=pl.lit(table),
    )


def skus(found: pl.DataFrame, releases: Releases) -> pl.Series:
    """Return the SKUs whose price is refused for good."""
    table = "component_prices"
    wrong = found.filter(pl.col("reason").is_in(compare.LASTING), table=table)
    rows = releases.new.table(table).filter(row_of(table).is_in(wrong["row"].implode()))
    return rows.select("sku_id").collect()["sku_id"]


def found(releases: Releases) -> pl.DataFrame:
    """Return what is refused in tables other than prices: columns of FOUND."""
    parts = [pl.DataFrame(schema=FOUND), *_parts_lost(releases)]
    for table in ("zones", *dict.fromkeys(table for table, _ in RULES)):
        parts += _of(table, releases)
    return pl.concat(parts, how="diagonal")


OBSERVED = ("observed_at", "raw_sha256", "source_url", "effective_from")


def _of(table: str, releases: Releases) -> Iterator[pl.DataFrame]:
    old, new = (_comparable(side.table(table)) for side in (releases.old, releases.new))
    if old.is_empty() or old.equals(new):
        return
    if rules := compare.spreads(table):
        yield _new(table, rules, releases)
    old, new = (side.with_columns(row=row_of(table)) for side in (old, new))
    yield from _rows_lost(table, releases, old, old.join(new, on="row", how="anti"))
    both = old.join(new, on="row", how="inner", suffix="_new")
    columns = [n for n in old.columns if f"{n}_new" in both.columns]
    differs = both.select(pl.col(n).ne_missing(pl.col(f"{n}_new")).any() for n in columns)
    rows = [_column(table, n, both, releases) for n in columns if differs[n].item()]
    held = pl.concat([pl.DataFrame(schema=FOUND), *rows], how="diagonal")
    is_lasting = pl.col("reason").is_in(compare.LASTING).fill_null(False)
    depends = is_lasting.any().over("row") & ~is_lasting
    texts = {"reason": "facts", "reference": "another figure of the row is held"}
    yield held.with_columns(
        pl.when(depends).then(pl.lit(text)).otherwise(name).alias(name)
        for name, text in texts.items()
    ).filter(pl.col("reason").is_not_null())


def _comparable(rows: pl.LazyFrame) -> pl.DataFrame:
    """Read the columns to compare. Lists become texts."""
    lists = {name: dtype for name, dtype in rows.collect_schema().items() if dtype == pl.List}
    written = (pl.col(name).list.eval(_text(dtype)).list.join("+") for name, dtype in lists.items())
    return rows.select(pl.exclude(OBSERVED)).with_columns(*written).collect()


def _text(dtype: pl.DataType) -> pl.Expr:
    """Write one element of a list: a text, or an accelerator."""
    if dtype == pl.List(pl.String):
        return pl.element()
    fields = (pl.element().struct.field(name) for name in ("accelerator_id", "count"))
    return pl.concat_str(*(field.cast(pl.String).fill_null("?") for field in fields), separator="×")


def _rows_lost(
    table: str, releases: Releases, old: pl.DataFrame, gone: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Refuse to lose many rows of a table or region, except those of retired types."""
    before, now = releases.old.priced_types, releases.new.priced_types
    if table == "instance_types":
        priced = gone.join(now, on="instance_type", how="semi")
        yield cells(table, priced, "offered", "it has prices still")
    if "instance_type" in old.columns:
        retired = before.join(now, on="instance_type", how="anti")
        gone = gone.join(retired, on="instance_type", how="anti")
    if "region" in old.columns and table != "regions":
        left = releases.new.table("regions").select("region").collect()
        closed = gone.join(left, on="region", how="anti")
        yield cells(table, closed, "closed", "the region is gone")
        gone = gone.join(left, on="region", how="semi")
    share = pl.col("lost") / pl.col("total")
    broken = share > compare.SPOT_LOST if table == "spot_advice" else compare.too_many()
    text = pl.format("{} of {} rows are gone", "lost", "total")
    for reason, by in (("emptied", "provider"), ("closed", "region")):
        if by in gone.columns:
            lost = compare.with_total(gone, old.with_columns(total=1), [by])
            lost = lost.with_columns(lost=pl.len().over(by)).filter(broken)
            yield cells(table, lost, reason, text)


def _parts_lost(releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse to lose the parts of many composed prices."""
    table = "price_components"
    old, new = (side.table(table).select("price_id") for side in (releases.old, releases.new))
    total, now = (side.select(pl.len()).collect().item() for side in (old, new))
    if now >= total * (1 - compare.LOST):
        return
    priced = releases.new.table(PRICES).filter(pl.col("basis") != "listed").select("price_id")
    gone = old.unique().join(new, on="price_id", how="anti").join(priced, on="price_id", how="semi")
    lost = gone.select(row="price_id").collect(engine="streaming")
    if lost.height >= compare.FACTS_LEAST:
        yield cells(table, lost, "emptied", f"{total - now:,} of {total:,} rows are gone")


def _new(table: str, rules: Sequence[Spread], releases: Releases) -> pl.DataFrame:
    """Refuse new machine types or SKUs whose figures fall outside their siblings' range.

    If most rows of a new region are refused, or most new types, all are.
    """
    is_machine = table == "instance_types"
    new, old = (
        (machines(side) if is_machine else side.table(table))
        .with_columns(price_id="instance_type" if is_machine else row_of(table))
        .collect()
        for side in (releases.new, releases.old)
    )
    added = new.join(old, on="price_id", how="anti")
    added = added.with_columns(is_old=pl.lit(False), move=pl.lit(None, pl.Float64))
    refused = pl.concat(rule.refused(added, old) for rule in rules)
    is_wrong = is_among("price_id", refused["price_id"])
    others = compare.most(is_wrong, "is_old" if is_machine else "region")
    if not is_machine:
        others &= ~is_among("region", old["region"])
    text = "most rows that are new with it are held"
    refused = pl.concat([refused, compare.refuse(added, "family", others & ~is_wrong, text)])
    rows = refused.rename({"price_id": "row"})
    if is_machine:
        rows = rows.with_columns(instance_type="row")
    reference = pl.col("reference")
    return cells(table, rows, "family", reference, published_value=None, new_value="new")


def _column(table: str, name: str, both: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Return the values of a column that changed, each with a reason if it is refused."""
    old, new = pl.col(name), pl.col(f"{name}_new")
    is_date = both.schema[name] == pl.Date
    if is_date:  # no date: the type is not retired
        both = both.with_columns(pl.col(name, f"{name}_new").fill_null(date.max))
    differs = both.filter(old.ne_missing(new))
    is_gone, is_filled = new.is_null(), old.is_null()
    had = both[name].count()
    lost, changed = differs.select(is_gone.sum(), changed=(~is_gone & ~is_filled).sum()).row(0)
    is_emptied = differs.select(compare.too_many(pl.lit(lost), pl.lit(max(1, had)))).item()
    rule = RULES.get((table, name), {})
    kind = rule.get("rule")
    if kind == "market":
        changed = differs.filter(compare.is_leap(new / old)).height
    share = float(rule.get("changed") or compare.FACTS_CHANGED)
    many = changed > share * had and changed >= compare.FACTS_LEAST
    reason = pl.lit(None, pl.String)
    facts, text = pl.lit("facts"), f"{changed:,} of {had:,} values changed"
    if is_date:  # a vendor may announce or postpone many
        seen = releases.new.seen or releases.now
        is_earlier = (new < old) & (old != date.max)
        is_swapped = new.dt.to_string("%Y-%d-%m") == old.dt.to_string("%Y-%m-%d")
        is_past = new < seen.date() - compare.PAST
        are_swapped = is_swapped & (is_swapped.sum() >= compare.FACTS_LEAST)
        is_wrong = is_past | are_swapped | (many & (is_earlier.any() | (new == date.max)))
        reason = pl.when(is_wrong).then(facts).when(many | is_swapped).then(pl.lit("fact"))
    elif kind == "same" or (many and kind in ("common", "market")):
        reason = pl.when(~is_filled | many).then(facts)
    elif kind == "within":
        ratio = new.cast(pl.Float64) / old.cast(pl.Float64)
        is_unit = pl.any_horizontal(
            (ratio.log().abs() - log(unit)).abs() < compare.BINARY_TOLERANCE
            for unit in compare.BINARY_UNITS
        ) & (pl.len() >= compare.FACTS_LEAST)
        is_within = ratio.is_between(float(rule["least"]), float(rule["most"]))
        reason = (
            pl.when(is_within & (not many)).then(None)
            .when(many | is_unit | compare.is_leap(ratio)).then(facts)
            .when(~is_filled).then(pl.lit("fact"))
        )  # fmt: skip
    gone, gone_text = pl.lit("emptied" if is_emptied else None), f"{lost:,} of {had:,} are gone"
    return cells(
        table,
        differs,
        pl.when(is_gone).then(gone).otherwise(reason),
        pl.when(is_gone).then(pl.lit(gone_text)).otherwise(pl.lit(text)),
        name,
        published_value=old.cast(pl.String),
        new_value=new.cast(pl.String),
    )
