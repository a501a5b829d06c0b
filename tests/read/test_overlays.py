"""Own discounts: rules in a file, applied by the reader, with the list price beside them."""

import warnings
from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases
from tests.helpers.terminal import run

import hwprices
from hwprices.errors import HwpricesError, HwpricesWarning
from hwprices.read.dataset import Dataset
from hwprices.read.export import files
from hwprices.read.overlays import apply, rules
from hwprices.units import Money

BILL = Path(__file__).parents[1] / "recordings" / "bills" / "focus_bill.csv"  # Of September 2024

RULES = """
- name: enterprise
  match: {provider: aws, family: p5*, option: [on_demand, spot]}
  discount: 18%
- match: {region: us-*, os: linux}
  change: -1.00
- name: contract
  match: {type: A3-highgpu-8g, term: 1y}
  price: 50
  stop: true
- name: never reached
  match: {option: committed_use}
  discount: 50%
- name: later
  discount: 99%
  from: 2027-01-01
"""


def priced(data: Dataset, text: str, yaml: str, day: date = date(2026, 8, 1)) -> list[tuple]:
    overlays = rules.parse(yaml, day=day)
    rows = data.find(text, overlays=overlays)
    return rows.select("effective_hourly", "list_effective_hourly", "overlay").rows()


def test_rules_apply_in_order_each_to_what_the_one_before_left(data: Dataset) -> None:
    assert priced(data, "8xh100 p5", RULES) == [
        (Decimal("24.80048"), Decimal("31.464"), "enterprise, rule 2"),  # 31.464 × 0.82 - 1
        (Decimal("44.1328"), Decimal("55.04"), "enterprise, rule 2"),  # 55.04 × 0.82 - 1
    ]


def test_a_fixed_price_and_a_rule_that_stops(data: Dataset) -> None:
    assert priced(data, "8xh100 europe 1y", RULES) == [(Decimal(50), Decimal("62.5"), "contract")]
    assert priced(data, "8xh100 europe on-demand", RULES) == [
        (Decimal("90.1"), Decimal("90.1"), None)
    ]


def test_a_rule_holds_from_its_first_to_its_last_day(data: Dataset) -> None:
    rule = "- {discount: 10%, from: 2026-08-01, to: 2026-08-31}"
    for day, applies in [
        (date(2026, 7, 31), False),
        (date(2026, 8, 1), True),
        (date(2026, 8, 31), True),
        (date(2026, 9, 1), False),
    ]:
        assert (priced(data, "g6.xlarge", rule, day)[0][2] == "rule 1") is applies


def test_amounts_are_for_their_currency_and_leave_something(data: Dataset) -> None:
    assert priced(data, "d4s_v6", "- price: 0.1") == [(Decimal("0.2"), Decimal("0.2"), None)]
    in_euros = priced(data, "d4s_v6", "- {price: 0.1, currency: eur}")
    assert in_euros == [(Decimal("0.1"), Decimal("0.2"), "rule 1")]
    assert priced(data, "d4s_v5", "- change: -1")[0][2] is None


@given(percent=st.decimals(-99, 99, places=4), price=st.decimals("0.0001", 10_000, places=10))
def test_a_percentage_is_exact_to_the_tenth_decimal(percent: Decimal, price: Decimal) -> None:
    frame = pl.LazyFrame(
        {"hourly": [price], "upfront": [None], "effective_hourly": [price], "currency": ["USD"]},
        schema={"hourly": Money, "upfront": Money, "effective_hourly": Money,
                "currency": pl.String},
    )  # fmt: skip
    overlays = rules.parse(f"- discount: {percent}%")
    result = apply.apply(frame, overlays).collect().row(0, named=True)
    expected = price * (1 - percent / 100)
    if result["overlay"] is not None:
        assert abs(result["effective_hourly"] - expected) <= Decimal("0.0000000001")
    assert result["list_effective_hourly"] == price


def test_what_the_hourly_part_cannot_give_comes_off_the_upfront_payment() -> None:
    row = {
        "provider": "aws",
        "currency": "USD",
        "term_months": 12,
        "hourly": Decimal("0.25"),
        "upfront": Decimal(8760),
        "effective_hourly": Decimal("1.25"),
    }
    schema = dict.fromkeys(("hourly", "upfront", "effective_hourly"), Money)
    rows = pl.LazyFrame([row], schema_overrides=schema)
    for change, hourly, upfront in (("-0.1", "0.15", "8760"), ("-0.35", "0", "7884")):
        overlays = rules.parse(f"- change: {change}", day=date(2026, 8, 1))
        changed = apply.apply(rows, overlays).collect().row(0, named=True)
        assert (changed["hourly"], changed["upfront"]) == (Decimal(hourly), Decimal(upfront))
        paid = changed["hourly"] + changed["upfront"] / 8760
        assert changed["effective_hourly"] == paid == Decimal("1.25") + Decimal(change)


