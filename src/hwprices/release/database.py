"""Write the tables of a release into one DuckDB file, with their documentation as comments."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.errors import cannot_write

FOCUS_VERSIONS = "FOCUS 1.2 and 1.3"

FOCUS_VIEW = "focus_sku_prices"
"""A view of prices with the column names of FOCUS 1.2 and 1.3. Join it with a cost and usage export
by SkuPriceId and RegionId. Names and values:
https://github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec/tree/v1.2/specification/columns.

- A price without a term is a Usage charge. A commitment is a Purchase; its upfront fee is a
  separate record, charged One-Time.
- SkuId and SkuPriceId are the vendor's, null if it has none. ``x_PriceId`` is the dataset's id.
- Unknown prices and placeholders are left out.
- ProviderName is the name in the provider's own exports (deprecated in 1.3 for
  ServiceProviderName), or hwprices' name.
- The price under a savings plan or flexible commitment is the ListUnitPrice of its Purchase.
"""

FOCUS_DTYPES: Mapping[str, pl.DataType] = {
    "VARCHAR": pl.String(),
    "DECIMAL(20,10)": pl.Decimal(20, 10),
    "INTEGER": pl.Int32(),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
}
"""SQL type of the view's columns: polars type."""

FOCUS_COLUMNS = Path(__file__).with_name("focus_columns.sql").read_text(encoding="utf-8")

FOCUS_PROVIDERS = {"aws": "AWS", "azure": "Microsoft", "gcp": "Google Cloud", "oracle": "Oracle"}
"""ProviderName in the providers' own exports:
https://github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS-Sample-Data, and for Google Cloud
https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/focus."""


def focus_sql() -> str:
    """Return the query of the view, over the table prices."""
    names = " ".join(f"when '{ours}' then '{name}'" for ours, name in FOCUS_PROVIDERS.items())
    provider = f"case provider {names} else provider end"
    in_parts = "payment_option = 'partial_upfront'"
    is_placeholder = "coalesce(list_contains(flags, 'placeholder'), false)"
    known = f"effective_hourly is not null and not {is_placeholder}"
    recurring = FOCUS_COLUMNS.format(
        category="case when term_months = 0 then 'Usage' else 'Purchase' end",
        frequency="case when term_months = 0 then 'Usage-Based' else 'Recurring' end",
        unit="'Hours'",
        price="hourly",
        part=f"case when {in_parts} then 'hourly fee' end",
        provider=provider,
    )
    upfront = FOCUS_COLUMNS.format(
        category="'Purchase'",
        frequency="'One-Time'",
        unit="'Units'",
        price="upfront",
        part=f"case when {in_parts} then 'upfront fee' end",
        provider=provider,
    )
    return (
        f"select {recurring} from prices where {known} and hourly > 0 "  # noqa: S608
        f"union all by name select {upfront} from prices where {known} and upfront is not null"
    )


STORAGE_VERSION = "v1.3.0"
"""Format of the file, readable by DuckDB 1.3 (May 2025) and newer. The format of 1.0 takes a third
more time to write. https://duckdb.org/docs/stable/internals/storage"""

MEMORY_LIMIT = "1GB"
"""Memory limit for writing; larger tables use temporary files beside the target."""

UNIQUE_TEXTS = {"prices": ("price_id", "sku_price_id"), "price_history": ("price_id",)}
"""Columns of the large tables that are compressed with zstd, because their values rarely repeat.
DuckDB would choose a dictionary, which took 1.6 to 2.7 times as long and saved no space
(2026-11-23)."""


FOCUS = f"List prices with the column names of {FOCUS_VERSIONS}; join by SkuPriceId and RegionId."

DISCOUNTED = (
    "Own discounts are applied here, and list_effective_hourly is the list price. Other tables "
    f"have list prices. The view {FOCUS_VIEW}, which is one of list prices, is left out."
)
"""Addition to the comment of the table prices if own discounts are applied to it."""


def quoted_name(name: str) -> str:
    """Write a name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Write a text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def quoted_list(texts: Iterable[str]) -> str:
    """Write texts as a SQL list of strings."""
    return f"[{', '.join(quoted_text(text) for text in texts)}]"


def build(
    target: Path,
    files: Mapping[str, Sequence[str]],
    package: Mapping[str, Any],
    version: str,
    *,
    discounted: bool = False,
) -> None:
    """Write the file. It gets the FOCUS view if it has list prices and no table of that name.

    ``target`` must not exist. ``files``: Parquet files of each table, on this machine. ``package``:
    the release's datapackage.json, which describes tables and columns. ``version``: for the
    comments on tables. ``discounted``: own discounts are applied to ``prices``.
    """
    import duckdb

    connection = duckdb.connect(
        config={"memory_limit": MEMORY_LIMIT, "temp_directory": f"{target}.tmp"}
    )
    try:
        attach = f"attach {quoted_text(str(target))} as release_file"
        connection.execute(f"{attach} (storage_version {quoted_text(STORAGE_VERSION)})")
        connection.execute("use release_file")
        connection.execute("begin")
        columns = {}
        for table, paths in files.items():
            source = f"read_parquet({quoted_list(paths)}, hive_partitioning = false)"
            described = connection.execute(f"describe select * from {source}").fetchall()  # noqa: S608
            kinds = {name: kind for name, kind, *_ in described}
            columns[table] = list(kinds)
            connection.execute(_create_table(table, kinds))
            connection.execute(f"insert into {quoted_name(table)} select * from {source}")  # noqa: S608
        has_view = "prices" in files and FOCUS_VIEW not in files and not discounted
        if has_view:
            connection.execute(f"create view {FOCUS_VIEW} as {focus_sql()}")
        comments = _comments(columns, package, version, discounted=discounted)
        if has_view:
            comments.append(_comment(f"view {FOCUS_VIEW}", FOCUS))
        elif FOCUS_VIEW in files:
            comments.append(_comment(f"table {FOCUS_VIEW}", FOCUS))
        connection.execute("; ".join(comments))
        connection.execute("commit")
        connection.execute("use memory")
        connection.execute("detach release_file")
    except (duckdb.OperationalError, duckdb.FatalException) as error:  # files, memory, disk
        raise cannot_write(target, error) from error
    finally:
        connection.close()


def _create_table(table: str, kinds: Mapping[str, str]) -> str:
    packed = dict.fromkeys(UNIQUE_TEXTS.get(table, ()), " using compression zstd")
    lines = [f"{quoted_name(name)} {kind}{packed.get(name, '')}" for name, kind in kinds.items()]
    return f"create table {quoted_name(table)} ({', '.join(lines)})"


def _comments(
    columns: Mapping[str, Sequence[str]],
    package: Mapping[str, Any],
    version: str,
    *,
    discounted: bool,
) -> list[str]:
    comments = []
    for resource in package["resources"]:
        name = resource["name"]
        if name not in columns:
            continue
        table = quoted_name(name)
        note = f" {DISCOUNTED}" if discounted and name == "prices" else ""
        about = f"{resource['description']}{note} Release {version}."
        comments.append(_comment(f"table {table}", about))
        for field in resource["schema"]["fields"]:
            if field["name"] in columns[name]:
                unit = f" Unit: {field['unit']}." if field.get("unit") else ""
                column = f"column {table}.{quoted_name(field['name'])}"
                comments.append(_comment(column, f"{field['description']}{unit}"))
    return comments


def _comment(what: str, text: str) -> str:
    return f"comment on {what} is {quoted_text(text)}"
