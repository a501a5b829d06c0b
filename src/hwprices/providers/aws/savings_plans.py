"""Make price rows of one region's savings-plan file (JSON).

Format: https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-offer-file.html
A file mixes Compute and EC2 Instance plans, and rates of other services. A rate names the SKU that
it discounts, which the region's price list describes. Rates are per hour whatever is paid upfront:
the upfront payment is for the commitment, not for a rate.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from hwprices.landing.bodies import count_names, refuse_repeated_names
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws import EC2
from hwprices.providers.aws.classify import CURRENCY, IDLE
from hwprices.providers.aws.price_list import PriceList
from hwprices.providers.aws.price_rows import Problem, first_problem, read_date, unknown_word
from hwprices.providers.aws.regions import currency_of
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN, origin
from hwprices.rows.prices import PriceRows, read_money
from hwprices.schemas.tables import Prices, Quarantine
from hwprices.storage.packed import open_packed, packing_of, read_all

PLANS = {"ComputeSavingsPlans": "compute", "EC2InstanceSavingsPlans": "ec2_instance"}
OTHER_PLANS = ["DatabaseSavingsPlans", "MachineLearningSavingsPlans", "SageMakerSavingsPlans"]
"""Families of plans that cover no machines. https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-ris.html"""
TERMS = {"1yr": 12, "3yr": 36}
PAYMENTS = {
    "No Upfront": "no_upfront",
    "Partial Upfront": "partial_upfront",
    "All Upfront": "all_upfront",
}

RUNNING = r"(^|-)(BoxUsage|DedicatedUsage|HostUsage|HostBoxUsage)(:|$)"
"""Usage types of running machines. It is an error if the price list lacks the SKU of one; SKUs of
other usage types are expected to be absent."""

PLAN_COLUMNS = {
    **dict.fromkeys(("plan_sku", "plan_family", "plan_term", "plan_payment"), pl.String),
    **{"commitment_plan": pl.String, "term_months": pl.Int32, "payment_option": pl.String},
}
RATE_COLUMNS = dict.fromkeys(
    (
        *("plan_sku", "effective_date", "sku_id", "usage_type", "sku_price_id", "unit"),
        *("price_text", "currency"),
    ),
    pl.String,
)

REFUSED = [
    *("region", "sku_id", "usage_type", "sku_price_id", "unit", "price_text", "currency"),
    *("plan_sku", "plan_family", "plan_term", "plan_payment", "os", "purchase_option"),
]
"""Columns that the quarantine table shows of a refused rate."""

PLAN_REASONS = ["duplicate_key", "unknown_plan", "unknown_term"]
SKU_REASONS = ["ambiguous_sku", "refused_sku", "unknown_sku"]
"""Reasons that all rates of a plan, or of a SKU, share: together they have one quarantine row."""

MOST_BYTES = 2 << 30
"""Longest file that is read, because it is held in memory. The largest known has hundreds of MB."""


class _Amount(msgspec.Struct, gc=False, omit_defaults=True):
    price: str | None = None
    currency: str | None = None


class _Rate(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One rate. Members of type ``Any`` are not read; they are declared to count names."""

    discounted_sku: str | None = None
    discounted_usage_type: str | None = None
    discounted_service_code: str | None = None
    rate_code: str | None = None
    discounted_rate: _Amount | None = None
    discounted_operation: Any = None
    discounted_region_code: Any = None
    discounted_instance_type: Any = None
    unit: str | None = None


class _Term(msgspec.Struct, omit_defaults=True, rename="camel"):
    """The rates of one plan, not yet decoded."""

    sku: str | None = None
    effective_date: str | None = None
    description: Any = None
    lease_contract_length: Any = None
    rates: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Terms(msgspec.Struct, omit_defaults=True, rename="camel"):
    savings_plan: list[_Term] = []


class _File(msgspec.Struct, omit_defaults=True, rename="camel"):
    products: list[dict[str, Any]] = []
    terms: _Terms = msgspec.field(default_factory=_Terms)
    format_version: Any = None
    disclaimer: Any = None
    publication_date: Any = None
    version: Any = None
    offer_code: Any = None
    region_code: Any = None


_NO_AMOUNT = _Amount()
_FILE = msgspec.json.Decoder(_File)
_RATES = msgspec.json.Decoder(list[_Rate])


