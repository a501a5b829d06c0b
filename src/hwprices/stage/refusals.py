"""Judge the refused rows of a run: how many known lines broke since the tables staged last.

Rows with a word (``quarantine.word``) are new from the vendor: they are published in the table
new_words, and do not stop a provider, unless most of what it had is gone with them. What was
refused for the same reason before does not count again.
"""

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

import polars as pl

from hwprices.errors import HwpricesError, HwpricesWarning
from hwprices.release.manifest import TableFile
from hwprices.rows import frames
from hwprices.schemas.quarantine import Quarantine
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate
from hwprices.storage.store import Store, scan_options

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


def check(provider: str, refused: pl.DataFrame, now: StagedFiles, last: StagedFiles | None) -> None:
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
        if refused_share(total, grown) > MAX_REFUSED_SHARE:
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


def refused_share(total: int, refused: int) -> float:
    """Compute the share of refused rows, 0 if there are too few rows to speak of one."""
    return refused / total if total >= MIN_ROWS_FOR_SHARE else 0.0


def fixed(refused: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """Check the quarantine rows; what breaks a rule of the table is kept, with what broke it.

    A mistake of ours in one row must neither lose it nor stop the provider, so it is a warning.
    ``at`` replaces a missing time.
    """
    failed = validate.failed_checks(refused, Quarantine)
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
        pl.when(wrong).then(pl.lit("program_mistake")).otherwise("reason").alias("reason"),
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
