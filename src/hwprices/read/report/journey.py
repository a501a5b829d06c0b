"""Lead the prices of a machine type back to the vendor, for its page."""

from typing import Any

import polars as pl

from hwprices.read.dataset import Dataset
from hwprices.read.explain import Explanation, arithmetic

PRICE_IDS = {"on_demand_price_id": "On demand", "spot_price_id": "Spot"}
"""Columns of offers with the id of a price, and what it is a price of."""


class Journeys:
    """The way from an offer's on-demand and spot prices to the vendor's SKUs and pages."""

    def __init__(self, dataset: Dataset, offers: pl.DataFrame) -> None:
        ids = pl.concat([offers[column].drop_nulls() for column in PRICE_IDS]).unique()
        prices = dataset.scan("prices").filter(pl.col("price_id").is_in(ids.implode())).collect()
        order = ["region", "purchase_option", "price_id"]
        self._prices = prices.sort(order).partition_by(
            "provider", "instance_type", as_dict=True, maintain_order=True
        )
        self._components = _components(dataset, prices)

    def of(self, provider: str, instance_type: str) -> list[dict[str, Any]]:
        """Return a journey for each price of a machine type, by region.

        Each has the columns of prices, ``arithmetic`` and ``skus``.
        """
        prices = self._prices.get((provider, instance_type))
        if prices is None:
            return []
        return [self._journey(row) for row in prices.iter_rows(named=True)]

    def _journey(self, price: dict[str, Any]) -> dict[str, Any]:
        components = self._components.get((price["price_id"],), pl.DataFrame())
        explanation = Explanation(price, components, ())
        skus = (
            components["sku_id"].unique(maintain_order=True).drop_nulls().to_list()
            if components.height
            else [price["sku_price_id"] or price["sku_id"]]
        )
        return {
            **price,
            "arithmetic": arithmetic(explanation),
            "skus": [sku for sku in skus if sku],
        }


def _components(dataset: Dataset, prices: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    if "price_components" not in dataset.tables:
        return {}
    rows = dataset.scan("price_components").join(
        prices.lazy().select("price_id"), on="price_id", how="semi"
    )
    return rows.collect().partition_by("price_id", as_dict=True, maintain_order=True)
