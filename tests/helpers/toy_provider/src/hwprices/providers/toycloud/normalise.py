"""Read Toy Cloud's landed pages into tables. Knows no network and no clock."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.toycloud.fetch import INVENTORY, PRICE_LIST
from hwprices.rows import frames, quarantine
from hwprices.rows.accelerators import accelerator_totals
from hwprices.rows.origin import origin
from hwprices.rows.prices import price_rows
from hwprices.schemas.columns import Accelerators, Table
from hwprices.schemas.inventory import Availability, InstanceTypes, Regions
from hwprices.specs.accelerator_names import Match, accelerator_matcher

PURCHASE_OPTIONS = {"payg": "on_demand", "spare": "spot"}
"""Toy Cloud's billing modes, and what this project calls them."""

LINE = {"sku": pl.String, "machine": pl.String, "billing": pl.String, "usd": pl.String}
"""Columns of a price list that are read, with their types. Money stays text until it is Decimal."""


def normalise(pages: Pages) -> Iterator[Part]:
    """Read regions, instance_types, availability and prices.

    Raises:
        HwpricesError: a page was altered or is not JSON.
    """
    for page in pages.of(INVENTORY):
        yield from _inventory(pages.read_json(page), page)
    for region in pages.regions(PRICE_LIST):
        for page in pages.of(PRICE_LIST, region):
            yield _prices(pages.read_json(page)["lines"], page, region)


def _inventory(content: Any, page: Page) -> Iterator[Part]:
    machines = content["machines"]
    yield Part("regions", _table([_region(r) for r in content["regions"]], Regions, page))
    match = accelerator_matcher("toycloud")
    yield Part("instance_types", _instance_types([_machine(m, match) for m in machines], page))
    offers = [
        {"region": region, "instance_type": m["name"], "offered": True}
        for m in machines
        for region in m["regions"]
    ]
    yield Part("availability", _table(offers, Availability, page))


def _region(region: dict[str, Any]) -> dict[str, object]:
    return {
        "region": region["name"],
        "display_name": region["title"],
        "kind": "region",
        "country": region["country"],
    }


def _machine(machine: dict[str, Any], match: Callable[[str | None, str], Match | None]) -> Any:
    accelerators = [_accelerator(machine, match)] if machine["gpu"] else []
    return {
        "instance_type": machine["name"],
        "family": machine["name"].split("-")[0],
        "arch": "x86_64",
        "vcpus": machine["vcpus"],
        "memory_gib": float(machine["memory_gib"]),
        "accelerators": accelerators,
        "accelerator_kind": "gpu" if accelerators else "none",
        "spec_source": "api",
        "corrections": [],
    }


def _accelerator(machine: dict[str, Any], match: Callable[[str | None, str], Match | None]) -> Any:
    """Name the spec sheet of a GPU; the id is null where accelerator_names has no rule."""
    sheet = match(machine["gpu"], machine["name"])
    return {
        "accelerator_id": sheet.accelerator_id if sheet else None,
        "vendor_name": machine["gpu"],
        "count": float(machine["gpus"]),
        "memory_gib": sheet.memory_gib if sheet else None,
    }


def _instance_types(machines: list[dict[str, Any]], page: Page) -> pl.DataFrame:
    rows = pl.DataFrame(machines, schema_overrides={"accelerators": Accelerators})
    provider = pl.lit("toycloud").alias("provider")
    complete = rows.lazy().with_columns(provider, *origin(page)).drop("source_url")
    return frames.conform(complete.with_columns(accelerator_totals()), InstanceTypes).collect()


def _table(rows: list[dict[str, object]], model: type[Table], page: Page) -> pl.DataFrame:
    """Complete rows of a table: the provider and the page they come from, other columns null."""
    provider = pl.lit("toycloud").alias("provider")
    complete = pl.LazyFrame(rows).with_columns(provider, *origin(page)).drop("source_url")
    return frames.conform(complete, model).collect()


def _prices(lines: list[dict[str, Any]], page: Page, region: str) -> Part:
    """Read one price list.

    Products that are no machines are counted; unknown billing modes go to quarantine.
    """
    counts = Counter(
        f"out_of_scope:product={line['product']}" for line in lines if line["product"] != "machine"
    )
    machines = [line for line in lines if line["product"] == "machine"]
    frame = pl.LazyFrame([{name: line[name] for name in LINE} for line in machines], schema=LINE)
    frame = frame.with_columns(pl.lit(region).alias("region"), *origin(page))
    is_understood = pl.col("billing").is_in(list(PURCHASE_OPTIONS))
    refused = quarantine.refused(
        frame.filter(~is_understood).with_columns(pl.lit("toycloud").alias("provider")),
        table="prices",
        reason="unknown_price_type",
        message=pl.format("billing is {}", "billing"),
    )
    rows = price_rows(
        frame.filter(is_understood).rename({"machine": "instance_type", "sku": "sku_id"}),
        provider="toycloud",
        purchase_option=pl.col("billing").replace_strict(PURCHASE_OPTIONS),
        currency="USD",
        hourly=pl.col("usd").str.to_decimal(scale=10),
    )
    return Part("prices", rows, region, refused=refused.collect(), counts=counts)
