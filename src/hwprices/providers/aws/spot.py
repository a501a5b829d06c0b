"""Make price rows of spot quotes, and of capacity blocks: machines reserved ahead for some days.

Spot quotes:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html

Offerings of capacity blocks, which the price list shows at $0:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.aws import CAPACITY_BLOCKS, SPOT, classify, responses
from hwprices.providers.aws.price_rows import Problem, first_problem
from hwprices.providers.aws.regions import currency_of, region_of
from hwprices.rows import prices
from hwprices.rows.frames import origin, origins
from hwprices.rows.prices import PriceRows
from hwprices.schemas.tables import SpotAdvice
from hwprices.units import Money, Timestamp, WideMoney

VPC_SUFFIX = " (Amazon VPC)"

QUOTE = {
    "instance_type": "instanceType",
    "product": "productDescription",
    "price_text": "spotPrice",
    "timestamp": "timestamp",
    "zone": "availabilityZone",
}
"""Our name → EC2's name of a quote's fields."""

MARKET = ["zone", "instance_type", "os"]  # What a quote is for

PLACEHOLDER_SHARE = Decimal("0.01")
"""Quotes below this share of the on-demand price are not market prices: AWS speaks of savings of up
to 90 %. https://aws.amazon.com/ec2/spot/"""

ROUNDING = Decimal("0.00005")
"""Half a unit of the fourth decimal: spot quotes have four decimals, on-demand prices up to ten.
Known wrong number A15 (docs/known-wrong-numbers.md): 0.2118 beside 0.21181."""

SAME_MACHINE = ["region", "instance_type", "os", "software", "license_model", "tenancy", "currency"]

COMPARED = {
    "purchase_option": "on_demand",
    "tenancy": "shared",
    "software": "none",
    "license_model": "included",
}
"""The on-demand prices that spot quotes are compared with."""


def spot_rows(pages: Pages, region: str, listed: pl.LazyFrame, currency: str | None) -> PriceRows:
    """Make price rows of the newest quote of each type, zone and operating system.

    Quotes are in ``currency``, that of the region, or None if it is unknown. ``listed`` has the
    rows of the region's price list, with the columns of prices. A quote equal to the on-demand
    price is flagged, because EC2 returns it for types without a spot market. So are quotes above it
    and quotes near zero. Older quotes are counted as out of scope.
    """
    quotes = _read_quotes(pages, pages.of(SPOT, region)).with_columns(
        currency=pl.lit(currency, dtype=pl.String)
    )
    quotes = quotes.with_columns(*first_problem(_problems()))
    valid = quotes.filter(pl.col("reason").is_null()).drop("reason", "message", "word")
    newest = _newest(valid)
    superseded = valid.height - newest.height
    return PriceRows(
        _rows(newest.lazy(), _on_demand(listed)),
        _refused(quotes.filter(pl.col("reason").is_not_null()), option="spot"),
        {"out_of_scope:superseded_spot_quote": superseded} if superseded else {},
    )


def day_rows(pages: Pages, region: str, day: datetime) -> pl.LazyFrame:
    """Make one row per type, zone and operating system: its average price in a day.

    ``hourly`` is the mean, weighted by the time for which each quote held; hourly_low and
    hourly_high are the lowest and the highest quote. The landed pages have the quotes of the day,
    and the last one before it of each market. Unreadable quotes are left out.
    """
    end = day + timedelta(days=1)
    quotes = _read_quotes(pages, pages.of(SPOT, region)).with_columns(
        currency=pl.lit(currency_of(region), dtype=pl.String)
    )
    valid = quotes.with_columns(*first_problem(_problems())).filter(
        pl.col("reason").is_null(), pl.col("effective_from") < end
    )
    begins = pl.max_horizontal("effective_from", pl.lit(day, dtype=Timestamp))
    ends = pl.col("effective_from").shift(-1).over(MARKET).fill_null(pl.lit(end, dtype=Timestamp))
    price = pl.col("hourly").cast(WideMoney)
    seconds = pl.col("seconds").cast(WideMoney)
    days = (
        valid.unique([*MARKET, "effective_from"], keep="first", maintain_order=True)
        .sort(*MARKET, "effective_from")
        .with_columns(seconds=(ends - begins).dt.total_seconds())
        .filter(pl.col("seconds") > 0)
        .group_by(MARKET, maintain_order=True)
        .agg(
            pl.exclude(*MARKET, "hourly").last(),
            hourly=((price * seconds).sum() / seconds.sum()).cast(Money),
            hourly_low=pl.col("hourly").min(),
            hourly_high=pl.col("hourly").max(),
        )
    )
    rows = prices.price_rows(days.lazy(), provider="aws", purchase_option="spot").collect()
    return rows.with_columns(days["hourly_low"], days["hourly_high"]).lazy()


