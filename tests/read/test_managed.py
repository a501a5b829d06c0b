"""What a machine costs in SageMaker, and how it is billed."""

from decimal import Decimal
from pathlib import Path

import polars as pl
from tests.helpers.releases import Release, Row, price, prices, rows
from tests.helpers.terminal import run

import hwprices
from hwprices.read.find.machine import answer, managed_prices
from hwprices.read.find.names import NamedMachine

M5 = NamedMachine("aws", "m5.xlarge")


def component(usage: str, region: str, hourly: str, service: str = "AmazonSageMaker") -> Row:
    return {
        "region": region,
        "component": f"usage:{usage}/RunInstance",
        "currency": "USD",
        "per": "hour",
        "hourly": hourly,
        "service": service,
        "sku_price_id": usage,
    }


def test_each_use_is_beside_on_demand_of_its_region() -> None:
    """As AWS listed m5.xlarge in 2026-05: 0.23 and 0.257 in SageMaker, 0.192 in EC2."""
    parts = [
        component("Host:ml.m5.xlarge", "eu-west-1", "0.257"),
        component("Host:ml.m5.xlarge", "us-east-1", "0.23"),
        component("Train:ml.m5.xlarge", "us-east-1", "0.23"),
        component("Processing:ml.m5.xlarge", "us-east-1", "0.23"),
        component("AsyncInf:ml.m5.xlarge", "us-east-1", "0.23"),
        component("Studio:JupyterLab-ml.m5.xlarge", "us-east-1", "0.23"),
        component("Host:ml.m5.12xlarge", "us-east-1", "2.765"),
        component("Host:ml.m5.xlarge", "us-east-1", "9", service="AmazonEC2"),
    ]
    release = Release({"component_prices": rows("component_prices", *parts)})
    listed = prices(
        price("aws", "us-east-1", "m5.xlarge", "0.192"),
        price("aws", "us-east-1", "m5.xlarge", "2", tenancy="dedicated"),
    )
    managed = managed_prices(release, M5, listed)
    assert managed.select("use", "region", "hourly", pl.col("factor").round(4)).rows() == [
        ("Studio:JupyterLab", "us-east-1", Decimal("0.23"), 1.1979),
        ("asynchronous inference", "us-east-1", Decimal("0.23"), 1.1979),
        ("hosting", "us-east-1", Decimal("0.23"), 1.1979),
        ("hosting", "eu-west-1", Decimal("0.257"), None),
        ("processing", "us-east-1", Decimal("0.23"), 1.1979),
        ("training", "us-east-1", Decimal("0.23"), 1.1979),
    ]


def test_a_release_before_services_has_none():
    old = Release({"component_prices": rows("component_prices").drop("service")})
    assert managed_prices(old, M5, pl.DataFrame(schema={"region": pl.String})).height == 0


def test_the_answer_about_a_machine_has_its_billing_terms(market: Path) -> None:
    billing = answer(hwprices.open(market), "d4s_v6", option="on_demand").billing
    terms = billing.select("provider", "purchase_option", "increment_seconds", "when_stopped")
    assert terms.rows() == [("azure", "on_demand", 1, "until_deallocated")]
    shown = run("price", "d4s_v6", root=market).stdout
    assert "billed until deallocated" in " ".join(shown.split())
