"""The files of a report for programs: gpu-offers.json, Markdown, llms.txt."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.helpers.cases import cases

import hwprices
from hwprices.read.report import report
from hwprices.read.report.files import cell

MOST_BYTES = 300_000


@pytest.fixture(scope="module")
def files(sample_root: Path) -> dict[str, str]:
    return dict(report.files(hwprices.open(sample_root)))


@pytest.fixture(scope="module")
def offers(files: dict[str, str]) -> list[dict[str, Any]]:
    return json.loads(files["gpu-offers.json"])["offers"]


def test_gpu_offers_are_small_and_as_their_schema_says(files: dict[str, str]) -> None:
    text = files["gpu-offers.json"]
    assert len(text.encode()) < MOST_BYTES
    schema = json.loads(files["gpu-offers.schema.json"])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema)
    assert len(text.splitlines()) == len(json.loads(text)["offers"]) + 2


def test_one_line_for_each_accelerator_provider_and_option(offers: list[dict[str, Any]]) -> None:
    key = ("accelerator", "provider", "community", "option", "term_months", "currency")
    assert len({tuple(offer.get(name) for name in key) for offer in offers}) == len(offers)


@cases("read/gpu_offers")
def test_offers_are_the_cheapest_per_accelerator(
    offers, accelerator, provider, option, price, currency
) -> None:
    (found,) = [
        offer
        for offer in offers
        if (offer["accelerator"], offer["provider"], offer["option"])
        == (accelerator, provider, option)
        and "community" not in offer
    ]
    assert (found["price"], found["currency"]) == (price, currency)


def test_every_citation_in_the_files_holds(sample_root: Path, files: dict[str, str]) -> None:
    text = "\n".join(text for path, text in files.items() if path != "machines/azure.md")
    answers = hwprices.open(sample_root).recheck(text)
    assert len(answers) > 500
    assert {answer.status for answer in answers} == {"SAME"}


def test_each_page_of_an_accelerator_has_a_twin_in_markdown(folder: Path) -> None:
    pages = [p for p in (folder / "accelerators").glob("*.html") if p.stem != "index"]
    assert len(pages) > 4
    assert all(path.with_suffix(".md").exists() for path in pages)
    assert {"llms.txt", "gpu-offers.json"} <= {path.name for path in folder.iterdir()}


def test_links_of_llms_txt_lead_to_files(files: dict[str, str]) -> None:
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", files["llms.txt"])
    assert len(links) > 150
    assert set(links) <= files.keys()
    assert set(files) - set(links) <= {"llms.txt"}


def test_a_page_in_markdown_has_price_and_specification(files: dict[str, str]) -> None:
    page = files["machines/aws.md"].split("## p5.48xlarge\n")[1].split("\n## ")[0]
    assert "| us-east-1 | on demand | 55.04 | USD | 2026-07-20 |" in page
    assert "| network\\_gbps\\_max | 3200 |" in page


def test_what_a_release_holds_is_no_mark() -> None:
    assert cell("a|b\n<img> [x](y)") == "a\\|b \\<img\\> \\[x\\](y)"