def _read_quotes(pages: Pages, landed: Sequence[Page]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in [*QUOTE, "page"]}
    for number, page in enumerate(landed):
        quotes = responses.landed_items(
            pages, page, "spotPriceHistorySet", "availabilityZone", "instanceType"
        )
        for name, tag in QUOTE.items():
            columns[name] += [quote.get(tag) for quote in quotes]
        columns["page"] += [number] * len(quotes)
    frame = pl.DataFrame(columns, schema={**dict.fromkeys(QUOTE, pl.String), "page": pl.Int32})
    product = pl.col("product").str.strip_suffix(VPC_SUFFIX)
    return (
        frame.join(origins(landed), on="page", how="left", maintain_order="left")
        .drop("page")
        .with_columns(
            provider=pl.lit("aws"),
            region=_region(frame["zone"].unique()),
            os=product.replace_strict(classify.SPOT_PRODUCTS, default=None, return_dtype=pl.String),
            hourly=prices.read_money(pl.col("price_text")),
            effective_from=pl.col("timestamp").str.to_datetime(
                "%+", time_unit="us", time_zone="UTC", strict=False
            ),
        )
    )


def _region(zones: pl.Series) -> pl.Expr:
    """Map the column zone to regions; ``zones`` are its distinct values."""
    regions = pl.Series([region_of(zone) for zone in zones], dtype=pl.String)
    return pl.col("zone").replace_strict(zones, regions, return_dtype=pl.String)


def _problems() -> list[Problem]:
    message, values = "spot quote for {} at {}, {}", ("product", "price_text", "timestamp")
    is_unreadable = pl.col("hourly").is_null() | (pl.col("hourly") <= 0)
    product = pl.col("product").str.strip_suffix(VPC_SUFFIX)
    return [
        Problem(pl.col("os").is_null(), "unknown_platform", message, values, product),
        Problem(pl.col("currency").is_null(), "no_currency", message, values),
        Problem(is_unreadable, "unreadable_price", message, values),
        Problem(pl.col("effective_from").is_null(), "unreadable_time", message, values),
    ]


def _refused(rows: pl.DataFrame, *, option: str) -> pl.DataFrame:
    unpriced = rows.lazy().drop("hourly").with_columns(purchase_option=pl.lit(option))
    return prices.refused(unpriced, table="prices").collect()


def _newest(quotes: pl.DataFrame) -> pl.DataFrame:
    """Keep each market's newest quote.

    EC2 lists a quote once per network. If their prices differ, both rows stay: they have the same
    key, so validation refuses both.
    """
    is_newest = pl.col("effective_from") == pl.col("effective_from").max().over(MARKET)
    newest = quotes.filter(is_newest)
    return newest.unique([*MARKET, "hourly"], keep="first", maintain_order=True)


def _on_demand(listed: pl.LazyFrame) -> pl.LazyFrame:
    """Return the on-demand price of each machine; null if the price list has several."""
    price = pl.col("effective_hourly")
    return (
        listed.filter(*(pl.col(name) == value for name, value in COMPARED.items()))
        .group_by(SAME_MACHINE)
        .agg(on_demand=pl.when(price.n_unique() == 1).then(price.first()))
    )


def _rows(quotes: pl.LazyFrame, on_demand: pl.LazyFrame) -> pl.LazyFrame:
    keyed = quotes.with_columns(
        software=pl.lit("none"), license_model=pl.lit("included"), tenancy=pl.lit("shared")
    )
    compared = keyed.join(on_demand, on=SAME_MACHINE, how="left").with_columns(flags=_flags())
    return prices.price_rows(compared, provider="aws", purchase_option="spot")


def _flags() -> pl.Expr:
    hourly, on_demand = pl.col("hourly"), pl.col("on_demand")
    is_equal = (hourly - on_demand).abs() <= ROUNDING
    return pl.concat_list(
        pl.when(is_equal).then(pl.lit("spot_equals_on_demand")),
        pl.when(~is_equal & (hourly > on_demand)).then(pl.lit("spot_above_on_demand")),
        pl.when(hourly < on_demand * PLACEHOLDER_SHARE).then(pl.lit("placeholder")),
    ).list.drop_nulls()


SYSTEMS = {"Linux": "linux", "Windows": "windows"}
"""Operating system of the advisor → os."""

_BAND = re.compile(r"(<|>|\d+-)(\d+)%")


@dataclass(frozen=True)
class Band:
    """A band of the rate of interruption in percent: the advisor's label, and its limits."""

    label: str
    percent_from: int
    percent_to: int


