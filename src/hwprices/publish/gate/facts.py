"""Judge the tables beside prices, column by column, by what was published of the same rows."""

from collections.abc import Iterator, Mapping
from datetime import date

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import Releases, machines
from hwprices.publish.gate.prices import is_factor, is_leap, refuse
from hwprices.publish.gate.references import Reference
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES

IDENTITY: Mapping[str, tuple[str, ...]] = {
    "instance_types": ("arch", "cpu_vendor", "accelerators", "accelerator_kind", "bare_metal",
                       "burstable"),
    "regions": ("kind", "parent_region", "country", "continent"),
    "component_prices": ("unit", "per", "currency"),
}  # fmt: skip
"""Columns that a vendor does not change."""

SINGLE: Mapping[str, tuple[str, ...]] = {
    "instance_types": (
        *("vcpus", "physical_cores", "threads_per_core", "memory_gib", "accelerator_count"),
        *("accelerator_memory_gib", "local_disk_gib", "network_gbps_baseline", "network_gbps_max"),
    ),
    "regions": ("latitude", "longitude"),
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
}
"""Columns of which changes are held where they are many."""

TABLES_JUDGED = ("regions", "zones", "instance_types", "availability", "component_prices",
                 "spot_advice")  # fmt: skip

TOLERANCE: Mapping[str, tuple[float, float]] = {
    "hourly": (limits.SHARED_CUT, limits.SHARED_RISE),
    "price": (limits.SHARED_CUT, limits.SHARED_RISE),
    "latitude": limits.COORDINATES,
    "longitude": limits.COORDINATES,
}
"""Factor by which a single figure may change unseen; others may not."""

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


def skus(cells: pl.DataFrame, releases: Releases) -> pl.Series:
    """Return the SKUs whose price is held for good."""
    table = "component_prices"
    wrong = cells.filter(pl.col("reason").is_in(limits.LASTING), table=table)
    rows = releases.new.table(table).select("sku_id", row=row_of(table)).collect()
    return rows.join(wrong, on="row", how="semi")["sku_id"].unique()


def of_parts(wrong: pl.DataFrame) -> pl.DataFrame:
    """List the parts of prices that have not changed themselves."""
    cells = _lost_cells(_nowhere(wrong), "parts", pl.col("reference"))
    return cells.with_columns(table=pl.lit("price_components"), new_value=pl.lit("changed"))


def _nowhere(prices: pl.DataFrame) -> pl.DataFrame:
    """Name prices as ``row``; their parts have no region and machine type."""
    none = pl.lit(None, pl.String)
    return prices.with_columns(row="price_id", region=none, instance_type=none)


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
    both = old.with_columns(places).join(new, on="row", how="inner", suffix="_new")
    columns = [n for n in old.columns if f"{n}_new" in both.columns and n not in named]
    differs = both.select(pl.col(n).ne_missing(pl.col(f"{n}_new")).any() for n in columns)
    columns = [name for name in columns if differs[name].item()]
    cells = pl.concat(
        [pl.DataFrame(schema=FOUND), *(_column(table, n, both, releases) for n in columns)]
    )
    is_lasting = pl.col("reason").is_in(limits.LASTING).fill_null(False)
    depends = is_lasting.any().over("row") & ~is_lasting
    text = pl.lit("another figure of the row is held")
    yield cells.with_columns(
        reason=pl.when(depends).then(pl.lit("facts")).otherwise("reason"),
        reference=pl.when(depends).then(text).otherwise("reference"),
    ).filter(pl.col("reason").is_not_null())


OBSERVED = ("observed_at", "raw_sha256", "source_url", "effective_from")


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
    if table == "instance_types":
        priced = gone.join(releases.new.priced_types, on="instance_type", how="semi")
        yield _lost_cells(priced, "offered", pl.lit("it has prices still"))
    if "instance_type" in old.columns:
        before, now = (releases.old.priced_types, releases.new.priced_types)
        gone = gone.join(before.join(now, on="instance_type", how="anti"), on="instance_type",
                         how="anti")  # fmt: skip
    by = ["region"] if "region" in old.columns and table != "regions" else []
    if by:
        left = releases.new.table("regions").select("region").collect()
        closed = gone.join(left, on="region", how="anti")
        yield _lost_cells(closed, "closed", pl.lit("the region is gone"))
        gone = gone.join(left, on="region", how="semi")
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
        reason = "emptied" if part is counts else "closed"
        yield _lost_cells(worst, reason, pl.format("{} of {} rows are gone", "lost", "total"))


