"""Read landed Retail Prices pages into one frame of items, and parse the names of products.

Amounts stay text until ``read_money`` converts them to Decimal, without floats, so that refused
items are shown as received.

Source: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices. The
price list states the operating system only in the product's name, in several spellings.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from hwprices.formulas import first_of
from hwprices.landing import bodies
from hwprices.landing.pages import Page, UnitResult
from hwprices.providers import Pages, azure
from hwprices.rows.frames import origins
from hwprices.rows.prices import read_money
from hwprices.units import Money


class SavingsPlan(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One savings plan inside an on-demand item. unitPrice is declared only to count names."""

    term: str | None = None
    retail_price: Any = None
    unit_price: Any = None


class Item(msgspec.Struct, gc=False, omit_defaults=True, rename="camel"):
    """One item, with the members that are read.

    ``Any`` members are money, which the decoder returns as text.
    """

    currency_code: str | None = None
    tier_minimum_units: Any = None
    reservation_term: str | None = None
    retail_price: Any = None
    arm_region_name: str | None = None
    location: str | None = None
    effective_start_date: str | None = None
    effective_end_date: str | None = None
    meter_id: str | None = None
    meter_name: str | None = None
    sku_id: str | None = None
    product_name: str | None = None
    sku_name: str | None = None
    service_name: str | None = None
    unit_of_measure: str | None = None
    type: str | None = None
    is_primary_meter_region: bool | None = None
    arm_sku_name: str | None = None
    savings_plan: list[SavingsPlan] | None = None


class _WholeItem(Item, gc=False, omit_defaults=True, rename="camel"):
    """An item with the members that are not needed.

    They are declared to count names (``bodies.refuse_repeated_names``).
    """

    unit_price: Any = None
    product_id: Any = None
    service_id: Any = None
    service_family: Any = None


class RetailPage(msgspec.Struct, omit_defaults=True):
    """One page of Retail Prices. Members other than Items and Count are only counted."""

    Items: list[_WholeItem]
    Count: int
    BillingCurrency: Any = msgspec.UNSET
    CustomerEntityId: Any = msgspec.UNSET
    CustomerEntityType: Any = msgspec.UNSET
    NextPageLink: Any = msgspec.UNSET


MEMBERS = tuple(name for name in Item.__struct_encode_fields__ if name != "savingsPlan")
"""The members of an item that have one value."""

AMOUNTS = ("retailPrice", "tierMinimumUnits")  # The members that are money

PLANS = {"plan_terms": "term", "plan_prices": "retailPrice"}
"""Columns of an item's savings plans → the member of a plan that they list."""

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(MEMBERS, pl.String),
    **dict.fromkeys(AMOUNTS, Money),
    "isPrimaryMeterRegion": pl.Boolean,
    "plan_terms": pl.List(pl.String),
    "plan_prices": pl.List(Money),
    **{f"{name}_text": pl.String for name in AMOUNTS},
    "plan_prices_text": pl.List(pl.String),
    "new_members_text": pl.String,
}
"""Columns of a frame of items: the members of ``Item``, with null for invalid amounts. Savings
plans are lists of equal length, of terms and of prices; all are null for an item without plans.
Columns that end in _text have amounts as the vendor wrote them. new_members_text lists an item's
unknown members."""

NESTED_MONEY = (b'etailPrice":[', b'etailPrice":{', b'tierMinimumUnits":[', b'tierMinimumUnits":{')
"""Parts of the JSON of items in which money is a list or an object. Texts cannot contain them,
because quotes are escaped."""

_ENCODED: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(MEMBERS, pl.String),
    "isPrimaryMeterRegion": pl.Boolean,
    "savingsPlan": pl.List(pl.Struct({"term": pl.String, "retailPrice": pl.String})),
}
"""The members of ``Item`` as they are encoded: amounts as text."""

_DECODER = msgspec.json.Decoder(RetailPage, float_hook=str)


@dataclass(frozen=True)
class Items:
    """Items of price pages, region by region.

    ``rows`` has ``COLUMNS`` and page. ``pages`` has page, the origin columns of that page, and
    page_region: the region whose prices were requested, in lower case.
    """

    rows: pl.DataFrame
    pages: pl.DataFrame


def price_units(
    pages: Pages, is_kind: Callable[[str], bool] = azure.is_retail
) -> dict[str, list[UnitResult]]:
    """Return the units of a kind that have pages: region in lower case → units sorted by kind.

    Azure writes the names of some regions in upper and lower case.
    """
    units: dict[str, list[UnitResult]] = {}
    for result in sorted(pages.run.results, key=lambda result: result.unit.kind):
        if is_kind(result.unit.kind) and result.pages:
            units.setdefault(result.unit.region.lower(), []).append(result)
    return units


