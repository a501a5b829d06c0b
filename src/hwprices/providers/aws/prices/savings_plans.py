"""Make price rows of one region's savings-plan file (JSON).

Format: https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-offer-file.html
A file mixes Compute and EC2 Instance plans, and rates of other services. A rate names the SKU that
it discounts; what that SKU is, the region's price list says. Rates are per hour whatever is paid
upfront: the upfront part pays for the commitment, not for a rate.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import ijson  # type: ignore[import-untyped]
import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.prices.json_depth import DepthLimited
from hwprices.providers.aws.prices.problems import Problem, first_problem
from hwprices.providers.aws.prices.rows import read_date
from hwprices.rows import frames, prices, quarantine
from hwprices.rows.origin import ORIGIN, origin
from hwprices.rows.prices import PriceRows, read_money
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.storage.packed import open_packed, packing_of

PLANS = {"ComputeSavingsPlans": "compute", "EC2InstanceSavingsPlans": "ec2_instance"}
TERMS = {"1yr": 12, "3yr": 36}
PAYMENTS = {
    "No Upfront": "no_upfront",
    "Partial Upfront": "partial_upfront",
    "All Upfront": "all_upfront",
}

RUNNING = r"(^|-)(BoxUsage|DedicatedUsage|HostUsage|HostBoxUsage)(:|$)"
"""Usage types of running machines. Where the price list lacks the SKU of one, something is wrong;
SKUs of other usage types are expected not to be there."""

IDLE = r"Unused|Reservation"
"""Usage types of reserved but idle capacity, billed at the same SKU in some files."""

PLAN_COLUMNS = {
    "plan_sku": pl.String,
    "plan_family": pl.String,
    "commitment_plan": pl.String,
    "term_months": pl.Int32,
    "payment_option": pl.String,
}

RATE_COLUMNS = {
    "sku_id": pl.String,
    "usage_type": pl.String,
    "sku_price_id": pl.String,
    "price_text": pl.String,
    "currency": pl.String,
}

REFUSED = [
    "region",
    "sku_id",
    "usage_type",
    "sku_price_id",
    "price_text",
    "currency",
    "plan_sku",
    "plan_family",
]
"""Columns that the quarantine table shows of a refused rate."""


def mapping_that_notes(repeated: list[str]) -> type[dict[str, Any]]:
    """Make a class for objects of JSON that appends the first name that comes twice in one.

    It does not raise, because ijson's parser in C cannot pass an error on from there.
    """

    class Members(dict[str, Any]):
        def __setitem__(self, name: str, value: Any) -> None:
            if name in self and not repeated:
                repeated.append(name)
            super().__setitem__(name, value)

    return Members


@dataclass(frozen=True)
class SavingsPlans:
    """A file as it is written.

    ``plans`` has PLAN_COLUMNS, one row a plan. ``rates`` has RATE_COLUMNS, plan_sku and
    effective_date, one row for each rate of EC2. ``counts`` says how many rates are of other
    services.
    """

    plans: pl.DataFrame
    rates: pl.DataFrame
    counts: Counter[str]


def savings_plan_rows(
    pages: Pages, page: Page, region: str, skus: pl.LazyFrame | None
) -> PriceRows:
    """Make price rows of one landed file.

    ``skus`` is ``PriceList.skus`` of the same region, None where the price list could not be had.

    Raises:
        UnreadablePageError: the file is not JSON, or has another shape.
        HwpricesError: it is not what was landed.
    """
    with pages.parsing(page), pages.file(page) as path:
        file = read_savings_plans(path)
    counts = file.counts
    if skus is None:
        counts["out_of_scope:savings_plan_without_price_list"] += file.rates.height
        empty = frames.empty(Prices).lazy()
        return PriceRows(empty, frames.empty(Quarantine), {k: n for k, n in counts.items() if n})
    classified = _classified(file, skus, "CNY" if region.startswith("cn-") else "USD")
    outside = classified.filter(pl.col("out_of_scope").is_not_null())
    for why, count in outside.group_by("out_of_scope").len().sort("out_of_scope").iter_rows():
        counts[f"out_of_scope:{why}"] += count
    in_scope = (
        classified.lazy().filter(pl.col("out_of_scope").is_null()).with_columns(*origin(page))
    )
    return PriceRows(
        _rows(in_scope.filter(pl.col("reason").is_null())),
        _refused(in_scope.filter(pl.col("reason").is_not_null())),
        dict(counts),
    )


def read_savings_plans(path: Path) -> SavingsPlans:
    """Read a packed file plan by plan, so that memory holds one plan's rates at a time.

    Raises:
        ValueError: it is not a JSON object, ends early, is nested too deep, or has a name twice in
            one object.
    """
    counts: Counter[str] = Counter()
    repeated: list[str] = []
    members = mapping_that_notes(repeated)
    packing = packing_of(path.name)
    try:
        with open_packed(path, packing) as file:
            plans = [_plan(product) for product in _products(DepthLimited(file), members)]
        with open_packed(path, packing) as file:
            path_of_plans = "terms.savingsPlan.item"
            terms = ijson.items(DepthLimited(file), path_of_plans, map_type=members)
            rates = [_rates(term, counts) for term in terms]
    except ijson.JSONError as error:
        raise ValueError(f"{path.name} is not the JSON it should be: {error}") from None
    if repeated:
        raise ValueError(f"the name {repeated[0][:40]!r} comes twice in one object")
    text = {**RATE_COLUMNS, "plan_sku": pl.String, "effective_date": pl.String}
    return SavingsPlans(
        pl.DataFrame(plans, schema=PLAN_COLUMNS).unique(
            "plan_sku", keep="first", maintain_order=True
        ),
        pl.concat([pl.DataFrame(schema=text), *rates]),
        counts,
    )


def _products(file: DepthLimited, members: type[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the products. Stops after the last, because hundreds of megabytes come after them."""
    events = ijson.parse(file)
    first = next(events)
    if first != ("", "start_map", None):
        raise ValueError("it is no object")
    before_end = takewhile(lambda event: event[:2] != ("products", "end_array"), events)
    yield from ijson.items(chain([first], before_end), "products.item", map_type=members)


