"""What a machine costs in SageMaker, and how it is billed."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.releases import Release, rows
from tests.helpers.terminal import run

import hwprices
from hwprices.read.find.machine import answer, managed_prices
from hwprices.read.find.machines import NamedMachine

M5 = NamedMachine("aws", "m5.xlarge")
PLAIN = {
    "provider": "aws",
    "os": "linux",
    "software": "none",
    "license_model": "included",
    "tenancy": "shared",
    "purchase_option": "on_demand",
    "currency": "USD",
    "flags": [],
}


def component(usage: str, region: str, hourly: str, service: str = "AmazonSageMaker") -> dict:
    return {
        "provider": "aws",
        "region": region,
        "component": f"usage:{usage}/RunInstance",
        "currency": "USD",
        "per": "hour",
        "hourly": Decimal(hourly),
        "service": service,
        "sku_price_id": usage,
    }


@pytest.fixture
def managed() -> pl.DataFrame:
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
    costly = {
        **PLAIN,
        "region": "us-east-1",
        "tenancy": "dedicated",
        "effective_hourly": Decimal(2),
    }
    prices = [{**PLAIN, "region": "us-east-1", "effective_hourly": Decimal("0.192")}, costly]
    return managed_prices(release, M5, pl.DataFrame(prices))


def test_each_use_is_beside_on_demand_of_its_region(managed):
    found = managed.select("use", "region", "hourly", pl.col("factor").round(4)).rows()
    assert found == [
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
