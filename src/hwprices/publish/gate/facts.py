"""Judge the tables beside prices, column by column, by what was published of the same rows."""

from collections.abc import Iterator, Mapping
from datetime import date

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import Releases, machines
from hwprices.publish.gate.prices import is_factor, out_of_range
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES

SINGLE: Mapping[str, tuple[str, ...]] = {
    "instance_types": (
        *("arch", "cpu_vendor", "vcpus", "physical_cores", "threads_per_core", "memory_gib"),
        *("accelerators", "accelerator_count", "accelerator_memory_gib", "accelerator_kind"),
        *("local_disk_gib", "network_gbps_baseline", "network_gbps_max", "bare_metal"),
        "burstable",
    ),
    "regions": ("kind", "parent_region", "country", "continent", "latitude", "longitude"),
    "component_prices": ("hourly", "price"),
}
"""Columns of which every single change is held until it has been seen three times."""

COMMON: Mapping[str, tuple[str, ...]] = {
    "instance_types": (
        "local_disk_count",
        "local_disk_kind",
        "boost_ghz",
        "vcpus_billed",
        "retirement_date",
    ),
    "availability": ("offered",),
    "component_prices": ("unit", "per"),
}
"""Columns of which changes are held where they are many."""

TABLES_JUDGED = ("regions", "zones", "instance_types", "availability", "component_prices",
                 "spot_advice")  # fmt: skip

TOLERANCE: Mapping[str, float] = {
    "memory_gib": 0.1,  # vendors round GiB and GB
    "accelerator_memory_gib": 0.1,
    "hourly": 0.5,
    "price": 0.5,
    "latitude": 0.02,
    "longitude": 0.02,
}
"""Relative change of a single figure that is published; that of others is held."""

FOUND = {"row": pl.String, "field": pl.String, "region": pl.String, "instance_type": pl.String,
         "published_value": pl.String, "new_value": pl.String, "reason": pl.String,
         "reference": pl.String}  # fmt: skip


def row_of(table: str) -> pl.Expr:
    """Write the key of a row, without the provider, as one text."""
    names = key(TABLES[table])
    return pl.concat_str(
        *(pl.col(name).cast(pl.String).fill_null("") for name in names if name != "provider"),
        separator=" ",
    )


def found(releases: Releases) -> pl.DataFrame:
    """Return the values of all tables but prices that are held: FOUND and table."""
    parts = [pl.DataFrame(schema={**FOUND, "table": pl.String})]
    parts += [*_parts_lost(releases), *_new_types(releases)]
    for table in TABLES_JUDGED:
        parts += [part.with_columns(table=pl.lit(table)) for part in _of(table, releases)]
    return pl.concat(parts, how="diagonal")


def _of(table: str, releases: Releases) -> Iterator[pl.DataFrame]:
    old, new = (_with_row(side.table(table), table) for side in (releases.old, releases.new))
    if old.is_empty() or old.equals(new, null_equal=True):
        return
    named = ("region", "instance_type")
    places = [pl.col(n) if n in old.columns else pl.lit(None, pl.String).alias(n) for n in named]
    gone = old.with_columns(places).join(new, on="row", how="anti")
    yield from _rows_lost(table, releases, old, gone)
    columns = [*SINGLE.get(table, ()), *COMMON.get(table, ())]
    columns = [name for name in TABLES[table].to_schema().columns if name not in OBSERVED
               and (name in columns or TABLES[table].to_schema().columns[name].nullable)
               and name in old.columns and name in new.columns]  # fmt: skip
    both = old.with_columns(places).join(new, on="row", how="inner", suffix="_new")
    for name in columns:
        yield from _column(table, name, both)


OBSERVED = ("observed_at", "raw_sha256", "source_url")


def _with_row(rows: pl.LazyFrame, table: str) -> pl.DataFrame:
    """Read a table with its key as ``row``; lists become texts, which can be compared."""
    lists = [name for name, dtype in rows.collect_schema().items() if dtype == pl.List]
    written = (
        pl.col(name).list.eval(_text(rows.collect_schema()[name])).list.join("+") for name in lists
    )
    return rows.select(pl.exclude(OBSERVED)).with_columns(*written, row=row_of(table)).collect()


def _text(dtype: pl.DataType) -> pl.Expr:
    """Write one element of a list; of accelerators what identifies a device, and how many."""
    if dtype == pl.List(pl.String):
        return pl.element()
    fields = (pl.element().struct.field(name) for name in ("accelerator_id", "count"))
    return pl.concat_str(*(field.cast(pl.String).fill_null("?") for field in fields), separator="×")