def test_one_column_of_offers_can_be_changed(data: Dataset) -> None:
    overlays = rules.parse(RULES, day=date(2026, 8, 1))
    listed, price = data.scan("offers"), "spot_usd_per_hour"
    offers = apply.apply_to_column(listed, overlays, price, "spot").collect()
    row = offers.filter(instance_type="p5.48xlarge").row(0, named=True)
    assert row["spot_usd_per_hour"] == Decimal("24.80048")
    assert row["overlay_spot_usd_per_hour"] == "enterprise, rule 2"
    assert offers.drop("overlay_spot_usd_per_hour").columns == listed.collect_schema().names()


@cases("read/wrong_rules")
def test_a_wrong_rule_is_named_with_its_line(text: str, message: str) -> None:
    text = text.replace("NINES", "9" * 5000).replace("BRACKETS", "[" * 1000)
    with pytest.raises(HwpricesError, match=message):
        rules.parse(text, "file.yaml")


def test_values_may_be_written_as_people_write_them(data: Dataset) -> None:
    rule = "- {match: {option: %s, term: %s, os: Linux, tenancy: '*'}, discount: 20%%}"
    for option, term in (("commitment", "1y"), ("COMMITMENT", "1 year"), ("committed*", "12")):
        assert priced(data, "8xh100 europe", rule % (option, term)) == [
            (Decimal(50), Decimal("62.5"), "rule 1"),
            (Decimal("90.1"), Decimal("90.1"), None),
        ]
    with pytest.warns(HwpricesWarning, match="has together: option commitment, term 36"):
        assert priced(data, "8xh100 europe 1y", rule % ("commitment", "3y"))[0][2] is None


def test_the_best_commitment_is_that_of_own_discounts(data: Dataset) -> None:
    one = pl.col("instance_type") == "a3-highgpu-8g"
    listed = data.scan("offers").with_columns(
        pl.when(one).then(pl.lit(amount).cast(Money)).alias(name)
        for name, amount in (
            ("reserved_1y_all_upfront_usd_per_hour", "60"),
            ("compute_savings_plan_1y_no_upfront_usd_per_hour", "61"),
            ("reserved_3y_all_upfront_usd_per_hour", "40"),
        )
    )

    def best(text: str) -> tuple[object, ...]:
        overlays = rules.parse(text, day=date(2026, 8, 1))
        frame = apply.apply_to_commitments(listed, overlays).collect()
        added = [f"overlay_best_{years}y_usd_per_hour" for years in (1, 3)]
        assert frame.columns == [*listed.collect_schema().names(), *added]
        columns = ["best_1y_usd_per_hour", "best_1y_option", "best_3y_usd_per_hour"]
        return frame.filter(one, region="europe-west4").select(columns).row(0)

    assert best("[]") == (60, "reserved_1y_all_upfront", 40)
    of_plan = best("- {match: {plan: compute}, discount: 20%}")
    assert of_plan == (Decimal("48.8"), "compute_savings_plan_1y_no_upfront", 40)
    of_google = best("- {match: {provider: gcp, option: committed_use, term: 1y}, discount: 20%}")
    assert of_google == (50, "committed_use_1y", 40)
    assert best("- {match: {term: 3y}, discount: 10%}") == (60, "reserved_1y_all_upfront", 36)


def test_rules_with_an_amount_find_the_currency_of_an_offer(data: Dataset) -> None:
    """recommend converted prices first: a rule in EUR changed none of them, one in USD all."""
    is_p5 = pl.col("instance_type") == "p5.48xlarge"
    in_euro = data.scan("offers").with_columns(
        currency=pl.when(is_p5).then(pl.lit("EUR")).otherwise("currency"),
        on_demand_usd_per_hour=pl.when(~is_p5).then("on_demand_usd_per_hour"),
    )

    def on_demand(text: str) -> list[tuple[object, ...]]:
        overlays = rules.parse(text, day=date(2026, 8, 1))
        rates = {"EUR": Decimal("1.08")}
        changed = apply.apply_to_offers(in_euro, overlays, rates).collect()
        names = ["on_demand_usd_per_hour", "overlay_on_demand_usd_per_hour"]
        types = ["g6.xlarge", "p5.48xlarge"]
        return [changed.filter(instance_type=name).select(names).row(0) for name in types]

    listed = [Decimal("0.8048"), Decimal("59.4432")]  # 55.04 EUR × 1.08
    assert on_demand("[]") == [(price, None) for price in listed]
    euro = on_demand("- {name: contract, price: 50, currency: EUR}")
    assert euro == [(listed[0], None), (54, "contract")]
    dollar = on_demand("- {name: support, change: 0.10}")
    assert dollar == [(Decimal("0.9048"), "support"), (listed[1], None)]
    both = on_demand("- {name: ea, discount: 18%}")
    assert both == [(price * Decimal("0.82"), "ea") for price in listed]


