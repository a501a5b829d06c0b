"""Spot quotes by zone, and what the Spot Instance Advisor says of interruptions.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.inventory import ec2_xml
from hwprices.providers.aws.prices import platforms
from hwprices.rows import frames, quarantine
from hwprices.rows.prices import effective_hourly, price_id
from hwprices.schemas.price import Prices
from hwprices.schemas.spot import SpotAdvice
from hwprices.units import Money

VPC_SUFFIX = " (Amazon VPC)"
QUOTE = ["instance_type", "product", "price_text", "timestamp", "zone"]
TRIFLE = Decimal("0.01")
"""A quote below this share of the on-demand price is no market price: AWS speaks of savings up to 90 %.
https://aws.amazon.com/ec2/spot/"""

SAME_MACHINE = ["region", "instance_type", "os", "software", "license_model", "tenancy", "currency"]


def region_of(zone: str) -> str:
    """``us-west-2-lax-1a`` → us-west-2-lax-1: a zone is its region and a letter. Wavelength zones have none."""
    return zone[:-1] if re.search(r"\d[a-z]$", zone) else zone


def prices(
    pages: Pages, landed: Sequence[Page], on_demand: pl.LazyFrame
) -> tuple[pl.LazyFrame, pl.DataFrame, dict[str, int]]:
    """Newest quote of each type, zone and platform → rows of prices, refused rows, counts of the rest.

    ``on_demand`` is a frame of prices to compare with. A quote equal to it is flagged (types without a spot market answer it), and
    so is one that is next to nothing.
    """
    quotes = pl.concat([_quotes(pages, page) for page in landed])
    product = pl.col("product").str.strip_suffix(VPC_SUFFIX)
    rows = quotes.with_columns(
        os=product.replace_strict(platforms.SPOT_PRODUCTS, default=None, return_dtype=pl.String),
        price=pl.col("price_text").cast(Money, strict=False),
        effective_from=pl.col("timestamp").str.to_datetime(
            "%+", time_unit="us", time_zone="UTC", strict=False
        ),
        provider=pl.lit("aws"),
        region=pl.col("zone").map_elements(region_of, return_dtype=pl.String),
    )
    unknown, unreadable = pl.col("os").is_null(), pl.col("price").is_null() | (pl.col("price") <= 0)
    reason = pl.when(unknown).then(pl.lit("unknown_platform")).otherwise(pl.lit("unreadable_price"))
    message = pl.format("spot quote for {} at {}", "product", "price_text")
    refused = quarantine.refused(
        rows.filter(unknown | unreadable).drop("price").lazy(),
        table="prices",
        reason=reason,
        message=message,
    ).collect()
    good = rows.filter(~(unknown | unreadable))
    market = ["zone", "instance_type", "os"]
    latest = good.filter(
        pl.col("effective_from").eq_missing(pl.col("effective_from").max().over(market))
    )
    # The same quote comes once for each network; two prices at one time stay two rows of one key, which validation refuses.
    newest = latest.unique([*market, "price"], keep="first", maintain_order=True)
    counts = (
        {"out_of_scope:superseded_spot_quote": good.height - newest.height}
        if good.height > newest.height
        else {}
    )
    return _rows(newest, on_demand), refused, counts


def _quotes(pages: Pages, page: Page) -> pl.DataFrame:
    found: list[dict[str, Any]] = ec2_xml.items(pages.read(page), "spotPriceHistorySet")
    rows = [
        (
            q.get("instanceType"),
            q.get("productDescription"),
            q.get("spotPrice"),
            q.get("timestamp"),
            q.get("availabilityZone"),
        )
        for q in found
    ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(QUOTE, pl.String), orient="row")
    return frame.with_columns(
        observed_at=pl.lit(page.retrieved_at).cast(pl.Datetime("us", "UTC")),
        source_url=pl.lit(page.url),
        raw_sha256=pl.lit(page.sha256),
    )


def _rows(quotes: pl.DataFrame, on_demand: pl.LazyFrame) -> pl.LazyFrame:
    text = dict.fromkeys(("commitment_plan", "price_reason", "sku_id", "sku_price_id"), None)
    listed = (
        on_demand.filter(
            *(
                pl.col(name) == value
                for name, value in {
                    "purchase_option": "on_demand",
                    "tenancy": "shared",
                    "software": "none",
                    "license_model": "included",
                }.items()
            )
        )
        .group_by(SAME_MACHINE)
        .agg(
            listed=pl.when(pl.col("effective_hourly").n_unique() == 1).then(
                pl.col("effective_hourly").first()
            )
        )  # doubtful ones compare with nothing
    )
    trifle = (pl.col("hourly") < pl.col("listed") * TRIFLE).fill_null(False)
    equal, above = (
        (pl.col("hourly") == pl.col("listed")).fill_null(False),
        (pl.col("hourly") > pl.col("listed")).fill_null(False),
    )
    named = (
        quotes.lazy()
        .with_columns(
            *(pl.lit(value, dtype=pl.String).alias(name) for name, value in text.items()),
            software=pl.lit("none"),
            license_model=pl.lit("included"),
            tenancy=pl.lit("shared"),
            purchase_option=pl.lit("spot"),
            term_months=pl.lit(0, dtype=pl.Int32),
            payment_option=pl.lit("none"),
            currency=pl.when(pl.col("region").str.starts_with("cn-"))
            .then(pl.lit("CNY"))
            .otherwise(pl.lit("USD")),
            hourly=pl.col("price"),
            upfront=pl.lit(None, dtype=Money),
            billing_unit=pl.lit("hour"),
            basis=pl.lit("listed"),
        )
        .join(listed, on=SAME_MACHINE, how="left")
        .with_columns(
            flags=pl.concat_list(
                pl.when(equal).then(pl.lit("spot_equals_on_demand")),
                pl.when(above).then(pl.lit("spot_above_on_demand")),
                pl.when(trifle).then(pl.lit("placeholder")),
            ).list.drop_nulls()
        )
    )
    return frames.conform(
        named.with_columns(effective_hourly(), price_id()).select(list(frames.dtypes(Prices))),
        Prices,
    )


def band(label: str) -> tuple[int, int]:
    """``<5%`` → 0, 5; ``5-10%`` → 5, 10; ``>20%`` → 20, 100."""
    found = re.fullmatch(r"(<|>|\d+-)(\d+)%", label)
    if found is None:
        raise HwpricesError(
            f"the spot advisor's band {label!r} is not understood",
            "The vendor's format has changed: the reader must be adapted.",
        )
    start, figure = found[1], int(found[2])
    return (figure, 100) if start == ">" else (0 if start == "<" else int(start[:-1]), figure)


def advice(pages: Pages, page: Page) -> pl.DataFrame:
    """The Spot Instance Advisor's file → the spot_advice table.

    ``ranges`` lists the bands of the interruption rate, ``spot_advisor.<region>.<system>.<type>`` is ``{"r": band, "s": saving in %}``.
    """
    body = pages.read_json(page)
    labels = {band["index"]: band["label"] for band in body["ranges"]}
    rows = [
        (
            "aws",
            region,
            name,
            platforms.ADVISOR_SYSTEMS[system],
            labels[said["r"]],
            *band(labels[said["r"]]),
            said["s"],
            page.retrieved_at,
            page.sha256,
        )
        for region, systems in sorted(body["spot_advisor"].items())
        for system, types in sorted(systems.items())
        if system in platforms.ADVISOR_SYSTEMS
        for name, said in sorted(types.items())
    ]
    return pl.DataFrame(rows, schema=frames.dtypes(SpotAdvice), orient="row")
