"""Costs of owning a machine, worked by hand."""

from datetime import date
from decimal import Decimal

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.releases import Release, with_private_hosts
from tests.helpers.terminal import drawn

from hwprices.cli.recommend import render_recommendation
from hwprices.cli.tco import render_break_even
from hwprices.errors import HwpricesError
from hwprices.read.ownership import BREAK_EVEN_COLUMNS, DEFAULTS, Ownership, break_even, owned
from hwprices.read.recommend.recommend import recommend
from hwprices.units import Money


def render(frame: pl.DataFrame, ownership: Ownership = DEFAULTS) -> str:
    """What ``hwprices tco`` prints of an answer."""
    return drawn(render_break_even(frame, ownership))


def test_owning_by_hand(release: Release) -> None:
    """DGX H100: 269,000 USD / (5 × 8760 h × 0.5) and 10.2 kW × 1.56 × 0.13, in USD/h."""
    row = owned(release, Ownership()).filter(device_id="dgx-h100").row(0, named=True)
    assert float(row["capital_usd_per_hour"]) == pytest.approx(12.2831, abs=1e-4)
    assert float(row["energy_usd_per_hour"]) == pytest.approx(2.0686, abs=1e-4)
    assert row["tco_usd_per_hour"] == row["capital_usd_per_hour"] + row["energy_usd_per_hour"]


def test_break_even_by_hand(release: Release) -> None:
    """DGX H100 against p5.48xlarge: 269,000 / (55.04 - 2.0686) = 5,078.2 hours of use.

    That is 1.2 years at half of all hours.
    """
    frame = break_even(release)
    assert frame.columns == BREAK_EVEN_COLUMNS
    row = frame.filter(device_id="dgx-h100").row(0, named=True)
    assert row["cloud_offer"] == "aws/us-east-1/p5.48xlarge"
    assert row["break_even_hours"] == pytest.approx(5078.2, abs=0.5)
    assert row["break_even_years"] == pytest.approx(1.159, abs=1e-3)
    not_rented = frame.filter(device_id="pc-rtx-4090")
    assert not_rented["break_even_hours"].to_list() == [None]


def with_commitments(release: Release) -> Release:
    """The release with commitments of one and three years on one machine with eight H100."""
    is_a3 = pl.col("instance_type") == "a3-highgpu-8g"
    prices = {"best_1y_usd_per_hour": Decimal("61.38"), "best_3y_usd_per_hour": Decimal("38.86")}
    options = {"best_1y_option": "committed_use_1y", "best_3y_option": "committed_use_3y"}
    offers = release.tables["offers"].with_columns(
        *(pl.when(is_a3).then(pl.lit(text)).alias(name) for name, text in options.items()),
        *(
            pl.when(is_a3).then(pl.lit(price)).cast(Money).alias(name)
            for name, price in prices.items()
        ),
    )
    return Release({**release.tables, "offers": offers})


def test_break_even_with_a_commitment_by_hand(release: Release) -> None:
    """DGX H100: 61.38 USD/h are paid for all hours, 122.76 for one of use at half of all hours.

    269,000 / (122.76 - 2.0686) = 2,228.8 hours of use, 0.509 years. In the same time the commitment
    costs 0.509 × 8760 × 61.38 = 273,610 USD, the machine 269,000 and 2,228.8 × 2.0686 = 4,611.
    """
    frame = break_even(with_commitments(release))
    dgx = frame.filter(device_id="dgx-h100").row(0, named=True)
    assert dgx["cloud_1y_usd_per_hour"] == Decimal("61.38")
    assert dgx["cloud_1y_option"] == "committed_use_1y"
    assert dgx["cloud_1y_offer"].endswith("/a3-highgpu-8g")
    assert dgx["break_even_1y_hours"] == pytest.approx(2228.8, abs=0.1)
    assert dgx["break_even_1y_years"] == pytest.approx(0.5089, abs=1e-4)
    rent = dgx["break_even_1y_years"] * 8760 * 61.38
    assert rent == pytest.approx(269_000 + dgx["break_even_1y_hours"] * 2.06856, abs=1)
    assert dgx["break_even_3y_hours"] == pytest.approx(269_000 / (77.72 - 2.06856), abs=0.1)
    assert dgx["break_even_hours"] == pytest.approx(5078.2, abs=0.5), "on demand as before"
    others = frame.filter(pl.col("device_id") != "dgx-h100")
    assert others["break_even_1y_hours"].count() == others["cloud_1y_offer"].count() == 0


def test_commitments_are_drawn_below_the_comparison_on_demand(release: Release) -> None:
    own = with_commitments(release)
    text = render(break_even(own))
    lines = text[text.index("Owning against commitments") :].splitlines()
    assert "50% used" in lines[0]
    first, second = (line.split() for line in lines[2:4])
    assert first[2:6] == ["61.38", "committed", "use", "1y"]
    assert first[-4:] == ["2,229", "h", "0.51", "years"]
    assert second[2:6] == ["38.86", "committed", "use", "3y"]
    dear = Ownership(usd_per_kwh=8)  # 127.30 USD of electricity for an hour of use
    assert "a3-highgpu-8g  never" in render(break_even(own, dear), dear)
    assert "against commitments" not in render(break_even(release))


