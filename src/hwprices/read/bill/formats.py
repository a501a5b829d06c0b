"""Declare the columns of each bill format, and read what a line charges for.

``columns.csv`` has a row for each column of this package and a column for each format, with the
names in the file: the first name with a value counts; names with ``+`` or ``-`` are added or
subtracted. ``*`` marks a required column. ``words.csv`` has the vendors' words in lower case, by
format, column and meaning. Sources:

- FOCUS 1.0 to 1.3: https://focus.finops.org/focus-specification/
- AWS CUR 2.0: https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html
- Azure: https://learn.microsoft.com/azure/cost-management-billing/automate/understand-usage-details-fields
- Google: https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage

A bill has millions of lines, but few kinds of lines. Texts are parsed once for each distinct
combination of KIND.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from hwprices.formulas import first_of
from hwprices.specs import csv_rows
from hwprices.units import HOURS_PER_MONTH

AMOUNT = "DECIMAL(38,12)"  # Money and quantities; digits after the twelfth decimal are rounded
TIME = "TIMESTAMPTZ"
TEXT = "VARCHAR"

_TABLE = csv_rows(Path(__file__).with_name("columns.csv"))
_WORDS = csv_rows(Path(__file__).with_name("words.csv"))
_PATTERNS = csv_rows(Path(__file__).with_name("patterns.csv"))

COLUMNS = {
    row["column"]: {"amount": AMOUNT, "time": TIME, "text": TEXT}[row["type"]] for row in _TABLE
} | {"category_word": TEXT}
"""Columns of a line of any format; null if the format does not have them.

``quantity`` is in ``unit``; ``list_price`` is for one unit, from ``tier`` units per month on.
``billed`` is on the invoice, ``effective`` has the fees of commitments spread over their use, and
``unused`` is the unused part of a commitment's fee.
"""

KIND = (
    *("provider", "service", "region", "option", "sku", "rate", "meter", "tier"),
    *("usage_type", "machine", "details", "description", "unit"),
)
"""Columns that determine what a line charges for. The column ``key`` is their hash."""

IDENTITY = (
    *("account", "resource", "allocated", "category_word", "sku", "rate", "meter", "usage_type"),
    *("description", "option", "commitment", "start", "end", "quantity", "unit", "list_cost"),
    *("billed", "effective"),
)
"""Two lines that agree in all of these charge the same use of the same resource twice. The column
``identity`` is their hash; null if a line is not usage, has no resource or is free."""

NEVER_EMPTY = ("category_word", "start", "billed", "currency")
"""Columns that every line needs; ``category_word`` is the vendor's word for the category."""


@dataclass(frozen=True)
class Format:
    """One format.

    ``signs``: columns in lower case that identify the format together. ``days``: a line covers one
    day. ``blocks``: the quantity counts single units (hours, although the unit is "100 Hours"); the
    list price is in the pricing currency. ``structures``: columns that are nested in JSON lines and
    Parquet, with DuckDB's type.
    """

    name: str
    signs: tuple[str, ...]
    provider: str = ""
    days: bool = False
    blocks: bool = False
    structures: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, list[str]]:
        """The names in the file of each column, with their sign if they are added."""
        names = {row["column"]: row[self.name].lstrip("*").split() for row in _TABLE}
        return names | {"category_word": names["category"]}

    @property
    def required(self) -> list[str]:
        """The columns that the file must have."""
        return [row["column"] for row in _TABLE if row[self.name].startswith("*")]

    def words(self, column: str) -> dict[str, str]:
        """Return the meanings of a column's words; an unknown word of ``category`` is an error."""
        rows = (row for row in _WORDS if (row["format"], row["column"]) == (self.name, column))
        return {word: row["meaning"] for row in rows for word in row["words"].split("|")}