def _rows_lost(
    table: str, releases: Releases, old: pl.DataFrame, gone: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Refuse that a table, or its rows of a region, are gone in numbers.

    Rows of machine types that have no price left went with the type.
    """
    if "instance_type" in old.columns:
        before, now = (releases.old.priced_types, releases.new.priced_types)
        gone = gone.join(before.join(now, on="instance_type", how="anti"), on="instance_type",
                         how="anti")  # fmt: skip
    by = ["region"] if "region" in old.columns and table != "regions" else []
    counts = gone.with_columns(total=pl.lit(old.height), lost=pl.len())
    parts = [counts]
    if by:
        totals = old.group_by(by).agg(total=pl.len())
        parts.append(gone.join(totals, on=by).with_columns(lost=pl.len().over(by)))
    share = pl.col("lost") / pl.col("total")
    for part in parts:
        worst = part.filter(
            (share > limits.SPOT_LOST) if table == "spot_advice" else limits.too_many()
        )
        yield worst.select(
            "row",
            "region",
            "instance_type",
            field=pl.lit("*"),
            published_value=pl.lit("listed"),
            new_value=pl.lit(None, pl.String),
            reason=pl.lit("lost" if part is not counts else "emptied"),
            reference=pl.format("{} of {} rows are gone", "lost", "total"),
        )


def _parts_lost(releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse that composed prices lose their parts in numbers."""
    table = "price_components"
    old, new = (side.table(table).select("price_id") for side in (releases.old, releases.new))
    total, now = (side.select(pl.len()).collect().item() for side in (old, new))
    if now >= total * (1 - limits.LOST):
        return
    priced = releases.new.table(PRICES).filter(pl.col("basis") != "listed").select("price_id")
    gone = old.unique().join(new, on="price_id", how="anti").join(priced, on="price_id", how="semi")
    lost = gone.select(row="price_id").collect(engine="streaming")
    text = pl.lit(f"{total - now:,} of {total:,} rows are gone")
    if lost.height >= limits.FACTS_LEAST:
        none = pl.lit(None, pl.String)
        yield lost.with_columns(
            *(none.alias(name) for name in ("region", "instance_type", "new_value")),
            table=pl.lit(table),
            field=pl.lit("*"),
            published_value=pl.lit("listed"),
            reason=pl.lit("emptied"),
            reference=text,
        )


def _new_types(releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse new machine types whose figures are out of the range of their family or device."""
    old = machines(releases.old).collect()
    new = machines(releases.new).collect().join(old, on="instance_type", how="anti")
    rows = new.with_columns(
        price_id="instance_type",
        is_old=pl.lit(False),
        price=1.0,
        old_price=pl.lit(None, pl.Float64),
    )
    devices, apart = pl.when(pl.col("devices") > 0).then("devices"), "instance_type"
    levels = (
        (pl.col("memory_gib") / pl.col("vcpus"), ("family",), limits.FAMILY_MEMORY),
        (devices / pl.col("vcpus"), ("family",), limits.FAMILY_DEVICES),
        (pl.col("accelerator_memory_gib") / devices, ("accelerator",), limits.DEVICE_MEMORY),
    )
    for value, group, allowed in levels:
        refused = out_of_range(rows, "family", old, value, group, apart, allowed)
        yield refused.select(
            row="price_id",
            instance_type="price_id",
            table=pl.lit("instance_types"),
            field=pl.lit("*"),
            new_value=pl.lit("new"),
            reason="reason",
            reference="reference",
        )


def _column(table: str, name: str, both: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Refuse values of one column that changed, or that are gone in numbers."""
    now = f"{name}_new"
    if both.schema[name] == pl.Date:  # a type without a date goes on
        both = both.with_columns(pl.col(name, now).fill_null(date.max))
    had = both.filter(pl.col(name).is_not_null())
    changed = had.filter(pl.col(now).is_not_null() & pl.col(name).ne_missing(pl.col(now)))
    lost = had.filter(pl.col(now).is_null()).with_columns(
        total=pl.lit(had.height), lost=pl.len()
    ).filter(limits.too_many())  # fmt: skip
    yield _cells(lost, name, pl.lit("emptied"),
                 pl.format("{} of {} values are gone", "lost", "total"))  # fmt: skip
    single = name in SINGLE.get(table, ())
    if not changed.height or not (single or name in COMMON.get(table, ())):
        return
    share = changed.height / had.height
    many = share > limits.FACTS_CHANGED and changed.height >= limits.FACTS_LEAST
    reason = pl.lit("facts" if many else "fact")
    if both.schema[name].is_numeric():
        ratio = pl.col(now).cast(pl.Float64) / pl.col(name).cast(pl.Float64)
        reason = pl.when(is_factor(ratio)).then(pl.lit("factor")).otherwise(reason)
        if many is False:
            changed = changed.filter((ratio - 1).abs() > TOLERANCE.get(name, 0.0))
    if single or many:
        text = pl.lit(f"{changed.height:,} of {had.height:,} values changed")
        yield _cells(changed, name, reason, text)


def _cells(rows: pl.DataFrame, name: str, reason: pl.Expr, reference: pl.Expr) -> pl.DataFrame:
    return rows.select(
        "row",
        "region",
        "instance_type",
        field=pl.lit(name),
        published_value=pl.col(name).cast(pl.String),
        new_value=pl.col(f"{name}_new").cast(pl.String),
        reason=reason,
        reference=reference,
    )
