"""Citations of the bundled release: what they state, their formats, and a slip of the hand."""

import json
import re
from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from tests.helpers.cases import cases
from tests.helpers.terminal import run

import hwprices
from hwprices.errors import HwpricesError
from hwprices.read.citation import FORMATS, Citation, CitedPrice, read
from hwprices.read.currency import ECB_RATES
from hwprices.read.overlays import rules

P5 = "p5.48xlarge us-east-1 on_demand"
N2 = "n2-standard-4 us-central1 on_demand"
H100_3Y = "h100 europe 3y"
QUESTIONS = [P5, N2, H100_3Y]


@pytest.fixture(scope="module")
def data() -> hwprices.Dataset:
    return hwprices.open("sample")


@pytest.fixture(scope="module")
def cited(data: hwprices.Dataset) -> dict[str, Citation]:
    return {question: data.cite(question) for question in QUESTIONS}


def test_a_citation_has_everything_to_trace_the_price(data, cited) -> None:
    citation = cited[P5]
    assert citation.to_dict() == {
        "amount": "55.04",
        "unit": "h",
        "currency": "USD",
        "provider": "aws",
        "region": "us-east-1",
        "zone": None,
        "instance_type": "p5.48xlarge",
        "os": "linux",
        "software": "none",
        "license_model": "included",
        "tenancy": "shared",
        "purchase_option": "on_demand",
        "commitment_plan": None,
        "term_months": 0,
        "payment_option": "none",
        "valid_from": "2025-06-23T13:18:30Z",
        "valid_to": None,
        "release": data.version,
        "price_id": "01686677ea0e12e7b617166a",
        "sources": [
            {
                "sku": "SAMPLE2BD1D29050.JRTCKXETXF.6YS6EN2CT7",
                "page_sha256": "bd2720531b124b86154907edf02d215b69008e7f86b6e74050e60366c9eb56ce",
            }
        ],
        "url": "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/"
        "us-east-1/index.csv",
        "fetched_at": "2026-07-20T13:44:30Z",
        "bought": "p5.48xlarge (aws us-east-1), linux, on_demand",
        "check": citation.check,
        "recheck": "hwprices recheck 01686677ea0e12e7b617166a@"
        f"{data.version}=55.04USD:{citation.check}",
    }


def test_a_composed_price_names_each_sku(cited: dict[str, Citation]) -> None:
    skus = [sku for sku, _ in cited[N2].sources]
    assert skus == ["SAMPLE-N2-CORE-OD-US-CENTRAL1", "SAMPLE-N2-RAM-OD-US-CENTRAL1"]


def test_a_citation_is_of_the_cheapest_price_or_of_the_id(data: hwprices.Dataset) -> None:
    cheapest = data.find(H100_3Y)["price_id"][0]
    assert data.cite(H100_3Y).price_id == cheapest
    assert data.cite(cheapest) == data.cite(H100_3Y)


def test_a_citation_does_not_change(data: hwprices.Dataset) -> None:
    with pytest.raises(FrozenInstanceError):
        data.cite(P5).amount = Decimal(1)  # type: ignore[misc]


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_format_is_read_back(data, cited, question, write) -> None:
    citation = cited[question]
    reference = CitedPrice(
        citation.price_id, data.version, citation.amount, citation.currency, intact=True
    )
    assert read(write(citation)) == [reference]


def test_a_citation_is_found_in_a_wrapped_letter(cited: dict[str, Citation]) -> None:
    first, second = cited[P5], cited[N2]
    letter = f"> We pay {str(first).replace(' ', chr(10) + '> ')} today.\n\n{second.to_markdown()}."
    found = read(letter)
    assert [(one.price_id, one.intact) for one in found] == [
        (first.price_id, True),
        (second.price_id, True),
    ]


@cases("read/altered_citations")
def test_an_altered_line_is_recognized(cited: dict[str, Citation], then: str, now: str) -> None:
    line = str(cited[P5])
    assert then in line
    assert [one.intact for one in read(line.replace(then, now))] == [False]


