"""Split rows into those that fit their table and those that do not, and judge the refused ones.

Refused rows with a ``word`` are new from the vendor: they are published in the table new_words, and
do not stop a provider, unless most of what it had is gone with them. What was refused for the same
reason before does not count again.
"""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

import pandera.polars as pa
import polars as pl

from hwprices.errors import HwpricesError, HwpricesWarning
from hwprices.release.manifest import TableFile
from hwprices.rows import frames, prices
from hwprices.schemas import columns
from hwprices.schemas.columns import Table, table_name
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.schemas.tables import TABLES
from hwprices.storage.store import Store, scan_options
from hwprices.units import Timestamp


def sort_by_key(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """Sort by the table's key, so that two builds of the same rows are byte-identical.

    Nulls come first, texts by their bytes, rows with one key in the order they had.
    """
    ordered = frame.clone()
    frames.sort_in_place(ordered, columns.key(model))
    return ordered


@dataclass(frozen=True)
class Split:
    """Every input row is in exactly one of the two. ``refused`` has the quarantine's columns."""

    good: pl.DataFrame
    refused: pl.DataFrame


def split(frame: pl.DataFrame, model: type[Table], sources: Mapping[str, str]) -> Split:
    """Check rows against the table's model and key; ``good`` comes back sorted by key.

    ``frame`` itself is sorted: a region of AWS has a million rows, of which only one copy is in
    memory. ``sources`` maps raw_sha256 to the URL of that page, for tables without source_url.

    Raises:
        HwpricesError: the frame's columns or dtypes are not the table's: a mistake in a normaliser,
            not in a row.
    """
    failed = failed_checks(frame, model)
    index = frames.sort_in_place(frame, columns.key(model))
    ordered = frame.clone().insert_column(0, index)
    new = failed.filter(pl.col("word").is_not_null())["index"].unique()
    hidden, duplicates = _hidden_characters(ordered), _duplicate_keys(ordered, model, new)
    reasons = pl.concat([failed, hidden, duplicates], how="diagonal")
    if reasons.is_empty():
        return Split(ordered.drop("index"), frames.empty(Quarantine))
    by_row = reasons.group_by("index").agg(
        # a row with a new value is new, whatever else is wrong with it
        pl.col("reason", "word").sort_by(pl.col("word").is_null(), "reason", "word").first(),
        pl.col("message").sort().str.join("; "),
    )
    is_refused = pl.col("index").is_in(by_row["index"].implode())
    good = ordered.filter(~is_refused).drop("index")
    refused = ordered.filter(is_refused).join(by_row, on="index").sort("index")
    return Split(good, _quarantine_rows(refused, model, sources))


def check(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """Check a frame that the project itself makes (offers, spec sheets), and sort it by key.

    Raises:
        HwpricesError: a row fails; names the table, the check and the first row.
    """
    outcome = split(frame.clone(), model, {})
    if outcome.refused.height:
        first = outcome.refused.row(0, named=True)
        raise HwpricesError(
            f"{table_name(model)}: {outcome.refused.height} rows fail, the first by"
            f" {first['reason']}: {first['message']}",
            f"The row is {first['row'][:300]}",
        )
    return outcome.good


def failed_checks(frame: pl.DataFrame, model: type[Table]) -> pl.DataFrame:
    """List index, reason, message and word of each failed check of each row.

    ``word`` is the value that a closed list of values or a vocabulary does not have: it is new from
    the vendor. It is null for all other checks.

    Raises:
        HwpricesError: the frame's columns or dtypes are not the table's.
    """
    if columns.fits(frame, model):
        return _no_reasons()
    try:
        model.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases: pl.DataFrame = error.failure_cases
    else:
        return _no_reasons()
    of_the_frame = cases.filter(pl.col("index").is_null())
    if of_the_frame.height:
        first = of_the_frame.row(0, named=True)
        raise HwpricesError(
            f"a frame does not fit the table {table_name(model)}: {first['column']}:"
            f" {first['check']} ({first['failure_case']})",
            "This is a mistake in the program: please report it.",
        )
    name = pl.col("check").str.extract(r"^([a-z_]+)")
    column = pl.when(pl.col("schema_context") == "Column").then(pl.col("column"))
    code = pl.concat_str([pl.lit("check"), column, name], separator=":", ignore_nulls=True)
    value = pl.col("failure_case").str.slice(0, 120)
    words = [column, pl.lit(" "), name, pl.lit(": "), value]
    is_listed = (name == "isin") | ((name == "str_matches") & column.is_in(_vocabularies(model)))
    return cases.select(
        pl.col("index").cast(pl.UInt32),
        code.alias("reason"),
        pl.concat_str(words, ignore_nulls=True).alias("message"),
        pl.when(is_listed).then(value).alias("word"),
    )


def _vocabularies(model: type[Table]) -> list[str]:
    """List the columns of codes that a vocabulary declares."""
    declared = model.to_schema().columns.items()
    return [name for name, column in declared if (column.metadata or {}).get("vocabulary")]


def _hidden_characters(ordered: pl.DataFrame) -> pl.DataFrame:
    """Find rows with a hidden character in a text, or in a text of a list.

    Sorted by key, most columns have long runs of one text, of which the first is looked at:
    0.11 s of processor time for 248,000 prices of AWS, and not 0.36 s.
    """
    dtypes = ordered.schema
    firsts = {
        name: column.filter(column.ne_missing(column.shift(1))) if dtype == pl.String else column
        for name, dtype in dtypes.items()
        for column in [pl.col(name)]
    }
    any_hidden = ordered.lazy().select(
        columns.has_hidden_character(column, dtypes[name]).any().alias(name)
        for name, column in firsts.items()
    )
    affected = [name for name, is_any in any_hidden.collect().to_dicts()[0].items() if is_any]
    return pl.concat(
        [
            _no_reasons(),
            *(
                ordered.filter(columns.has_hidden_character(pl.col(name), dtypes[name])).select(
                    "index",
                    pl.lit(f"check:{name}:hidden_character").alias("reason"),
                    pl.lit(f"{name} has a control or format character").alias("message"),
                )
                for name in affected
            ),
        ],
        how="diagonal",
    )


def _no_reasons() -> pl.DataFrame:
    texts = ("reason", "message", "word")
    return pl.DataFrame(schema={"index": pl.UInt32, **dict.fromkeys(texts, pl.String)})


def _duplicate_keys(ordered: pl.DataFrame, model: type[Table], new: pl.Series) -> pl.DataFrame:
    """Find rows whose key another row has too. None is published: which is right is not known.

    ``ordered`` is sorted by key: equal keys stand side by side there. Rows with a new value, whose
    indices are ``new``, are refused without taking another row with them. So is a price at 0 beside
    a price: vendors list 0 where they have none.
    """
    key = columns.key(model)
    # the last column first: it differs most often
    pairs = (pl.col(name).eq_missing(pl.col(name).shift(1)) for name in reversed(key))
    if not ordered.lazy().select(pl.all_horizontal(pairs).slice(1).any()).collect().item():
        return _no_reasons()
    at_zero = pl.col("price_reason") == "listed_at_zero" if model is Prices else pl.lit(False)
    rows = ordered.select("index", *key, at_zero=at_zero.fill_null(False))
    rows = rows.filter(~pl.col("index").is_in(new.implode()))
    rows = rows.filter(pl.len().over(key) > 1)
    zeros = pl.col("at_zero").sum().over(key)
    one_is_priced = (zeros > 0) & (zeros == pl.len().over(key) - 1)
    reason = pl.when(one_is_priced).then(pl.lit("zero_price")).otherwise(pl.lit("duplicate_key"))
    values = [pl.col(name).cast(pl.String).fill_null("-") for name in key]
    is_published = one_is_priced & ~pl.col("at_zero")
    return (
        rows.with_columns(reason=pl.when(~is_published).then(reason))
        .filter(pl.col("reason").is_not_null())
        .select(
            "index",
            "reason",
            message=pl.format("more than one row for {}", pl.concat_str(values, separator=" ")),
        )
    )


def _quarantine_rows(
    rows: pl.DataFrame, model: type[Table], sources: Mapping[str, str]
) -> pl.DataFrame:
    """Make quarantine rows of failed rows. Rows that the project makes have no vendor's page."""
    url_of_page = pl.col("raw_sha256").replace_strict(
        dict(sources), default="", return_dtype=pl.String
    )
    lineage = {
        "provider": pl.lit("hwprices"),
        "observed_at": pl.lit(None, dtype=Timestamp),
        "raw_sha256": pl.lit(""),
        "source_url": url_of_page,
    }
    lazy = rows.lazy().drop("index")
    for name, value in lineage.items():  # in this order: source_url is looked up by raw_sha256
        if name not in rows.columns:
            lazy = lazy.with_columns(value.alias(name))
    return prices.refused(lazy, table=table_name(model)).collect()


MISTAKE = "program_mistake"  # The reason of a refused row that breaks a rule of its table

MAX_REFUSED_SHARE = 0.02
"""A provider fails if more of a table's rows than this are refused. The known wrong rows of a cloud
(Azure's placeholders and name clashes) stay below 1 %, while a changed format refuses nearly
all."""

MAX_GROUP_SHARE = 0.20
"""A provider fails if a group loses more of its rows than this to refusals: the limit of the gate's
check group_lost for groups of 20 rows (docs/gates.md)."""

MIN_ROWS_FOR_SHARE = 100
"""With fewer rows than this the share says nothing: one wrong row would be more than the limit."""

MAX_REWORDED_SHARE = 0.5
"""A provider fails if more of a table's rows than this are gone beside words that are new: what is
left would pass for a vendor that sells little. An estimate: no vendor has reworded half its list
overnight."""

GROUPED_BY = ("region", "purchase_option", "os")
"""Columns by which the rows of a table are grouped, alone and together."""

SHOWN_REASONS = 3
SHOWN_CHARACTERS = 160


@dataclass(frozen=True)
class StagedFiles:
    """The files of one provider's staged tables, below a directory."""

    store: Store
    directory: str
    files: Collection[TableFile]

    def rows(self, table: str) -> int:
        """Count the rows of a table, as the manifest has them."""
        return sum(file.rows for file in self.files if file.table == table)

    def scan(self, table: str) -> pl.LazyFrame:
        """Open a table; without rows if it has no file."""
        keys = [file.key for file in self.files if file.table == table]
        if not keys:
            return frames.empty(TABLES[table]).lazy()
        return pl.scan_parquet(
            [self.store.uri(f"{self.directory}/{key}") for key in keys],
            hive_partitioning=False,
            schema=frames.dtypes(TABLES[table]),
            missing_columns="insert",
            **scan_options(self.store.root),
        )


def check_refusals(
    provider: str, refused: pl.DataFrame, now: StagedFiles, last: StagedFiles | None
) -> None:
    """Stop a provider that has lost too many rows of known kinds, refused or reworded.

    Args:
        provider: whose rows they are.
        refused: the quarantine rows of this run.
        now: the tables of this run.
        last: those staged last, None for none. Only columns that are needed are read, and nothing
            if no row is refused.

    Raises:
        HwpricesError: more than MAX_REFUSED_SHARE of a table's rows are refused, a group of at
            least MIN_ROWS_FOR_SHARE rows lost more than MAX_GROUP_SHARE of them, or new words took
            more than MAX_REWORDED_SHARE of a table.
    """
    if last is not None:
        _check_reworded(provider, refused, now, last)
    known = _known(refused.lazy()).collect()
    if known.is_empty():
        return
    before = _before(last)
    for table in known["table"].unique().sort():
        broken = known.filter(table=table)
        grown = int(_grown(broken, before.filter(table=table), ["table"])["grown"].sum())
        total = now.rows(table) + int(broken["occurrences"].sum())
        if total >= MIN_ROWS_FOR_SHARE and grown / total > MAX_REFUSED_SHARE:
            raise _too_many(provider, table, "", grown / total, MAX_REFUSED_SHARE, broken)
        if last is not None and grown > MAX_GROUP_SHARE * MIN_ROWS_FOR_SHARE:
            _check_groups(provider, table, broken, before.filter(table=table), now, last)


def _check_reworded(
    provider: str, refused: pl.DataFrame, now: StagedFiles, last: StagedFiles
) -> None:
    """Stop a provider of which most rows or prices of a table are gone where words are new."""
    words = refused.filter(pl.col("word").is_not_null())
    if words.is_empty():
        return
    names = ["table", "reason", "word"]
    new = words.join(_quarantined(last).select(names).collect(), on=names, how="anti")
    for table in new["table"].unique().sort():
        had, has = _known_rows(last, table), _known_rows(now, table)
        if had - has > MAX_REWORDED_SHARE * had:
            raise _reworded(provider, table, had - has, had, new.filter(table=table))


def _known_rows(tables: StagedFiles, table: str) -> int:
    if table != "prices":
        return tables.rows(table)
    amounts = tables.scan(table).select(pl.col("effective_hourly").count())
    return int(amounts.collect(engine="streaming").item())


def _reworded(provider: str, table: str, lost: int, had: int, new: pl.DataFrame) -> HwpricesError:
    counts = new.group_by("reason", "word").agg(pl.col("occurrences").sum())
    order = ["occurrences", "reason", "word"]
    commonest = counts.sort(order, descending=[True, False, False]).head(SHOWN_REASONS)
    named = ", ".join(
        f"{reason} {word[:SHOWN_CHARACTERS]!r} {count}" for reason, word, count in commonest.rows()
    )
    return HwpricesError(
        f"{provider}: everything was reworded: {lost:,} of {had:,} rows for {table} are gone, with"
        f" new words in their place ({named})",
        "The last good data stays published until the program knows the words.",
    )


def fixed(refused: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """Check the quarantine rows; what breaks a rule of the table is kept, with what broke it.

    A mistake of ours in one row must neither lose it nor stop the provider, so it is a warning.
    ``at`` replaces a missing time.
    """
    failed = failed_checks(refused, Quarantine)
    if failed.is_empty():
        return refused
    first = failed.row(0, named=True)
    warnings.warn(
        f"quarantine: {failed['index'].n_unique()} rows break a rule, the first by"
        f" {first['reason']}: {first['message']}. This is a mistake in the program: please report"
        " it.",
        HwpricesWarning,
        stacklevel=2,
    )
    why = failed.group_by("index").agg(why=pl.col("message").sort().str.join("; "))
    marked = refused.with_row_index("index").join(why, on="index", how="left").sort("index")
    wrong = pl.col("why").is_not_null()
    texts = [name for name, dtype in refused.schema.items() if dtype == pl.String]
    return marked.with_columns(
        pl.when(wrong).then(pl.lit(MISTAKE)).otherwise("reason").alias("reason"),
        pl.when(wrong)
        .then(pl.format("{}: {}", "why", pl.col("message").fill_null("?")))
        .otherwise("message")
        .alias("message"),
        pl.col(
            name for name in texts if name not in ("reason", "message", "region", "word")
        ).fill_null("?"),
        pl.col("observed_at").fill_null(at),
        pl.col("occurrences").fill_null(1).clip(1),
        pl.col("dependants").fill_null(0).clip(0),
    ).select(refused.columns)


def _known(refused: pl.LazyFrame) -> pl.LazyFrame:
    """Select the refused rows of known kinds, with what groups them; a SKU's dependants are not."""
    is_known = pl.col("word").is_null() & (pl.col("reason") != "refused_sku")
    return refused.filter(is_known).select(
        *("table", "reason", "message", "region"),
        pl.col("occurrences").cast(pl.Int64),
        *(pl.col("row").str.json_path_match(f"$.{name}").alias(name) for name in GROUPED_BY[1:]),
    )


def _before(last: StagedFiles | None) -> pl.DataFrame:
    """Select the rows of known kinds that were refused last time."""
    return _known(_quarantined(last) if last else frames.empty(Quarantine).lazy()).collect()


def _quarantined(last: StagedFiles) -> pl.LazyFrame:
    """Read what was refused last time; nothing if that is unreadable."""
    columns = ["table", "reason", "message", "region", "occurrences", "row", "word"]
    try:
        return last.scan("quarantine").select(columns).collect().lazy()
    except (pl.exceptions.PolarsError, OSError):
        return frames.empty(Quarantine).lazy()


def _grown(now: pl.DataFrame, before: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    keys = [*by, "reason"]
    count = pl.col("occurrences").sum()
    counts = now.drop_nulls(by).group_by(keys).agg(count)
    both = counts.join(before.group_by(keys).agg(before=count), on=keys, how="left")
    grown = (pl.col("occurrences") - pl.col("before").fill_null(0)).clip(0)
    return both.group_by(by).agg(grown=grown.sum())


def _check_groups(
    provider: str,
    table: str,
    broken: pl.DataFrame,
    before: pl.DataFrame,
    now: StagedFiles,
    last: StagedFiles,
) -> None:
    names = [name for name in GROUPED_BY if name in frames.dtypes(TABLES[table])]
    if not names:
        return
    rows = [
        tables.scan(table).group_by(names).len().collect(engine="streaming")
        for tables in (now, last)
    ]
    for size in range(1, len(names) + 1):
        for by in map(list, combinations(names, size)):
            counts = [each.group_by(by).agg(pl.col("len").sum()) for each in rows]
            lost = pl.col("len").cast(pl.Int64) - pl.col("len_now").fill_null(0).cast(pl.Int64)
            groups = (
                _grown(broken, before, by)
                .join(counts[1], on=by)
                .join(counts[0], on=by, how="left", suffix="_now")
                .with_columns(share=pl.min_horizontal("grown", lost) / pl.col("len"))
                .filter(pl.col("len") >= MIN_ROWS_FOR_SHARE, pl.col("share") > MAX_GROUP_SHARE)
                .sort("share", *by, descending=[True] + [False] * size)
            )
            if groups.height:
                worst = groups.row(0, named=True)
                group = {name: worst[name] for name in by}
                where = f" of {', '.join(group.values())}"
                own = broken.filter(**group)
                raise _too_many(provider, table, where, worst["share"], MAX_GROUP_SHARE, own)


def _too_many(
    provider: str, table: str, group: str, share: float, limit: float, broken: pl.DataFrame
) -> HwpricesError:
    counts = broken.group_by("reason").agg(pl.col("occurrences").sum())
    commonest = counts.sort("occurrences", "reason", descending=[True, False]).head(SHOWN_REASONS)
    reasons = ", ".join(f"{reason} {count}" for reason, count in commonest.iter_rows())
    example = broken.filter(reason=commonest["reason"][0])["message"].min()
    return HwpricesError(
        f"{provider}: {share:.1%} of the rows for {table}{group} were refused ({reasons}; for"
        f" example {str(example)[:SHOWN_CHARACTERS]}); the limit is {limit:.0%}",
        "The vendor has probably changed its format; the last good data stays published.",
    )