def _lost_cells(rows: pl.DataFrame, reason: str, reference: pl.Expr) -> pl.DataFrame:
    return rows.select(
        *("row", "region", "instance_type"),
        field=pl.lit("*"),
        published_value=pl.lit("listed"),
        new_value=pl.lit(None, pl.String),
        reason=pl.lit(reason),
        reference=reference,
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
    lost = gone.select("price_id").collect(engine="streaming")
    text = pl.lit(f"{total - now:,} of {total:,} rows are gone")
    if lost.height >= limits.FACTS_LEAST:
        yield _lost_cells(_nowhere(lost), "emptied", text).with_columns(table=pl.lit(table))


def _new_types(releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse new machine types whose figures are out of the range of their family or device."""
    old = machines(releases.old).collect()
    new = machines(releases.new).collect().join(old, on="instance_type", how="anti")
    rows = new.with_columns(
        price_id="instance_type",
        is_old=pl.lit(False),
        move=pl.lit(None, pl.Float64),
    )
    skus = (
        side.table("component_prices").with_columns(
            price_id=row_of("component_prices"), value=pl.col("hourly").cast(pl.Float64),
            move=pl.lit(None, pl.Float64),
        ).collect() for side in (releases.new, releases.old)
    )  # fmt: skip
    listed, before = skus
    added = listed.join(before, on="price_id", how="anti")
    kind = ("series", "component", "purchase_option", "term_months", "currency", "unit")
    regions = Reference("family", pl.col("value"), kind, "region", limits.REGION_RANGE, least=1)
    wrong = regions.refused(added, before)
    is_new = ~pl.col("region").is_in(before["region"].unique().implode())
    rest = _others(added, wrong, is_new, "region")
    yield _refused_rows("component_prices", pl.concat([wrong, rest]))
    devices, apart = pl.when(pl.col("devices") > 0).then("devices"), "instance_type"
    levels = (
        (pl.col("memory_gib") / pl.col("vcpus"), ("family",), limits.FAMILY_MEMORY),
        (devices / pl.col("vcpus"), ("family",), limits.FAMILY_DEVICES),
        (pl.col("accelerator_memory_gib") / devices, ("accelerator",), limits.DEVICE_MEMORY),
    )
    wrong = pl.concat(
        Reference("family", value, group, apart, allowed, least=1).refused(rows, old)
        for value, group, allowed in levels
    )
    rest = _others(rows, wrong, pl.lit(True), "is_old")
    yield _refused_rows("instance_types", pl.concat([wrong, rest])).with_columns(
        instance_type="row"
    )


def _others(added: pl.DataFrame, wrong: pl.DataFrame, where: pl.Expr, by: str) -> pl.DataFrame:
    """Refuse the other new rows of a group of which most are refused."""
    is_wrong = pl.col("price_id").is_in(wrong["price_id"].implode())
    most = (is_wrong.mean().over(by) > limits.BESIDE) & (
        is_wrong.sum().over(by) >= limits.BESIDE_ROWS
    )
    text = pl.lit("most rows that are new with it are held")
    return refuse(added, "family", most & where & ~is_wrong, text)


def _refused_rows(table: str, refused: pl.DataFrame) -> pl.DataFrame:
    """List new rows of a table that are refused; price_id is their key."""
    return refused.select(
        "reason",
        "reference",
        row="price_id",
        table=pl.lit(table),
        field=pl.lit("*"),
        new_value=pl.lit("new"),
        instance_type=pl.lit(None, pl.String),
    )


def _column(table: str, name: str, both: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Return the values of a column that changed, with the reason for which they are refused."""
    now = f"{name}_new"
    is_date = both.schema[name] == pl.Date
    if is_date:  # a type without a date goes on
        both = both.with_columns(pl.col(name, now).fill_null(date.max))
    differs = both.filter(pl.col(name).ne_missing(pl.col(now)))
    had = both[name].count()
    changed = differs.select((pl.col(name).is_not_null() & pl.col(now).is_not_null()).sum()).item()
    is_gone, is_filled = pl.col(now).is_null(), pl.col(name).is_null()
    lost = differs.filter(is_gone).height
    counts = pl.DataFrame({"lost": lost, "total": max(1, had)})
    is_emptied = counts.select(limits.too_many()).item()
    many = changed > limits.FACTS_CHANGED * had and changed >= limits.FACTS_LEAST
    single, identity = name in SINGLE.get(table, ()), name in IDENTITY.get(table, ())
    reason = pl.lit(None, pl.String)
    if identity or (many and name in COMMON.get(table, ())):
        reason = pl.when(~is_filled | many).then(pl.lit("facts"))
    elif is_date:
        far = pl.col(now) < releases.new.seen.date() - limits.PAST
        reason = pl.when(far).then(pl.lit("facts"))
    elif single:
        ratio = pl.col(now).cast(pl.Float64) / pl.col(name).cast(pl.Float64)
        wrong = is_factor(ratio, limits.FIGURE_FACTORS) & (
            (pl.len() >= limits.FACTS_LEAST) | is_leap(ratio)
        )
        reason = (
            pl.when(wrong).then(pl.lit("factor"))
            .when(pl.lit(many)).then(pl.lit("facts"))
            .when(ratio.is_between(*TOLERANCE.get(name, (1.0, 1.0)))).then(None)
            .when(is_leap(ratio)).then(pl.lit("facts"))
            .when(~is_filled).then(pl.lit("fact"))
        )  # fmt: skip
    reason = pl.when(is_gone).then(pl.lit("emptied") if is_emptied else None).otherwise(reason)
    count = pl.when(is_gone).then(pl.lit(f"{lost:,} of {had:,} values are gone")).otherwise(
        pl.lit(f"{changed:,} of {had:,} values changed")
    )  # fmt: skip
    return _cells(differs, name, reason, count)


def _cells(rows: pl.DataFrame, name: str, reason: pl.Expr, reference: pl.Expr) -> pl.DataFrame:
    cells = rows.with_columns(
        field=pl.lit(name),
        published_value=pl.col(name).cast(pl.String),
        new_value=pl.col(f"{name}_new").cast(pl.String),
        reason=reason,
        reference=reference,
    )
    return cells.select(*FOUND)