def read_items(
    pages: Pages, regions: Collection[str], is_kind: Callable[[str], bool] = azure.is_retail
) -> Items:
    """Read every item of every page of these regions (in lower case).

    Raises:
        HwpricesError: a landed page was altered.
    """
    results = [
        (region, result)
        for region, units in sorted(price_units(pages, is_kind).items())
        if region in regions
        for result in units
    ]
    frames = [pl.DataFrame(schema={**COLUMNS, "page": pl.Int32})]
    pages_read = 0
    for _, result in results:
        # All pages of a unit or none: missing prices would look like prices that Azure withdrew.
        with pages.leave_out(*result.pages):
            frames += [
                _read_page(pages, page, number)
                for number, page in enumerate(result.pages, pages_read)
            ]
        pages_read += len(result.pages)
    listed = [(region, page) for region, result in results for page in result.pages]
    origin = origins([page for _, page in listed])
    page_regions = pl.Series("page_region", [region for region, _ in listed], dtype=pl.String)
    return Items(pl.concat(frames, rechunk=True), origin.with_columns(page_regions))


def _read_page(pages: Pages, page: Page, number: int) -> pl.DataFrame:
    with pages.parsing(page):
        return decode_items(pages.read(page)).with_columns(page=pl.lit(number, dtype=pl.Int32))


def decode_items(body: bytes) -> pl.DataFrame:
    """Decode a page, and make ``COLUMNS`` of its items.

    Raises:
        ValueError: it is not JSON with a list of Items as long as its Count, or repeats a name in
            an object; the message names the member.
        RecursionError: it is nested too deep.
    """
    answer = _decode(body)
    has_all_members = bodies.refuse_repeated_names(body, answer)
    items = msgspec.json.encode(answer.Items)
    if any(text in items for text in NESTED_MONEY):
        items = msgspec.json.encode([_with_money_as_text(item) for item in answer.Items])
    if len(answer.Items) != answer.Count:
        raise ValueError(f"it says Count {answer.Count} and holds {len(answer.Items)} items")
    new = [None] * answer.Count if has_all_members else _new_members(body)
    plan = pl.element().struct.field
    rows = pl.read_json(items, schema=_ENCODED) if answer.Items else pl.DataFrame(schema=_ENCODED)
    return rows.with_columns(
        *(pl.col(name).alias(f"{name}_text") for name in AMOUNTS),
        *(read_money(pl.col(name)).alias(name) for name in AMOUNTS),
        pl.col("savingsPlan").list.eval(plan("term")).alias("plan_terms"),
        pl.col("savingsPlan").list.eval(read_money(plan("retailPrice"))).alias("plan_prices"),
        pl.col("savingsPlan").list.eval(plan("retailPrice")).alias("plan_prices_text"),
        pl.Series("new_members_text", new, dtype=pl.String),
    ).select(*COLUMNS)


def _new_members(body: bytes) -> list[str | None]:
    known = set(_WholeItem.__struct_encode_fields__)
    items = msgspec.json.decode(body)["Items"]
    return [", ".join(sorted(set(item) - known)) or None for item in items]


def _with_money_as_text(item: Item) -> Item:
    """Replace lists and objects in place of money by their JSON text, which is not an amount."""
    plans = item.savings_plan and [
        msgspec.structs.replace(plan, retail_price=_as_text(plan.retail_price))
        for plan in item.savings_plan
    ]
    return msgspec.structs.replace(
        item,
        retail_price=_as_text(item.retail_price),
        tier_minimum_units=_as_text(item.tier_minimum_units),
        savings_plan=plans,
    )


def _as_text(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, (list, dict)) else value


def _decode(body: bytes) -> RetailPage:
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"it is not a Retail Prices answer ({str(error)[:160]})"
        raise ValueError(message) from None


def time(text: pl.Expr) -> pl.Expr:
    """Read a time such as 2018-06-01T00:00:00Z; null in any other format."""
    return text.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False
    ).dt.replace_time_zone("UTC")


SPACES = r"[\t\p{Zs}]{2,}|[\t\p{Zs}&&[^ ]]"
"""Blanks in names other than single spaces: some product names have no-break spaces. Line breaks
and other control characters do not match, so that names with them are refused, not repaired. Names
with single spaces do not match, and are not copied."""