@dataclass(frozen=True)
class SavingsPlans:
    """The content of a file.

    ``plans`` has PLAN_COLUMNS, one row per plan. ``rates`` has RATE_COLUMNS, one row per rate of
    EC2. ``counts`` counts the rates of other services.
    """

    plans: pl.DataFrame
    rates: pl.DataFrame
    counts: Counter[str]


def read_page(pages: Pages, page: Page) -> SavingsPlans:
    """Read one landed file.

    Raises:
        UnreadablePageError: the file is not JSON, or has another shape.
        HwpricesError: it was altered.
    """
    with pages.parsing(page), pages.file(page) as path:
        return read_savings_plans(path)


def savings_plan_rows(
    file: SavingsPlans, page: Page, region: str, price_list: PriceList | None
) -> PriceRows:
    """Make price rows of one landed file.

    ``price_list`` is that of the same region, None if it is unavailable.
    """
    counts = file.counts
    if price_list is None:
        counts["out_of_scope:savings_plan_without_price_list"] += file.rates.height
        empty = frames.empty(Prices).lazy()
        return PriceRows(empty, frames.empty(Quarantine), {k: n for k, n in counts.items() if n})
    currency = price_list.currency or currency_of(region)
    classified = _classified(file, price_list.skus, currency)
    outside = classified.filter(pl.col("out_of_scope").is_not_null())
    for why, count in outside.group_by("out_of_scope").len().sort("out_of_scope").iter_rows():
        counts[f"out_of_scope:{why}"] += count
    in_scope = classified.lazy().filter(pl.col("out_of_scope").is_null())
    judged = _mark_repeated(in_scope.with_columns(*first_problem(_problems())).collect())
    in_scope = judged.lazy().with_columns(*origin(page))
    return PriceRows(
        _rows(in_scope.filter(pl.col("reason").is_null())),
        _refused(in_scope.filter(pl.col("reason").is_not_null())),
        dict(counts),
    )


