"""The summary of a release."""

from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.manifests import provider_entry, release_manifest
from tests.helpers.releases import Release, Row, machine, price, tables
from tests.helpers.terminal import drawn

from hwprices.cli import show
from hwprices.cli.tables import listing, money, number, table
from hwprices.read import status
from hwprices.release.manifest import CollectionReport, TableEntry, Trouble
from hwprices.specs.sheets import load


def test_a_provider_is_named_by_the_title_in_the_manifest() -> None:
    release = release_manifest({"aws": provider_entry(title="Amazon")})
    assert status.provider_title(release, "aws") == "Amazon"


@pytest.mark.parametrize(("provider", "title"), [("aws", "AWS"), ("azure", "Azure")])
def test_a_provider_without_a_title_is_named_by_its_id(provider: str, title: str) -> None:
    release = release_manifest({provider: provider_entry()})
    assert status.provider_title(release, provider) == title


def cheapest_of(costs: list[Row], machines: list[Row]) -> pl.DataFrame:
    own = {**tables(costs, machines), "accelerators": load("accelerators")}
    return status.cheapest_per_accelerator(Release(own))


def test_private_people_have_a_row_of_their_own_beside_the_data_centers() -> None:
    """RunPod's Community Cloud is not a price of RunPod's data centers, and still shown."""
    name = "1x NVIDIA H100 80GB HBM3"
    h100 = machine("runpod", name, device="nvidia-h100-sxm5-80gb", count=1, gib=80)
    costs = [price("runpod", "community", name, "2.69"), price("runpod", "secure", name, "3.29")]
    cheapest = cheapest_of(costs, [h100])
    figures = cheapest.select("private_host", "per_accelerator_hour", "region").rows()
    assert figures == [(False, Decimal("3.29"), "secure"), (True, Decimal("2.69"), "community")]


def test_what_a_vendor_calls_an_h100_counts_without_a_spec_sheet() -> None:
    """DigitalOcean does not say which H100 it rents out; its H200 is none."""
    names = {"NVIDIA H100": ("4.41", 1), "NVIDIA H100 (8x)": ("35.28", 8), "NVIDIA H200": ("3", 1)}
    machines = [machine("digitalocean", name, count=count) for name, (_, count) in names.items()]
    for row in machines:
        row["accelerators"][0]["vendor_name"] = row["instance_type"].removesuffix(" (8x)")
    costs = [price("digitalocean", "global", name, amount) for name, (amount, _) in names.items()]
    cheapest = cheapest_of(costs, machines)
    assert cheapest["per_accelerator_hour"].to_list() == [Decimal("4.41")]
    assert show._gpu(cheapest)[:3] == ["$4.41", "on demand", "$4.41"]


def test_the_price_of_a_machine_is_divided_by_its_accelerators() -> None:
    p5 = machine("aws", "p5.48xlarge", device="nvidia-h100-sxm5-80gb", count=8, gib=640)
    costs = [
        price("aws", "us-gov-west-1", "p5.48xlarge", "66.048"),
        price("aws", "us-east-1", "p5.48xlarge", "55.04"),
    ]
    (row,) = cheapest_of(costs, [p5]).iter_rows(named=True)
    assert (row["per_accelerator_hour"], row["region"]) == (Decimal("6.88"), "us-east-1")


def test_notes_tell_kept_figures_and_failed_units() -> None:
    aws = provider_entry(
        status="kept",
        kept_from="20260801T000000Z",
        observed_from="2026-08-01T00:00:00Z",
        observed_to="2026-08-02T00:00:00Z",
        report=CollectionReport(troubles=(Trouble("spot", "failed", "timed out"),)),
    )
    text = drawn(*show._notes(release_manifest({"aws": aws})))
    assert "live, seen 2026-08-01 to 2026-08-02, kept from release 20260801T000000Z" in text
    assert "AWS spot failed: timed out" in text


def test_price_sheets_of_one_day_share_a_line() -> None:
    """Eight of the sample's price sheets were read on one day."""
    days = {"lambda": "2026-08-22", "crusoe": "2026-08-22", "nebius": "2026-10-07"}
    entries = {
        name: provider_entry(
            price_sheet=True, observed_from=f"{day}T00:00:00Z", observed_to=f"{day}T00:00:00Z"
        )
        for name, day in days.items()
    }
    lines = [
        " ".join(line.split())
        for line in drawn(*show._notes(release_manifest(entries))).splitlines()
    ]
    sheets = [line for line in lines if line.startswith("price sheets")]
    assert [line.partition("live, read ")[2][:10] for line in sheets] == [
        "2026-08-22",
        "2026-10-07",
    ]
    assert sheets[0].endswith(": Lambda, Crusoe")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0123, "0.0123"), (6.88, "6.88"), (1234.5, "1,234"), (2_500_000, "2.50 M")],
)
def test_money_is_rounded_for_reading(value: float | None, text: str) -> None:
    assert money(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.5, "0.5 W"), (2048, "2,048 W"), (250_000, "250 k W"), (3e6, "3 M W")],
)
def test_a_number_has_its_unit(value: float | None, text: str) -> None:
    assert number(value, "W") == text


def test_a_long_listing_is_cut() -> None:
    assert listing([str(i) for i in range(10)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    assert listing(None) == ""


def test_columns_of_amounts_are_aligned_right() -> None:
    lines = drawn(table(["name", "USD"], [["a", "1"], ["b", "100"]], right=["USD"])).splitlines()
    assert [line.rstrip() for line in lines] == ["name  USD", "a       1", "b     100"]


def test_each_provider_has_a_line() -> None:
    """Twelve providers do not fit side by side."""
    counts = {"aws": {"prices": 2557, "regions": 38}, "ovh": {"prices": 71, "quarantine": 1}}
    release = release_manifest(
        {name: provider_entry(rows=rows) for name, rows in counts.items()},
        tables={"prices": TableEntry(2628, 0, ())},
    )
    lines = [line.split() for line in drawn(show._rows(release)).splitlines()]
    assert ["AWS", "38", "2,557"] in lines
    assert ["OVH", "71", "1"] in lines
    assert ["total", "2,628"] in lines


@pytest.mark.parametrize(("currency", "text"), [("USD", "$2.80"), ("EUR", "2.80 EUR")])
def test_a_price_is_shown_in_its_own_currency(currency: str, text: str) -> None:
    assert show._price({"per_accelerator_hour": 2.8, "currency": currency}) == text
