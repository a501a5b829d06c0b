"""Declare columns, and the columns that several tables share.

A table's model declares a column once: ``name: dtype = column("what it means", unit=…, focus=…)``.
The data dictionary, the Parquet files and the checks read description, unit, FOCUS counterpart and
allowed values from there. Functions without arguments, such as ``provider()``, declare columns with
the same meaning in every table. FOCUS is the FinOps Open Cost and Usage Specification,
https://focus.finops.org/focus-columns/.
"""

from typing import Any

import pandera.polars as pa
import polars as pl
from pandera.backends.polars import builtin_checks  # noqa: F401 -- registers gt, isin and others
from pandera.backends.polars.checks import PolarsCheckBackend
from pandera.constants import CHECK_OUTPUT_KEY

from hwprices.schemas import vocabulary
from hwprices.schemas.vocabulary import Vocabulary

Accelerators = pl.List(
    pl.Struct(
        {
            # key of the accelerators table; null when the vendor's name has no match
            "accelerator_id": pl.String,
            # as the vendor's API spells it; null where the API names no model (Azure)
            "vendor_name": pl.String,
            # devices as the cloud counts them; fractions are real (1/8 of an L4)
            "count": pl.Float64,
            # of one whole device
            "memory_gib": pl.Float64,
        }
    )
)
"""Accelerators of one machine."""

PROVIDER_PATTERN = r"^[a-z][a-z0-9_]*$"
COUNTRY_PATTERN = r"^[A-Z]{2}$"
CURRENCY_PATTERN = r"^[A-Z]{3}$"
PLACE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$"
"""Regions and zones. Regions are parts of file names, so characters with a special meaning to file
systems or Parquet readers are excluded."""

NAME_PATTERN = r"^[^\W_][^/\\]*$"
"""Machine types. They begin with a letter or digit of any script, because spreadsheets read = + - @
as the start of a formula, and have no path separator. Hidden characters are refused everywhere."""

HIDDEN_CHARACTERS = r"[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]"
"""Control, format, private-use and separator characters of Unicode: they control a terminal, end a
line or reverse the writing direction. No vendor's name or description needs them."""

MAX_NAME_LENGTH = 200  # Characters of a region, zone or machine type. The longest real one has 37.
HASH_PATTERN = r"^[0-9a-f]{24}$"
ID_PATTERN = r"^[a-z0-9]+(-[a-z0-9.]+)*$"
URL_PATTERN = r"^https://\S+$"