def test_recommend_and_find_agree_on_a_discounted_commitment(data: Dataset) -> None:
    own = rules.parse("- {match: {option: commitment}, discount: 20%}", day=date(2026, 8, 1))
    limits = {"where": "cloud", "option": "commit_1y", "overlays": own}
    rows = data.recommend("llama-3.1-70b", **limits).filter(pl.col("excluded_reason").is_null())
    assert rows.select("machine", "usd_per_hour").rows() == [("a3-highgpu-8g", Decimal(50))]


def test_tco_compares_with_discounted_rents_by_hand(data: Dataset) -> None:
    """A DGX H100 of 269,000 USD against p5.48xlarge: 55.04 × 0.82 = 45.1328 USD/h.

    269,000 / (45.1328 - 2.06856 of electricity) = 6,246.5 hours of use. Of the commitment of
    62.5 USD/h, discounted to 50, an hour costs 100 at half of all hours: 269,000 / 97.93144.
    """
    columns = ["cloud_usd_per_hour", "cloud_overlay", "break_even_hours"]
    columns += [name.replace("cloud", "cloud_1y") for name in columns[:2]] + ["break_even_1y_hours"]

    def dgx(text: str) -> tuple[object, ...]:
        machines = data.tco(overlays=rules.parse(text, day=date(2026, 8, 1)))
        return machines.filter(device_id="nvidia-dgx-h100").select(columns).row(0)

    rent, rule, hours, committed, committed_rule, committed_hours = dgx(
        "- {name: ea, match: {type: p5.48xlarge, option: on_demand}, discount: 18%}\n"
        "- {name: plan, match: {option: commitment, term: 1y}, discount: 20%}"
    )
    assert (rent, rule, committed, committed_rule) == (Decimal("45.1328"), "ea", 50, "plan")
    assert hours == pytest.approx(6246.5, abs=0.1)
    assert committed_hours == pytest.approx(269_000 / 97.93144, abs=0.1)
    # 55.04 × 1.9 is more than a3-highgpu-8g costs
    dearer = "- {name: surcharge, match: {provider: aws}, discount: -90%}"
    assert dgx(dearer)[:2] == (Decimal("88.4899999024"), None)
    listed = data.tco()
    assert listed.equals(data.tco(overlays=rules.parse("[]")).select(listed.columns))


def test_the_command_tco_says_what_is_discounted_and_what_is_not(market, tmp_path) -> None:
    file = tmp_path / "overlays.yaml"
    file.write_text("- {name: enterprise, match: {provider: aws}, discount: 18%}")
    arguments = ["tco", "--root", str(market), "--overlays", str(file)]
    text = " ".join(run(*arguments).stdout.split())
    assert "45.13 aws/us-east-1/p5.48xlarge" in text
    said = (
        "USD/h cloud includes own discounts (enterprise); prices to buy and electricity are not"
        " discounted."
    )
    assert said in text
    file.write_text("- {match: {provider: aws, option: spot}, discount: 18%}")
    assert "Own discounts changed none of these prices." in run(*arguments).stdout
    assert "iscount" not in run(*arguments[:3]).stdout


def test_no_more_of_a_file_is_read_than_rules_may_have() -> None:
    with pytest.raises(HwpricesError, match="/dev/zero has more than 1000000 bytes"):
        rules.load("/dev/zero")


