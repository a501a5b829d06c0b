"""Read responses that AWS really sent (tests/recordings/aws)."""

from decimal import Decimal

import polars as pl
from tests.helpers.aws_pages import LandedPages


def test_every_line_of_an_old_price_list_is_accounted_for(recorded, tmp_path):
    """Lines of 2017 and 2021: dates day first, `3 yr`, `AllUpfront`, no Region Code."""
    body = recorded("price_list_eu-west-1.csv")
    pages = LandedPages(tmp_path).add("prices", "eu-west-1", body)
    before_lines = 6  # five lines about the file, and the header
    lines = body.count(b"\n") - before_lines + (not body.endswith(b"\n"))
    prices = pages.unchecked("prices")
    parts = pages.unchecked("component_prices")
    counted = sum(pages.counts().values())
    assert prices.height + parts.height + pages.refused().height + counted == lines
    reasons = pages.refused()["reason"].to_list()
    assert reasons == ["unknown_platform", "unknown_platform", "unknown_term"]


def test_disks_of_a_recorded_price_list_have_their_prices(recorded, tmp_path):
    body = recorded("price_list_eu-west-1.csv")
    pages = LandedPages(tmp_path).add("prices", "eu-west-1", body)
    found = pages.unchecked("component_prices").filter(pl.col("sku_id") != "INVALID_TYPE____")
    assert found.select("component", "unit", "per", "price", "sku_price_id").rows() == [
        (f"usage:EBS:{usage}", unit, "month", Decimal(price), f"{sku}.JRTCKXETXF.6YS6EN2CT7")
        for usage, unit, price, sku in (
            ("VolumeUsage.gp2", "gb", "0.11", "GDX844Q9TQAG2YZ2"),
            ("VolumeUsage.gp3", "gb", "0.088", "TXACT7E3PV6ZX2NM"),
            ("VolumeP-IOPS.gp3", "iops", "0.0055", "RC6HKYUDYUP35XBV"),
            ("VolumeP-Throughput.gp3", "gibps", "45.056", "RCDVGPFWPEZE4D4N"),
            ("SnapshotUsage", "gb", "0.05", "UZ7N3QU3DRSU25FK"),
            ("VolumeUsage.sc1", "gb", "0.0168", "V3WN4ZRCVEMX7VPK"),
            ("VolumeUsage.st1", "gb", "0.05", "CRDDQ58VQ7DU7373"),
        )
    ]


def test_a_reserved_term_of_an_old_price_list_is_read(recorded, tmp_path):
    body = recorded("price_list_eu-west-1.csv")
    pages = LandedPages(tmp_path).add("prices", "eu-west-1", body)
    (row,) = (
        pages.unchecked("prices")
        .filter(instance_type="c1.medium", purchase_option="reserved", os="linux", tenancy="shared")
        .to_dicts()
    )
    terms = (row["upfront"], row["term_months"], row["payment_option"])
    assert terms == (Decimal(1680), 36, "all_upfront")
    assert row["effective_hourly"] == round(Decimal(1680) / 26280, 10)


def test_recorded_savings_plans_name_skus_of_the_price_list(recorded, tmp_path):
    pages = LandedPages(tmp_path).add("prices", "eu-west-1", recorded("price_list_eu-west-1.csv"))
    pages.add("savings_plans", "eu-west-1", recorded("savings_plans_eu-west-1.json"), suffix="json")
    plans = pages.table("prices").filter(purchase_option="savings_plan")
    assert sorted(plans.select("commitment_plan", "payment_option", "hourly").iter_rows()) == [
        ("compute", "all_upfront", Decimal("0.098")),
        ("ec2_instance", "no_upfront", Decimal("0.087")),
    ]


def test_recorded_instance_types_are_all_read(recorded, tmp_path):
    bodies = [recorded(f"describe_instance_types_{number}.xml") for number in (1, 2)]
    pages = LandedPages(tmp_path).add("instance_types", "us-east-1", *bodies, suffix="xml")
    types = pages.table("instance_types")
    assert types.height == sum(body.count(b"<instanceType>") for body in bodies)
    (m5dn,) = types.filter(instance_type="m5dn.8xlarge").to_dicts()
    assert (m5dn["vcpus"], m5dn["memory_gib"], m5dn["local_disk_count"]) == (32, 128.0, 2)
    assert (m5dn["network_gbps_max"], m5dn["boost_ghz"]) == (25.0, 3.1)


def test_the_recorded_spot_advisor_is_read(recorded, tmp_path):
    body = recorded("spot_advisor.json")
    pages = LandedPages(tmp_path).add("spot_advisor", "global", body, suffix="json")
    advice = pages.table("spot_advice")
    assert set(advice["region"]) == {"us-east-1", "eu-west-1"}
    assert set(advice["os"]) == {"linux", "windows"}
    assert advice["interruption_percent_to"].is_between(5, 100).all()
