"""The full-size vendors: the same pages every time, that the providers read without a refusal."""

import gzip
import json
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from bench.refresh import refresh
from tests.helpers import azure_pages, gcp_pages
from tests.helpers.aws_pages import LandedPages
from tests.helpers.nightly import only_at_night
from tools.fullsize import aws_bulk, aws_ec2, azure, gcp
from tools.fullsize.answers import Answer, Request
from tools.fullsize.aws_world import BOXES, World
from tools.fullsize.environment import AZURE_SUBSCRIPTION, GCP_PROJECT
from tools.fullsize.server import running
from tools.fullsize.sizes import Size

from hwprices.landing.pages import Unit
from hwprices.providers import get
from hwprices.providers.azure import PRICE_TYPES

TINY = Size(scale=0.004, regions=1)
REGION = "us-east-1"


@pytest.fixture(scope="module")
def world() -> World:
    return World(TINY)


@pytest.fixture(scope="module")
def pages(world: World, tmp_path_factory: pytest.TempPathFactory) -> LandedPages:
    landed = LandedPages(tmp_path_factory.mktemp("aws"))
    landed.add("prices", REGION, "".join(aws_bulk.price_list(world, REGION)).encode())
    plans = "".join(aws_bulk.savings_plans(world, REGION)).encode()
    landed.add("savings_plans", REGION, plans, suffix="json")
    for kind, action in (
        ("regions", "DescribeRegions"),
        ("zones", "DescribeAvailabilityZones"),
        ("instance_types", "DescribeInstanceTypes"),
        ("offerings", "DescribeInstanceTypeOfferings"),
        ("spot", "DescribeSpotPriceHistory"),
    ):
        landed.add(kind, REGION, ec2(world, action).body, suffix="xml")
    return landed


def ec2(world: World, action: str, **form: str) -> Answer:
    answer = aws_ec2.handlers(world)["/"](Request("/", {}, {"Action": action, **form}, {}))
    assert isinstance(answer, Answer)
    return answer


def test_box_lines_change_no_other_price(tmp_path: Path) -> None:
    """The one with Windows alone is left out by name; those with SQL Server are new."""
    read = {}
    for count in (0, 4):
        lines = "".join(aws_bulk.price_list(World(replace(TINY, box_lines=count)), REGION))
        landed = LandedPages(tmp_path / str(count)).add("prices", REGION, lines.encode())
        prices = landed.table("prices").drop("observed_at", "source_url", "raw_sha256")
        read[count] = prices.sort("price_id"), landed.refused()
    (without, none_refused), (with_boxes, refused) = read[0], read[4]
    assert with_boxes.equals(without, null_equal=True)
    assert none_refused.is_empty()
    assert set(refused["word"]) == set(list(BOXES)[1:])


def test_aws_pages_are_read_without_a_refusal(world: World, pages: LandedPages) -> None:
    prices = pages.table("prices")
    assert pages.refused().height == 0
    options = dict(prices.group_by("purchase_option").len().iter_rows())
    used = [sku for sku in world.skus(REGION) if sku.capacity == "Used"]
    skus = [sku for sku in used if not sku.platform.operation.endswith(":box")]
    assert len(skus) < len(used)
    leased = [sku for sku in skus if sku.platform.license_model != "Bring your own license"]
    assert options["on_demand"] == len(skus)
    assert options["reserved"] == 12 * len(leased)
    assert options["savings_plan"] == 12 * len(skus)
    assert options["spot"] > 0
    assert pages.table("instance_types").height == len(world.machines) == 6


def test_azure_partitions_are_read_without_a_refusal(tmp_path: Path) -> None:
    subscription = azure.Subscription(Size(scale=0.02))
    assert len(subscription.sizes) == 60
    region = next(iter(subscription.sizes))
    landed = azure_pages.Landed(tmp_path)
    for word, price_type in (("consumption", "Consumption"), ("reservation", "Reservation")):
        items = subscription.items(region, price_type)
        landed.retail(items, kind=f"retail_{word}_usd", region=region)
    landed.skus(*subscription.sizes[region], region=region)
    assert azure_pages.refused(landed.parts()["prices"]) == []
    prices = landed.prices()
    sizes = {sku["name"] for sku in subscription.sizes[region]}
    assert set(prices["instance_type"]) == sizes
    spot = prices.filter(purchase_option="spot").select("instance_type", "os", spot="hourly")
    both = prices.filter(purchase_option="on_demand", license_model="included").join(
        spot, on=["instance_type", "os"]
    )
    assert both.height > 0
    assert (both["spot"] < both["hourly"]).all()


