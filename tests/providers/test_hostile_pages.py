"""Pages and indexes of another shape: each fails its own unit, in a line that names it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.aws_pages import (
    LandedPages,
    bulk_server,
    line,
    price_list,
    quotes,
    without_account,
)
from tests.helpers.azure_pages import RETAIL, Landed, answer, item
from tests.helpers.azure_pages import context as azure_context
from tests.helpers.gcp_pages import machine_type, n2_skus
from tests.helpers.stub_server import Reply
from tests.helpers.vendor_tables import landed_units
from tests.providers.aws.test_fetch import at, context

from hwprices.landing.download import FetchError
from hwprices.landing.pages import Unit
from hwprices.providers import Pages, UnreadablePageError, get

REGION_INDEX = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
CHINA_PLANS = "/savingsPlan/v1.0/cn/AWSComputeSavingsPlan/current/region_index.json"

NO_LINKS = (
    5,
    ["x"],
    {"a": 1},
    "http://127.0.0.1:99999/x",
    "http://[::1/x",
    "/a\x00b",
    True,
    "//elsewhere.test/x",
)
"""What came where a link should be."""


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_account(monkeypatch, tmp_path)


def by_name(units: list[Unit]) -> dict[str, Unit]:
    return {unit.name.removeprefix("aws/"): unit for unit in units}


def test_a14_without_the_index_of_savings_plans_the_price_lists_are_there(stub, tmp_path) -> None:
    """Known wrong number A14: China's savings-plan index answers 404."""
    regions = {"cn-north-1": price_list([line()]), "cn-northwest-1": price_list([line()])}
    server = bulk_server(stub(), regions, {}, partition="cn")
    server.on(CHINA_PLANS, Reply.json({}, status=404))
    made = context(tmp_path, **at(server))
    units = by_name(get("aws").plan(made, list(regions)))
    for region in regions:
        assert len(get("aws").fetch(made, units[f"prices/{region}"])) == 1
        with pytest.raises(FetchError, match="404"):
            get("aws").fetch(made, units[f"savings_plans/{region}"])


@pytest.mark.parametrize("link", NO_LINKS)
def test_a_wrong_link_in_the_index_fails_one_region(stub, tmp_path, link) -> None:
    files = {"us-east-1": price_list([line()]), "eu-west-1": price_list([line()])}
    server = bulk_server(stub(), files)
    good = "/offers/v1.0/aws/AmazonEC2/20260720/us-east-1/index.json"
    entries = {
        "us-east-1": {"currentVersionUrl": good},
        "eu-west-1": {"currentVersionUrl": link},
        "ap-east-1": "no entry",
        "x" * 5000: {"currentVersionUrl": good},
    }
    server.on(REGION_INDEX, Reply.json({"regions": entries}))
    made = context(tmp_path, **at(server))
    units = by_name(get("aws").plan(made, None))
    assert len(get("aws").fetch(made, units["prices/us-east-1"])) == 1
    for region in ("eu-west-1", "ap-east-1"):
        with pytest.raises(FetchError, match=r"not a URL|another host|no currentVersionUrl"):
            get("aws").fetch(made, units[f"prices/{region}"])
    assert max(map(len, units)) < 100


def aws_pages(folder: Path, kind: str, body: bytes, suffix: str) -> Pages:
    """One good price list of us-east-1, and a hostile page of eu-west-1."""
    landed = LandedPages(folder).add("prices", "us-east-1", price_list([line()]))
    region = "us-east-1" if kind == "savings_plans" else "eu-west-1"  # read beside a price list
    return landed.add(kind, region, body, suffix=suffix).pages()


GOOD_LIST = price_list([line("0.0961", SKU="A"), line("0.0962", SKU="B")])


@pytest.mark.parametrize(
    "cell", [b'"a"b', b'"unclosed', b"caf\xe9", b"\x00", b"9" * 10_000, b"NaN", b"1e400"]
)
def test_a_hostile_cell_of_a_price_list_changes_no_other_price(tmp_path: Path, cell: bytes) -> None:
    """The file is left out, or the line is; a price that is given is the vendor's."""
    body = GOOD_LIST.replace(b'"0.0962"', cell)
    pages = aws_pages(tmp_path, "prices", body, "csv")
    rows = [part.frame for part in get("aws").normalise(pages) if part.table == "prices"]
    prices = {str(price) for frame in rows for price in frame.lazy().collect()["hourly"]}
    assert "0.0960000000" in prices
    assert prices <= {"0.0960000000", "0.0961000000"}
    assert len(pages.unreadable) <= 1


@pytest.mark.parametrize("body", [b'{"value": 5}', b"{}", b'{"value": [5]}'])
def test_without_one_readable_list_of_sizes_azure_fails(tmp_path: Path, body: bytes) -> None:
    landed = Landed(tmp_path).retail([item(0.1)]).add("skus", "eastus", body)
    pages = landed.pages()
    with pytest.raises(UnreadablePageError, match=pages.of("skus")[0].key):
        list(get("azure").normalise(pages))


@pytest.mark.parametrize("link", NO_LINKS)
def test_a_next_link_that_is_no_url_fails_the_unit(stub, tmp_path, link) -> None:
    server = stub()
    body = answer([item(0.1)]) | {"NextPageLink": link}
    server.on(RETAIL, Reply.json(body))
    params = {"price_type": "Consumption", "currency": "USD"}
    unit = Unit("azure", "retail_consumption_usd", "eastus", params)
    with azure_context(tmp_path, server) as made, pytest.raises(FetchError):
        get("azure").fetch(made, unit)


def gcp_pages(folder: Path, skus: bytes, types: bytes | None = None) -> Pages:
    zones = {"zones/us-central1-a": {"machineTypes": [machine_type("n2-standard-2", 2, 8192)]}}
    bodies = {"skus": skus, "machine_types": types or json.dumps({"items": zones}).encode()}
    return landed_units("gcp", folder, [(Unit("gcp", kind), body) for kind, body in bodies.items()])


@pytest.mark.parametrize("figure", [0, -1, 10**30, "NaN", None])
def test_an_impossible_machine_is_named(tmp_path: Path, figure: Any) -> None:
    listed = machine_type("n2-standard-2", 2, 8192) | {"guestCpus": figure}
    types = json.dumps({"items": {"zones/us-central1-a": {"machineTypes": [listed]}}}).encode()
    pages = gcp_pages(tmp_path, json.dumps({"skus": n2_skus()}).encode(), types)
    with pytest.raises(UnreadablePageError, match=pages.of("machine_types")[0].key):
        list(get("gcp").normalise(pages))


def test_quotes_of_other_regions_stay_where_one_is_hostile(tmp_path: Path) -> None:
    good = quotes(("us-east-1a", "m5.large", "Linux/UNIX", "0.04", "2026-07-20T11:00:00.000Z"))
    landed = LandedPages(tmp_path).add("spot", "us-east-1", good, suffix="xml")
    pages = landed.add("spot", "eu-west-1", good[:-20], suffix="xml").pages()
    rows = [part.frame for part in get("aws").normalise(pages) if part.table == "prices"]
    assert [frame.lazy().collect().height for frame in rows] == [0, 1]
    assert [page.key for page in pages.unreadable] == [pages.of("spot", "eu-west-1")[0].key]
