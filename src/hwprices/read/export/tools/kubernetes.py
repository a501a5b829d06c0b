"""Prices for tools of a Kubernetes cluster: Karpenter and OpenCost.

NodeOverlay objects tell Karpenter your prices of nodes; otherwise it knows only list prices. Fields
and rules: pkg/apis/crds/karpenter.sh_nodeoverlays.yaml and pkg/cloudprovider/types.go of
https://github.com/kubernetes-sigs/karpenter (Apache-2.0, commit 22664681). No two objects are for
the same machine, region, zone and capacity type, so that they need no weights.

OpenCost reads a price list if ``USE_CSV_PROVIDER`` is true and ``CSV_PATH`` names the file. Columns
and look-up: pkg/cloud/provider/csvprovider.go of https://github.com/opencost/opencost (Apache-2.0,
commit 5f653330). A node is found by region and instance type, ignoring case.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.formulas import first_of
from hwprices.read.export.tools.catalog import (
    NOT_FOR_SALE,
    NOT_PLAIN_LINUX,
    OPTION,
    PLACE,
    Catalog,
    PricedMachines,
    amount,
    csv,
    split,
)
from hwprices.read.overlays.apply import LIST_PRICE, RULE
from hwprices.read.overlays.rules import Overlays, Rule

CLOUDS = ("aws", "azure", "gcp")
"""Clouds with a Karpenter provider whose labels are the names of the vendor's price list."""

API_VERSION = "karpenter.sh/v1alpha1"
TYPE_LABEL = "node.kubernetes.io/instance-type"
REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"
CAPACITY_LABEL = "karpenter.sh/capacity-type"
PERCENT_DECIMALS = 4  # an error of at most 5e-7 of the list price
IS_COMMITMENT = pl.col("term_months") > 0
NODE = [*PLACE, "zone", "capacity"]  # key of Karpenter's prices

REASONS = (
    *NOT_FOR_SALE,
    (
        ~(OPTION.is_in(["on_demand", "spot"]) | IS_COMMITMENT),
        pl.format("purchase option {}", OPTION),
    ),
    *NOT_PLAIN_LINUX[1:],
    (~pl.col("provider").is_in(CLOUDS), "no Karpenter provider is known for the vendor"),
    (pl.col("base").is_null(), "no on-demand list price to change"),
)

NOT_REQUESTED = ((IS_COMMITMENT, "a commitment, not requested with --option"),)

CHANGED = (
    (
        pl.col("effective_hourly") == pl.col("base"),
        "no own discount: Karpenter reads the list price itself",
    ),
)

ONE_PRICE = (
    (
        pl.col("effective_hourly").rank("ordinal").over(*NODE) > 1,
        "another purchase option for the same node costs less",
    ),
)


def karpenter(prices: PricedMachines) -> Catalog:
    """Write ``nodeoverlays-<cloud>.yaml`` with own discounts, and with commitments if requested.

    A commitment replaces the price of on-demand nodes. A rule with a price becomes a price; any
    other difference becomes a percentage of the list price, which Karpenter reads itself.

    Raises:
        HwpricesError: neither own discounts nor a commitment was requested.
    """
    rows = prices.rows
    if prices.overlays is None:
        if not prices.options_requested:
            raise HwpricesError(
                "Karpenter reads list prices itself: there is nothing to change",
                "Give own discounts (--overlays), or a commitment (--option reserved,1y).",
            )
        rows = rows.with_columns(
            pl.col("effective_hourly").alias(LIST_PRICE), pl.lit(None, pl.String).alias(RULE)
        )
    on_demand = prices.list_prices.select(
        *PLACE, "os", "tenancy", on_demand_list="hourly"
    ).collect()
    rows = rows.join(on_demand, on=[*PLACE, "os", "tenancy"], how="left").with_columns(
        pl.when(IS_COMMITMENT).then("on_demand_list").otherwise(LIST_PRICE).alias("base"),
        first_of({"spot": OPTION == "spot"}, "on-demand").alias("capacity"),
    )
    rules = prices.overlays.active if prices.overlays else ()
    first = () if prices.options_requested else NOT_REQUESTED
    kept, left_out = split(rows, first, REASONS, CHANGED, ONE_PRICE)
    kept = kept.with_columns(_label().alias("label"), **_amounts(rules))
    files = {}
    for cloud in CLOUDS:
        objects = list(_objects(kept.filter(provider=cloud), prices.version))
        if objects:
            files[f"nodeoverlays-{cloud}.yaml"] = _yaml(objects)
    return Catalog(files, kept.height, left_out, _details(prices.overlays))


def _label() -> pl.Expr:
    """Return the label of an object: its rules and its commitment."""
    terms = pl.concat_str(
        OPTION,
        "commitment_plan",
        pl.format("{} months", "term_months"),
        separator=" ",
        ignore_nulls=True,
    )
    commitment = pl.when(IS_COMMITMENT).then(terms)
    return pl.concat_str(RULE, commitment, separator=", ", ignore_nulls=True)


