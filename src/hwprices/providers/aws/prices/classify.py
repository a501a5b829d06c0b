"""What a line of a price list is: which key columns it has, whether it is in scope, and what is wrong with it.

A million lines have some hundreds of ways to be what they are. The ways are judged, each once, and the lines take their way's.
"""

import polars as pl

from hwprices.providers.aws.prices import platforms

WORDS = [
    *(
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
    ),
    *(
        "tenancy_word",
        "operating_system",
        "pre_installed",
        "license_words",
        "operation",
        "capacity_status",
        "market_option",
        "region_code",
    ),
]
"""Columns whose words decide what a line is."""

WAY = [*WORDS, "sign", "unnamed"]
"""A way: the words, the sign of the price (null where it is unreadable), and whether no instance type is named."""

INSTANCES = ("Compute Instance", "Compute Instance (bare metal)")
HOSTS = "Dedicated Host"

PAYMENTS = {
    "noupfront": "no_upfront",
    "partialupfront": "partial_upfront",
    "allupfront": "all_upfront",
}


def judged(ways: pl.DataFrame, region: str, own_files: frozenset[str]) -> pl.DataFrame:
    """Ways with their key columns (os, software, license_model, tenancy, region, lease_months, lease_payment, capacity_block,
    is_upfront), ``scope`` (why a line is left out on purpose, else null) and ``problem`` (``code:words`` why it is refused, else null).

    ``region`` stands where a line names none; lines about regions in ``own_files`` are left to those.
    """
    host = pl.col("product_family") == HOSTS
    letters = pl.col("payment").str.replace_all(r"[^A-Za-z]", "").str.to_lowercase()
    tenancy = pl.col("tenancy_word").replace_strict(
        {"Shared": "shared", "Dedicated": "dedicated"}, default=None, return_dtype=pl.String
    )
    read = ways.with_columns(
        pl.col(WORDS).cast(pl.String).fill_null("").str.strip_chars()
    ).with_columns(
        *platforms.from_words(),
        pl.col("region_code").replace("", region).alias("region"),
        pl.col("lease")
        .str.extract(r"^([13])\s*yr$")
        .replace_strict({"1": 12, "3": 36}, default=None, return_dtype=pl.Int32)
        .alias("lease_months"),
        letters.replace_strict(PAYMENTS, default=None, return_dtype=pl.String).alias(
            "lease_payment"
        ),
        pl.when(host).then(pl.lit("host")).otherwise(tenancy).alias("tenancy"),
        (pl.col("market_option") == "CapacityBlock").alias("capacity_block"),
        (pl.col("unit").str.to_lowercase() == "quantity").alias("is_upfront"),
    )
    return read.with_columns(_scope(own_files).alias("scope"), _problem().alias("problem"))


def _scope(own_files: frozenset[str]) -> pl.Expr:
    """Why a line is deliberately left out; null where it is one of ours."""
    family, capacity = pl.col("product_family"), pl.col("capacity_status")
    host = family == HOSTS
    return (
        pl.when(~family.is_in([*INSTANCES, HOSTS]))
        .then(pl.lit("product_family=") + family)
        .when(pl.col("location_type").str.contains("(?i)outpost"))
        .then(pl.lit("location_type=") + pl.col("location_type"))
        .when(pl.col("region").is_in(sorted(own_files)))
        .then(pl.lit("region=another_file"))
        .when(~host & capacity.is_in(["Used", ""]).not_())
        .then(pl.lit("capacity_status=") + capacity)
        # An instance on a dedicated host is listed at $0: the host is what is paid for.
        .when(~host & pl.col("tenancy_word").is_in(["Host", "Reserved"]))
        .then(pl.lit("tenancy=") + pl.col("tenancy_word"))
        .when(host & (pl.col("term_type") == "OnDemand") & (pl.col("sign") == 0))
        .then(pl.lit("dedicated_host_at_zero"))
    )


def _problem() -> pl.Expr:
    """Why a line cannot be taken for a price; null where it can."""
    host, block, reserved = (
        pl.col("product_family") == HOSTS,
        pl.col("capacity_block"),
        pl.col("term_type") == "Reserved",
    )
    words, code = (
        pl.concat_str(["os", "software", "license_model"], separator="/"),
        platforms.from_operation(),
    )
    platform = ~host & ~block
    tiered = ~pl.col("starting_range").is_in(["0", ""]) | ~pl.col("ending_range").is_in(["Inf", ""])
    return (
        pl.when(pl.col("sign").is_null() | (pl.col("sign") < 0))
        .then(pl.lit("unreadable_price:PricePerUnit is no price"))
        .when(~pl.col("market_option").is_in(["", "OnDemand", "CapacityBlock"]))
        .then(pl.format("unknown_market_option:MarketOption {}", "market_option"))
        .when(~pl.col("term_type").is_in(["OnDemand", "Reserved"]))
        .then(pl.format("unknown_term:TermType {}", "term_type"))
        .when(pl.col("unnamed"))
        .then(pl.lit("no_instance_type:the line names no instance type"))
        .when(pl.col("tenancy").is_null())
        .then(pl.format("unknown_tenancy:Tenancy {}", "tenancy_word"))
        .when(~host & pl.any_horizontal(pl.col("os", "software", "license_model").is_null()))
        .then(
            pl.format(
                "unknown_platform:Operating System {}, Pre Installed S/W {}, License Model {}",
                "operating_system",
                "pre_installed",
                "license_words",
            )
        )
        .when(platform & code.is_null())
        .then(pl.format("unknown_operation:operation {} beside {}", "operation", words))
        .when(platform & (code != words))
        .then(
            pl.format(
                "platform_disagrees:operation {} is {}, the words say {}", "operation", code, words
            )
        )
        .when(
            reserved
            & (
                pl.col("lease_months").is_null()
                | pl.col("lease_payment").is_null()
                | ~pl.col("offering_class").is_in(["standard", "convertible"])
            )
        )
        .then(pl.format("unknown_term:{} / {} / {}", "lease", "payment", "offering_class"))
        .when(
            ~pl.col("unit").str.to_lowercase().is_in(["hrs", "quantity"])
            | (pl.col("is_upfront") & ~reserved)
        )
        .then(pl.format("unknown_unit:Unit {} of a {} term", "unit", "term_type"))
        .when(tiered & ~pl.col("is_upfront"))
        .then(pl.format("tiered_price:from {} to {}", "starting_range", "ending_range"))
    )
