"""Plan, fetch, record and stage against servers on this machine, with and without EC2."""

from tests.helpers.aws_pages import line, price_list, reserved, savings_plans

PRICES = price_list(
    [
        line(),
        line(
            "0.1880000000",
            SKU="WIN",
            **{"Operating System": "Windows", "operation": "RunInstances:0002"},
        ),
        line(
            "55.0400000000",
            SKU="P5",
            **{"Instance Type": "p5.48xlarge", "vCPU": "192", "Memory": "2048 GiB", "GPU": "8"},
        ),
        *reserved("1yr", "standard", "Partial Upfront", "0.0290000000", "252"),
        line("0.1", SKU="GP3", **{"Product Family": "Storage", "Instance Type": ""}),
    ]
)
PLANS = savings_plans(
    "us-east-1", ("P", "ComputeSavingsPlans", "1yr", "No Upfront", [("6C86BEPQVG73ZGGR", "0.07")])
)


def test_without_credentials(refresh):
    staged, results, table = refresh("us-east-1", PRICES, PLANS)
    found = {r.unit.kind: r.status for r in results}
    assert found == {"prices": "ok", "savings_plans": "ok", "spot_advisor": "ok"}
    prices = table("prices")
    found = sorted(prices["purchase_option"])
    assert found == ["on_demand", "on_demand", "on_demand", "reserved", "savings_plan"]
    assert staged.accounted == {"merged:upfront": 1}
    assert staged.rows("component_prices") == 1
    types = {r["instance_type"]: r for r in table("instance_types").to_dicts()}
    assert types["p5.48xlarge"]["spec_source"] == "price_list"
    assert types["p5.48xlarge"]["accelerators"][0]["accelerator_id"] == "nvidia-h100-sxm5-80gb"
    assert table("spot_advice").height == 1
