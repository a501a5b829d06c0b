"""Price lists: which lines are prices, of what, and what becomes of the others.

Ids such as a1 are those of docs/known-wrong-numbers.md.
"""

import json
from decimal import Decimal

import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal
from tests.helpers.aws_pages import HEADER, LandedPages, line, price_list, reserved
from tests.helpers.cases import cases, optional
from tests.helpers.cases import rows as case_rows
from tools.sample.aws import PLATFORMS

from hwprices.providers import UnreadablePageError
from hwprices.providers.aws.price_list import read_price_list


@pytest.fixture
def landed(tmp_path):
    return lambda *lines, region="us-east-1", **more: LandedPages(tmp_path).add(
        "prices", region, price_list(list(lines), **more)
    )


def one(frame: pl.DataFrame, **where) -> dict:
    rows = frame.filter(**where).to_dicts()
    assert len(rows) == 1, rows
    return rows[0]


RECORDED_M5_LARGE = [(*row.values(),) for row in case_rows("aws/reserved_m5_large", fee=optional)]
"""AWS Price List, m5.large, Linux, us-east-1, February 2021."""


def test_a12_twelve_terms_of_a_recorded_type_are_exact(landed):
    """A1: with a partial payment, an hour costs its rate and its share of the fee."""
    lines = [line for term in RECORDED_M5_LARGE for line in reserved(*term)]
    prices = landed(*lines).table("prices")
    assert prices.height == 12
    for lease, offering, payment, hourly, fee in RECORDED_M5_LARGE:
        row = one(
            prices,
            term_months=12 * int(lease[0]),
            commitment_plan=offering,
            payment_option=payment.lower().replace(" ", "_"),
        )
        spread = Decimal(fee or 0) / (int(lease[0]) * 8760)
        assert row["hourly"] == Decimal(hourly)
        assert row["upfront"] == (Decimal(fee) if fee else None)
        assert abs(row["effective_hourly"] - Decimal(hourly) - spread) <= Decimal("1e-10")


SYSTEMS = {
    "Linux": "linux",
    "Windows": "windows",
    "RHEL": "rhel",
    "SUSE": "sles",
    "Ubuntu Pro": "ubuntu_pro",
}
SOFTWARE = {"NA": "none", "SQL Std": "sql_std", "SQL Web": "sql_web", "SQL Ent": "sql_ent"}


UPFRONT = {
    "noUpfront": ("No Upfront", Decimal(0)),
    "partialUpfront": ("Partial Upfront", Decimal("0.5")),
    "allUpfront": ("All Upfront", Decimal(1)),
}
"""The figures' names of payments: AWS's words, and the share that is paid upfront here."""


def amortised_term(name, amortised, columns):
    """Make the lines of a term (yrTerm1Standard.noUpfront) and the key columns of its price."""
    term, _, payment = name.partition(".")
    years, offering = int(term[6]), term[7:].lower()
    words, share = UPFRONT[payment]
    hours = years * 8760
    fee = round(amortised * share * hours)
    hourly = Decimal(0) if share == 1 else amortised - Decimal(fee) / hours
    fee_text = str(fee) if fee else None
    lines = reserved(f"{years}yr", offering, words, f"{hourly:.10f}", fee_text, **columns)
    return lines, {
        "purchase_option": "reserved",
        "commitment_plan": offering,
        "term_months": 12 * years,
        "payment_option": words.lower().replace(" ", "_"),
    }


def test_a12_every_term_of_every_platform_of_x2iedn(landed, project):
    """Amortised figures of July 2026, for all upfront and no upfront exact.

    Of partial upfront only the sum is known: it is split into halves here, and must come back.
    """
    figures = json.loads(
        (project / "tests/recordings/aws/x2iedn.32xlarge_us-east-1_2026-07.json").read_text()
    )["pricing"]
    lines, expected = [], []
    for key, platform in PLATFORMS.items():
        columns = {**platform.columns(), "SKU": f"SKU{key.upper()}"}
        lines.append(line(figures[key]["ondemand"], **columns))
        where = {
            "tenancy": platform.tenancy.lower(),
            "os": SYSTEMS[platform.system],
            "software": SOFTWARE[platform.software],
        }
        expected.append(({**where, "purchase_option": "on_demand"}, figures[key]["ondemand"]))
        for name, amortised in figures[key].get("reserved", {}).items():
            term_lines, term_key = amortised_term(name, Decimal(amortised), columns)
            lines += term_lines
            expected.append(({**where, **term_key}, amortised))
    pages = landed(*lines)
    prices = pages.table("prices")
    assert prices.height == len(expected) == 15 + 10 * 12 + 6
    assert pages.refused().is_empty()
    for where, figure in expected:
        assert abs(one(prices, **where)["effective_hourly"] - Decimal(figure)) <= Decimal(
            "0.000001"
        ), (where, figure)


@cases("aws/wrong_lines", columns=yaml.safe_load)
def test_a_line_that_cannot_be_a_price_is_refused_with_the_reason(landed, reason, columns):
    pages = landed(line(), line(SKU="WRONG", **columns))
    assert pages.refused()["reason"].to_list() == [reason]
    assert pages.table("prices").height == 1


