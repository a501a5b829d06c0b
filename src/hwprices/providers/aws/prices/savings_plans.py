"""One region's savings-plan file (JSON): rates → prices.

Format: https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-offer-file.html
A file mixes Compute and EC2 Instance plans, and rates of other services. A rate names the SKU it discounts; what that SKU is, the
region's price list tells. Rates are per hour whatever is paid upfront: the upfront part pays for the commitment, not for a rate.
"""

import gzip
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.prices.json_stream import JsonStream
from hwprices.rows import frames, quarantine
from hwprices.rows.prices import effective_hourly, price_id
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.units import Money

PLANS = {"ComputeSavingsPlans": "compute", "EC2InstanceSavingsPlans": "ec2_instance"}
TERMS = {"1yr": 12, "3yr": 36}
PAYMENTS = {
    "No Upfront": "no_upfront",
    "Partial Upfront": "partial_upfront",
    "All Upfront": "all_upfront",
}

RUNNING = re.compile(r"(^|-)(BoxUsage|DedicatedUsage|HostUsage|HostBoxUsage)(:|$)")
"""Usage types of running machines. A SKU of one of these that the price list does not have is a fault; of others it is not."""

IDLE = r"Unused|Reservation"
"""Usage types of reserved but idle capacity, billed at the same SKU in some files."""

RATE_COLUMNS = {
    "sku_id": pl.String,
    "usage_type": pl.String,
    "sku_price_id": pl.String,
    "price_text": pl.String,
    "currency": pl.String,
    "plan_sku": pl.String,
    "effective_date": pl.String,
}


@dataclass(frozen=True)
class SavingsPlans:
    """``prices`` has the columns of prices, ``refused`` those of quarantine; ``counts`` accounts for all other rates."""

    prices: pl.LazyFrame
    refused: pl.DataFrame
    counts: dict[str, int]


def read(pages: Pages, page: Page, region: str, skus: pl.LazyFrame | None) -> SavingsPlans:
    """Read one landed file. ``skus`` is ``price_list.PriceList.skus`` of the same region, None where it could not be had.

    Raises:
        HwpricesError: the file is not JSON, or is not what was landed.
    """
    plans, rates, counts = _rates(pages, page)
    if skus is None:
        counts["out_of_scope:savings_plan_without_price_list"] += rates.height
        return SavingsPlans(frames.empty(Prices).lazy(), frames.empty(Quarantine), dict(counts))
    default = "CNY" if region.startswith("cn-") else "USD"
    known = skus.unique("sku_id", keep="any", maintain_order=False)
    rows = (
        rates.lazy()
        .join(plans.lazy(), on="plan_sku", how="left")
        .join(known, on="sku_id", how="left")
        .with_columns(
            pl.col("currency").fill_null(default),
            price=pl.col("price_text").cast(Money, strict=False),
            provider=pl.lit("aws"),
            observed_at=pl.lit(page.retrieved_at).cast(pl.Datetime("us", "UTC")),
            source_url=pl.lit(page.url),
            raw_sha256=pl.lit(page.sha256),
        )
        .with_columns(_scope().alias("scope"), _problem().alias("problem"))
        .collect()
    )
    for scope, count in (
        rows.filter(pl.col("scope").is_not_null()).group_by("scope").len().sort("scope").iter_rows()
    ):
        counts[f"out_of_scope:{scope}"] += count
    ours = rows.lazy().filter(pl.col("scope").is_null())
    return SavingsPlans(
        _prices(ours.filter(pl.col("problem").is_null())),
        _refused(ours.filter(pl.col("problem").is_not_null())),
        dict(counts),
    )


def _rates(pages: Pages, page: Page) -> tuple[pl.DataFrame, pl.DataFrame, Counter[str]]:
    """Plans by SKU, the EC2 rates, and how many rates are of other services."""
    products: list[dict[str, Any]] = []
    found: list[pl.DataFrame] = [pl.DataFrame(schema=RATE_COLUMNS)]
    counts: Counter[str] = Counter()
    with pages.file(page) as path, gzip.open(path, "rt", encoding="utf-8") as text:
        stream = JsonStream(text, path.name)
        for key in stream.object_keys():
            if key == "products":
                products += [_plan(stream.value()) for _ in stream.array()]
            elif key == "terms":
                for term in stream.object_keys():
                    if term == "savingsPlan":
                        found += [_plan_rates(stream, counts) for _ in stream.array()]
                    else:
                        stream.value()
            else:
                stream.value()
    plan_columns = {
        "plan_sku": pl.String,
        "plan_family": pl.String,
        "commitment_plan": pl.String,
        "term_months": pl.Int32,
        "payment_option": pl.String,
    }
    return (
        pl.DataFrame(products, schema=plan_columns, orient="row").unique(
            "plan_sku", keep="first", maintain_order=True
        ),
        pl.concat(found),
        counts,
    )