def _plan(product: dict[str, Any]) -> dict[str, Any]:
    attributes = product.get("attributes", {})
    return {
        "plan_sku": product.get("sku"),
        "plan_family": product.get("productFamily"),
        "commitment_plan": PLANS.get(product.get("productFamily", "")),
        "term_months": TERMS.get(attributes.get("purchaseTerm")),
        "payment_option": PAYMENTS.get(attributes.get("purchaseOption")),
    }


def _rates(term: dict[str, Any], counts: Counter[str]) -> pl.DataFrame:
    """Make a frame of one plan's rates of EC2, and count those of other services."""
    rates = [r for r in term.get("rates", []) if r.get("discountedServiceCode") == "AmazonEC2"]
    prices = [rate.get("discountedRate", {}) for rate in rates]
    services = Counter(rate.get("discountedServiceCode") for rate in term.get("rates", []))
    del services["AmazonEC2"]
    for service, count in services.items():
        counts[f"out_of_scope:savings_plan_service={service}"] += count
    columns = {
        "sku_id": [rate.get("discountedSku") for rate in rates],
        "usage_type": [rate.get("discountedUsageType") for rate in rates],
        "sku_price_id": [rate.get("rateCode") for rate in rates],
        "price_text": [price.get("price") for price in prices],
        "currency": [price.get("currency") for price in prices],
    }
    return pl.DataFrame(columns, schema=RATE_COLUMNS).with_columns(
        pl.lit(term.get("sku"), dtype=pl.String).alias("plan_sku"),
        pl.lit(term.get("effectiveDate"), dtype=pl.String).alias("effective_date"),
    )