def test_the_command_says_which_rule_applied(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "overlays.yaml"
    file.write_text("- name: enterprise\n  match: {provider: aws}\n  discount: 25%\n")
    arguments = ["find", "g6.xlarge", "--root", str(market), "--overlays", str(file)]
    text = run(*arguments).stdout
    assert "0.6036" in text
    assert "0.8048" in text
    assert "enterprise" in text
    file.write_text("- discount: lots")
    result = run(*arguments)
    assert result.exit_code == 2
    assert f"{file}:1: rule 1: lots is not a number" in result.stderr


@cases("read/unmatched_rules")
def test_a_rule_that_matches_no_price_of_the_release_says_so(data, match, line) -> None:
    own = rules.parse(f"- match: {match}\n  discount: 10%", "own.yaml", date(2026, 8, 1))
    with pytest.warns(HwpricesWarning) as caught:
        data.find("8xh100", overlays=own)
    (warning,) = caught
    assert str(warning.message).startswith("own.yaml:1: rule 1: no price of this release has ")
    assert line in str(warning.message)


def test_prices_that_a_change_would_use_up_are_counted(data: Dataset) -> None:
    own = rules.parse("- change: -1", "own.yaml", date(2026, 8, 1))
    low = data.prices.filter(pl.col("effective_hourly") <= 1, currency="USD").collect().height
    with pytest.warns(HwpricesWarning, match=f"rule 1: {low} list prices of this release would be"):
        rows = data.find("", overlays=own)
    unchanged = rows.filter(pl.col("list_effective_hourly") <= 1, currency="USD")
    assert unchanged["overlay"].null_count() == unchanged.height > 0


def test_a_rule_in_another_currency_than_its_prices_says_so(data: Dataset) -> None:
    own = rules.parse("- price: 2\n  currency: CHF", day=date(2026, 8, 1))
    with pytest.warns(HwpricesWarning, match="has currency CHF; the rule changes nothing"):
        rows = data.price("g6.xlarge", overlays=own)
    assert rows["effective_hourly"].equals(data.price("g6.xlarge")["effective_hourly"])


@pytest.mark.parametrize("how", ["find", "price", "compare", "export", "recommend", "tco", "bill"])
def test_every_answer_warns_once(data: Dataset, how: str, tmp_path: Path) -> None:
    wrong, cut = "{match: {region: us-esat-1}, discount: 1%}", "{discount: 1%, from: 2024-09-10}"
    own = rules.parse(f"- {wrong}\n- {cut}", day=date(2026, 8, 1))
    asked = {
        "find": lambda: data.find("8xh100", overlays=own),
        "price": lambda: data.price("g6.xlarge", overlays=own),
        "compare": lambda: data.compare("g6.xlarge", "p5.48xlarge", overlays=own),
        "export": lambda: data.export(tmp_path / "prices.csv", "prices", overlays=own),
        "recommend": lambda: data.recommend("8B", overlays=own),
        "tco": lambda: data.tco(overlays=own),
        "bill": lambda: data.bill(BILL).check(overlays=own),
    }
    with pytest.warns(HwpricesWarning, match="Did you mean us-east-1") as caught:
        asked[how]()
    assert len(caught) == 1


def test_rules_that_match_and_rules_of_other_days_do_not_warn(data: Dataset) -> None:
    """The later rule matches no price of the release: it would warn on a day when it applies."""
    text = RULES + "- {match: {type: p9.48xlarge}, discount: 1%, from: 2027-01-01}"
    text = text.replace("change: -1.00", "change: -0.01")  # every price is higher
    for day, warned in ((date(2026, 8, 1), 0), (date(2027, 1, 1), 1)):
        with warnings.catch_warnings(record=True, action="always") as caught:
            data.find("8xh100", overlays=rules.parse(text, day=day))
        assert sum(issubclass(each.category, HwpricesWarning) for each in caught) == warned


def test_rules_for_another_dataset_are_not_all_listed(data: Dataset) -> None:
    text = "\n".join(f"- {{match: {{type: x{n}.large}}, discount: 1%}}" for n in range(30))
    with pytest.warns(HwpricesWarning) as caught:
        data.find("8xh100", overlays=rules.parse(text, day=date(2026, 8, 1)))
    assert len(caught) == 9
    assert str(caught[-1].message).startswith("more such rules are not named")


@pytest.mark.parametrize(("wildcard", "count"), [("", 20_000), ("*", 10_000)])
def test_a_rule_may_list_many_types(data: Dataset, wildcard: str, count: int) -> None:
    """One regular expression of so many is larger than polars takes."""
    others = ", ".join(f'"standard_d{n}as_v7{wildcard}"' for n in range(count))
    text = f"- match: {{type: [{others}, a3-highgpu-8g]}}\n  discount: 20%"
    with pytest.warns(HwpricesWarning):
        rows = data.find("8xh100 europe 1y", overlays=rules.parse(text, day=date(2026, 8, 1)))
    assert rows["effective_hourly"].to_list() == [Decimal(50)]


def test_the_command_warns_in_one_line_beside_its_answer(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "overlays.yaml"
    file.write_text("- match: {provider: google}\n  discount: 25%\n")
    arguments = ["find", "8xh100", "--root", str(market), "--overlays", str(file), "--json"]
    result = run(*arguments)
    assert result.exit_code == 0
    assert result.stdout.startswith("[")
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert warnings == [
        f"warning: {file}:1: rule 1: no price of this release has the provider 'google'; the rule"
        " changes nothing. Did you mean gcp?"
    ]


def test_discounted_prices_keep_the_order_of_the_release() -> None:
    """Two exports of the same prices differed in the order of their rows."""
    sample = hwprices.open("sample")
    discounted = files.table(sample, "prices", rules.parse("- discount: 10%"))
    ids = [frame.select("price_id").collect() for frame in (discounted, sample.scan("prices"))]
    assert ids[0].equals(ids[1])
