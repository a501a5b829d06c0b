"""Plan, fetch, record and stage against servers on this machine, with and without EC2."""

from tests.helpers.aws_pages import line, moto_server, price_list, reserved, savings_plans

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
    assert {r.unit.kind: r.status for r in results} == {
        "prices": "ok",
        "savings_plans": "ok",
        "spot_advisor": "ok",
    }
    prices = table("prices")
    assert sorted(prices["purchase_option"]) == [
        "on_demand",
        "on_demand",
        "on_demand",
        "reserved",
        "savings_plan",
    ]
    assert staged.accounted == {"merged:upfront": 1}
    assert staged.rows("component_prices") == 1
    types = {r["instance_type"]: r for r in table("instance_types").to_dicts()}
    assert types["p5.48xlarge"]["spec_source"] == "price_list"
    assert types["p5.48xlarge"]["accelerators"][0]["accelerator_id"] == "nvidia-h100-sxm5-80gb"
    assert table("spot_advice").height == 1


def test_with_credentials(refresh, monkeypatch):
    with moto_server() as url:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-real-key")
        monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", url)
        staged, results, table = refresh("us-east-1", PRICES, PLANS)
    status = {r.unit.kind: r.status for r in results}
    assert {kind for kind, s in status.items() if s == "ok"} >= {
        "prices",
        "savings_plans",
        "regions",
        "zones",
        "instance_types",
        "offerings",
        "spot",
    }
    # moto answers DescribeCapacityBlockOfferings with HTTP 500: that fails this unit alone.
    assert status["capacity_blocks"] == "failed"
    types = table("instance_types")
    assert types.height == 1395
    assert set(types["spec_source"]) == {"api"}
    p5 = types.filter(instance_type="p5.48xlarge").to_dicts()[0]
    assert (p5["network_gbps_max"], p5["accelerator_count"]) == (3200.0, 8.0)
    assert table("zones")["zone_id"].null_count() == 0
    assert table("availability").height > 6000
    assert [trouble.unit for trouble in staged.troubles] == ["aws/capacity_blocks/us-east-1"]
