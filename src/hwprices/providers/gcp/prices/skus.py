"""Landed SKU pages → one row a SKU, then one row a rate in a region.

The wire shape is ``services.skus.list`` of the Cloud Billing Catalog:
https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.providers import Pages
from hwprices.providers.gcp.prices import grammar
from hwprices.units import Money

SKU_KINDS = ("skus", "tpu-skus")

UNKNOWN_LIMIT = 0.05
"""Above this share of machine SKUs that the grammar does not know, the provider fails: the catalog has changed its words."""

UNKNOWN_FLOOR = 20
"""So few unknown SKUs never fail a provider, however small the catalog; they are quarantined."""

UNITS = {"h": "hour", "GiBy.h": "hour", "GiBy.mo": "month", "mo": "month"}
"""usageUnit → the time it is for. Others are not prices of a machine."""

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "sku_id": pl.String,
    "description": pl.String,
    "family": pl.String,
    "group": pl.String,
    "usage": pl.String,
    "regions": pl.List(pl.String),
    "currency": pl.String,
    "per": pl.String,
    "units": pl.String,
    "nanos": pl.Int64,
    "effective_from": pl.String,
    "series": pl.String,
    "part": pl.String,
    "option": pl.String,
    "term_months": pl.Int32,
    "place": pl.String,
    "version": pl.Int32,
    "low": pl.Int32,
    "high": pl.Int32,
    "refused": pl.String,
    "page": pl.UInt32,
}


@dataclass(frozen=True)
class Catalog:
    """SKUs as read: ``parts`` the priced ones, ``refused`` those not understood, ``counts`` what became of the others.

    Both frames have the columns of the description, its meaning (series, part, option, term_months …), ``price`` (Decimal, per
    ``per``: hour or month), ``effective_from``, observed_at, source_url and raw_sha256.
    """

    parts: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int] = field(default_factory=dict)


def read(pages: Pages) -> Catalog:
    """Read every SKU page of the run.

    Raises:
        HwpricesError: a page is not a SKU list, or too many descriptions are not understood.
    """
    rows: list[tuple[Any, ...]] = []
    sources: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for kind in SKU_KINDS:
        for page in pages.of(kind):
            body = json.loads(pages.read(page))
            if not isinstance(body.get("skus", []), list):
                raise HwpricesError(
                    f"landed page {page.key} is not a list of SKUs",
                    "Fetch again; check HWPRICES_GCP_BILLING_URL.",
                )
            rows += _rows(body.get("skus", []), len(sources), counts)
            sources.append(
                {
                    "observed_at": page.retrieved_at,
                    "source_url": page.url,
                    "raw_sha256": page.sha256,
                }
            )
    frame = _frame(rows, sources)
    refused = frame.filter(pl.col("refused").is_not_null())
    _check_share(
        refused, frame, sum(n for why, n in counts.items() if why.startswith("not_a_machine_price"))
    )
    return Catalog(frame.filter(pl.col("refused").is_null()).drop("refused"), refused, dict(counts))


def _check_share(refused: pl.DataFrame, read_: pl.DataFrame, others: int) -> None:
    unknown = refused.filter(pl.col("refused") == "unknown_grammar")
    total = read_.height + others
    if unknown.height > max(UNKNOWN_FLOOR, UNKNOWN_LIMIT * total):
        shown = "; ".join(unknown["description"].head(3))
        raise HwpricesError(
            f"gcp: {unknown.height} of {total} machine SKUs are not understood (over {UNKNOWN_LIMIT:.0%}): {shown}",
            "Google has changed its SKU descriptions: extend providers/gcp/vocabulary.py or grammar.py.",
        )


def _rows(
    skus: Iterable[Mapping[str, Any]], page: int, counts: Counter[str]
) -> list[tuple[Any, ...]]:
    """Rows of one page. Out of scope (storage, network …) and other kinds of SKU are counted, not kept."""
    rows = []
    for sku in skus:
        category = sku.get("category") or {}
        family, group = category.get("resourceFamily", ""), category.get("resourceGroup", "")
        if family not in ("Compute", "License") and group != "LocalSSD":
            counts[f"out_of_scope:resource_family={family}"] += 1
            continue
        usage = category.get("usageType", "")
        meaning = grammar.parse(sku.get("description", ""), family=family, group=group, usage=usage)
        if isinstance(meaning, grammar.Other):
            counts[f"not_a_machine_price:{meaning.why}"] += 1
            continue
        said = (sku.get("skuId"), sku.get("description"), family, group, usage, _regions(sku))
        price, fault = _price(sku)
        if meaning is None:
            rows.append((*said, *price, *[None] * 8, "unknown_grammar", page))
        else:
            what = (
                meaning.series,
                meaning.part,
                meaning.option,
                meaning.term_months,
                meaning.place,
                meaning.version,
                meaning.low,
                meaning.high,
            )
            rows.append((*said, *price, *what, fault, page))
    return rows


def _regions(sku: Mapping[str, Any]) -> list[str]:
    """serviceRegions; a few SKUs leave them out and say where in geoTaxonomy."""
    return list(
        sku.get("serviceRegions") or (sku.get("geoTaxonomy") or {}).get("regions") or ["global"]
    )


def _price(
    sku: Mapping[str, Any],
) -> tuple[tuple[str | None, str | None, str | None, int | None, str | None], str | None]:
    """((currency, per, units, nanos, effective time), fault): the current price of the SKU for the first paid unit."""
    current = max(sku.get("pricingInfo") or [{}], key=lambda info: info.get("effectiveTime") or "")
    expression = current.get("pricingExpression") or {}
    rate = _tier(expression.get("tieredRates") or [])
    money = (rate or {}).get("unitPrice")
    if not money:
        return (None, None, None, None, None), "no_price"
    per = UNITS.get(expression.get("usageUnit", ""))
    # units is an int64 and so a string on the wire; both it and nanos are left out when 0
    row = (
        money.get("currencyCode"),
        per,
        str(money.get("units") or 0),
        int(money.get("nanos") or 0),
        current.get("effectiveTime"),
    )
    return row, _fault(row[0], per, rate)


def _fault(currency: str | None, per: str | None, rate: Mapping[str, Any] | None) -> str | None:
    """Why a price is not one: dollars are asked for, and what a part costs is never nothing."""
    if currency != "USD":
        return "not_usd"
    if per is None:
        return "unknown_unit"
    return None if rate and _paid(rate) else "zero_price"


def _tier(rates: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The rate that one machine pays: the first, unless it is a free allowance with a paid rate after it."""
    ordered = sorted(rates, key=lambda r: r.get("startUsageAmount") or 0)
    return next((r for r in ordered if _paid(r)), ordered[0] if ordered else None)


def _paid(rate: Mapping[str, Any]) -> bool:
    money = rate.get("unitPrice") or {}
    return bool(int(money.get("units") or 0) or int(money.get("nanos") or 0))


def _frame(rows: list[tuple[Any, ...]], sources: list[dict[str, Any]]) -> pl.DataFrame:
    pages = pl.DataFrame(
        sources,
        schema={
            "observed_at": pl.Datetime("us", "UTC"),
            "source_url": pl.String,
            "raw_sha256": pl.String,
        },
        orient="row",
    ).with_row_index("page")
    dollars = pl.col("units").cast(pl.Decimal(38, 10), strict=False)
    billionths = pl.col("nanos").cast(pl.Decimal(38, 10)) / pl.lit(10**9).cast(
        pl.Decimal(38, 10)
    )  # nanos: 10^-9 by definition
    return (
        pl.DataFrame(rows, schema=_COLUMNS, orient="row")
        .join(pages, on="page", how="left", maintain_order="left")
        .with_columns(
            price=(dollars + billionths).cast(Money),
            effective_from=pl.col("effective_from").str.to_datetime(
                "%+", time_zone="UTC", time_unit="us", strict=False
            ),
        )
        .drop("units", "nanos", "page")
    )