@pytest.mark.parametrize("name", sorted(Citation.__annotations__))
def test_an_altered_field_of_json_is_recognized(cited: dict[str, Citation], name: str) -> None:
    values = cited[P5].to_dict()
    others = {"amount": "45.04", "sources": [], "term_months": 12, "valid_to": "2026-01-01T00:00Z"}
    values[name] = others.get(name, "2026-01-02T03:04:05Z")
    assert [one.intact for one in read(json.dumps(values))] == [False]


def test_the_reference_alone_has_a_check_of_its_own(cited: dict[str, Citation]) -> None:
    reference = cited[P5].recheck.split()[-1]
    assert [one.intact for one in read(reference)] == [True]
    assert [one.intact for one in read(reference.replace("55.04", "50.04"))] == [False]


@pytest.mark.parametrize("text", ["", "55.04 USD/h", "{}", "[]", "[" * 10_000, '{"amount": "x"}'])
def test_what_has_no_citation_is_refused(text: str) -> None:
    with pytest.raises(HwpricesError):
        read(text)


def test_a_line_without_its_reference_is_refused(cited: dict[str, Citation]) -> None:
    both = f"{cited[P5]} {cited[N2]}"
    with pytest.raises(HwpricesError):
        read(both.replace("=55.04USD", ""))


def test_what_is_not_sold_is_not_cited(data: hwprices.Dataset) -> None:
    with pytest.raises(HwpricesError):
        data.cite("p5.48xlarge eu-west-3")
    with pytest.raises(HwpricesError):
        data.cite("0" * 24)


def test_every_price_of_an_answer_is_one_step_from_its_citation(data: hwprices.Dataset) -> None:
    compared = data.compare("p5.48xlarge", "a3-highgpu-8g")
    ids = [compared[name] for name in compared.columns if re.search(r"_price_id$", name)]
    cheapest = {(row["provider"], row["on_demand_usd_per_hour"]) for row in compared.to_dicts()}

    assert len(ids) == 4
    cited = [data.cite(price_id) for price_id in compared["on_demand_price_id"]]
    assert {(one.provider, one.amount) for one in cited} == cheapest
    assert "price_id" in data.price("p5.48xlarge").columns


@pytest.mark.parametrize("option", ["on_demand", "spot", "commit_3y", "block"])
def test_every_recommended_machine_is_one_step_from_its_citation(data, option) -> None:
    ranked = data.recommend("7B", where="cloud", option=option).drop_nulls("rank")
    listed = data.prices.select("price_id", "effective_hourly", "currency").collect()
    rates = {"USD": 1, **ECB_RATES}
    prices = {one: price and price * rates[currency] for one, price, currency in listed.iter_rows()}

    paid = [row["nodes"] * prices[row["price_id"]] for row in ranked.to_dicts()]

    assert paid
    assert paid == ranked["usd_per_hour"].to_list()


def test_the_commitment_that_own_discounts_make_the_cheapest_is_cited(data) -> None:
    own = rules.parse("- {match: {plan: flexible}, discount: 90%}", day=date(2026, 11, 1))
    limits = {"option": "commit_1y", "machines": "cpus", "provider": "gcp", "overlays": own}
    one_user = {"concurrency": 1}
    ranked = data.recommend("8B", where="cloud", **one_user, **limits)
    plans = dict(data.prices.select("price_id", "commitment_plan").collect().iter_rows())

    cited = {
        (row["best_1y_option"], plans[row["price_id"]])
        for row in ranked.drop_nulls("rank").to_dicts()
    }

    assert cited == {("flexible_committed_use_1y", "flexible"), ("committed_use_1y", "resource")}


@pytest.mark.parametrize("name", FORMATS)
def test_the_command_writes_every_format(cited: dict[str, Citation], name: str) -> None:
    words = [*P5.split(), "--root", "sample", "--format", name]
    result = run("cite", *words)
    assert (result.exit_code, result.stdout) == (0, FORMATS[name](cited[P5]) + "\n")


def test_times_are_in_utc(cited: dict[str, Citation]) -> None:
    assert cited[P5].fetched_at == datetime(2026, 7, 20, 13, 44, 30, tzinfo=UTC)
