"""Capacity blocks: machines by the day, reserved ahead, paid upfront. The price list shows them at $0; the offers tell the fee.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html
"""

from collections.abc import Sequence

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.inventory import ec2_xml
from hwprices.providers.aws.prices.spot import region_of
from hwprices.rows import frames, quarantine
from hwprices.rows.prices import effective_hourly, price_id
from hwprices.schemas.price import Prices
from hwprices.units import Money

OFFER = {
    "instance_type": "instanceType",
    "zone": "availabilityZone",
    "machines": "instanceCount",
    "hours": "capacityBlockDurationHours",
    "fee": "upfrontFee",
    "currency": "currencyCode",
    "starts": "startDate",
}


def prices(
    pages: Pages, landed: Sequence[Page]
) -> tuple[pl.LazyFrame, pl.DataFrame, dict[str, int]]:
    """The cheapest offer of each type and zone → rows of prices (fee over hours and machines), refused rows, counts of the rest."""
    offers = pl.concat([_offers(pages, page) for page in landed])
    divisor = pl.col("hours").cast(pl.Int64, strict=False) * pl.col("machines").cast(
        pl.Int64, strict=False
    )
    rows = offers.with_columns(
        provider=pl.lit("aws"),
        region=pl.col("zone").map_elements(region_of, return_dtype=pl.String),
        hourly=pl.when(divisor > 0).then(
            (pl.col("fee").cast(Money, strict=False) / divisor.cast(Money)).cast(Money)
        ),
    )
    bad = pl.col("hourly").is_null() | (pl.col("hourly") <= 0)
    message = pl.format("offer of {} for {} at {}", "hours", "instance_type", "fee")
    refused = quarantine.refused(
        rows.filter(bad).drop("hourly").lazy(),
        table="prices",
        reason="unreadable_price",
        message=message,
    ).collect()
    good = rows.filter(~bad).sort("zone", "instance_type", "hourly", "starts", maintain_order=True)
    cheapest = good.unique(["zone", "instance_type"], keep="first", maintain_order=True)
    counts = (
        {"out_of_scope:dearer_capacity_block": good.height - cheapest.height}
        if good.height > cheapest.height
        else {}
    )
    return _rows(cheapest), refused, counts


def _offers(pages: Pages, page: Page) -> pl.DataFrame:
    found = ec2_xml.items(pages.read(page), "capacityBlockOfferingSet")
    frame = pl.DataFrame(
        [{ours: offer.get(theirs) for ours, theirs in OFFER.items()} for offer in found],
        schema=dict.fromkeys(OFFER, pl.String),
    )
    return frame.with_columns(
        observed_at=pl.lit(page.retrieved_at).cast(pl.Datetime("us", "UTC")),
        source_url=pl.lit(page.url),
        raw_sha256=pl.lit(page.sha256),
    )


def _rows(offers: pl.DataFrame) -> pl.LazyFrame:
    named = offers.lazy().with_columns(
        *(
            pl.lit(None, dtype=pl.String).alias(name)
            for name in ("commitment_plan", "price_reason", "sku_id", "sku_price_id")
        ),
        os=pl.lit("linux"),
        software=pl.lit("none"),
        license_model=pl.lit("included"),
        tenancy=pl.lit("shared"),
        purchase_option=pl.lit("capacity_block"),
        term_months=pl.lit(0, dtype=pl.Int32),
        payment_option=pl.lit("none"),
        upfront=pl.lit(None, dtype=Money),
        billing_unit=pl.lit("term"),
        basis=pl.lit("derived"),
        effective_from=pl.lit(None, dtype=pl.Datetime("us", "UTC")),
        flags=pl.concat_list(pl.format("block_of_{}_hours", "hours")),
    )
    return frames.conform(
        named.with_columns(effective_hourly(), price_id()).select(list(frames.dtypes(Prices))),
        Prices,
    )