def test_fees_find_their_rates_in_any_order(landed):
    terms = [made for term in RECORDED_M5_LARGE for made in reserved(*term)]
    fees = [made for made in terms if made["Unit"] == "Quantity"]
    rates = [made for made in terms if made["Unit"] != "Quantity"]
    prices = [
        landed(*lines).table("prices").drop("raw_sha256").sort("price_id")
        for lines in (
            terms,
            [*fees, *rates],
            [*reversed(fees), *rates],
            [*rates, *fees[::2], *fees[1::2]],
        )
    ]
    assert prices[0]["upfront"].null_count() == 4  # those without upfront
    for other in prices[1:]:
        assert_frame_equal(other, prices[0])


def test_a_fee_and_a_rate_without_sku_are_not_paired(tmp_path):
    """A cell without quotes is null: it is not known that both are of one SKU."""
    rate, fee = reserved("1yr", "standard", "Partial Upfront", "0.0290000000", "252", SKU="")
    content = price_list([rate, fee]).replace(b'\n"",', b"\n,")
    pages = LandedPages(tmp_path).add("prices", "us-east-1", content)
    assert pages.table("prices").is_empty()
    assert sorted(pages.refused()["reason"]) == ["missing_hourly", "missing_upfront"]


@cases("aws/effective_dates", day=optional, flags=str.split)
def test_a_date_is_read_from_its_first_ten_letters(landed, date, day, flags):
    row = one(landed(line(EffectiveDate=date)).table("prices"))
    assert (row["effective_from"] and row["effective_from"].date().isoformat()) == day
    assert row["flags"] == flags


def test_every_line_is_accounted_for(landed):
    lines = [
        line(),
        line(SKU="S", **{"Product Family": "Storage"}),
        line(SKU="B", operation="RunInstances:zzzz"),
        line(SKU="U", CapacityStatus="UnusedCapacityReservation"),
    ]
    lines += [each for term in RECORDED_M5_LARGE for each in reserved(*term)]
    lines += reserved("1yr", "standard", "Partial Upfront", None, "100", SKU="HALF") + reserved(
        "3yr", "standard", "All Upfront", None, "900", SKU="WHOLE", **{"Instance Type": "m5.xlarge"}
    )
    pages = landed(*lines)
    prices = next(p.frame for p in pages.parts() if p.table == "prices").lazy().collect()
    parts = pages.unchecked("component_prices")
    counted = sum(pages.counts().values())
    assert prices.height + parts.height + pages.refused().height + counted == len(lines)


def test_a_list_read_in_batches_gives_the_same_rows(tmp_path, monkeypatch):
    """Combinations of lines keep their number from one batch to the next."""
    lines = [
        made
        for name in ("m5.large", "m5.xlarge", "r5.large")
        for system in ("Linux", "Windows", "RHEL")
        for made in (
            line(**{"Instance Type": name, "Operating System": system, "SKU": f"{name}{system}"}),
            line(**{"Unit": "Mystery", "SKU": f"{name}{system}?"}),
        )
    ]
    lines += [made for term in RECORDED_M5_LARGE for made in reserved(*term)]
    tables = []
    for batch in (200_000, 4, 1):
        monkeypatch.setattr("hwprices.providers.aws.price_list.BATCH", batch)
        landed = LandedPages(tmp_path / str(batch)).add("prices", "us-east-1", price_list(lines))
        tables.append((landed.table("prices"), landed.refused(), landed.counts()))
    for prices, refused, counts in tables[1:]:
        assert_frame_equal(prices, tables[0][0], check_row_order=False)
        assert_frame_equal(refused, tables[0][1], check_row_order=False)
        assert counts == tables[0][2]


def test_columns_are_found_by_name_whatever_their_order(landed):
    columns = line(**{"Region Code": ""})
    absent = {"Region Code", "MarketOption", "Current Generation", "CapacityStatus"}
    shuffled = sorted(set(HEADER) - absent, reverse=True)
    header = ["SKU", *(name for name in shuffled if name != "SKU"), "Brand New Column"]
    assert one(landed(columns, header=header).table("prices"))["region"] == "us-east-1"


def test_a_header_may_stand_without_quotes(tmp_path):
    content = price_list([line()])
    header = content.splitlines()[-2]
    assert header.startswith(b'"SKU"')
    plain = content.replace(header, header.replace(b'"', b""))
    prices = LandedPages(tmp_path).add("prices", "us-east-1", plain).table("prices")
    assert one(prices)["hourly"] == Decimal("0.096")


def test_a_file_without_header_or_columns_says_so(landed, tmp_path):
    lines = b'"FormatVersion","v1.0"\nnothing\n'
    pages = LandedPages(tmp_path).add("prices", "us-east-1", lines).pages()
    with pytest.raises(UnreadablePageError, match="no header"):
        read_price_list(pages, pages.of("prices")[0], "us-east-1")
    header = [name for name in HEADER if name != "PricePerUnit"]
    pages = landed(line(), header=header).pages()
    with pytest.raises(UnreadablePageError, match="lacks the columns PricePerUnit"):
        read_price_list(pages, pages.of("prices")[0], "us-east-1")


def test_lines_of_a_local_zone_with_a_file_of_its_own_are_left_to_it(tmp_path):
    place = {"Location Type": "AWS Local Zone", "Region Code": "us-west-2-lax-1"}
    zone = line("0.12", SKU="L", Location="Los Angeles", **place)
    pages = LandedPages(tmp_path)
    pages.add("prices", "us-west-2", price_list([line(**{"Region Code": "us-west-2"}), zone]))
    pages.add("prices", "us-west-2-lax-1", price_list([zone]))
    assert sorted(pages.table("prices")["region"]) == ["us-west-2", "us-west-2-lax-1"]
    assert pages.counts() == {"out_of_scope:region=another_file": 1}
