"""Split rows into good and refused ones, and fail a provider that loses too many.

A refused row with a ``word`` is new from the vendor: it is published in the table new_words and
does not stop the provider, unless most of a table disappears with it. Rows that were refused for
the same reason last time do not count again.
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
from hwprices.schemas.tables import TABLES, Prices, Quarantine, Table
from hwprices.schemas.validation import fits, has_hidden_character, run_starts
from hwprices.storage.store import Store, scan_options
from hwprices.units import Timestamp


def sort_by_key(frame: pl.DataFrame, model: Table) -> pl.DataFrame:
    """Sort by the table's key, so that two builds of the same rows are byte-identical.

    Nulls come first, texts are ordered by bytes, and rows with the same key keep their order.
    """
    ordered = frame.clone()
    frames.sort_in_place(ordered, model.key)
    return ordered


@dataclass(frozen=True)
class Split:
    """Good and refused rows: each input row is in one of them. ``refused`` are quarantine rows."""

    good: pl.DataFrame
    refused: pl.DataFrame


def split(frame: pl.DataFrame, model: Table, sources: Mapping[str, str]) -> Split:
    """Check rows against the table's model and key; ``good`` comes back sorted by key.

    ``frame`` itself is sorted, so that memory holds one copy of the million rows of an AWS region.
    ``sources`` maps raw_sha256 to the URL of that page, for tables without source_url.

    Raises:
        HwpricesError: the frame's columns or dtypes are not the table's: a mistake in a normaliser,
            not in a row.
    """
    failed = failed_checks(frame, model)
    if frame.is_empty():
        return Split(frame.clone(), frames.empty(Quarantine))
    index = frames.sort_in_place(frame, model.key)
    ordered = frame.clone().insert_column(0, index)
    new = failed.filter(pl.col("word").is_not_null())["index"].unique()
    hidden, duplicates = _hidden_characters(ordered), _duplicate_keys(ordered, model, new)
    reasons = pl.concat([failed, hidden, duplicates], how="diagonal")
    if reasons.is_empty():
        return Split(ordered.drop("index"), frames.empty(Quarantine))
    by_row = reasons.group_by("index").agg(
        # a row with a new word counts as new, whatever else is wrong with it
        pl.col("reason", "word").sort_by(pl.col("word").is_null(), "reason", "word").first(),
        pl.col("message").sort().str.join("; "),
    )
    is_refused = pl.col("index").is_in(by_row["index"].implode())
    good = ordered.filter(~is_refused).drop("index")
    refused = ordered.filter(is_refused).join(by_row, on="index").sort("index")
    return Split(good, _quarantine_rows(refused, model, sources))


def check(frame: pl.DataFrame, model: Table) -> pl.DataFrame:
    """Check a frame made by the project itself (offers, spec sheets), and sort it by key.

    Raises:
        HwpricesError: a row fails; names the table, the check and the first row.
    """
    outcome = split(frame.clone(), model, {})
    if outcome.refused.height:
        first = outcome.refused.row(0, named=True)
        raise HwpricesError(
            f"{model.name}: {outcome.refused.height} rows fail, the first by"
            f" {first['reason']}: {first['message']}",
            f"The row is {first['row'][:300]}",
        )
    return outcome.good


def failed_checks(frame: pl.DataFrame, model: Table) -> pl.DataFrame:
    """List index, reason, message and word of each failed check of each row.

    ``word`` is a value that is missing from a closed list or vocabulary: it is new from the vendor.
    For all other checks it is null.

    Raises:
        HwpricesError: the frame's columns or dtypes are not the table's.
    """
    if fits(frame, model.schema):
        return _no_reasons()
    try:
        model.schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases: pl.DataFrame = error.failure_cases
    else:
        return _no_reasons()
    frame_errors = cases.filter(pl.col("index").is_null())
    if frame_errors.height:
        first = frame_errors.row(0, named=True)
        raise HwpricesError(
            f"a frame does not fit the table {model.name}: {first['column']}:"
            f" {first['check']} ({first['failure_case']})",
            "This is a mistake in the program: please report it.",
        )
    name = pl.col("check").str.extract(r"^([a-z_]+)")
    column = pl.when(pl.col("schema_context") == "Column").then(pl.col("column"))
    code = pl.concat_str([pl.lit("check"), column, name], separator=":", ignore_nulls=True)
    value = pl.col("failure_case").str.slice(0, 120)
    words = [column, pl.lit(" "), name, pl.lit(": "), value]
    coded = [name for name, column in model.columns.items() if column.vocabulary]
    is_listed = (name == "isin") | ((name == "str_matches") & column.is_in(coded))
    return cases.select(
        pl.col("index").cast(pl.UInt32),
        code.alias("reason"),
        pl.concat_str(words, ignore_nulls=True).alias("message"),
        pl.when(is_listed).then(value).alias("word"),
    )


def _hidden_characters(ordered: pl.DataFrame) -> pl.DataFrame:
    """Find rows with a hidden character in a text, or in a text of a list."""
    dtypes = ordered.schema
    shortened = {
        name: run_starts(pl.col(name)) if dtype == pl.String else pl.col(name)
        for name, dtype in dtypes.items()
    }
    any_hidden = ordered.select(
        has_hidden_character(column, dtypes[name]).any().alias(name)
        for name, column in shortened.items()
    )
    affected = [name for name, is_any in any_hidden.row(0, named=True).items() if is_any]
    return pl.concat(
        [
            _no_reasons(),
            *(
                ordered.filter(has_hidden_character(pl.col(name), dtypes[name])).select(
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


def _duplicate_keys(ordered: pl.DataFrame, model: Table, new: pl.Series) -> pl.DataFrame:
    """Find rows that share a key. None of them is published: which is right is not known.

    ``ordered`` is sorted by key, so equal keys are adjacent. Rows with a new word, whose indices
    are ``new``, do not make a duplicate of another row. Neither does a price of 0, which vendors
    list where they have none: it alone is refused.
    """
    key = model.key
    # the last column first: it differs most often
    pairs = (pl.col(name).eq_missing(pl.col(name).shift(1)) for name in reversed(key))
    if not ordered.select(pl.all_horizontal(pairs).slice(1).any()).item():
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


def _quarantine_rows(rows: pl.DataFrame, model: Table, sources: Mapping[str, str]) -> pl.DataFrame:
    """Make quarantine rows of failed rows. Rows made by the project have no landed page."""
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
    return prices.refused(lazy, table=model.name).collect()


MISTAKE = "program_mistake"  # The reason of a refused row that breaks a rule of its table

MAX_REFUSED_SHARE = 0.02
"""A provider fails if more of a table's rows than this are refused. A cloud's known wrong rows
(Azure's placeholders and name clashes) stay below 1 %; after a change of format nearly all are
refused."""

MAX_GROUP_SHARE = 0.20
"""A provider fails if refusals take more of a group's rows than this: the limit of the gate's check
group_lost for groups of 20 rows (docs/gates.md)."""

MIN_ROWS_FOR_SHARE = 100
"""Shares of fewer rows are not checked: one wrong row could exceed the limit."""

MAX_REWORDED_SHARE = 0.5
"""A provider fails if more of a table's rows than this disappear while new words appear: the rest
would look like a vendor that sells little. An estimate: no vendor has reworded half its list
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
        """Count the rows of a table."""
        return sum(file.rows for file in self.files if file.table == table)

    def scan(self, table: str) -> pl.LazyFrame:
        """Scan a table; empty if it has no file."""
        keys = [file.key for file in self.files if file.table == table]
        if not keys:
            return frames.empty(TABLES[table]).lazy()
        return pl.scan_parquet(
            [self.store.uri(f"{self.directory}/{key}") for key in keys],
            hive_partitioning=False,
            schema=TABLES[table].dtypes,
            missing_columns="insert",
            **scan_options(self.store.root),
        )


def check_refusals(
    provider: str, refused: pl.DataFrame, current: StagedFiles, last: StagedFiles | None
) -> None:
    """Fail a provider that has lost too many rows of known kinds, refused or reworded.

    Args:
        provider: its name.
        refused: the quarantine rows of this run.
        current: the tables of this run.
        last: the tables staged last, None for none. Only the columns needed are read, and nothing
            if no row was refused.

    Raises:
        HwpricesError: more than MAX_REFUSED_SHARE of a table's rows are refused, a group of at
            least MIN_ROWS_FOR_SHARE rows lost more than MAX_GROUP_SHARE of them, or new words took
            more than MAX_REWORDED_SHARE of a table.
    """
    if last is not None:
        _check_reworded(provider, refused, current, last)
    known = _known(refused.lazy()).collect()
    if known.is_empty():
        return
    previous = _known(_quarantined(last) if last else frames.empty(Quarantine).lazy()).collect()
    for table in known["table"].unique().sort():
        broken, broken_before = known.filter(table=table), previous.filter(table=table)
        grown = int(_growth(broken, broken_before, ["table"])["grown"].sum())
        total = current.rows(table) + int(broken["occurrences"].sum())
        if total >= MIN_ROWS_FOR_SHARE and grown / total > MAX_REFUSED_SHARE:
            raise _too_many(provider, table, "", grown / total, MAX_REFUSED_SHARE, broken)
        if last is not None and grown > MAX_GROUP_SHARE * MIN_ROWS_FOR_SHARE:
            _check_groups(provider, table, broken, broken_before, current, last)


def _check_reworded(
    provider: str, refused: pl.DataFrame, current: StagedFiles, last: StagedFiles
) -> None:
    """Fail a provider that lost most rows or prices of a table in which new words appeared."""
    words = refused.filter(pl.col("word").is_not_null())
    if words.is_empty():
        return
    names = ["table", "reason", "word"]
    new = words.join(_quarantined(last).select(names).collect(), on=names, how="anti")
    for table in new["table"].unique().sort():
        before, after = _known_rows(last, table), _known_rows(current, table)
        if before - after > MAX_REWORDED_SHARE * before:
            raise _reworded(provider, table, before - after, before, new.filter(table=table))


def _known_rows(tables: StagedFiles, table: str) -> int:
    if table != "prices":
        return tables.rows(table)
    amounts = tables.scan(table).select(pl.col("effective_hourly").count())
    return int(amounts.collect(engine="streaming").item())


def _reworded(
    provider: str, table: str, lost: int, before: int, new: pl.DataFrame
) -> HwpricesError:
    counts = new.group_by("reason", "word").agg(pl.col("occurrences").sum())
    order = ["occurrences", "reason", "word"]
    commonest = counts.sort(order, descending=[True, False, False]).head(SHOWN_REASONS)
    examples = ", ".join(
        f"{reason} {word[:SHOWN_CHARACTERS]!r} {count}" for reason, word, count in commonest.rows()
    )
    return HwpricesError(
        f"{provider}: everything was reworded: {lost:,} of {before:,} rows for {table} are gone,"
        f" with new words in their place ({examples})",
        "The last good data stays published until the program knows the words.",
    )


def repair(refused: pl.DataFrame, started_at: datetime) -> pl.DataFrame:
    """Make quarantine rows that break a rule of their table fit it, and say why in the message.

    Our own mistake in one row must neither lose the row nor stop the provider: it is a warning.
    ``started_at`` replaces a missing time.
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
        pl.col("observed_at").fill_null(started_at),
        pl.col("occurrences").fill_null(1).clip(1),
        pl.col("dependants").fill_null(0).clip(0),
    ).select(refused.columns)


def _known(refused: pl.LazyFrame) -> pl.LazyFrame:
    """Select refused rows of known kinds, with the columns that group them.

    Rows that are refused only because their SKU was are left out.
    """
    is_known = pl.col("word").is_null() & (pl.col("reason") != "refused_sku")
    return refused.filter(is_known).select(
        *("table", "reason", "message", "region"),
        pl.col("occurrences").cast(pl.Int64),
        *(pl.col("row").str.json_path_match(f"$.{name}").alias(name) for name in GROUPED_BY[1:]),
    )


def _quarantined(last: StagedFiles) -> pl.LazyFrame:
    """Read the rows refused last time; empty if they are unreadable."""
    columns = ["table", "reason", "message", "region", "occurrences", "row", "word"]
    try:
        return last.scan("quarantine").select(columns).collect().lazy()
    except (pl.exceptions.PolarsError, OSError):
        return frames.empty(Quarantine).lazy()


def _growth(current: pl.DataFrame, previous: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Count by group the refused rows that were not refused for the same reason last time."""
    keys = [*by, "reason"]
    count = pl.col("occurrences").sum()
    counts = current.drop_nulls(by).group_by(keys).agg(count)
    joined = counts.join(previous.group_by(keys).agg(before=count), on=keys, how="left")
    grown = (pl.col("occurrences") - pl.col("before").fill_null(0)).clip(0)
    return joined.group_by(by).agg(grown=grown.sum())


def _check_groups(
    provider: str,
    table: str,
    broken: pl.DataFrame,
    broken_before: pl.DataFrame,
    current: StagedFiles,
    last: StagedFiles,
) -> None:
    names = [name for name in GROUPED_BY if name in TABLES[table].dtypes]
    if not names:
        return
    rows, rows_before = (
        tables.scan(table).group_by(names).len().collect(engine="streaming")
        for tables in (current, last)
    )
    for size in range(1, len(names) + 1):
        for by in map(list, combinations(names, size)):
            count = pl.col("len").sum()
            lost = pl.col("len").cast(pl.Int64) - pl.col("len_now").fill_null(0).cast(pl.Int64)
            groups = (
                _growth(broken, broken_before, by)
                .join(rows_before.group_by(by).agg(count), on=by)
                .join(rows.group_by(by).agg(count), on=by, how="left", suffix="_now")
                .with_columns(share=pl.min_horizontal("grown", lost) / pl.col("len"))
                .filter(pl.col("len") >= MIN_ROWS_FOR_SHARE, pl.col("share") > MAX_GROUP_SHARE)
                .sort("share", *by, descending=[True] + [False] * size)
            )
            if groups.height:
                worst = groups.row(0, named=True)
                group = {name: worst[name] for name in by}
                where = f" of {', '.join(group.values())}"
                in_group = broken.filter(**group)
                raise _too_many(provider, table, where, worst["share"], MAX_GROUP_SHARE, in_group)


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
