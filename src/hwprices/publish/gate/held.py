"""List held rows, release those that come again, and publish the old rows in their place."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from hwprices.publish.gate import compare, facts
from hwprices.publish.gate.candidate import PRICES, Candidate, Releases
from hwprices.rows import frames
from hwprices.schemas.tables import TABLES, Held

FLAG = "held_back"
ALL = "*"  # the field of a row that is held with all its columns
PARTS_OF_PRICES = "price_components"
PARTS = 3  # types or families of one reason that are parts; more are a region's part
CELL = ["table", "row", "field"]


def price_rows(refused: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """List refused prices, one row for each reason: columns of facts.FOUND, family and seen."""
    return refused.join(rows, on="price_id", how="inner").select(
        *("region", "instance_type", "family", "reason", "reference"),
        table=pl.lit(PRICES),
        row="price_id",
        field=pl.lit(ALL),
        published_value=pl.when("is_old").then(compare.shown("old_")),
        new_value=pl.when("is_new").then(compare.shown()),
        seen=pl.when("is_new").then("observed_at"),
    )


def as_first_held(refused: pl.DataFrame, rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Give refused prices that come again unchanged the reason for which they were first held.

    They may now disagree with prices that moved with them and have been published since. A reason
    that does not depend on other prices stays.
    """
    known = before.filter(pl.col("reason").is_in(compare.RELEASED), table=PRICES)
    known = known.select("new_value", price_id="row", first="reason")
    again = rows.select("price_id", new_value=compare.shown()).join(
        known, on=["price_id", "new_value"]
    )
    joined = refused.join(again, on="price_id", how="left", maintain_order="left")
    first = pl.when(pl.col("reason").is_in((*compare.RELATIVE, *compare.RELEASED))).then("first")
    return joined.select("price_id", pl.coalesce(first, "reason").alias("reason"), "reference")


def with_past(found: pl.DataFrame, provider: str, before: pl.DataFrame) -> pl.DataFrame:
    """Make the table held from what was found and from the table ``before``.

    The first of several REASONS is listed. A value that was held before keeps its date, and is seen
    once more if the collection is newer.
    """
    order = pl.col("reason").cast(pl.Enum(compare.REASONS))
    found = found.sort(*CELL, order, maintain_order=True)
    found = found.unique(CELL, keep="first", maintain_order=True)
    names = {"was_since": "since", "was_seen": "last_seen", "was": "times_seen"}
    past = before.select(*CELL, "new_value", **names)
    joined = found.join(past, on=CELL, how="left", suffix="_before", maintain_order="left")
    value, before_value = pl.col("new_value"), pl.col("new_value_before")
    label, before_label = (text.str.split(" ").list.last() for text in (value, before_value))
    # a list in another currency follows its rate, which changes daily
    is_converted = (pl.col("reason") == "currency") & label.eq_missing(before_label)
    same = pl.col("was").is_not_null() & (value.eq_missing(before_value) | is_converted)
    newer = pl.col("seen") > pl.col("was_seen")
    rows = joined.with_columns(
        provider=pl.lit(provider),
        part=_part(),
        since=pl.when(same).then("was_since").otherwise("seen"),
        last_seen=pl.when(same & ~newer).then("was_seen").otherwise("seen"),
        times_seen=pl.when(same).then(pl.col("was") + newer.cast(pl.Int32)).otherwise(1),
    )
    return rows.select(*(pl.col(name).cast(dtype) for name, dtype in Held.dtypes.items()), "family")


def _part() -> pl.Expr:
    """Return the smallest part that covers the row: type, family, region or column."""
    family, table = pl.col("family").replace("", None), pl.col("table")
    types = pl.col("instance_type").n_unique().over("reason", "region")
    families = family.n_unique().over("reason", "region")
    of_family = pl.col("instance_type").n_unique().over("reason", "family")
    column = pl.when(pl.col("field") != ALL).then(pl.format("{}.{}", table, "field"))
    return (
        pl.when(table != PRICES).then(pl.coalesce(column, table))
        .when((types > PARTS) & (families > PARTS)).then("region")
        .when((of_family > PARTS) & family.is_not_null()).then("family")
        .otherwise("instance_type")
    )  # fmt: skip