def _plan(product: dict[str, Any]) -> dict[str, Any]:
    said = product.get("attributes", {})
    return {
        "plan_sku": product.get("sku"),
        "plan_family": product.get("productFamily"),
        "commitment_plan": PLANS.get(product.get("productFamily", "")),
        "term_months": TERMS.get(said.get("purchaseTerm")),
        "payment_option": PAYMENTS.get(said.get("purchaseOption")),
    }


def _plan_rates(stream: JsonStream, counts: Counter[str]) -> pl.DataFrame:
    """Rates of the plan at the cursor."""
    plan: dict[str, Any] = {}
    rows: list[tuple[Any, ...]] = []
    for key in stream.object_keys():
        if key != "rates":
            plan[key] = stream.value()
            continue
        for _ in stream.array():
            rate = stream.value()
            service = rate.get("discountedServiceCode")
            if service != "AmazonEC2":
                counts[f"out_of_scope:savings_plan_service={service}"] += 1
                continue
            money = rate.get("discountedRate", {})
            rows.append(
                (
                    rate.get("discountedSku"),
                    rate.get("discountedUsageType"),
                    rate.get("rateCode"),
                    money.get("price"),
                    money.get("currency"),
                )
            )
    columns = dict(list(RATE_COLUMNS.items())[:5])
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return frame.with_columns(
        pl.lit(plan.get("sku"), dtype=pl.String).alias("plan_sku"),
        pl.lit(plan.get("effectiveDate"), dtype=pl.String).alias("effective_date"),
    )


def _scope() -> pl.Expr:
    usage, running = (
        pl.col("usage_type").fill_null(""),
        pl.col("usage_type").fill_null("").str.contains(RUNNING.pattern),
    )
    return (
        pl.when(pl.col("plan_family").is_not_null() & pl.col("commitment_plan").is_null())
        .then(pl.lit("savings_plan_family=") + pl.col("plan_family"))
        .when(usage.str.contains(IDLE))
        .then(pl.lit("savings_plan_usage=idle_capacity"))
        .when(pl.col("instance_type").is_not_null() & ~pl.col("in_scope"))
        .then(pl.lit("savings_plan_sku=out_of_scope_in_price_list"))
        .when(pl.col("instance_type").is_null() & ~running)
        .then(pl.lit("savings_plan_sku=not_a_running_machine"))
    )


def _problem() -> pl.Expr:
    return (
        pl.when(pl.col("plan_family").is_null())
        .then(
            pl.format("unknown_plan:the file has no product {}", pl.col("plan_sku").fill_null("?"))
        )
        .when(pl.col("term_months").is_null() | pl.col("payment_option").is_null())
        .then(pl.format("unknown_term:plan {} has an unknown term or payment", "plan_sku"))
        .when(pl.col("instance_type").is_null())
        .then(
            pl.format(
                "unknown_sku:the price list has no SKU {} ({})",
                pl.col("sku_id").fill_null("?"),
                pl.col("usage_type").fill_null("?"),
            )
        )
        .when(pl.col("price").is_null() | (pl.col("price") < 0))
        .then(pl.format("unreadable_price:{} is no price", pl.col("price_text").fill_null("?")))
        .when(
            pl.any_horizontal(pl.col("os", "software", "license_model", "tenancy").is_null())
            & (pl.col("tenancy") != "host").fill_null(True)
        )
        .then(pl.format("unknown_platform:SKU {} has no platform in the price list", "sku_id"))
    )


def _prices(rows: pl.LazyFrame) -> pl.LazyFrame:
    date = pl.col("effective_date").str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    host = pl.col("tenancy") == "host"
    named = rows.with_columns(
        zone=pl.lit(None, dtype=pl.String),
        os=pl.col("os").fill_null("linux"),
        software=pl.col("software").fill_null("none"),
        license_model=pl.col("license_model").fill_null("included"),
        purchase_option=pl.lit("savings_plan"),
        hourly=pl.when(pl.col("price") > 0).then(pl.col("price")),
        upfront=pl.lit(None, dtype=Money),
        price_reason=pl.when(pl.col("price") == 0).then(pl.lit("listed_at_zero")),
        billing_unit=pl.lit("hour"),
        basis=pl.lit("listed"),
        effective_from=date.cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
        flags=pl.when(host)
        .then(pl.lit(["whole_host"]))
        .otherwise(pl.lit([], dtype=pl.List(pl.String))),
    )
    return frames.conform(
        named.with_columns(effective_hourly(), price_id()).select(list(frames.dtypes(Prices))),
        Prices,
    )


def _refused(rows: pl.LazyFrame) -> pl.DataFrame:
    shown = [
        "region",
        "problem",
        "sku_id",
        "usage_type",
        "sku_price_id",
        "price_text",
        "currency",
        "plan_sku",
        "plan_family",
    ]
    reason, message = (
        pl.col("problem").str.extract(r"^([a-z_]+):"),
        pl.col("problem").str.replace(r"^[a-z_]+:", ""),
    )
    origin = ["provider", "observed_at", "source_url", "raw_sha256"]
    return quarantine.refused(
        rows.select(*shown, *origin), table="prices", reason=reason, message=message
    ).collect()
