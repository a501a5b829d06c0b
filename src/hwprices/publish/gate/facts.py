"""Judge the tables beside prices, column by column, by what was published of the same rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import polars as pl

from hwprices.publish.gate import compare
from hwprices.publish.gate.candidate import PRICES, Releases, machines
from hwprices.publish.gate.compare import Spread, Text
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES

SAME, COMMON, MARKET = "same", "common", "market"


@dataclass(frozen=True)
class Band:
    """How far a figure may move, how many of a column may change, and the factors of a mistake."""

    least: float
    most: float
    share: float = compare.FACTS_CHANGED
    factors: tuple[float, ...] = compare.FIGURE_FACTORS


COLUMNS: Mapping[str, Mapping[str, str | Band]] = {
    "instance_types": {
        **dict.fromkeys(("arch", "cpu_vendor", "accelerators", "accelerator_kind", "bare_metal",
                         "burstable"), SAME),
        **dict.fromkeys(("vcpus", "physical_cores", "threads_per_core", "memory_gib",
                         "accelerator_count", "accelerator_memory_gib", "local_disk_gib",
                         "network_gbps_baseline", "network_gbps_max"), Band(1.0, 1.0)),
        **dict.fromkeys(("local_disk_count", "local_disk_kind", "boost_ghz", "vcpus_billed",
                         "retirement_date"), COMMON),
    },
    "regions": {
        **dict.fromkeys(("kind", "parent_region", "country", "continent"), SAME),
        **dict.fromkeys(("latitude", "longitude"), Band(0.98, 1.02)),  # 2 % of 50° are 110 km
    },
    "component_prices": {
        **dict.fromkeys(("unit", "per", "currency"), SAME),
        # Google changes most spot prices once a month, many by 5 %, as if MB were read as MiB
        **dict.fromkeys(("hourly", "price"), Band(compare.SHARED_CUT, compare.SHARED_RISE,
                                                  compare.COMMON_SHARE, compare.FACTORS)),
    },
    "availability": dict.fromkeys(("offered", "restricted"), COMMON),
    "spot_advice": {"saving_percent": MARKET},
}  # fmt: skip
"""How columns are judged: a vendor does not change them (SAME), or not many of their values on one
day (COMMON), or not many by a leap (MARKET), or every change beyond a Band is held until it has
been seen three times."""

TABLES_JUDGED = ("regions", "zones", "instance_types", "availability", "component_prices",
                 "spot_advice")  # fmt: skip

FOUND = dict.fromkeys(("row", "field", "region", "instance_type", "published_value", "new_value",
                       "reason", "reference", "table"), pl.String)  # fmt: skip

# 99.9 % of 3,714, 91 % of 216 and all of 221 are inside; Azure sells sizes with a quarter of the
# vCPUs
FAMILY = (
    Spread("family", pl.col("memory_gib") / pl.col("vcpus"), ("family",), "instance_type",
           (0.5, 4.1), least=1),
    Spread("family", pl.when(pl.col("devices") > 0).then("devices") / pl.col("vcpus"), ("family",),
           "instance_type", (0.6, 1.7), least=1),
    Spread("family", pl.col("accelerator_memory_gib") / pl.col("devices"), ("accelerator",),
           "instance_type", (0.9, 1.1), least=1),
)  # fmt: skip
"""What the figures of a new machine type are compared with."""

# as plain prices between regions
SKUS = Spread("family", pl.col("hourly").cast(pl.Float64),
              ("series", "component", "purchase_option", "term_months", "currency", "unit"),
              "region", (0.7, 1.4), least=1)  # fmt: skip


def row_of(table: str) -> pl.Expr:
    """Write the key of a row, without the provider, as one text."""
    names = (name for name in key(TABLES[table]) if name != "provider")
    return pl.concat_str((pl.col(n).cast(pl.String).fill_null("") for n in names), separator=" ")


def cells(
    table: str,
    rows: pl.DataFrame,
    reason: Text,
    reference: Text,
    field: str = "*",
    **values: pl.Expr | str | None,
) -> pl.DataFrame:
    """List values of rows that are held, with columns of FOUND.

    By default it is a row that was published and is gone. Without a reason nothing is held.
    """
    texts = {"published_value": "listed", "new_value": None, **values}
    words = {"reason": reason, "reference": reference, **texts}
    return rows.select(
        *(name for name in ("row", "region", "instance_type") if name in rows.columns),
        *(compare.text(value).alias(name) for name, value in words.items()),
        field=pl.lit(field),
        table=pl.lit(table),
    )


def skus(found: pl.DataFrame, releases: Releases) -> pl.Series:
    """Return the SKUs whose price is held for good."""
    table = "component_prices"
    wrong = found.filter(pl.col("reason").is_in(compare.LASTING), table=table)
    rows = releases.new.table(table).filter(row_of(table).is_in(wrong["row"].implode()))
    return rows.select("sku_id").collect()["sku_id"]


def found(releases: Releases) -> pl.DataFrame:
    """Return the values of all tables but prices that are held: FOUND."""
    parts = [pl.DataFrame(schema=FOUND), *_parts_lost(releases), *_new(releases)]
    for table in TABLES_JUDGED:
        parts += _of(table, releases)
    return pl.concat(parts, how="diagonal")


OBSERVED = ("observed_at", "raw_sha256", "source_url", "effective_from")


def _of(table: str, releases: Releases) -> Iterator[pl.DataFrame]:
    old, new = (_comparable(side.table(table)) for side in (releases.old, releases.new))
    if old.is_empty() or old.equals(new):
        return
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
    """Read a table but for when it was seen; lists become texts, which can be compared."""
    lists = {name: dtype for name, dtype in rows.collect_schema().items() if dtype == pl.List}
    written = (pl.col(name).list.eval(_text(dtype)).list.join("+") for name, dtype in lists.items())
    return rows.select(pl.exclude(OBSERVED)).with_columns(*written).collect()


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
    """Refuse that composed prices lose their parts in numbers."""
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


def _new(releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse new machine types and SKUs whose figures are out of the range of their siblings.

    In a new region, the other SKUs are refused too if most are.
    """
    for table, rules in (("instance_types", FAMILY), ("component_prices", (SKUS,))):
        is_machine = table == "instance_types"
        new, old = (
            (machines(side) if is_machine else side.table(table).with_columns(row=row_of(table)))
            .with_columns(price_id="instance_type" if is_machine else "row")
            .collect()
            for side in (releases.new, releases.old)
        )
        added = new.join(old, on="price_id", how="anti")
        if added.is_empty():
            continue
        added = added.with_columns(is_old=pl.lit(False), move=pl.lit(None, pl.Float64))
        refused = pl.concat(rule.refused(added, old) for rule in rules)
        is_wrong = compare.is_among("price_id", refused["price_id"])
        if is_machine:
            others = compare.most(is_wrong, "is_old")
        else:
            others = compare.most(is_wrong, "region") & ~compare.is_among("region", old["region"])
        text = "most rows that are new with it are held"
        refused = pl.concat([refused, compare.refuse(added, "family", others & ~is_wrong, text)])
        rows = refused.rename({"price_id": "row"})
        if is_machine:
            rows = rows.with_columns(instance_type="row")
        reason, reference = pl.col("reason"), pl.col("reference")
        yield cells(table, rows, reason, reference, published_value=None, new_value="new")