def _classified(file: SavingsPlans, skus: pl.LazyFrame, currency: str) -> pl.DataFrame:
    """Join rates to their plans and SKUs; add price, out_of_scope, reason and message.

    ``currency`` is that of rates which name none.
    """
    once = skus.unique("sku_id", keep="any", maintain_order=False)
    return (
        file.rates.lazy()
        .join(file.plans.lazy(), on="plan_sku", how="left")
        .join(once, on="sku_id", how="left")
        .with_columns(
            pl.col("currency").fill_null(currency),
            price=read_money(pl.col("price_text")),
        )
        .with_columns(_out_of_scope().alias("out_of_scope"), *first_problem(_problems()))
        .collect()
    )


def _out_of_scope() -> pl.Expr:
    """Name why a rate is left out on purpose; null where it is in scope."""
    usage = pl.col("usage_type").fill_null("")
    is_other_family = pl.col("plan_family").is_not_null() & pl.col("commitment_plan").is_null()
    return (
        pl.when(is_other_family)
        .then(pl.lit("savings_plan_family=") + pl.col("plan_family"))
        .when(usage.str.contains(IDLE))
        .then(pl.lit("savings_plan_usage=idle_capacity"))
        .when(pl.col("instance_type").is_not_null() & ~pl.col("in_scope"))
        .then(pl.lit("savings_plan_sku=out_of_scope_in_price_list"))
        .when(pl.col("instance_type").is_null() & ~usage.str.contains(RUNNING))
        .then(pl.lit("savings_plan_sku=not_a_running_machine"))
    )


def _problems() -> list[Problem]:
    """List why a rate cannot be a price, the first that holds counting."""
    plan_sku, sku_id = pl.col("plan_sku").fill_null("?"), pl.col("sku_id").fill_null("?")
    lacks_platform = pl.any_horizontal(
        pl.col("os", "software", "license_model", "tenancy").is_null()
    )
    is_host = (pl.col("tenancy") == "host").fill_null(False)
    return [
        Problem(
            pl.col("plan_family").is_null(),
            "unknown_plan",
            "the file has no product {}",
            (plan_sku,),
        ),
        Problem(
            pl.col("term_months").is_null() | pl.col("payment_option").is_null(),
            "unknown_term",
            "plan {} has an unknown term or payment",
            (plan_sku,),
        ),
        Problem(
            pl.col("instance_type").is_null(),
            "unknown_sku",
            "the price list has no SKU {} ({})",
            (sku_id, pl.col("usage_type").fill_null("?")),
        ),
        Problem(
            pl.col("price").is_null() | (pl.col("price") < 0),
            "unreadable_price",
            "{} is no price",
            (pl.col("price_text").fill_null("?"),),
        ),
        Problem(
            lacks_platform & ~is_host,
            "unknown_platform",
            "SKU {} has no platform in the price list",
            (sku_id,),
        ),
    ]


def _rows(rates: pl.LazyFrame) -> pl.LazyFrame:
    none = pl.lit([], dtype=pl.List(pl.String))
    is_host = pl.col("tenancy") == "host"
    values = rates.with_columns(
        os=pl.col("os").fill_null("linux"),
        software=pl.col("software").fill_null("none"),
        license_model=pl.col("license_model").fill_null("included"),
        hourly=pl.when(pl.col("price") > 0).then(pl.col("price")),
        price_reason=pl.when(pl.col("price") == 0).then(pl.lit("listed_at_zero")),
        effective_from=read_date(pl.col("effective_date")),
        flags=pl.when(is_host).then(pl.lit(["whole_host"])).otherwise(none),
    )
    return prices.price_rows(values, provider="aws", purchase_option="savings_plan")


def _refused(rates: pl.LazyFrame) -> pl.DataFrame:
    shown = rates.with_columns(provider=pl.lit("aws"))
    return quarantine.refused(
        shown.select("provider", *ORIGIN, *REFUSED, "reason", "message"),
        table="prices",
        reason=pl.col("reason"),
        message=pl.col("message"),
    ).collect()