FORMATS = (
    Format("FOCUS", signs=("chargecategory", "billedcost", "chargeperiodstart")),
    Format(
        "AWS CUR",
        signs=("line_item_line_item_type", "line_item_usage_start_date"),
        provider="aws",
    ),
    Format(
        "Azure cost export",
        signs=("metercategory", "chargetype", "pricingmodel"),
        provider="azure",
        days=True,
        blocks=True,
    ),
    Format(
        "Google Cloud detailed export",
        signs=("usage_start_time", "usage_end_time", "cost", "cost_type"),
        provider="gcp",
        structures={
            "project": "STRUCT(id VARCHAR)",
            "service": "STRUCT(id VARCHAR, description VARCHAR)",
            "sku": "STRUCT(id VARCHAR, description VARCHAR)",
            "location": "STRUCT(region VARCHAR, zone VARCHAR)",
            "resource": "STRUCT(name VARCHAR, global_name VARCHAR)",
            "usage": f"STRUCT(amount_in_pricing_units {AMOUNT}, pricing_unit VARCHAR)",
            "price": f"STRUCT(list_price {AMOUNT}, tier_start_amount {AMOUNT})",
            "credits": f"STRUCT(id VARCHAR, type VARCHAR, amount {AMOUNT})[]",
        },
    ),
)


KEY = "key"
"""The 64-bit hash of KIND, which the reader adds to each line. The probability of a collision among
100,000 kinds is 3e-10."""


def _patterns(of: str) -> dict[str, str]:
    """Return the values of a column in ``patterns.csv`` by their patterns."""
    return {row["pattern"]: row["value"] for row in _PATTERNS if row["of"] == of}


COMPUTE = _patterns("compute")
"""Patterns of the services that rent machines, and their providers. Only these are collected."""

NOT_MACHINE_HOURS = _patterns("not_machine_hours")
"""Patterns of charges under a machine's name that are not machine hours, and their providers;
Google's are hours of components."""

SYSTEMS = _patterns("os")  # the most specific first
SOFTWARE = _patterns("software")

AWS_TYPE = r"[a-z][a-z0-9-]*\.(?:\d*x?large|medium|small|micro|nano|metal(?:-[a-z0-9]+)?)"
"""An instance type of AWS: g5.4xlarge, u7i-12tb.224xlarge, c7i.metal-24xl."""

IN_DETAILS = (
    r'"(?:InstanceType|instanceType|instance_type|ServiceType|compute\.googleapis\.com/machine_spec)'
    r'"\s*:\s*"([^"]+)"'
)
"""The machine type in FOCUS (SkuPriceDetails), AWS (product), Azure (AdditionalInfo) and Google."""

IN_USAGE_TYPE = rf"(?:BoxUsage|SpotUsage|DedicatedUsage)[A-Za-z]*:({AWS_TYPE})"
IN_DESCRIPTION = rf"(?:^|\s)({AWS_TYPE})\b.*?[Ii]nstance[ -][Hh]our"

PART_UNIT = r"(?i)\b(?:[ov]?cpu|core|[gtm]i?b|gibibyte|gigabyte)s?\b"
"""Units of a machine's parts; such lines are not machine hours."""

AZURE_LINUX = r"(?i)\bseries\b"
"""Azure's texts name the machine's series, followed by Windows but not always by Linux."""

AZURE_OTHER = r"(?i)\blow priority\b|\bcloud ?services\b"
"""Machines of Azure that are sold otherwise; their system is not that of their series."""

UNITS = {r"month|/\s*mo\b": HOURS_PER_MONTH, r"hour|\bhrs?\b|^h$": 1}
"""Words for time in a unit: its hours. Other units are not read."""


def distinct(lines: pl.LazyFrame) -> pl.DataFrame:
    """Return the distinct kinds of lines with their ``key``, described."""
    kinds = lines.group_by(KEY).agg(pl.col(KIND).first())
    return described(kinds.collect(engine="streaming").sort(KEY))