def read_savings_plans(path: Path) -> SavingsPlans:
    """Read a compressed file. Rates are decoded plan by plan, to hold one decoded plan at a time.

    Raises:
        ValueError: it is not a JSON object, ends early, is nested too deep, is longer than
            MOST_BYTES, or repeats a name in an object.
    """
    with open_packed(path, packing_of(path.name)) as file:
        content = read_all(file, MOST_BYTES)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path.name} is longer than {MOST_BYTES:,} bytes")
    counts: Counter[str] = Counter()
    try:
        decoded = _FILE.decode(content)
        rates, names = _all_rates(decoded.terms.savings_plan, counts)
        names.append(count_names(msgspec.json.encode(decoded)))
        if None in names or sum(filter(None, names)) != count_names(content):
            refuse_repeated_names(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not a file of savings plans ({error})") from None
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deep") from None
    return SavingsPlans(_plans(decoded.products), rates, counts)


def _all_rates(terms: list[_Term], counts: Counter[str]) -> tuple[pl.DataFrame, list[int | None]]:
    """Decode the rates of every plan; return those of EC2, and the number of names in each plan.

    Removes the rates from ``terms``.
    """
    plans = [pl.DataFrame(schema=RATE_COLUMNS)]
    names: list[int | None] = []
    for term in terms:
        if isinstance(term.rates, msgspec.Raw):
            rates = _RATES.decode(term.rates)
            term.rates = msgspec.Raw(b"[]")
            names.append(count_names(msgspec.json.encode(rates)))
            ec2_rates = [rate for rate in rates if rate.discounted_service_code == EC2]
            others = (r.discounted_service_code for r in rates if r.discounted_service_code != EC2)
            counts.update(f"out_of_scope:savings_plan_service={service}" for service in others)
            plans.append(_frame(ec2_rates, term))
    return pl.concat(plans, rechunk=True), names


def _frame(rates: list[_Rate], term: _Term) -> pl.DataFrame:
    amounts = [rate.discounted_rate or _NO_AMOUNT for rate in rates]
    columns = {
        "plan_sku": [term.sku] * len(rates),
        "effective_date": [term.effective_date] * len(rates),
        "sku_id": [rate.discounted_sku for rate in rates],
        "usage_type": [rate.discounted_usage_type for rate in rates],
        "sku_price_id": [rate.rate_code for rate in rates],
        "unit": [rate.unit for rate in rates],
        "price_text": [amount.price for amount in amounts],
        "currency": [amount.currency for amount in amounts],
    }
    return pl.DataFrame(columns, schema=RATE_COLUMNS)


def _plans(products: list[dict[str, Any]]) -> pl.DataFrame:
    """List each plan once, with null terms if it is listed with different ones."""
    plans = pl.DataFrame([_plan(product) for product in products], schema=PLAN_COLUMNS)
    stated = [name for name in PLAN_COLUMNS if name != "plan_sku"]
    distinct = plans.unique(maintain_order=True)
    is_ambiguous = pl.col("plan_sku").is_duplicated()
    return distinct.select(
        "plan_sku", pl.when(~is_ambiguous).then(pl.col(stated)), plan_is_ambiguous=is_ambiguous
    ).unique(maintain_order=True)


def _plan(product: dict[str, Any]) -> dict[str, Any]:
    attributes = product.get("attributes", {})
    return {
        "plan_sku": product.get("sku"),
        "plan_family": product.get("productFamily"),
        "plan_term": attributes.get("purchaseTerm"),
        "plan_payment": attributes.get("purchaseOption"),
        "commitment_plan": PLANS.get(product.get("productFamily", "")),
        "term_months": TERMS.get(attributes.get("purchaseTerm")),
        "payment_option": PAYMENTS.get(attributes.get("purchaseOption")),
    }


def _classified(file: SavingsPlans, skus: pl.LazyFrame, currency: str | None) -> pl.DataFrame:
    """Join rates to their plans and SKUs; add price and out_of_scope.

    ``currency`` is that of rates that name none; None if it is unknown.
    """
    return (
        file.rates.lazy()
        .join(file.plans.lazy(), on="plan_sku", how="left")
        .join(_unique_skus(skus), on="sku_id", how="left")
        .with_columns(
            pl.col("currency").fill_null(pl.lit(currency, dtype=pl.String)),
            pl.col("plan_is_ambiguous").fill_null(False),
            price=read_money(pl.col("price_text")),
        )
        .with_columns(_out_of_scope().alias("out_of_scope"))
        .collect()
    )


def _mark_repeated(rates: pl.DataFrame) -> pl.DataFrame:
    """Refuse repeated rates, and all rates of a plan and SKU with different prices.

    Plans with the same kind, term and payment are one plan, whatever their SKUs are.
    """
    key = ["commitment_plan", "term_months", "payment_option", "sku_id"]
    is_rate = pl.col("reason").is_null()
    # Comparing hashes first saves 30 s of processor time of a full refresh, which takes 481 s.
    codes = rates.lazy().filter(is_rate).select(pl.struct(key).hash()).collect().to_series()
    if codes.n_unique() == codes.len():
        return rates
    prices_of_key = pl.col("price", "currency").n_unique().over([is_rate, *key])
    differs = is_rate & pl.any_horizontal(prices_of_key > 1)
    is_repeated = is_rate & ~pl.struct(is_rate.alias("is_rate"), *key).is_first_distinct()
    message = (
        pl.when(differs)
        .then(pl.lit("a plan has two rates for one SKU, and which holds is not known"))
        .when(is_repeated)
        .then(pl.lit("a plan has a rate twice; one of them is published"))
    )
    return rates.with_columns(
        reason=pl.when(differs | is_repeated).then(pl.lit("duplicate_key")).otherwise("reason"),
        message=pl.coalesce(message, "message"),
    )


def _unique_skus(skus: pl.LazyFrame) -> pl.LazyFrame:
    """Make one row per SKU; its columns are null if the price list describes it differently."""
    is_ambiguous = pl.col("sku_id").is_duplicated()
    facts = [name for name in skus.collect_schema() if name != "sku_id"]
    return (
        skus.unique(maintain_order=False)
        .select("sku_id", pl.when(~is_ambiguous).then(pl.col(facts)), is_ambiguous=is_ambiguous)
        .unique(maintain_order=False)
    )


def _out_of_scope() -> pl.Expr:
    """Return why a rate is left out on purpose; null if it is in scope."""
    usage = pl.col("usage_type").fill_null("")
    return (
        pl.when(pl.col("plan_family").is_in(OTHER_PLANS))
        .then(pl.lit("savings_plan_family=") + pl.col("plan_family"))
        .when(usage.str.contains(IDLE))
        .then(pl.lit("savings_plan_usage=idle_capacity"))
        .when(pl.col("instance_type").is_not_null() & ~pl.col("in_scope"))
        .then(pl.lit("savings_plan_sku=out_of_scope_in_price_list"))
        .when(
            pl.col("instance_type").is_null()
            & ~pl.col("is_ambiguous").fill_null(False)
            & ~usage.str.contains(RUNNING)
        )
        .then(pl.lit("savings_plan_sku=not_a_running_machine"))
    )


def _problems() -> list[Problem]:
    """List the problems of a rate; the first that holds counts."""
    lacks_platform = pl.any_horizontal(
        pl.col("os", "software", "license_model", "tenancy").is_null()
    )
    is_host = (pl.col("tenancy") == "host").fill_null(False)
    unknown_term = "plan {} has an unknown term or payment"
    return [
        Problem(
            pl.col("plan_is_ambiguous"),
            "ambiguous_sku",
            "plan {} comes twice with different terms",
            ("plan_sku",),
        ),
        Problem(
            pl.col("plan_family").is_null(),
            "unknown_plan",
            "the file has no product {}",
            ("plan_sku",),
        ),
        Problem(
            pl.col("commitment_plan").is_null(),
            "unknown_plan",
            "plan {} is of the unknown family {}",
            ("plan_sku", "plan_family"),
            pl.col("plan_family"),
        ),
        Problem(
            pl.col("term_months").is_null(),
            "unknown_term",
            unknown_term,
            ("plan_sku",),
            pl.col("plan_term"),
        ),
        Problem(
            pl.col("payment_option").is_null(),
            "unknown_term",
            unknown_term,
            ("plan_sku",),
            pl.col("plan_payment"),
        ),
        Problem(
            pl.col("is_ambiguous").fill_null(False),
            "ambiguous_sku",
            "the price list describes SKU {} in two ways",
            ("sku_id",),
        ),
        Problem(
            pl.col("is_refused").fill_null(False),
            "refused_sku",
            "the price list has SKU {}, which was refused",
            ("sku_id",),
            pl.col("word"),
        ),
        Problem(
            pl.col("instance_type").is_null(),
            "unknown_sku",
            "the price list has no SKU {} ({})",
            ("sku_id", "usage_type"),
        ),
        Problem(
            pl.col("price").is_null() | (pl.col("price") < 0),
            "unreadable_price",
            "{} is not a price",
            ("price_text",),
        ),
        unknown_word(
            ~pl.col("unit").str.to_lowercase().is_in(["hrs"]), "unknown_unit", "a rate per", "unit"
        ),
        Problem(pl.col("currency").is_null(), "no_currency", "the rate names no currency"),
        unknown_word(
            ~pl.col("currency").str.contains(CURRENCY), "unknown_currency", "Currency", "currency"
        ),
        Problem(
            lacks_platform & ~is_host,
            "unknown_platform",
            "SKU {} has no platform in the price list",
            ("sku_id",),
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
    """Make a quarantine row for all rates of a plan or SKU that share a reason."""
    is_plan_problem = pl.col("reason").is_in(PLAN_REASONS) | pl.col("plan_is_ambiguous")
    shared_by = (
        pl.when(is_plan_problem)
        .then("plan_sku")
        .when(pl.col("reason").is_in(SKU_REASONS))
        .then("sku_id")
        .otherwise(pl.row_index().cast(pl.String))
    )
    others = pl.len().cast(pl.Int32) - (pl.col("reason").first() != "refused_sku").cast(pl.Int32)
    shown = (
        rates.with_columns(
            provider=pl.lit("aws"), purchase_option=pl.lit("savings_plan"), shared_by=shared_by
        )
        .group_by("reason", "word", "shared_by", maintain_order=True)
        .agg(pl.all().first(), dependants=others)
    )
    columns = ["provider", *ORIGIN, *REFUSED, "reason", "message", "word", "dependants"]
    return prices.refused(shown.select(columns), table="prices").collect()
