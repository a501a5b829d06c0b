"""Make price rows of capacity blocks: machines by the day, reserved ahead and paid upfront.

The price list shows them at $0; what they cost is in the offerings.
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html
"""

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.inventory import ec2_xml
from hwprices.providers.aws.inventory.regions import region_of
from hwprices.providers.aws.kinds import CAPACITY_BLOCKS
from hwprices.providers.aws.prices.parts import Problem, first_problem
from hwprices.rows import prices, quarantine
from hwprices.rows.origin import origin
from hwprices.rows.prices import PriceRows
from hwprices.units import Money

OFFERING = {
    "instance_type": "instanceType",
    "zone": "availabilityZone",
    "machines": "instanceCount",
    "ultraserver": "ultraserverType",
    "ultraservers": "ultraserverCount",
    "hours": "capacityBlockDurationHours",
    "fee": "upfrontFee",
    "currency": "currencyCode",
    "starts": "startDate",
}
"""Our names of an offering's fields, and EC2's."""


def capacity_block_rows(pages: Pages, region: str, currency: str | None = None) -> PriceRows:
    """Make price rows of the cheapest offering of each type and zone.

    The hourly price is the fee over hours and machines, or over hours and UltraServers where it is
    for those. More expensive offerings are out of scope. ``currency`` is that of an offering which
    names none.
    """
    offerings = pl.concat(
        [_read_offerings(pages, page) for page in pages.of(CAPACITY_BLOCKS, region)]
    )
    offerings = offerings.with_columns(
        pl.col("currency").replace("", None).fill_null(pl.lit(currency, dtype=pl.String))
    ).with_columns(*first_problem(_problems()))
    is_price = pl.col("reason").is_null()
    valid = offerings.filter(is_price).drop("reason", "message", "word")
    cheapest = valid.sort("zone", "instance_type", "hourly", "starts", maintain_order=True).unique(
        ["zone", "instance_type"], keep="first", maintain_order=True
    )
    others = valid.height - cheapest.height
    return PriceRows(
        _rows(cheapest.lazy()),
        _refused(offerings.filter(~is_price)),
        {"out_of_scope:dearer_capacity_block": others} if others else {},
    )


def _read_offerings(pages: Pages, page: Page) -> pl.DataFrame:
    offerings = ec2_xml.landed_items(pages, page, "capacityBlockOfferingSet", "availabilityZone")
    fields = [{name: entry.get(tag) for name, tag in OFFERING.items()} for entry in offerings]
    frame = pl.DataFrame(fields, schema=dict.fromkeys(OFFERING, pl.String))
    is_rack = pl.col("ultraserver").fill_null("") != ""
    frame = frame.with_columns(
        instance_type=pl.when(is_rack).then("ultraserver").otherwise("instance_type"),
        machines=pl.when(is_rack).then("ultraservers").otherwise("machines"),
    )
    hours, machines = (pl.col(n).cast(pl.Int64, strict=False) for n in ("hours", "machines"))
    machine_hours = hours * machines
    hourly = prices.read_money(pl.col("fee")) / machine_hours.cast(Money)
    return frame.with_columns(
        *origin(page),
        provider=pl.lit("aws"),
        region=pl.col("zone").map_elements(region_of, return_dtype=pl.String),
        hourly=pl.when(machine_hours > 0).then(hourly.cast(Money)),
    )


def _problems() -> list[Problem]:
    """List why an offering cannot be a price, the first that holds counting."""
    message, values = "offer of {} hours for {} at {}", ("hours", "instance_type", "fee")
    is_unreadable = pl.col("hourly").is_null() | (pl.col("hourly") <= 0)
    return [
        Problem(is_unreadable, "unreadable_price", message, values),
        Problem(pl.col("currency").is_null(), "no_currency", message, values),
    ]


def _refused(offerings: pl.DataFrame) -> pl.DataFrame:
    return quarantine.refused(
        offerings.lazy().drop("hourly").with_columns(purchase_option=pl.lit("capacity_block")),
        table="prices",
    ).collect()


def _rows(offerings: pl.LazyFrame) -> pl.LazyFrame:
    return prices.price_rows(
        offerings,
        provider="aws",
        purchase_option="capacity_block",
        billing_unit="term",
        basis="derived",
        flags=pl.concat_list(pl.format("block_of_{}_hours", "hours")),
    )