def read_band(label: str) -> Band:
    """Read a label: ``<5%`` is 0 to 5, ``5-10%`` is 5 to 10, ``>20%`` is 20 to 100.

    Raises:
        ValueError: the label has another format.
    """
    match = _BAND.fullmatch(label)
    if match is None:
        raise ValueError(f"the spot advisor's band {label!r} is not understood")
    start, figure = match[1], int(match[2])
    if start == ">":
        return Band(label, figure, 100)
    return Band(label, 0 if start == "<" else int(start.removesuffix("-")), figure)


def spot_advice(pages: Pages, page: Page) -> Part:
    """Make the spot_advice table from an advisor file, and count the advice of other systems.

    ``ranges`` lists the bands of the rate of interruption;
    ``spot_advisor.<region>.<system>.<type>`` is ``{"r": band, "s": saving in percent}``.

    Raises:
        UnreadablePageError: the file has another shape.
    """
    with pages.parsing(page):
        body = pages.read_json(page)
        rows = pl.DataFrame(_listed(body, page), schema=SpotAdvice.dtypes)
        return Part("spot_advice", rows, counts=_other_systems(body["spot_advisor"]))


def _listed(body: dict[str, Any], page: Page) -> list[dict[str, Any]]:
    """Read the rows of a file, with their origin."""
    bands = {entry["index"]: read_band(entry["label"]) for entry in body["ranges"]}
    return [
        {**row, "provider": "aws", "observed_at": page.retrieved_at, "raw_sha256": page.sha256}
        for row in _advice(body["spot_advisor"], bands)
    ]


def _other_systems(regions: dict[str, Any]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for systems in regions.values():
        for system in set(systems) - set(SYSTEMS):
            counts[f"out_of_scope:spot_advice_system={system}"] += len(systems[system])
    return dict(sorted(counts.items()))


def _advice(regions: dict[str, Any], bands: dict[int, Band]) -> Iterator[dict[str, Any]]:
    for region, systems in sorted(regions.items()):
        for system in sorted(set(systems) & set(SYSTEMS)):
            for instance_type, advice in sorted(systems[system].items()):
                band = bands[advice["r"]]
                yield {
                    "region": region,
                    "instance_type": instance_type,
                    "os": SYSTEMS[system],
                    "interruption_band": band.label,
                    "interruption_percent_from": band.percent_from,
                    "interruption_percent_to": band.percent_to,
                    "saving_percent": advice["s"],
                }


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
"""Our name → EC2's name of an offering's fields."""


def capacity_block_rows(pages: Pages, region: str, currency: str | None = None) -> PriceRows:
    """Make price rows of the cheapest offering of each type and zone.

    The hourly price is the fee divided by hours and by machines or UltraServers. More expensive
    offerings are out of scope. ``currency`` is that of offerings that name none.
    """
    offerings = pl.concat(
        [_read_offerings(pages, page) for page in pages.of(CAPACITY_BLOCKS, region)]
    )
    offerings = offerings.with_columns(
        pl.col("currency").replace("", None).fill_null(pl.lit(currency, dtype=pl.String))
    ).with_columns(*first_problem(_block_problems()))
    is_price = pl.col("reason").is_null()
    valid = offerings.filter(is_price).drop("reason", "message", "word")
    cheapest = valid.sort("zone", "instance_type", "hourly", "starts", maintain_order=True).unique(
        ["zone", "instance_type"], keep="first", maintain_order=True
    )
    others = valid.height - cheapest.height
    return PriceRows(
        _block_rows(cheapest.lazy()),
        _refused(offerings.filter(~is_price), option="capacity_block"),
        {"out_of_scope:dearer_capacity_block": others} if others else {},
    )


def _read_offerings(pages: Pages, page: Page) -> pl.DataFrame:
    offerings = responses.landed_items(pages, page, "capacityBlockOfferingSet", "availabilityZone")
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


def _block_problems() -> list[Problem]:
    """List the problems of an offering; the first that holds counts."""
    message, values = "offer of {} hours for {} at {}", ("hours", "instance_type", "fee")
    is_unreadable = pl.col("hourly").is_null() | (pl.col("hourly") <= 0)
    return [
        Problem(is_unreadable, "unreadable_price", message, values),
        Problem(pl.col("currency").is_null(), "no_currency", message, values),
    ]


def _block_rows(offerings: pl.LazyFrame) -> pl.LazyFrame:
    return prices.price_rows(
        offerings,
        provider="aws",
        purchase_option="capacity_block",
        billing_unit="term",
        basis="derived",
        flags=pl.concat_list(pl.format("block_of_{}_hours", "hours")),
    )
