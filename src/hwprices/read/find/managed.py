"""Compare a machine with the same machine under a service that manages it: SageMaker's ml.*."""

import re

import polars as pl

from hwprices.read.find.machines import NamedMachine
from hwprices.read.find.search import Search, of_prices
from hwprices.release.real_prices import REAL
from hwprices.release.release import Release

SAGEMAKER = "AmazonSageMaker"

USES = {
    "Host": "hosting",
    "AsyncInf": "asynchronous inference",
    "Tsform": "batch transform",
    "Train": "training",
    "Cluster": "HyperPod",
    "Processing": "processing",
    "Notebk": "notebook",
}
"""What SageMaker's usage types name, in the words of its price page; others keep AWS's word.
https://aws.amazon.com/sagemaker/ai/pricing/"""


def managed_prices(dataset: Release, machine: NamedMachine, prices: pl.DataFrame) -> pl.DataFrame:
    """Return what a machine costs by the hour in SageMaker, beside on demand in the same region.

    Args:
        dataset: a release.
        machine: the machine.
        prices: its prices, as ``machine.answer`` gives them.

    Returns:
        ``use`` (hosting, training, … or AWS's word: Studio:JupyterLab), ``region``, ``hourly``,
        ``currency``, ``factor`` (against plain Linux on demand in the region; null without a price
        there) and ``sku_price_id``, by use, currency and price. No rows where AWS lists none, and
        in releases before 2026-12, which have no services.
    """
    if machine.provider != "aws" or "component_prices" not in dataset.tables:
        return pl.DataFrame(schema={"use": pl.String})
    components = dataset.scan("component_prices")
    if "service" not in components.collect_schema().names():
        return pl.DataFrame(schema={"use": pl.String})
    name = re.escape(machine.instance_type)
    use = pl.col("component").str.extract(rf"^usage:([^/]+)[:-]ml\.{name}(?:/|$)")
    of_machine = {"provider": machine.provider, "service": SAGEMAKER, "per": "hour"}
    listed = (
        components.filter(**of_machine).with_columns(use=use).filter(pl.col("use").is_not_null())
    )
    plain = prices.filter(*REAL, of_prices(Search()), purchase_option="on_demand")
    on_demand = plain.group_by("region", "currency").agg(pl.col("effective_hourly").min())
    joined = listed.collect().join(on_demand, on=["region", "currency"], how="left")
    factor = pl.col("hourly").cast(float) / pl.col("effective_hourly").cast(float)
    return joined.select(
        pl.col("use").replace(USES),
        "region",
        "hourly",
        "currency",
        factor.alias("factor"),
        "sku_price_id",
    ).sort("use", "currency", "hourly", "region")