def test_break_even_is_with_a_data_center_and_names_private_people_who_ask_less(release) -> None:
    hosts = with_private_hosts(release, ["p5.48xlarge"])
    frame = break_even(hosts)
    row = frame.filter(device_id="dgx-h100").row(0, named=True)
    assert (row["cloud_usd_per_hour"], row["private_host_usd_per_hour"]) == (
        Decimal("88.4899999024"),
        Decimal("55.04"),
    )
    assert row["private_host_offer"] == "runpod/community/p5.48xlarge"
    assert "DGX H100: 55.04 USD/h, runpod/community/p5.48xlarge" in render(frame)


def test_other_currencies_need_an_exchange_rate(release: Release) -> None:
    machines = release.tables["local_hardware"].with_columns(price_currency=pl.lit("EUR"))
    in_euro = Release({**release.tables, "local_hardware": machines})
    without_rate = owned(in_euro)
    with_rate = owned(in_euro, Ownership(usd_per={"EUR": Decimal("1.1")}))
    assert without_rate["purchase_price_usd"].to_list() == [None] * 3
    assert dict(with_rate.select("device_id", "purchase_price_usd").iter_rows()) == {
        "dgx-h100": Decimal("295900"),
        "pc-rtx-4090": Decimal("3300"),
        "rtx-4090-card": Decimal("1758.9"),
    }
    machines = recommend("7B", "lora", context=2048, where="local", dataset=in_euro)
    reasons = dict(machines.select("machine", "excluded").iter_rows())
    assert reasons["pc-rtx-4090"] == "priced in EUR"


@cases("read/impossible_assumptions", assumption=yaml.safe_load)
def test_impossible_assumptions_are_refused(assumption: dict[str, float], line: str) -> None:
    with pytest.raises(HwpricesError) as raised:
        Ownership(**assumption)  # type: ignore[arg-type]
    assert str(raised.value).startswith(line)


def test_what_is_no_exchange_rate_is_refused() -> None:
    with pytest.raises(HwpricesError, match="EUR=0: this is not an exchange rate"):
        Ownership(usd_per={"EUR": "0"})


def test_a_narrow_terminal_keeps_when_a_machine_pays(release: Release) -> None:
    text = drawn(render_break_even(break_even(with_commitments(release))), width=60)
    dgx = [line.split() for line in text.splitlines() if "DGX H100" in line]
    assert [line[line.index("h") - 1] for line in dgx] == ["5,078", "2,229", "3,556"]
    assert "hidden (terminal too narrow): " in text
    assert ", ," not in text, "the last column has no heading"


def test_why_a_machine_is_not_compared_is_said(release: Release) -> None:
    shown = render(break_even(release))
    reasons = dict(break_even(release).select("device_id", "not_compared").iter_rows())
    assert reasons == {"dgx-h100": None, "pc-rtx-4090": "not_rented", "rtx-4090-card": "needs_host"}
    assert "No answer for 2 machines: " in shown
    assert "1 with an accelerator that no cloud prices" in shown
    assert "1 needing a host" in shown
    assert "PC with" not in shown
    machines = release.tables["local_hardware"]
    dgx = machines.filter(device_id="dgx-h100")
    nothing = pl.lit(None)
    changes = {
        "no_price": {"price": nothing},
        "other_currency": {"price_currency": pl.lit("EUR")},
        "old_price": {"price_date": pl.lit(date(2022, 11, 20))},
        "power_unknown": {"max_power_w": nothing, "power_estimate_w": nothing},
        "no_accelerator": {
            "accelerator_id": pl.lit("raspberry-pi-5"),
            "accelerator_memory_gb": nothing,
            "unified_memory": True,
        },
    }
    for code, change in changes.items():
        other = Release({**release.tables, "local_hardware": dgx.with_columns(**change)})
        assert break_even(other)["not_compared"].to_list() == [code]
        assert break_even(other)["break_even_hours"].to_list() == [None]
        assert "never" not in render(break_even(other))


