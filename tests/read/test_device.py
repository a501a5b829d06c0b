"""One device, one call, one row: every device people ask about answers, and a name that is not clear says what it could be."""

import io
from decimal import Decimal

import polars as pl
import pytest
from rich.console import Console
from tests.helpers import small_release
from tests.helpers.asked_devices import ASKED

from hwprices.errors import HwpricesError
from hwprices.read import ownership, terminal
from hwprices.read.device import lookup
from hwprices.read.device.device import ANSWER, device
from hwprices.read.recommend.recommend import recommend


@pytest.fixture(scope="module")
def release() -> small_release.Release:
    return small_release.Release(small_release.build().tables)


@pytest.mark.parametrize("name", ASKED)
def test_every_device_people_ask_about_answers(release: small_release.Release, name: str) -> None:
    frame = device(release, name)
    assert frame.schema == pl.Schema(ANSWER)
    row = frame.row(0, named=True)
    assert row["device_id"] == ASKED[name]
    assert row["type"]
    assert row["dtypes"] or row["dtypes_unknown"] or row["type"] == "media", (
        "what it computes in, or that nobody says"
    )
    assert row["source_url"].startswith("https://")
    unanswered = [
        row["cheapest_usd"] or row["part_hourly_usd"] or row["owned_hourly_usd"],
        row["purchase_usd"],
        row["measured"],
        row["usd_per_million_tokens"],
        row["tflops_per_watt"],
        row["gco2e_per_hour"],
    ]
    assert len(row["missing"]) <= sum(1 for value in unanswered if not value), (
        "a reason for each question without an answer"
    )


def test_h100_by_hand(release: small_release.Release) -> None:
    row = device(release, "nvidia-h100-sxm5-80gb").row(0, named=True)
    assert (row["clouds"], row["regions"]) == (
        ["aws", "azure", "gcp"],
        ["aws/us-east-1", "azure/eastus", "gcp/us-central1"],
    )
    assert (row["hourly_usd"], row["hourly_offer"]) == (
        Decimal("6.88"),
        "aws/us-east-1/p5.48xlarge",
    )
    assert (row["cheapest_usd"], row["cheapest_offer"]) == (
        Decimal("6.3261926027"),
        "gcp/us-central1/a3-highgpu-8g: spot",
    )
    assert row["spot_offer"] == "gcp/us-central1/a3-highgpu-8g"
    assert row["yearly_usd"] == Decimal("60268.8")
    assert row["tflops_per_watt"] == pytest.approx(989.4 / 700)
    assert row["usd_per_million_tokens"] == [
        {
            "model": "llama2_70b",
            "usd": Decimal("0.6322791365"),
            "basis": "measured on as many accelerators",
        }
    ]
    assert row["gco2e_basis"].startswith("SCI, aws/us-east-1")
    assert row["missing"] == []
    # 373,000 USD / 8 / (5 × 8760 × 0.5) h + 10.2 kW / 8 × 1.56 × 0.13 USD
    assert float(row["owned_hourly_usd"]) == pytest.approx(2.1290 + 0.2586, abs=1e-3)


def test_a_tpu_has_an_estimate_and_says_that_it_is_one(release: small_release.Release) -> None:
    row = device(release, "TPU v6e").row(0, named=True)
    assert row["tflops_per_watt"] is None, "case S6: no TDP is published"
    assert "estimated TDP" in row["gco2e_basis"]
    assert row["watts_basis"].startswith("estimate")


def test_efficiency_says_its_number_format(release: small_release.Release) -> None:
    """Case S4: dense FP16 of L4 is 1.68 TFLOPS/W; K80 has FP32 alone, 4.37 / 150."""
    l4, k80 = (device(release, name).row(0, named=True) for name in ("L4", "K80"))
    assert (l4["tflops_per_watt"], l4["tflops_per_watt_dtype"]) == (
        pytest.approx(1.68, abs=0.001),
        "bf16",
    )
    assert (k80["tflops_per_watt"], k80["tflops_per_watt_dtype"]) == (
        pytest.approx(0.029, abs=0.001),
        "fp32",
    )


def test_a_device_that_no_one_measured_or_sells_says_so(release: small_release.Release) -> None:
    row = device(release, "Sohu").row(0, named=True)
    assert len(row["missing"]) == 6
    assert row["dtypes"] == []


def test_a_cpu_answers(release: small_release.Release) -> None:
    row = device(release, "Graviton3").row(0, named=True)
    assert (row["type"], row["hourly_usd"], row["hourly_offer"]) == (
        "cpu",
        Decimal("0.0408"),
        "aws/us-east-1/m7g.xlarge",
    )


def test_a_machine_to_buy_answers(release: small_release.Release) -> None:
    row = device(release, "DGX H100").row(0, named=True)
    assert (row["type"], row["purchase_usd"], row["watts"]) == ("server", Decimal(373_000), 10_200)
    assert "bf16" in row["dtypes"]
    grid = device(release, "DGX H100", ownership.Ownership(grid_gco2e_per_kwh=100)).row(
        0, named=True
    )
    assert grid["gco2e_per_hour"] == pytest.approx(10.2 * 1.56 * 100)


def test_a_price_in_euro_is_shown_without_a_rate(release: small_release.Release) -> None:
    euro = dict(release.tables)
    euro["local_hardware"] = euro["local_hardware"].with_columns(price_currency=pl.lit("EUR"))
    row = device(small_release.Release(euro), "DGX H100").row(0, named=True)
    assert (row["purchase_amount"], row["purchase_currency"], row["purchase_usd"]) == (
        Decimal(373_000),
        "EUR",
        None,
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("H100", "'H100' is 3 devices. Name one: nvidia-h100-nvl-94gb"),
        ("H10O SXM5 80 GB", "Did you mean nvidia-h100-sxm5-80gb"),
        ("banana", "there is no device 'banana'"),
        ("  ", "no device was named"),
    ],
)
def test_a_name_that_is_not_clear_says_what_it_could_be(
    release: small_release.Release, name: str, message: str
) -> None:
    with pytest.raises(HwpricesError) as caught:
        device(release, name)
    assert message in str(caught.value)


def test_spelling_does_not_matter() -> None:
    assert lookup.squeeze("RTX 4090") == lookup.squeeze("rtx-4090") == lookup.squeeze("RTX4090")


def test_answers_can_be_read_on_a_screen(release: small_release.Release) -> None:
    console = Console(file=io.StringIO(), width=200)
    console.print(terminal.render_device(device(release, "H100 SXM")))
    console.print(terminal.render_recommendation(recommend("70B", dataset=release), excluded=3))
    console.print(terminal.render_break_even(ownership.break_even(release)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "6.88 (aws/us-east-1/p5.48xlarge)" in text
    assert "machines fit" in text
    assert "DGX H100" in text
