"""Decide what a line of a price list is: its key columns, whether it is in scope, its problem.

A file has a million lines, but only a few hundred distinct combinations of the columns that
classify a line. Each combination is classified once, and the result is joined to the lines.
"""

import polars as pl

from hwprices.providers.aws.prices import platforms
from hwprices.providers.aws.prices.problems import Problem, first_problem

WORDS = [
    "term_type",
    "starting_range",
    "ending_range",
    "unit",
    "currency",
    "lease",
    "payment",
    "offering_class",
    "product_family",
    "location_type",
    "tenancy_word",
    "operating_system",
    "pre_installed",
    "license_words",
    "operation",
    "capacity_status",
    "market_option",
    "region_code",
]
"""Columns whose words classify a line."""

COMBINATION = [*WORDS, "sign", "unnamed"]
"""All columns that classify a line: the words, the sign of the price (-1, 0, 1; null where it is
unreadable), and whether no instance type is named."""

INSTANCES = ("Compute Instance", "Compute Instance (bare metal)")
HOSTS = "Dedicated Host"

PAYMENTS = {
    "noupfront": "no_upfront",
    "partialupfront": "partial_upfront",
    "allupfront": "all_upfront",
}
"""PurchaseOption without blanks and case: old files write AllUpfront, newer ones All Upfront."""


def classify(combinations: pl.DataFrame, region: str, own_files: frozenset[str]) -> pl.DataFrame:
    """Classify distinct combinations of the columns COMBINATION.

    Adds the key columns os, software, license_model, tenancy, region, lease_months and
    lease_payment; capacity_block and is_upfront; out_of_scope (why lines are left out on purpose,
    else null); reason and message (why lines are refused, else null).

    ``region`` is used where a line names none. Lines about regions in ``own_files`` are left out:
    those regions have a price list of their own.
    """
    words = pl.col(WORDS).cast(pl.String).fill_null("").str.strip_chars()
    months = {"1": 12, "3": 36}
    letters = pl.col("payment").str.replace_all(r"[^A-Za-z]", "").str.to_lowercase()
    classified = combinations.with_columns(words).with_columns(
        *platforms.from_words(),
        _tenancy().alias("tenancy"),
        pl.col("region_code").replace("", region).alias("region"),
        pl.col("lease")
        .str.extract(r"^([13])\s*yr$")
        .replace_strict(months, default=None, return_dtype=pl.Int32)
        .alias("lease_months"),
        letters.replace_strict(PAYMENTS, default=None, return_dtype=pl.String).alias(
            "lease_payment"
        ),
        (pl.col("market_option") == "CapacityBlock").alias("capacity_block"),
        (pl.col("unit").str.to_lowercase() == "quantity").alias("is_upfront"),
    )
    return classified.with_columns(
        _out_of_scope(own_files).alias("out_of_scope"), *first_problem(_problems())
    )


def _tenancy() -> pl.Expr:
    is_host = pl.col("product_family") == HOSTS
    by_word = pl.col("tenancy_word").replace_strict(
        {"Shared": "shared", "Dedicated": "dedicated"}, default=None, return_dtype=pl.String
    )
    return pl.when(is_host).then(pl.lit("host")).otherwise(by_word)


def _out_of_scope(own_files: frozenset[str]) -> pl.Expr:
    """Name why a line is left out on purpose; null where it is in scope."""
    family, capacity = pl.col("product_family"), pl.col("capacity_status")
    is_host = family == HOSTS
    return (
        pl.when(~family.is_in([*INSTANCES, HOSTS]))
        .then(pl.lit("product_family=") + family)
        .when(pl.col("location_type").str.contains("(?i)outpost"))
        .then(pl.lit("location_type=") + pl.col("location_type"))
        .when(pl.col("region").is_in(sorted(own_files)))
        .then(pl.lit("region=another_file"))
        .when(~is_host & capacity.is_in(["Used", ""]).not_())
        .then(pl.lit("capacity_status=") + capacity)
        # An instance on a dedicated host is listed at $0: the host is what is paid for.
        .when(~is_host & pl.col("tenancy_word").is_in(["Host", "Reserved"]))
        .then(pl.lit("tenancy=") + pl.col("tenancy_word"))
        .when(is_host & (pl.col("term_type") == "OnDemand") & (pl.col("sign") == 0))
        .then(pl.lit("dedicated_host_at_zero"))
    )


def _problems() -> list[Problem]:
    """List why a line cannot be a price, the first that holds counting."""
    is_host, is_reserved = pl.col("product_family") == HOSTS, pl.col("term_type") == "Reserved"
    return [
        Problem(
            pl.col("sign").is_null() | (pl.col("sign") < 0),
            "unreadable_price",
            "PricePerUnit is no price",
        ),
        Problem(
            ~pl.col("market_option").is_in(["", "OnDemand", "CapacityBlock"]),
            "unknown_market_option",
            "MarketOption {}",
            ("market_option",),
        ),
        Problem(
            ~pl.col("term_type").is_in(["OnDemand", "Reserved"]),
            "unknown_term",
            "TermType {}",
            ("term_type",),
        ),
        Problem(pl.col("unnamed"), "no_instance_type", "the line names no instance type"),
        Problem(pl.col("tenancy").is_null(), "unknown_tenancy", "Tenancy {}", ("tenancy_word",)),
        *_platform_problems(is_host),
        Problem(
            is_reserved & _has_unknown_term(),
            "unknown_term",
            "{} / {} / {}",
            ("lease", "payment", "offering_class"),
        ),
        Problem(
            _has_unknown_unit(is_reserved),
            "unknown_unit",
            "Unit {} of a {} term",
            ("unit", "term_type"),
        ),
        Problem(
            _is_tiered() & ~pl.col("is_upfront"),
            "tiered_price",
            "from {} to {}",
            ("starting_range", "ending_range"),
        ),
    ]


def _platform_problems(is_host: pl.Expr) -> list[Problem]:
    """List the problems of words and operation code. A host has no platform."""
    words = pl.concat_str(["os", "software", "license_model"], separator="/")
    code = platforms.from_operation()
    has_code = ~is_host & ~pl.col("capacity_block")  # capacity blocks have codes of their own
    return [
        Problem(
            ~is_host & pl.any_horizontal(pl.col("os", "software", "license_model").is_null()),
            "unknown_platform",
            "Operating System {}, Pre Installed S/W {}, License Model {}",
            ("operating_system", "pre_installed", "license_words"),
        ),
        Problem(
            has_code & code.is_null(),
            "unknown_operation",
            "operation {} beside {}",
            ("operation", words),
        ),
        Problem(
            has_code & (code != words),
            "platform_disagrees",
            "operation {} is {}, the words say {}",
            ("operation", code, words),
        ),
    ]


def _has_unknown_term() -> pl.Expr:
    return (
        pl.col("lease_months").is_null()
        | pl.col("lease_payment").is_null()
        | ~pl.col("offering_class").is_in(["standard", "convertible"])
    )


def _has_unknown_unit(is_reserved: pl.Expr) -> pl.Expr:
    is_unit = pl.col("unit").str.to_lowercase().is_in(["hrs", "quantity"])
    return ~is_unit | (pl.col("is_upfront") & ~is_reserved)


def _is_tiered() -> pl.Expr:
    from_zero = pl.col("starting_range").is_in(["0", ""])
    to_infinity = pl.col("ending_range").is_in(["Inf", ""])
    return ~from_zero | ~to_infinity
