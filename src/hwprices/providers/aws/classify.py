"""Decide what a line of a price list is: its key columns, whether it is in scope, its problem.

A file has a million lines, but only a few hundred distinct combinations of the columns that
classify a line. Each combination is classified once, and the result is joined to the lines.

The price list states operating system, software and license twice: in words (Operating System, Pre
Installed S/W, License Model) and as a usage operation code. Both must agree. The sheet aws_words
lists them. Codes: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from hwprices.providers.aws.price_rows import Problem, first_problem, unknown_word, word_of
from hwprices.rows import prices
from hwprices.specs import packaged_rows


@dataclass(frozen=True)
class Platform:
    """The three key columns of prices that say which software is included."""

    os: str
    software: str
    license_model: str

    def __str__(self) -> str:
        return f"{self.os}/{self.software}/{self.license_model}"


INFRASTRUCTURE = "infrastructure"
"""License of a machine whose Windows is billed separately per vCPU, so its price is incomplete:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-optimize-cpu.html"""

_ROWS = packaged_rows("aws_words")

OPERATIONS = {
    row["words"]: Platform(row["os"], row["software"], row["license_model"])
    for row in _ROWS
    if row["kind"] == "operation"
}
"""Usage operation code → platform."""


def _words(kind: str, column: str) -> dict[str, str]:
    return {row["words"]: row[column] for row in _ROWS if row["kind"] == kind}


SPOT_PRODUCTS = _words("spot_product", "os")
"""ProductDescription of spot quotes → os. The suffix " (Amazon VPC)", the network, is removed."""


def from_words() -> list[pl.Expr]:
    """Make os, software and license_model from the words; null where a word is unknown."""
    return [
        _translated("operating_system", _words("operating_system", "os")).alias("os"),
        _translated("pre_installed", _words("pre_installed", "software")).alias("software"),
        _translated("license_words", _words("license", "license_model")).alias("license_model"),
    ]


def from_operation() -> pl.Expr:
    """Translate the operation code to ``os/software/license_model``; null for an unknown code."""
    codes = {code: str(platform) for code, platform in OPERATIONS.items()}
    return pl.col("operation").replace_strict(codes, default=None, return_dtype=pl.String)


def _translated(column: str, words: Mapping[str, str]) -> pl.Expr:
    text = pl.col(column).fill_null("").str.strip_chars().str.to_lowercase().replace("", "na")
    return text.replace_strict(words, default=None, return_dtype=pl.String)


WORDS = [
    *("term_type", "starting_range", "ending_range", "unit", "currency", "lease", "payment"),
    *("offering_class", "product_family", "location_type", "tenancy_word", "operating_system"),
    *("pre_installed", "license_words", "operation", "capacity_status", "market_option"),
    "region_code",
]
"""Columns whose words classify a line."""

COMBINATION = [*WORDS, "sign", "unnamed"]
"""All columns that classify a line: the words, the sign of the price (-1, 0, 1; null if it is
unreadable), and whether the line names no instance type."""

INSTANCES = ("Compute Instance", "Compute Instance (bare metal)")
HOSTS = "Dedicated Host"

OTHER_FAMILIES = [
    *("CPU Credits", "Data Transfer", "EBS direct API Requests", "Elastic Graphics", "Fee"),
    *("IP Address", "Load Balancer", "Load Balancer-Application", "Load Balancer-Gateway"),
    *("Load Balancer-Network", "NAT Gateway", "Provisioned IOPS", "Provisioned Throughput"),
    *("Storage", "Storage Snapshot", "System Operation"),
]
"""Product families that are not machines. An unknown family that names an instance type is new."""

OTHER_CAPACITY = ["UnusedCapacityReservation", "AllocatedCapacityReservation", "N/A", "NA"]
"""Capacity that is reserved and idle, paid with its reservation, or not a running machine.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html"""

IDLE = r"Unused|Reservation"  # Usage types of such capacity, for files without CapacityStatus
ZONES = ["AWS Local Zone", "AWS Wavelength Zone"]
PLACES = ["", "AWS Region", *ZONES]
"""Location types of machines that AWS runs; older files leave the column empty."""

PAYMENTS = {
    "noupfront": "no_upfront",
    "partialupfront": "partial_upfront",
    "allupfront": "all_upfront",
}
"""PurchaseOption in lower case without blanks: old files have AllUpfront, newer All Upfront."""

PART = "part"  # out_of_scope of a line that is not a machine: it is read for component_prices
ON_HOST = "tenancy="  # Prefix of out_of_scope of an instance on a dedicated host
CURRENCY = r"^[A-Z]{3}$"

TERM_COLUMNS = ("OfferTermCode", "LeaseContractLength", "PurchaseOption", "OfferingClass")
"""Columns that only reserved terms need."""


def classify(
    combinations: pl.DataFrame,
    region: str,
    other_files: frozenset[str],
    lacking: frozenset[str] = frozenset(),
) -> pl.DataFrame:
    """Classify distinct combinations of the columns COMBINATION.

    Adds the key columns os, software, license_model, tenancy, region, lease_months and
    lease_payment; capacity_block and is_upfront; out_of_scope (why lines are left out on purpose,
    else null); reason, message and word (why lines are refused, else null); and sku_refused
    (whether the SKU is refused with all its lines, not only the line).

    ``region`` is used for lines that name none. Lines about regions in ``other_files`` are left
    out: they are in price lists of these regions. ``lacking`` are the columns that the file lacks.
    """
    words = pl.col(WORDS).cast(pl.String).fill_null("").str.strip_chars()
    months = {"1": 12, "3": 36}
    payment = pl.col("payment").str.replace_all(" ", "").str.to_lowercase()
    classified = combinations.with_columns(words).with_columns(
        *from_words(),
        _tenancy().alias("tenancy"),
        pl.col("region_code").replace("", region).alias("region"),
        pl.col("lease")
        .str.extract(r"^([13])\s*yr$")
        .replace_strict(months, default=None, return_dtype=pl.Int32)
        .alias("lease_months"),
        payment.replace_strict(PAYMENTS, default=None, return_dtype=pl.String).alias(
            "lease_payment"
        ),
        (pl.col("market_option") == "CapacityBlock").alias("capacity_block"),
        (pl.col("unit").str.to_lowercase() == "quantity").alias("is_upfront"),
    )
    sku_problems = _sku_problems()
    return classified.with_columns(
        _out_of_scope(other_files).alias("out_of_scope"),
        *first_problem([*sku_problems, *_line_problems(lacking & set(TERM_COLUMNS))]),
        sku_refused=pl.any_horizontal(
            problem.condition.fill_null(False) for problem in sku_problems
        ),
    )


def is_part() -> pl.Expr:
    """Check whether a line is about something billed beside machines; its family may be null."""
    family = pl.col("product_family")
    is_machine = family.is_in([*INSTANCES, HOSTS]).fill_null(False)
    is_other = family.is_in(OTHER_FAMILIES).fill_null(False)
    return is_other | (~is_machine & pl.col("unnamed"))


def _tenancy() -> pl.Expr:
    is_host = pl.col("product_family") == HOSTS
    by_word = pl.col("tenancy_word").replace_strict(
        {"Shared": "shared", "Dedicated": "dedicated"}, default=None, return_dtype=pl.String
    )
    return pl.when(is_host).then(pl.lit("host")).otherwise(by_word)


def _out_of_scope(other_files: frozenset[str]) -> pl.Expr:
    """Return why a line is left out on purpose; null if it is in scope."""
    family, capacity = pl.col("product_family"), pl.col("capacity_status")
    is_host = family == HOSTS
    is_infrastructure = pl.col("license_model") == INFRASTRUCTURE
    return (
        pl.when(pl.col("location_type").str.contains("(?i)outpost"))
        .then(pl.lit("location_type=") + pl.col("location_type"))
        .when(pl.col("region").is_in(sorted(other_files)))
        .then(pl.lit("region=another_file"))
        .when(is_part())
        .then(pl.lit(PART))
        .when(~is_host & capacity.is_in(OTHER_CAPACITY))
        .then(pl.lit("capacity_status=") + capacity)
        # An instance on a dedicated host is listed at $0, because the host is billed.
        .when(~is_host & pl.col("tenancy_word").is_in(["Host", "Reserved"]))
        .then(pl.lit(ON_HOST) + pl.col("tenancy_word"))
        .when(is_host & (pl.col("term_type") == "OnDemand") & (pl.col("sign") == 0))
        .then(pl.lit("dedicated_host_at_zero"))
        # The machine without its Windows, which is billed separately per vCPU: an incomplete price.
        .when(~is_host & is_infrastructure & (from_operation() == _platform()))
        .then(pl.lit("license_model=") + pl.col("license_words"))
    )


def _sku_problems() -> list[Problem]:
    """List the problems that all lines of a SKU share; the first that holds counts."""
    is_host, family = pl.col("product_family") == HOSTS, pl.col("product_family")
    is_block, is_reserved = pl.col("capacity_block"), pl.col("term_type") == "Reserved"
    return [
        Problem(pl.col("unnamed"), "no_instance_type", "the line names no instance type"),
        unknown_word(
            ~family.is_in([*INSTANCES, HOSTS]),
            "unknown_product",
            "Product Family",
            "product_family",
        ),
        unknown_word(
            ~pl.col("location_type").is_in(PLACES),
            "unknown_location",
            "Location Type",
            "location_type",
        ),
        # Without its code, a zone would get the prices of the file's region.
        Problem(
            pl.col("location_type").is_in(ZONES) & (pl.col("region_code") == ""),
            "unknown_location",
            "Location Type {} without Region Code",
            ("location_type",),
            pl.format("{} without Region Code", "location_type"),
        ),
        unknown_word(
            ~is_host & ~pl.col("capacity_status").is_in(["", "Used"]),
            "unknown_option",
            "CapacityStatus",
            "capacity_status",
        ),
        unknown_word(
            ~pl.col("market_option").is_in(["", "OnDemand", "CapacityBlock"]),
            "unknown_market_option",
            "MarketOption",
            "market_option",
        ),
        Problem(
            is_block & is_reserved,
            "unknown_market_option",
            "MarketOption {} of a {} term",
            ("market_option", "term_type"),
            pl.format("{} {}", "term_type", "market_option"),
        ),
        unknown_word(pl.col("tenancy").is_null(), "unknown_tenancy", "Tenancy", "tenancy_word"),
        Problem(
            ~pl.col("unit").str.to_lowercase().is_in(["hrs", "quantity"]),
            "unknown_unit",
            "Unit {} of a {} term",
            ("unit", "term_type"),
            word_of("unit"),
        ),
        *_platform_problems(~is_host, has_code=~is_host & ~is_block),
    ]


def _platform_problems(is_machine: pl.Expr, has_code: pl.Expr) -> list[Problem]:
    """List the problems of words and operation code.

    A host has no platform, and capacity blocks have other codes.
    """
    message = "Operating System {}, Pre Installed S/W {}, License Model {}"
    values = ("operating_system", "pre_installed", "license_words")
    code, words = from_operation(), _platform()
    return [
        *(
            Problem(is_machine & pl.col(key).is_null(), reason, message, values, word_of(vendors))
            for key, vendors, reason in (
                ("os", "operating_system", "unknown_platform"),
                ("software", "pre_installed", "unknown_platform"),
                ("license_model", "license_words", "unknown_license"),
            )
        ),
        Problem(
            has_code & code.is_null(),
            "unknown_operation",
            "operation {} beside {}",
            ("operation", words),
            word_of("operation"),
        ),
        # Both are known and disagree. A block's code is not compared, but a block includes Windows.
        Problem(
            (has_code & (code != words))
            | (is_machine & (pl.col("license_model") == INFRASTRUCTURE)),
            "platform_disagrees",
            "operation {} is {}, the words say {}",
            ("operation", code, words),
            prices.message("{} beside {}", "operation", words),
        ),
    ]


def _line_problems(lacking: frozenset[str]) -> list[Problem]:
    """List the problems of a line whose SKU has none."""
    is_reserved = pl.col("term_type") == "Reserved"
    named = ", ".join(sorted(lacking))
    message, values = "{} / {} / {}", ("lease", "payment", "offering_class")
    from_zero = pl.col("starting_range").is_in(["0", ""])
    to_infinity = pl.col("ending_range").is_in(["Inf", ""])
    return [
        Problem(
            pl.col("sign").is_null() | (pl.col("sign") < 0),
            "unreadable_price",
            "PricePerUnit is not a price",
        ),
        Problem(pl.col("currency") == "", "no_currency", "the line names no currency"),
        unknown_word(
            ~pl.col("currency").str.contains(CURRENCY), "unknown_currency", "Currency", "currency"
        ),
        unknown_word(
            ~pl.col("term_type").is_in(["OnDemand", "Reserved"]),
            "unknown_term",
            "TermType",
            "term_type",
        ),
        Problem(
            is_reserved & pl.lit(bool(lacking)),
            "unknown_column",
            f"the file lacks {named}",
            word=pl.lit(named),
        ),
        *(
            Problem(is_reserved & is_unknown, "unknown_term", message, values, word_of(vendors))
            for is_unknown, vendors in (
                (pl.col("lease_months").is_null(), "lease"),
                (pl.col("lease_payment").is_null(), "payment"),
                (~pl.col("offering_class").is_in(["standard", "convertible"]), "offering_class"),
            )
        ),
        Problem(
            pl.col("is_upfront") & ~is_reserved,
            "unknown_unit",
            "Unit {} of a {} term",
            ("unit", "term_type"),
            pl.format("{} {}", "term_type", "unit"),
        ),
        Problem(
            (~from_zero | ~to_infinity) & ~pl.col("is_upfront"),
            "tiered_price",
            "from {} to {}",
            ("starting_range", "ending_range"),
        ),
    ]


def _platform() -> pl.Expr:
    return pl.concat_str(["os", "software", "license_model"], separator="/")