def is_accepted(names: Collection[str]) -> pl.Expr:
    """Return whether a row is of an accepted part: a type, family, region, column or reason."""
    named = ("part", "instance_type", "family", "region", "table", "reason")
    parts = list(names)
    return pl.any_horizontal(
        pl.lit(ALL in parts), *(pl.col(name).is_in(parts).fill_null(False) for name in named)
    )


def is_released() -> pl.Expr:
    """Return whether a row came again unchanged often and long enough.

    The prices of a machine change their currency together, so that none is lost.
    """
    age = pl.col("last_seen") - pl.col("since")
    is_due = (
        pl.col("reason").is_in(compare.RELEASED)
        & (pl.col("times_seen") >= compare.RELEASED_AFTER)
        & (age >= timedelta(hours=compare.RELEASED_HOURS))
    )
    is_together = is_due.all().over("table", "region", "instance_type")
    return is_due & ((pl.col("reason") != "currency") | is_together)


def needed_by(kept: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """List the machines and regions, if they are gone, of published prices that are held.

    They have the columns of ``kept``, and the part, reason and dates of one of the prices.
    """
    prices = kept.filter(table=PRICES).drop_nulls("published_value")
    needed = [kept.clear()]
    tables = (("instance_types", "instance_type"), ("regions", "region"))
    for table, name in tables if prices.height else ():
        old, new = (side.table(table) for side in (releases.old, releases.new))
        gone = old.filter(compare.is_among(name, prices[name])).join(new, on=name, how="anti")
        rows = gone.select(name, row=facts.row_of(table)).collect()
        priced = prices.drop("row").unique(name, keep="first", maintain_order=True)
        texts = {"table": table, "field": ALL, "published_value": "listed", "new_value": None}
        texts["reference"] = "its prices are held"
        named = (compare.text(text).alias(column) for column, text in texts.items())
        needed.append(rows.join(priced, on=name).with_columns(*named).select(kept.columns))
    return pl.concat(needed)


@dataclass(frozen=True)
class Replacement:
    """The rows and values published ``before`` that replace what is ``held`` of one table.

    Both frames name rows in a column ``row``.
    """

    table: str
    held: pl.DataFrame
    before: pl.DataFrame

    def publish(self, new: pl.DataFrame) -> pl.DataFrame:
        """Return the rows to publish, sorted by key."""
        rows, values = self.held.filter(field=ALL), self.held.filter(pl.col("field") != ALL)
        made = new.with_columns(row=_row_of(self.table))
        made = made.filter(~compare.is_among("row", rows["row"]))
        for name in values["field"].unique():
            kept = self.before.join(values.filter(field=name), on="row", how="semi")
            made = made.update(kept.select("row", name), on="row", include_nulls=True)
        old = self.before.join(rows, on="row", how="semi")
        both = pl.concat([made.select(new.columns), old.select(new.columns)])
        frames.sort_in_place(both, TABLES[self.table].key)
        return both


def _row_of(table: str) -> pl.Expr:
    """Return the key of a row as the table held writes it. Parts go with their price."""
    return pl.col("price_id") if table in (PRICES, PARTS_OF_PRICES) else facts.row_of(table)


def replacements(old: Candidate, held: pl.DataFrame) -> dict[str, Replacement]:
    """Return the replacement for each table with held rows."""
    tables = {table: [table] for table in held["table"].unique().sort()}
    if PRICES in tables or PARTS_OF_PRICES in tables:
        tables[PARTS_OF_PRICES] = [PRICES, PARTS_OF_PRICES]
    made = {}
    for table, named in tables.items():
        wrong = held.filter(pl.col("table").is_in(named))
        rows = old.table(table).with_columns(row=_row_of(table))
        before = rows.join(wrong.lazy(), on="row", how="semi").collect(engine="streaming")
        if table == PRICES:
            flags = pl.col("flags").list.concat(pl.lit([FLAG])).list.unique().list.sort()
            before = before.with_columns(flags)
        made[table] = Replacement(table, wrong, before)
    return made