def _column(table: str, name: str, both: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Return the values of a column that changed, with the reason for which they are refused."""
    old, new = pl.col(name), pl.col(f"{name}_new")
    is_date = both.schema[name] == pl.Date
    if is_date:  # a type without a date goes on
        both = both.with_columns(pl.col(name, f"{name}_new").fill_null(date.max))
    differs = both.filter(old.ne_missing(new))
    is_gone, is_filled = new.is_null(), old.is_null()
    had = both[name].count()
    lost, changed = differs.select(is_gone.sum(), changed=(~is_gone & ~is_filled).sum()).row(0)
    counts = pl.DataFrame({"lost": lost, "total": max(1, had)})
    is_emptied = counts.select(compare.too_many()).item()
    rule = COLUMNS.get(table, {}).get(name)
    if rule == MARKET:
        changed = differs.filter(compare.is_leap(new / old)).height
    share = rule.share if isinstance(rule, Band) else compare.FACTS_CHANGED
    many = changed > share * had and changed >= compare.FACTS_LEAST
    reason = pl.lit(None, pl.String)
    facts, text = pl.lit("facts"), f"{changed:,} of {had:,} values changed"
    if rule == SAME or (many and rule in (COMMON, MARKET)):
        reason = pl.when(~is_filled | many).then(facts)
    elif is_date:
        seen = releases.new.seen or releases.now
        reason = pl.when(new < seen.date() - compare.PAST).then(facts)
    elif isinstance(rule, Band):
        ratio = new.cast(pl.Float64) / old.cast(pl.Float64)
        wrong = compare.is_factor(ratio, rule.factors) & (
            (pl.len() >= compare.FACTS_LEAST) | compare.is_leap(ratio)
        )
        reason = (
            pl.when(wrong).then(pl.lit("factor"))
            .when(many).then(facts)
            .when(ratio.is_between(rule.least, rule.most)).then(None)
            .when(compare.is_leap(ratio)).then(facts)
            .when(~is_filled).then(pl.lit("fact"))
        )  # fmt: skip
    gone = pl.lit("emptied") if is_emptied else None
    gone_text = pl.lit(f"{lost:,} of {had:,} values are gone")
    return cells(
        table,
        differs,
        pl.when(is_gone).then(gone).otherwise(reason),
        pl.when(is_gone).then(gone_text).otherwise(pl.lit(text)),
        name,
        published_value=old.cast(pl.String),
        new_value=new.cast(pl.String),
    )