def has_hidden_character(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Check which rows of a column have a hidden character.

    Checks a text, all texts of a list, or the vendor's names in Accelerators. A column without text
    has none.
    """
    element = pl.element()
    if dtype == pl.String:
        return column.str.contains(HIDDEN_CHARACTERS)
    if dtype == pl.List(pl.String):
        return column.list.eval(element.str.contains(HIDDEN_CHARACTERS)).list.any()
    if dtype == Accelerators:
        names = element.struct.field("vendor_name")
        return column.list.eval(names.str.contains(HIDDEN_CHARACTERS)).list.any()
    return pl.lit(False)


def run_starts(column: pl.Expr) -> pl.Expr:
    """Keep the first of each run of equal values, without nulls at the beginning.

    In rows sorted by key most columns repeat a text many times: checking the hidden characters of
    248,000 AWS prices takes 0.11 s of processor time instead of 0.36 s.
    """
    return column.filter(column.ne_missing(column.shift(1)))


def column(
    description: str,
    *,
    unit: str | None = None,
    focus: str | None = None,
    nullable: bool = False,
    values: Vocabulary | None = None,
    **checks: Any,
) -> Any:
    """Declare one column.

    ``values`` are the allowed values of a string column; for a list column, check its elements with
    ``elements_declared``. ``checks`` are pandera's: ``gt=0``, ``str_matches=…``.
    """
    metadata = {"unit": unit, "focus": focus, "vocabulary": values.name if values else None}
    if values is not None and values.closed:
        checks["isin"] = list(values)
    elif values is not None:
        checks["str_matches"] = values.regex()
    return pa.Field(description=description, nullable=nullable, metadata=metadata, **checks)


def measure(description: str, unit: str | None = None, *, focus: str | None = None) -> Any:
    """Declare a figure above zero; null if unknown."""
    return column(description, unit=unit, focus=focus, nullable=True, gt=0)


def list_column(description: str, values: Vocabulary) -> Any:
    """Declare a list column with elements of a vocabulary; ``elements_declared`` checks them."""
    metadata = {"unit": None, "focus": None, "vocabulary": values.name}
    return pa.Field(description=description, nullable=False, metadata=metadata)


def elements_declared(name: str, values: Vocabulary) -> pl.Expr:
    """Check whether each element of a list column is declared.

    A null list passes here: the column's own check refuses it.
    """
    declared = pl.element().str.contains(values.regex()).fill_null(False)
    return pl.col(name).list.eval(declared).list.all().fill_null(True)


class Table(pa.DataFrameModel):
    """The base of all tables: exactly the declared columns, without conversion."""

    class Config:
        strict = True
        coerce = False


def key(model: type[Table]) -> list[str]:
    """Return the columns that identify one row of the table."""
    return list(model.Config.metadata["key"])  # type: ignore[attr-defined]


def table_name(model: type[Table]) -> str:
    """Return the name the table is published under."""
    return str(model.Config.name)  # type: ignore[attr-defined]


def fits(frame: pl.DataFrame, model: type[Table]) -> bool:
    """Check whether a frame has the columns and dtypes of a table, and all rows pass its checks.

    Polars runs all checks together. ``model.validate`` also lists the rows that fail, and takes
    eight times as long: 44 ms for 3,000 prices. False does not imply that a row fails: it is also
    returned for a table with a rule that only pandera applies. Checks that ignore nulls are not run
    on a column of nulls.
    """
    schema = model.to_schema()
    declared = schema.columns
    if schema.unique or schema.ordered or any(column.unique for column in declared.values()):
        return False
    if dict(frame.schema) != {name: column.dtype.type for name, column in declared.items()}:
        return False
    if frame.is_empty():
        return True
    required = [name for name, column in declared.items() if not column.nullable]
    floats = [name for name in required if frame.schema[name].is_float()]
    filled = [pl.col(name).is_not_null().all() for name in required]
    filled += [pl.col(name).is_not_nan().all() for name in floats]
    rows = frame.lazy()
    passed = [rows.select(pl.all_horizontal(pl.lit(True), *filled))]
    unknown = {name for name in declared if frame[name].null_count() == frame.height}
    checks = [(check, name) for name, column in declared.items() for check in column.checks]
    texts = {
        name: rows.select(run_starts(pl.col(name)))
        for name, dtype in frame.schema.items()
        if dtype == pl.String
    }
    for check, name in [*checks, *((check, "*") for check in schema.checks)]:
        if name in unknown and check.ignore_na:
            continue
        of_runs = texts.get(name, rows) if check.ignore_na else rows
        outcome = PolarsCheckBackend(check).apply(pa.PolarsData(of_runs, name))
        if not isinstance(outcome, pl.LazyFrame):  # one bool for all rows, as of unique_values_eq
            return False
        passed.append(outcome.select(pl.col(CHECK_OUTPUT_KEY).all(ignore_nulls=check.ignore_na)))
    return all(outcome.item() for outcome in pl.collect_all(passed))


# Columns with the same meaning in every table


def provider() -> Any:
    return column("Cloud provider.", focus="ProviderName", str_matches=PROVIDER_PATTERN)


def region() -> Any:
    return column(
        "Region, as the provider's API spells it.",
        focus="RegionId",
        str_matches=PLACE_PATTERN,
        str_length={"max_value": MAX_NAME_LENGTH},
    )


def zone(description: str, *, nullable: bool = False) -> Any:
    return column(
        description,
        focus="AvailabilityZone",
        nullable=nullable,
        str_matches=PLACE_PATTERN,
        str_length={"max_value": MAX_NAME_LENGTH},
    )


def instance_type() -> Any:
    return column(
        "Machine type, size or instance type, as the provider's API spells it.",
        focus="SkuPriceDetails.InstanceType",
        str_matches=NAME_PATTERN,
        str_length={"max_value": MAX_NAME_LENGTH},
    )


def country() -> Any:
    return column(
        "Country of the region, ISO 3166-1 alpha-2.", nullable=True, str_matches=COUNTRY_PATTERN
    )


def continent() -> Any:
    return column("Continent.", nullable=True, values=vocabulary.CONTINENTS)


def display_name() -> Any:
    return column("Display name of the region.", focus="RegionName", nullable=True)


def parent_region() -> Any:
    return column(
        "Region that a local or Wavelength zone belongs to; null for a region.", nullable=True
    )


def latitude() -> Any:
    return column(
        "Latitude of the city or area named, not of a building.",
        unit="degree",
        nullable=True,
        in_range={"min_value": -90, "max_value": 90},
    )


def longitude() -> Any:
    return column(
        "Longitude of the city or area named.",
        unit="degree",
        nullable=True,
        in_range={"min_value": -180, "max_value": 180},
    )


def grid_gco2e_per_kwh() -> Any:
    return column(
        "Average carbon intensity of the region's grid, location based (I of SCI).",
        unit="gCO2e/kWh",
        nullable=True,
        ge=0,
    )


def pue() -> Any:
    return column(
        "Power usage effectiveness of the region: energy of the building over energy of the IT.",
        unit="ratio",
        nullable=True,
        in_range={"min_value": 1, "max_value": 3},
    )


def block_storage_gbps_baseline() -> Any:
    return measure(
        "Bandwidth to block storage over the network (EBS volumes, managed disks) that the machine"
        " always has; volumes may have lower limits of their own.",
        "Gbit/s",
    )


def block_storage_gbps_max() -> Any:
    return measure(
        "Highest bandwidth to block storage, which some machines only reach in bursts; null if the"
        " vendor's list does not state the limit of bursts.",
        "Gbit/s",
    )


def block_storage_iops_baseline() -> Any:
    return measure(
        "Operations of block storage that the machine always has, as its vendor counts them.",
        "IOPS",
    )


def block_storage_iops_max() -> Any:
    return measure(
        "Highest rate of block storage operations, which some machines only reach in bursts; null"
        " if the vendor's list does not state the limit of bursts.",
        "IOPS",
    )


def arch() -> Any:
    return column("Instruction set of the CPU.", nullable=True, values=vocabulary.ARCHITECTURES)


def purchase_option() -> Any:
    return column(
        "How it is bought. FOCUS calls usage covered by reserved, savings_plan or committed_use"
        " Committed; spot and low_priority Dynamic; and all others Standard.",
        focus="PricingCategory",
        values=vocabulary.PURCHASE_OPTIONS,
    )


def commitment_plan() -> Any:
    return column(
        "Kind of commitment; null where there is none.",
        focus="CommitmentDiscountType",
        nullable=True,
        values=vocabulary.COMMITMENT_PLANS,
    )


def term_months() -> Any:
    return column(
        "Length of the commitment; 0 where there is none.",
        unit="month",
        isin=list(vocabulary.TERMS_IN_MONTHS),
    )


def currency() -> Any:
    return column(
        "Currency of the prices in the row, ISO 4217.",
        focus="PricingCurrency",
        str_matches=CURRENCY_PATTERN,
    )


def effective_from() -> Any:
    return column("When the price became valid, by the vendor.", unit="UTC", nullable=True)


def observed_at() -> Any:
    return column("When the vendor's page was fetched.", unit="UTC")


def page_url() -> Any:
    """Declare source_url of a row that was read from a landed page."""
    return column("URL the landed page came from.")


def raw_sha256() -> Any:
    return column("SHA-256 of the landed page the row was read from.")


# Columns with the same meaning in every curated sheet


def url(description: str, *, nullable: bool = True) -> Any:
    """Declare a column of web addresses."""
    return column(description, nullable=nullable, str_matches=URL_PATTERN)


def source_url() -> Any:
    """Declare source_url of a row that was written by hand."""
    return url(
        "Page that states the row's figures or rule; the vendor's own if there is one.",
        nullable=False,
    )


def as_of() -> Any:
    return column("Day the row was last compared with its sources.", unit="date")


def accelerator_id() -> Any:
    return column("The accelerator; key of accelerators.", str_matches=ID_PATTERN)


def release_year() -> Any:
    return column(
        "Year it could first be bought or rented.",
        unit="year",
        nullable=True,
        in_range={"min_value": 2008, "max_value": 2030},
    )


def threads_per_core() -> Any:
    return column(
        "Hardware threads per core.", nullable=True, in_range={"min_value": 1, "max_value": 8}
    )


def confidence() -> Any:
    return column("How good the source is.", values=vocabulary.CONFIDENCE)


def verified() -> Any:
    return column(
        "An independent second source agrees within 3 %. Never true where confidence is low."
    )


def notes() -> Any:
    return column(
        "Notes for users of the row: conflicts between sources, how things are counted.",
        nullable=True,
    )


class Cited(Table):
    """The base of rule sheets: each row has its source, and the day it was compared with it."""

    source_url: pl.String = source_url()
    as_of: pl.Date = as_of()


class Noted(Cited):
    """The base of rule sheets that also have notes."""

    notes: pl.String = notes()