def test_azure_pages_that_are_kept_are_those_that_a_refresh_asks_for(tmp_path: Path) -> None:
    with running(Size(scale=0.13, regions=1)) as server:
        assert server.keep_azure() == 1 + 2 + 1 + 1 + 1  # sizes; three kinds of prices; licenses
        (region,) = server._subscription.sizes
        server._handlers.clear()  # what is not kept is not found
        units = [Unit("azure", "skus", region)]
        for word, price_type in PRICE_TYPES.items():
            params = {"price_type": price_type, "currency": "USD"}
            units.append(Unit("azure", f"retail_{word}_usd", region, params))
        consumption = {"price_type": "Consumption", "currency": "USD"}
        units.append(Unit("azure", "licenses_usd", params=consumption))
        account = {"azure_subscription_id": AZURE_SUBSCRIPTION}
        with azure_pages.context(tmp_path, server, **account) as ready:
            pages = [len(get("azure").fetch(ready, unit)) for unit in units]
    assert pages == [1, 2, 1, 1, 1]


def test_gcp_pages_are_read_without_a_refusal(tmp_path: Path) -> None:
    size = Size(scale=0.02, regions=1)
    answers = gcp.handlers(size, "http://127.0.0.1:1")
    compute = f"/compute/v1/projects/{GCP_PROJECT}"
    bodies = {
        "skus": [body(answers, "/v1/services/6F81-5844-456A/skus")],
        "tpu_skus": [body(answers, "/v1/services/E000-3F24-B8AA/skus")],
        "machine_types": [body(answers, f"{compute}/aggregated/machineTypes", maxResults="60")],
    }
    tables = gcp_pages.normalise_pages(tmp_path, bodies)
    assert tables.refused == []
    assert tables.table("instance_types").height > 50
    assert tables.table("prices").height > 300


def body(answers: dict, path: str, **query: str) -> bytes:
    return answers[path](Request(path, query, {}, {})).body


def test_pages_depend_on_the_seed_only(world: World) -> None:
    first = "".join(aws_bulk.price_list(world, REGION))
    assert "".join(aws_bulk.price_list(World(TINY), REGION)) == first
    other = World(Size(scale=0.004, regions=1, seed=2))
    assert "".join(aws_bulk.price_list(other, REGION)) != first


def test_a_stream_has_the_length_that_is_announced(world: World) -> None:
    with running(TINY) as server:
        path = f"/offers/v1.0/aws/AmazonEC2/{aws_bulk.VERSION}/{REGION}/index.csv"
        with urllib.request.urlopen(server.url + path) as response:
            received = response.read()
        assert len(received) == int(response.headers["Content-Length"])
        assert received.decode() == "".join(aws_bulk.price_list(world, REGION))
        request = urllib.request.Request(
            f"{server.url}/subscriptions/{AZURE_SUBSCRIPTION}/locations",
            headers={"Accept-Encoding": "gzip"},
        )
        with urllib.request.urlopen(request) as response:
            listed = json.loads(gzip.decompress(response.read()))
    assert len(listed["value"]) == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
@only_at_night("takes minutes")
def test_a_whole_refresh_of_three_clouds_publishes_every_unit() -> None:
    """The exit status is 0 with --strict: no provider failed or was held back, and no unit."""
    first, second = (refresh(0.02, regions=2, limit=800) for _ in range(2))
    assert (first.exit_status, second.exit_status) == (0, 0), first.output + second.output
    assert first.digest == second.digest != ""
    assert first.prices == second.prices > 50_000
    assert [phase.name for phase in first.phases][-2:] == ["publish", "report"]
    assert first.peak > 0
