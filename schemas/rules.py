"""The checks of complete rows. The column ``row_checks`` of tables.csv says which table has which.

Each function takes the rows of a table and returns one column: whether each row passes.
"""

import polars as pl

from hwprices.schemas.vocabulary import FLAGS, Vocabulary


def price_or_reason(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A row has either a price or the reason why there is none."""
    return rows.select(pl.col("effective_hourly").is_null() == pl.col("price_reason").is_not_null())


def on_demand_or_reason(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A row has either an on-demand price or the reason why there is none."""
    return rows.select(
        pl.col("on_demand_hourly").is_null() == pl.col("on_demand_reason").is_not_null()
    )


def flags_are_declared(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Every flag is in the vocabulary."""
    return rows.select(elements_declared("flags", FLAGS))


def elements_declared(name: str, values: Vocabulary) -> pl.Expr:
    """Check whether each element of a list column is declared.

    A null list passes here: the column's own check refuses it.
    """
    declared = pl.element().str.contains(values.regex()).fill_null(False)
    return pl.col(name).list.eval(declared).list.all().fill_null(True)


def no_sentinel(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A data set that others copied wrote 700 for "unknown"; no vendor lists that price."""
    return rows.select(~((pl.col("effective_hourly") == 700).fill_null(False)))


def one_currency(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Columns in USD are filled only where the region is priced in USD."""
    usd = [name for name in rows.collect_schema() if "usd" in name]
    return rows.select((pl.col("currency") == "USD") | pl.all_horizontal(pl.col(usd).is_null()))


def ends_after_it_begins(rows: pl.LazyFrame) -> pl.LazyFrame:
    """No interval is empty, and one that ended says why."""
    ended = pl.col("valid_to").is_not_null()
    return rows.select(
        (pl.col("valid_from") < pl.col("valid_to")).fill_null(True)
        & (ended == pl.col("end_reason").is_not_null())
        & (ended == (pl.col("state") == "ended"))
    )


def intervals_never_overlap(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Intervals of a price do not overlap; only the last may be open.

    Only prices with several intervals are sorted: most have one, and grouping all of them would
    take longer than all other checks.
    """
    following = pl.col("valid_from").shift(-1).over("price_id", order_by="valid_from")
    follows = following.is_null() | (pl.col("valid_to") <= following).fill_null(False)
    intervals = rows.select("price_id", "valid_from", "valid_to").with_row_index("row")
    is_several = pl.col("price_id").hash().is_duplicated()  # half the time of the texts
    several = intervals.filter(is_several).select("row", follows=follows)
    return (
        intervals.select("row")
        .join(several, on="row", how="left", maintain_order="left")
        .select(pl.col("follows").fill_null(True))
    )


def low_is_never_verified(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A row of low confidence is never marked as verified."""
    return rows.select(~(pl.col("verified") & (pl.col("confidence") == "low")))


def price_has_its_date_and_source(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A price has a currency, a kind, a source, and a date unless its source is undated."""
    described = pl.all_horizontal(
        pl.col("price_currency", "price_kind", "price_source").is_not_null()
    )
    undated = pl.col("price_source").str.contains("undated", literal=True)
    dated = pl.col("price_date").is_not_null() != undated
    return rows.select(pl.col("price").is_null() | (described & dated))


def grid_with_year_and_source(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A grid intensity, its year and its source are all given or all empty."""
    return _all_or_none(rows, "grid_gco2e_per_kwh", "grid_year", "grid_source")


def pue_with_year_and_source(rows: pl.LazyFrame) -> pl.LazyFrame:
    """A PUE, its year and its source are all given or all empty."""
    return _all_or_none(rows, "pue", "pue_year", "pue_source")


def _all_or_none(rows: pl.LazyFrame, *names: str) -> pl.LazyFrame:
    group = pl.col(names)
    return rows.select(pl.all_horizontal(group.is_null()) | pl.all_horizontal(group.is_not_null()))


def idle_draws_no_more_than_full_load(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The power at idle is at most the power at full load."""
    return rows.select(pl.col("min_watts") <= pl.col("max_watts"))


def derived_is_marked(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with a figure per accelerator, which is not MLPerf's, are marked."""
    computed = pl.any_horizontal(
        pl.col("per_accelerator", "per_accelerator_best", "accelerator_hours").is_not_null()
    )
    return rows.select(computed == pl.col("derived"))
