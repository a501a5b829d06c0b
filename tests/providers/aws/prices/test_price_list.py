"""Price lists: which lines are prices, of what, and what becomes of the others.

Ids such as a1 are those of docs/known-wrong-numbers.md.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
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


def test_on_demand_line_becomes_a_price_with_its_ids(landed):
    row = one(landed(line()).table("prices"))
    expected = {
        "hourly": Decimal("0.0960000000"),
        "effective_hourly": Decimal("0.0960000000"),
        **{"os": "linux", "software": "none", "license_model": "included", "tenancy": "shared"},
        **{"purchase_option": "on_demand", "commitment_plan": None, "term_months": 0},
        **{"payment_option": "none", "zone": None, "flags": [], "sku_id": "6C86BEPQVG73ZGGR"},
        "sku_price_id": "6C86BEPQVG73ZGGR.JRTCKXETXF.6YS6EN2CT7",
        "effective_from": datetime(2026, 7, 1, tzinfo=UTC),
        "source_url": "https://aws.test/prices",
    }
    assert {name: row[name] for name in expected} == expected


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


@pytest.mark.parametrize("step", [1, -1])
def test_a2_windows_with_and_without_license_are_two_rows(landed, step):
    byol = {"License Model": "Bring your own license", "operation": "RunInstances:0800"}
    windows = {"Operating System": "Windows", "operation": "RunInstances:0002"}
    lines = [line(SKU="BYOL", **windows | byol), line("0.1880000000", SKU="LI", **windows)]
    prices = landed(*lines[::step]).table("prices").filter(os="windows")
    found = dict(prices.select("license_model", "hourly").rows())
    assert found == {"byol": Decimal("0.096"), "included": Decimal("0.188")}


def test_a4_idle_reservations_and_zero_lines_are_no_prices(landed):
    pages = landed(
        line(),
        line("0.0960000000", SKU="U", CapacityStatus="UnusedCapacityReservation"),
        line("0.0000000000", SKU="A", CapacityStatus="AllocatedCapacityReservation"),
        line("0.0000000000", SKU="H", Tenancy="Host"),
        line("0.0000000000", SKU="Z", **{"Instance Type": "z0.large"}),
    )
    prices = pages.table("prices")
    assert prices.height == 2
    assert one(prices, instance_type="z0.large")["price_reason"] == "listed_at_zero"
    counts = pages.counts()
    assert counts["out_of_scope:capacity_status=UnusedCapacityReservation"] == 1
    assert counts["out_of_scope:capacity_status=AllocatedCapacityReservation"] == 1
    assert counts["out_of_scope:tenancy=Host"] == 1


def test_a9_unknown_family_and_region_are_carried_through(landed):
    place = {"Region Code": "xx-moon-9", "Location": "Moon"}
    pages = landed(line(SKU="K", **{"Instance Type": "k1.large", **place}), region="xx-moon-9")
    assert one(pages.table("prices"))["instance_type"] == "k1.large"
    assert one(pages.table("regions"))["kind"] == "region"
    columns = ("family", "generation", "vcpus", "memory_gib")
    assert pages.table("instance_types").select(columns).rows() == [("k1", "1", 2, 8.0)]


def test_a11_yuan_stays_yuan(landed):
    place = {"Location": "China (Beijing)", "Region Code": "cn-north-1"}
    pages = landed(line("0.7390000000", Currency="CNY", **place), region="cn-north-1")
    assert one(pages.table("prices"))["currency"] == "CNY"
    assert one(pages.table("regions"))["kind"] == "china"


def test_hosts_and_metal(landed):
    host = {"Product Family": "Dedicated Host", "CapacityStatus": "AllocatedHost"}
    host |= {"Instance Type": "m5"}
    metal = {"Product Family": "Compute Instance (bare metal)", "Instance Type": "m5.metal"}
    pages = landed(
        line("4.6080000000", SKU="M", **metal),
        line("5.0690000000", SKU="D", **host, Tenancy="Host"),
        line("0.0000000000", SKU="R", **host, Tenancy="Reserved"),
    )
    columns = ("instance_type", "hourly", "tenancy", "flags")
    assert sorted(pages.table("prices").select(columns).rows()) == [
        ("m5", Decimal("5.069"), "host", ["whole_host"]),
        ("m5.metal", Decimal("4.608"), "shared", []),
    ]
    assert one(pages.table("instance_types"), instance_type="m5.metal")["bare_metal"] is True
    assert pages.counts() == {"out_of_scope:dedicated_host_at_zero": 1}


def test_a21_a_machine_that_is_sold_by_the_host_only_is_described(landed):
    metal = {"Product Family": "Compute Instance (bare metal)", "Tenancy": "Host"}
    host = {"Product Family": "Dedicated Host", "CapacityStatus": "AllocatedHost"}
    mac = {"Instance Type": "mac2.metal", "vCPU": "8", "Memory": "16 GiB"}
    pages = landed(
        line("0.6500000000", SKU="D", Tenancy="Host", **{**host, "Instance Type": "mac2"}),
        line("0.0000000000", SKU="M", **metal, **mac),
        line("0.0000000000", SKU="H", Tenancy="Host", Memory="1 GiB"),
        line(),
    )
    types = pages.table("instance_types")
    found = types.select("instance_type", "vcpus", "memory_gib").rows()
    assert found == [("m5.large", 2, 8.0), ("mac2.metal", 8, 16.0)]
    hosts = pages.table("prices").filter(tenancy="host")
    assert hosts.select("instance_type", "hourly").rows() == [("mac2", Decimal("0.65"))]


def test_local_zones_wavelength_zones_and_gov(landed):
    local = {"Location Type": "AWS Local Zone", "Region Code": "us-west-2-lax-1"}
    wavelength = {"Location Type": "AWS Wavelength Zone", "Region Code": "us-east-1-wl1"}
    gov = {"Location": "AWS GovCloud (US-West)", "Region Code": "us-gov-west-1"}
    pages = landed(
        line("0.0960000000"),
        line("0.1200000000", SKU="L", Location="US West (Los Angeles)", **local),
        line("0.1300000000", SKU="W", Location="Boston", **wavelength),
        line("0.1210000000", SKU="G", **gov),
        line("0.0000000000", SKU="O", **{"Location Type": "AWS Outposts"}),
    )
    assert {
        row["region"]: (row["kind"], row["parent_region"])
        for row in pages.table("regions").to_dicts()
    } == {
        "us-east-1": ("region", None),
        "us-west-2-lax-1": ("local_zone", "us-west-2"),
        "us-east-1-wl1": ("wavelength", "us-east-1"),
        "us-gov-west-1": ("gov", None),
    }
    assert pages.counts() == {"out_of_scope:location_type=AWS Outposts": 1}


def term(lease: str, payment: str, **more: str) -> dict[str, str]:
    return {
        "TermType": "Reserved",
        "LeaseContractLength": lease,
        "PurchaseOption": payment,
        "OfferingClass": "standard",
        **more,
    }


FEE = {"Unit": "Quantity", "StartingRange": "", "EndingRange": ""}
WRONG = [  # words that are not known are in test_new_words.py
    ("platform_disagrees", {"operation": "RunInstances:0002"}),
    ("unknown_operation", {"operation": "RunInstances:zzzz"}),
    ("unknown_platform", {"Pre Installed S/W": "SQL Quantum"}),
    ("unknown_term", {"TermType": "Leased"}),
    ("unknown_term", term("2yr", "No Upfront")),
    ("unknown_term", term("1yr", "Heavy Utilization")),
    ("tiered_price", {"StartingRange": "744"}),
    ("unreadable_price", {"PricePerUnit": "call us"}),
    ("unreadable_price", {"PricePerUnit": "-1"}),
    ("no_instance_type", {"Instance Type": ""}),
    ("missing_upfront", term("1yr", "All Upfront")),
    ("missing_hourly", term("1yr", "Partial Upfront", **FEE)),
]


@pytest.mark.parametrize(("reason", "columns"), WRONG)
def test_a_line_that_cannot_be_a_price_is_refused_with_the_reason(landed, reason, columns):
    pages = landed(line(), line(SKU="WRONG", **columns))
    assert pages.refused()["reason"].to_list() == [reason]
    assert pages.table("prices").height == 1


def test_all_upfront_without_an_hourly_line_costs_its_fee_alone(landed):
    pages = landed(*reserved("1yr", "standard", "All Upfront", None, "494"))
    row = one(pages.table("prices"))
    assert (row["hourly"], row["upfront"]) == (0, 494)
    assert row["effective_hourly"] == round(Decimal(494) / 8760, 10)
    assert pages.refused().is_empty()


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


def test_two_terms_of_two_fees_each_are_refused_in_any_order(landed):
    """Rates and fees have the same terms in the same order, but which fee is whose is unknown."""
    rate, fee = reserved("1yr", "standard", "Partial Upfront", "0.0290000000", "252")
    lines = [rate, fee, {**rate, "PricePerUnit": "0.03"}, {**fee, "PricePerUnit": "253"}]
    pages = landed(*lines)
    assert pages.table("prices").is_empty()
    assert sorted(pages.refused()["reason"]) == ["double_upfront"] * 2 + ["missing_upfront"] * 2


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


def test_a_rate_code_that_does_not_begin_with_the_sku_is_kept_as_it_is(landed):
    codes = ["OTHER.JRTCKXETXF.6YS6EN2CT7", "6C86BEPQVG73ZGGR", "6C86BEPQVG73ZGGR.JRTCKXETXF."]
    names = ["m5.large", "m5.xlarge", "m5.2xlarge"]
    lines = [
        line(**{"RateCode": code, "Instance Type": name})
        for code, name in zip(codes, names, strict=True)
    ]
    prices = landed(*lines).table("prices")
    assert [one(prices, instance_type=name)["sku_price_id"] for name in names] == codes


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


def test_money_keeps_ten_decimals(landed):
    assert one(landed(line("0.0000000001")).table("prices"))["hourly"] == Decimal("0.0000000001")