WINDOWS = r"(?i) windows\b| win$"  # "… Series Windows", "… Srs Win"
RHEL = r"(?i)\b(rhel|red hat)\b"
SLES = r"(?i)\b(sles|suse)\b"
UBUNTU_PRO = r"(?i)\bubuntu pro\b"
SAP = r"(?i)\bsap\b"
HIGH_AVAILABILITY = r"(?i)\bha\b|high availability"
DEDICATED_HOST = r"(?i)dedicated ?host"
CLOUD_SERVICES = r"(?i)cloud ?services"
PROMO = r"(?i)\bpromo\b"
SPOT = r"(?i) spot$"
LOW_PRIORITY = r"(?i) low priority$"
VIRTUAL_MACHINES = r"(?i)^virtual machines\b"
LINUX = r"(?i) linux$"  # Products from 2023 on are called "…-series Linux"; older ones omit it.
_SERIES = r"(?i)^.*\b(?:series|srs)\b(.*)$"
_WITHOUT_SERIES = r"(?i)^(?:virtual machines )?\S+(.*)$"
"""The text after the series. Newer products omit the word: "Virtual Machines NCldsxlRTX6kv6
Windows"."""

_KNOWN_WORDS = (
    *("windows", "win", "linux", "rhel", "red hat", "sles", "suse", "enterprise", "server"),
    *("ubuntu", "pro", "sap", "for", "with", "ha", "high availability", "basic"),
    *("dedicated ?host", "promo"),
    *("cloud ?services", "spot", "low priority", "expired", r"(?:very )?(?:high|medium) memory"),
)
_KNOWN_TAIL = rf"(?i)^(?:[ -]*\b(?:{'|'.join(_KNOWN_WORDS)})\b)*$"
"""Words that may follow the series in a product's name, in any order."""

_LAST_WORDS = r"(?i)((?: [a-z]{2,})+)$"
_KNOWN_LAST_WORDS = r"(?i)^ (?:spot|low priority|promo|expired)$"


def tidy(column: str) -> pl.Expr:
    """Replace blanks in a name by single spaces, and strip it."""
    return pl.col(column).str.replace_all(SPACES, " ").str.strip_chars()


def unknown_words(product: pl.Expr) -> pl.Expr:
    """Return the text after the series in a product's (tidied) name if it has unknown words."""
    tail = pl.coalesce(product.str.extract(_SERIES), product.str.extract(_WITHOUT_SERIES))
    return pl.when(~tail.str.contains(_KNOWN_TAIL)).then(tail.str.strip_chars(" -"))


def unknown_option(name: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Return unknown words at the end of a SKU's or meter's name, else null.

    Words of ``size`` (armSkuName) are not an option: "DSv2 Promo".
    """
    words = name.str.extract(_LAST_WORDS)
    in_size = letters(size).str.contains(letters(words), literal=True)
    is_new = ~words.str.contains(_KNOWN_LAST_WORDS) & ~in_size.fill_null(False)
    return pl.when(is_new).then(words.str.strip_chars())


def letters(name: pl.Expr) -> pl.Expr:
    """Keep letters and digits of a name, in lower case."""
    return name.str.to_lowercase().str.replace_all("[^a-z0-9]", "")


def product_facts(products: pl.Series) -> pl.DataFrame:
    """Classify product names (tidied), one row per distinct name.

    Columns: productName, product_os, product_tenancy, unknown_words, and product_kind, which is vm,
    host, cloud_services, promo or unknown. A name is unknown if it neither begins with "Virtual
    Machines" nor names an operating system.
    """
    name = pl.col("productName")
    names_os = pl.any_horizontal(name.str.contains(rule) for rule in (WINDOWS, LINUX, RHEL, SLES))
    is_host = name.str.contains(DEDICATED_HOST)
    kind = first_of(
        {
            "cloud_services": name.str.contains(CLOUD_SERVICES),
            "promo": name.str.contains(PROMO),
            "host": is_host,
            "vm": name.str.contains(VIRTUAL_MACHINES) | names_os,
        },
        "unknown",
    )
    tenancy = pl.when(is_host).then(pl.lit("host")).otherwise(pl.lit("shared"))
    return (
        pl.DataFrame({"productName": products.unique()})
        .drop_nulls()
        .with_columns(
            _operating_system(name).alias("product_os"),
            tenancy.alias("product_tenancy"),
            kind.alias("product_kind"),
            unknown_words(name).alias("unknown_words"),
        )
    )


def _operating_system(name: pl.Expr) -> pl.Expr:
    """Make prices.os of a product name. Without a system it is Linux without a license."""
    is_rhel, is_sles = name.str.contains(RHEL), name.str.contains(SLES)
    is_sap = name.str.contains(SAP)
    return first_of(
        {
            "windows": name.str.contains(WINDOWS),
            "rhel_sap": is_rhel & is_sap,
            "rhel_ha": is_rhel & name.str.contains(HIGH_AVAILABILITY),
            "rhel": is_rhel,
            "sles_sap": is_sles & is_sap,
            "sles": is_sles,
            "ubuntu_pro": name.str.contains(UBUNTU_PRO),
        },
        "linux",
    )