def _amounts(rules: Sequence[Rule]) -> dict[str, pl.Expr]:
    """Return the fields price and adjustment; one of them is null."""
    fixed = [f", {rule.name}, " for rule in rules if rule.price is not None]
    applied = pl.format(", {}, ", RULE)
    is_fixed = pl.any_horizontal(
        pl.lit(False), *(applied.str.contains(name, literal=True) for name in fixed)
    ).fill_null(False)
    is_change = pl.col(RULE).is_in([rule.name for rule in rules if rule.change is not None])
    paid, base = pl.col("effective_hourly"), pl.col("base")
    ratio = paid.cast(pl.Float64) / base.cast(pl.Float64)
    percent = ((ratio - 1) * 100).cast(pl.Decimal(20, PERCENT_DECIMALS))
    sign = pl.when(paid > base).then(pl.lit("+")).otherwise(pl.lit(""))
    adjustment = (
        pl.when(is_change & ~IS_COMMITMENT)
        .then(amount(paid - base))
        .otherwise(amount(percent) + "%")
    )
    return {
        "price": pl.when(is_fixed).then(amount(paid)),
        "adjustment": pl.when(~is_fixed).then(sign + adjustment),
    }


def _details(overlays: Overlays | None) -> list[str]:
    """List what the objects do not state about rules and commitments."""
    details = [
        "how much a commitment covers: an object is for every node, used up or not",
        "price_id, source page and date of each price",
    ]
    for rule in overlays.rules if overlays else ():
        if overlays and rule not in overlays.active:
            details.append(f"rule {rule.name}: not in effect on {overlays.day}")
        elif rule.last:
            details.append(f"rule {rule.name}: its last day, {rule.last}")
    return details


def _objects(rows: pl.DataFrame, version: str) -> Iterator[dict[str, Any]]:
    """Make an object for the machines of a region with the same change of price."""
    group = ["region", "zone", "capacity", "label", "price", "adjustment"]
    types = pl.col("instance_type").sort()
    grouped = rows.group_by(group).agg(types).sort(*group, nulls_last=True)
    for number, row in enumerate(grouped.iter_rows(named=True), start=1):
        wanted = {
            TYPE_LABEL: row["instance_type"],
            REGION_LABEL: [row["region"]],
            ZONE_LABEL: [row["zone"]] if row["zone"] else [],
            CAPACITY_LABEL: [row["capacity"]],
        }
        amounts = {"price": row["price"], "priceAdjustment": row["adjustment"]}
        yield {
            "apiVersion": API_VERSION,
            "kind": "NodeOverlay",
            "metadata": {
                "name": f"hwprices-{row['region']}-{row['capacity']}-{number}".lower(),
                "annotations": {"hwprices/release": version, "hwprices/of": row["label"]},
            },
            "spec": {
                "requirements": [
                    {"key": key, "operator": "In", "values": values}
                    for key, values in wanted.items()
                    if values
                ],
                **{name: value for name, value in amounts.items() if value is not None},
            },
        }


def _yaml(objects: list[dict[str, Any]]) -> bytes:
    import yaml

    return yaml.safe_dump_all(objects, sort_keys=False, explicit_start=True).encode()


OPENCOST_COLUMNS = {
    "EndTimestamp": pl.col("observed_at").dt.strftime("%Y-%m-%d %H:%M:%S UTC"),
    "InstanceID": pl.col("instance_type"),
    "Region": pl.col("region"),
    "AssetClass": pl.lit("node"),
    "InstanceIDField": pl.lit("metadata.labels.node.kubernetes.io/instance-type"),
    "InstanceType": pl.col("instance_type"),
    "MarketPriceHourly": amount("effective_hourly"),
    "Version": pl.col("price_id"),
}
"""OpenCost ignores EndTimestamp and Version, which here hold a date and an id."""

OPENCOST_REASONS = (
    *NOT_FOR_SALE,
    (OPTION == "spot", "spot: the list cannot tell a spot node from another"),
    *NOT_PLAIN_LINUX,
    (
        ~pl.col("provider").is_in(["aws", "azure", "gcp"]),
        "the label of a node names another region or machine than the vendor's price list",
    ),
)

OPENCOST_DETAILS = (
    "GPUs apart: the price of a machine includes them, so no rows of class gpu are written",
    "volumes: hwprices has no prices of them",
    "source page of each price: look it up by the price_id in the column Version",
)


def opencost(prices: PricedMachines) -> Catalog:
    """Write OpenCost's ``pricing.csv``: the on-demand price of each machine in each region."""
    kept, left_out = split(prices.rows, OPENCOST_REASONS)
    files = {"pricing.csv": csv(kept.sort("provider", "region", "instance_type"), OPENCOST_COLUMNS)}
    return Catalog(files, kept.height, left_out, OPENCOST_DETAILS)