def test_machines_and_offers_in_another_currency_are_compared_with_a_rate(release: Release) -> None:
    """244,545.45 EUR at 1.1 are 269,000 USD; 50 EUR/h are 55: pays after 5,082.0 h."""
    machines = release.tables["local_hardware"].filter(device_id="dgx-h100")
    offers = release.tables["offers"].filter(instance_type="p5.48xlarge")
    nothing = pl.lit(None, dtype=offers["on_demand_usd_per_hour"].dtype)
    in_euro = Release(
        {
            **release.tables,
            "local_hardware": machines.with_columns(
                price=pl.lit(Decimal("244545.4545454545")), price_currency=pl.lit("EUR")
            ),
            "offers": offers.with_columns(
                currency=pl.lit("EUR"),
                on_demand_hourly=pl.lit(Decimal(50)),
                on_demand_usd_per_hour=nothing,
                usd_per_accelerator_hour=nothing,
            ),
        }
    )
    row = break_even(in_euro, Ownership(usd_per={"EUR": "1.1"}, grid_gco2e_per_kwh=350)).row(
        0, named=True
    )
    assert row["cloud_usd_per_hour"] == 55
    assert row["break_even_hours"] == pytest.approx(269_000 / (55 - 2.06856), abs=0.5)
    # 10.2 kW × 1.56 × 350 g
    assert row["operational_gco2e_per_hour"] == pytest.approx(5569.2)


def test_the_price_of_a_machine_has_its_year(release: Release) -> None:
    """269,000 USD for a DGX H100 are of May 2023; a price without a date answers nothing."""
    machines = release.tables["local_hardware"]
    years = pl.when(device_id="dgx-h100").then(pl.date(2023, 5, 1))
    dated = Release({**release.tables, "local_hardware": machines.with_columns(price_date=years)})
    lines = render(break_even(dated)).splitlines()
    (dgx,) = [line for line in lines if "DGX H100" in line]
    assert dgx.split()[2:4] == ["269,000", "2023"]
    assert not [line for line in lines if "PC with" in line]
    bought = recommend("7B", "lora", context=2048, where="local", dataset=dated)
    days = dict(bought.select("machine", "purchase_price_date").iter_rows())
    assert (days["dgx-h100"], days["pc-rtx-4090"]) == (date(2023, 5, 1), None)
    why = dict(bought.select("machine", "excluded_reason").iter_rows())
    assert (why["dgx-h100"], why["pc-rtx-4090"]) == (None, "old_price")
    shown = drawn(render_recommendation(bought)).splitlines()
    (line,) = [line for line in shown if line.startswith("1  dgx-h100")]
    assert line.split()[3:5] == ["269,000", "2023"]


def test_emissions_of_a_recommendation_are_said_to_be_of_electricity(release: Release) -> None:
    """Making eight H100 is 37 of p5.48xlarge's 2,581 g an hour, but 23 % where a grid has 16 g."""
    rented, bought = (
        drawn(
            render_recommendation(
                recommend("llama-3.1-70b", objective="carbon", where=where, dataset=release)
            )
        )
        for where in ("cloud", "local")
    )
    assert "gCO2e/M" in rented
    assert "making the hardware is not in it" in rented
    assert "making the hardware" not in bought  # without --grid there are no emissions


@pytest.mark.parametrize(
    ("ownership", "hours", "shown"),
    [
        (Ownership(lifetime_years=1), 5078.2, "> 1 year"),  # 4,380 hours of use
        (Ownership(utilisation=0.1), 5078.2, "> 5 years"),
        (Ownership(usd_per_kwh=4), None, "never"),  # 63.65 USD/h of electricity
    ],
)
def test_a_break_even_after_the_machines_life_is_said_so(release, ownership, hours, shown) -> None:
    frame = break_even(release, ownership)
    dgx = frame.filter(device_id="dgx-h100")
    assert dgx["break_even_hours"].to_list() == [hours and pytest.approx(hours, abs=0.5)]
    lines = render(frame, ownership).splitlines()
    (line,) = [line for line in lines if "DGX H100" in line]
    assert line.rstrip().endswith(shown)
    assert not [line for line in lines if "PC with" in line], "nobody rents one out"


def test_s10_a_part_that_needs_a_host_never_breaks_even(release: Release) -> None:
    """Known wrong number S10 (docs/known-wrong-numbers.md): it is shown with its price alone.

    The card and the offers of a cloud have the same accelerator, so only ``complete`` decides.
    """
    machines = release.tables["local_hardware"].with_columns(
        accelerator_id=pl.lit("nvidia-h100-sxm5-80gb"), accelerator_count=8.0
    )
    rented = Release({**release.tables, "local_hardware": machines})
    frame = break_even(rented)
    complete = frame.filter("complete")
    assert complete["break_even_hours"].null_count() == 0
    part = frame.row(-1, named=True)
    assert (part["device_id"], part["complete"]) == ("rtx-4090-card", False)
    assert part["purchase_price_usd"] == 1599
    assert part["cloud_usd_per_hour"] == complete["cloud_usd_per_hour"][0]
    figures = ("tco_usd_per_hour", "break_even_hours", "break_even_years")
    assert [part[name] for name in figures] == [None] * 3
    ranked = recommend("7B", "lora", context=2048, where="local", dataset=rented)
    reasons = dict(ranked.select("machine", "excluded_reason").iter_rows())
    assert reasons["rtx-4090-card"] == "needs_host"
    assert reasons["dgx-h100"] is None
