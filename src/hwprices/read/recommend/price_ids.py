"""Find the ids of the prices that an answer is based on."""

import polars as pl

from hwprices.release.real_prices import REAL
from hwprices.release.release import Tables, scan_types
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS

PLACE = ["provider", "machine", "region"]

COMMITTED = sorted({option for option, _ in COMMITMENT_COLUMNS.values()})

TERMS = {12: "best_1y", 36: "best_3y"}
"""Months of a commitment: what usd_per_hour is the price of."""


def with_price_ids(ranked: pl.DataFrame, dataset: Tables) -> pl.DataFrame:
    """Add price_id to the ranked machines to rent of an answer of ``recommend``.

    It is from the table offers; ids of commitments and blocks, which offers lack, are from prices.
    Random ids are most of the bytes of both tables, so only those of ranked machines are read.
    """
    col, key = pl.col, [*PLACE, "purchase_option"]
    is_rented = col.rank.is_not_null() & (col.where == "cloud")
    rented = ranked.filter(is_rented)
    if rented.is_empty():
        return ranked
    first, last = rented.select(col.offer.min(), last=col.offer.max()).row(0)
    of_offers = {name: f"{name}_price_id" for name in ("on_demand", "spot")}
    offers = dataset.scan("offers").with_row_index("offer").slice(first, last - first + 1)
    ids = offers.select("offer", *of_offers.values()).collect()
    found = (pl.when(is_rented, purchase_option=name).then(id_) for name, id_ in of_offers.items())
    rows = ranked.drop("price_id").join(ids, "offer", "left", maintain_order="left")
    rows = rows.with_columns(price_id=pl.coalesce(found))
    others = rows.filter(is_rented, col.price_id.is_null())
    if others.is_empty():
        return rows
    listed = rows.join(_ids_of_prices(others, key, dataset), key, "left", maintain_order="left")
    of_prices = pl.when(is_rented).then("listed_price_id")
    return listed.with_columns(price_id=pl.coalesce("price_id", of_prices))


def _ids_of_prices(machines: pl.DataFrame, key: list[str], dataset: Tables) -> pl.DataFrame:
    """Return the id of the cheapest price of each machine and option, as offers choose it.

    Own discounts may have made another commitment the cheapest than that of the list prices.
    """
    col = pl.col
    is_committed = col.purchase_option.is_in(COMMITTED) & (col.commitment_plan != "convertible")
    term = col.term_months.replace_strict(TERMS, default=None, return_dtype=pl.String)
    chosen = pl.coalesce(
        pl.when(purchase_option=name).then(f"{name}_option") for name in TERMS.values()
    )
    begins = pl.coalesce(
        pl.when(col.purchase_option == option, col.commitment_plan == plan).then(pl.lit(name))
        for name, (option, plan) in COMMITMENT_COLUMNS.items()
    )
    of_chosen = col.chosen.str.starts_with(col.begins).fill_null(value=False)
    return (
        scan_types(dataset, "prices", machines["machine"])
        .rename({"instance_type": "machine"})
        .filter(*REAL, os="linux", software="none", license_model="included", tenancy="shared")
        .with_columns(
            begins=begins, purchase_option=pl.when(is_committed).then(term).otherwise(key[-1])
        )
        .join(machines.lazy().select(*key, chosen=chosen), key)
        .sort(~of_chosen, "effective_hourly", "price_id")
        .unique(key, keep="first", maintain_order=True)
        .select(*key, listed_price_id="price_id")
        .collect()
    )