def described(keys: pl.DataFrame) -> pl.DataFrame:
    """Parse the texts of each kind of line.

    Adds type, os, software, license_model, tenancy, place, hours, block, compute, bought.
    ``type`` is the machine type in lower case, null for other charges. ``os`` is null if unstated.
    ``hours`` are the hours of one unit of quantity. ``sku_id`` is the SKU, or for AWS the SKU in
    the rate code.
    """
    details = pl.col("details").fill_null("")
    usage = pl.col("usage_type").fill_null("")
    description = pl.col("description").fill_null("")
    system = details.str.extract(
        r'"(?i:operating_?system|x_operatingsystem)"\s*:\s*"([^"]+)"'
    ).fill_null("")
    software = details.str.extract(r'"(?i:preinstalledsw|pre_installed_sw)"\s*:\s*"([^"]+)"')
    words = pl.concat_str(system, software.fill_null(""), usage, description, separator=" ")
    tenancy = pl.concat_str(
        pl.coalesce(
            details.str.extract(r'"(?i:x?_?tenancy)"\s*:\s*"([^"]+)"'),
            description.str.extract(r"(?i)\b(dedicated(?: host)?)\b"),
            pl.lit(""),
        ),
        usage,
        separator=" ",
    )
    service = pl.col("service").fill_null("")
    compute = pl.any_horizontal(
        (pl.col("provider") == provider) & service.str.contains(pattern)
        for pattern, provider in COMPUTE.items()
    )
    other = ~pl.col("provider").is_in(list(COMPUTE.values()))
    machine = pl.coalesce(
        "machine",
        details.str.extract(IN_DETAILS),
        usage.str.extract(IN_USAGE_TYPE),
        description.str.extract(IN_DESCRIPTION),
    )
    beside = pl.any_horizontal(
        (pl.col("provider") == provider) & pl.concat_str(usage, description).str.contains(pattern)
        for pattern, provider in NOT_MACHINE_HOURS.items()
    )
    unit = pl.col("unit").str.to_lowercase().fill_null("")
    return keys.with_columns(
        sku_id=pl.coalesce("sku", pl.col("rate").str.split(".").list.first()),
        compute=compute | other,
        type=pl.when((compute & ~beside & ~unit.str.contains(PART_UNIT)) | other).then(
            machine.str.to_lowercase()
        ),
        os=pl.coalesce(
            _first(words, SYSTEMS),
            pl.when(
                pl.col("provider") == "azure",
                words.str.contains(AZURE_LINUX),
                ~words.str.contains(AZURE_OTHER),
            ).then(pl.lit("linux")),
        ),
        software=_first(words, SOFTWARE).fill_null("none"),
        license_model=first_of({"byol": words.str.contains(r"(?i)\bbyol\b")}, "included"),
        tenancy=first_of(
            {
                "host": tenancy.str.contains(r"(?i)\bhost(?:boxusage)?\b"),
                "dedicated": tenancy.str.contains(r"(?i)dedicated"),
            },
            "shared",
        ),
        place=plain_place(pl.col("region")),
        hours=_first(unit, {pattern: str(hours) for pattern, hours in UNITS.items()}).cast(
            pl.Int64
        ),
        block=block_of(unit),
        bought=first_of(
            {
                "spot": (pl.col("option") == "spot")
                | usage.str.contains("SpotUsage|Spot$")
                | details.str.contains(r'"x_Preemptible":\s*"?true'),
                "committed": pl.col("option") == "committed",
            },
            "on_demand",
        ),
    )


def plain_place(region: pl.Expr) -> pl.Expr:
    """Normalize a region: remove case, spaces and hyphens, so that "East US" is eastus."""
    return region.str.to_lowercase().str.replace_all(r"[\s_-]", "")


def block_of(unit: pl.Expr) -> pl.Expr:
    """Return the number in a unit: 100 of "100 Hours", else 1."""
    return unit.str.extract(r"^(\d+)\s").cast(pl.Int64).fill_null(1)


def _first(text: pl.Expr, patterns: dict[str, str]) -> pl.Expr:
    """Return the word of the first pattern that a text contains, or null."""
    return pl.coalesce(
        pl.when(text.str.contains(f"(?i){pattern}")).then(pl.lit(word))
        for pattern, word in patterns.items()
    )
