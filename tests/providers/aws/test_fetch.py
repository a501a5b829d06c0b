"""Fetching: the requests made, faults of the network, and that no credential leaks."""

import json
import time
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from tests.helpers.aws_pages import (
    LandedPages,
    bulk_server,
    described,
    line,
    listed,
    moto_server,
    price_list,
    quotes,
    savings_plans,
    without_account,
)
from tests.helpers.stub_server import Reply, Request, StubServer

from hwprices.landing.download import FetchError, Http
from hwprices.landing.pages import NO_ANSWER, Landing, Unit, UnitResult
from hwprices.providers import Context, SkippedError, get
from hwprices.providers.aws import Settings
from hwprices.settings import load_as

SECRET = "wJalrXUtnFEMI-not-a-real-key"
NOW = datetime(2026, 7, 20, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_account(monkeypatch, tmp_path):
    without_account(monkeypatch, tmp_path)


@pytest.fixture
def account(monkeypatch):
    def at(endpoint: str) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", endpoint)

    return at


@pytest.fixture
def ec2(stub, account):
    """Start a server with these answers, and have an account there."""

    def start(answer) -> StubServer:
        server = stub().on("/", answer)
        account(server.url)
        return server

    return start


def context(tmp_path, **settings) -> Context:
    made = load_as(
        Settings,
        root=str(tmp_path),
        source="live",
        **{"connect_timeout": 1, "read_timeout": 1, **settings},
    )
    return Context(made, Landing(tmp_path / "raw"), Http(made, sleep=lambda _: None), lambda: NOW)


def at(server: StubServer, china: StubServer | None = None) -> dict[str, str]:
    return {
        "aws_price_list_url": server.url,
        "aws_china_price_list_url": (china or server).url,
        "aws_spot_advisor_url": f"{server.url}/spot-advisor-data.json",
    }


def units(planned) -> list[str]:
    return [unit.name.removeprefix("aws/") for unit in planned]


def region_of(request: Request) -> str:
    """The region a signed request is for: AWS4-HMAC-SHA256 Credential=KEY/date/region/ec2/…"""
    return request.headers["Authorization"].split("/")[2]


def action_of(request: Request) -> str:
    return request.body.decode().split("Action=")[1].split("&")[0]


def test_without_an_account_the_indexes_are_followed(stub, tmp_path):
    server = bulk_server(stub(), {"us-east-1": b"", "us-west-2-lax-1": b""}, {"us-east-1": b"{}"})
    china = bulk_server(stub(), {"cn-north-1": b"", "cn-northwest-1": b""}, partition="cn")
    planned = get("aws").plan(context(tmp_path, **at(server, china)), None)
    assert units(planned) == [
        *("prices/us-east-1", "prices/us-west-2-lax-1", "savings_plans/us-east-1"),
        *("prices/cn-north-1", "prices/cn-northwest-1", "spot_advisor/global"),
    ]
    assert planned[0].params["url"].endswith("/us-east-1/index.csv")
    paths = [request.path for request in server.requests]
    assert not any("all" in path or path.endswith("current/index.csv") for path in paths)


def test_lists_of_what_is_billed_beside_machines_are_planned(stub, tmp_path):
    server = bulk_server(stub(), {"us-east-1": b"", "eu-west-1": b""}, {})
    root = "/offers/v1.0/aws"
    names = ("AmazonEC2", "AWSDataTransfer", "AmazonSageMaker")
    index = {n: {"currentRegionIndexUrl": f"{root}/{n}/current/region_index.json"} for n in names}
    server.on(f"{root}/index.json", Reply.json({"offers": index}))
    listed = {
        code: {"currentVersionUrl": f"{root}/AWSDataTransfer/1/{code}/index.json"}
        for code in ("us-east-1", "external-1")
    }
    server.on(f"{root}/AWSDataTransfer/current/region_index.json", Reply.json({"regions": listed}))
    planned = get("aws").plan(context(tmp_path, **at(server), attempts=1), ["us-east-1"])
    assert units(planned) == [
        *("prices/us-east-1", "data_transfer/us-east-1", "sagemaker/us-east-1"),
        "spot_advisor/global",
    ]
    assert planned[1].params["url"].endswith("/AWSDataTransfer/1/us-east-1/index.csv")
    assert "404" in planned[2].params["error"]  # its index is unavailable: its units alone fail


def test_regions_narrow_the_plan_and_china_is_asked_only_for_china(stub, tmp_path):
    server = bulk_server(stub(), {"us-east-1": b"", "eu-west-1": b""}, {})
    china = bulk_server(stub(), {"cn-north-1": b""}, partition="cn")
    one = context(tmp_path, **at(server, china))
    for region, asked in (("eu-west-1", False), ("cn-north-1", True)):
        planned = units(get("aws").plan(one, [region]))
        assert planned == [f"prices/{region}", "spot_advisor/global"]
        assert bool(china.requests) is asked
    with pytest.raises(Exception, match=r"aws has no region eu-west-9. Did you mean eu-west-1\?"):
        get("aws").plan(one, ["eu-west-9", "eu-west-1"])


def test_china_out_of_reach_fails_its_own_units_only(stub, tmp_path):
    server = bulk_server(stub(), {"us-east-1": b""}, {})
    one = context(tmp_path, **at(server, stub()), attempts=1)
    planned = get("aws").plan(one, None)
    assert units(planned) == [
        *("prices/us-east-1", "prices/cn-north-1", "prices/cn-northwest-1"),
        "spot_advisor/global",
    ]
    with pytest.raises(FetchError, match="404"):
        get("aws").fetch(one, planned[1])


INDEX = "/offers/v1.0/aws/index.json"
REGION_INDEX = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"


@pytest.mark.parametrize(
    ("path", "reply", "words"),
    [
        (INDEX, Reply(b"<html>", content_type="text/html"), "HTML came instead of JSON"),
        (INDEX, Reply(b"{"), "not JSON"),
        (INDEX, Reply.json({"offers": {}}), "has no offers.AmazonEC2"),
        (REGION_INDEX, Reply(status=404), "HTTP 404"),
        (REGION_INDEX, Reply.json({"regions": 5}), "region_index.json"),
        (REGION_INDEX, Reply(b'{"regions": {"a": {}, "a": {}}}'), "comes twice"),
    ],
)
def test_a_wrong_index_is_one_clear_line(stub, tmp_path, path, reply, words):
    server = bulk_server(stub(), {"us-east-1": b""}, {}).on(path, reply)
    with pytest.raises(FetchError, match=words):
        get("aws").plan(context(tmp_path, **at(server), attempts=2), ["us-east-1"])


BODY = price_list([line()] * 50)


@pytest.fixture
def fetch(tmp_path):
    """Fetch a unit of EC2."""
    return lambda kind, region="us-east-1", params=None, **settings: get("aws").fetch(
        context(tmp_path, **settings), Unit("aws", kind, region, params or {})
    )


def test_with_an_account_the_ec2_api_is_asked_too(stub, tmp_path, account):
    with moto_server() as moto:
        account(moto)
        server = bulk_server(stub(), {"us-east-1": BODY}, {})
        one = context(tmp_path, **at(server), read_timeout=30)
        planned = get("aws").plan(one, ["us-east-1"])
        (page,) = get("aws").fetch(one, next(u for u in planned if u.kind == "zones"))
    assert units(planned) == [
        *("prices/us-east-1", "regions/global", "zones/us-east-1", "instance_types/us-east-1"),
        *("offerings/us-east-1", "spot/us-east-1", "capacity_blocks/us-east-1"),
        "spot_advisor/global",
    ]
    assert (page.url, page.retrieved_at) == (moto, NOW)
    params = {"Action": "DescribeAvailabilityZones", "region": "us-east-1"}
    assert page.params.items() >= params.items()
    assert b"use1-az" in one.landing.read(page)


def test_over_plain_http_the_server_sees_no_credential(ec2, tmp_path, monkeypatch):
    server = ec2(text(quotes()))
    monkeypatch.setenv("AWS_SESSION_TOKEN", SECRET)
    get("aws").fetch(context(tmp_path), Unit("aws", "spot", "eu-west-1"))
    [request] = server.requests
    sent = f"{request.headers} {request.body.decode()}".lower()
    assert not any(word.lower() in sent for word in (SECRET, "AKIASAMPLE", "security-token"))
    assert region_of(request) == "eu-west-1"


FIRST_QUOTE = quotes(
    ("us-east-1a", "m5.large", "Linux/UNIX", "0.04", "2026-07-01T00:00:00Z")
).replace(b"<nextToken/>", b"<nextToken>more</nextToken>")


def text(body: bytes, **more) -> Reply:
    return Reply(body, content_type="text/xml", **more)


def test_spot_pages_are_followed_to_the_last(ec2, tmp_path):
    last = quotes(("us-east-1b", "m5.large", "Linux/UNIX", "0.05", "2026-07-01T00:00:00Z"))
    server = ec2([text(FIRST_QUOTE), text(last)])
    one = context(tmp_path)
    pages = get("aws").fetch(one, Unit("aws", "spot", "us-east-1"))
    assert [one.landing.read(p) for p in pages] == [FIRST_QUOTE, last]
    requests = [r.body.decode() for r in server.requests]
    assert "StartTime=2026-07-20T12%3A00%3A00Z" in requests[0]
    assert "NextToken" not in requests[0]
    assert "NextToken=more" in requests[1]


def test_a_page_that_leads_to_itself_is_an_error(ec2, fetch):
    ec2(text(FIRST_QUOTE))
    with pytest.raises(FetchError, match="repeats a page"):
        fetch("spot")


def error(code: str, status: int) -> Reply:
    """Refuse a request as EC2 does. The message holds the secret, which must not be repeated."""
    message = f"AWS was not able to validate {SECRET}"
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    body = f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"
    return Reply(body.encode(), status=status, content_type="text/xml")


def by_region(**answers: Reply):
    def answer(request: Request) -> Reply:
        return answers.get(
            region_of(request).replace("-", "_"),
            text(described({"instanceType": f"only.in-{region_of(request)}"})),
        )

    return answer


@pytest.mark.parametrize("code", ["AuthFailure", "UnauthorizedOperation", "OptInRequired"])
def test_a10_a_region_that_is_not_enabled_is_skipped(ec2, tmp_path, code):
    ec2(by_region(me_south_1=error(code, 401)))
    one = context(tmp_path)
    with pytest.raises(SkippedError, match=code) as refused:
        get("aws").fetch(one, Unit("aws", "instance_types", "me-south-1"))
    assert SECRET not in str(refused.value)
    (page,) = get("aws").fetch(one, Unit("aws", "instance_types", "eu-west-1"))
    assert b"only.in-eu-west-1" in one.landing.read(page)


def test_a10_a_region_known_to_be_closed_is_not_even_asked(ec2, fetch):
    server = ec2(error("AuthFailure", 401))
    with pytest.raises(SkippedError, match="not enabled"):
        fetch("spot", "af-south-1", {"opt_in": "not-opted-in"})
    assert server.requests == []


def test_a10_a_dead_region_is_skipped_within_seconds(stub, account, fetch):
    late = stub().on("/", Reply(b"late", stall=30, cut=0)).url
    began = time.monotonic()
    for endpoint in (late, "http://127.0.0.1:9"):  # discard: nobody listens
        account(endpoint)
        with pytest.raises(SkippedError, match="did not answer") as refused:
            fetch("instance_types", "eu-west-1", read_timeout=0.3)
        assert refused.value.cause == NO_ANSWER
    assert time.monotonic() - began < 10


def test_a_region_that_stops_answering_midway_fails(ec2, fetch):
    ec2([text(FIRST_QUOTE), Reply(b"x", stall=30, cut=0)])
    with pytest.raises(FetchError, match="broke off"):
        fetch("spot", read_timeout=1)


def test_an_answer_cut_short_is_tried_again_and_then_an_error(ec2, fetch):
    complete = described({"instanceType": "m5.large"})
    cut, good = (text(complete[:-20]), text(complete))
    ec2([cut, good])
    assert len(fetch("instance_types")) == 1
    ec2(cut)
    with pytest.raises(FetchError, match="did not return an EC2 response"):
        fetch("instance_types")


def test_throttling_is_waited_out(ec2, fetch):
    good = text(described({"instanceType": "m5.large"}))
    server = ec2([*[error("RequestLimitExceeded", 503)] * 2, good])
    assert len(fetch("instance_types")) == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("code", "status", "kind"), [("RequestExpired", 400, "zones"), ("AuthFailure", 401, "regions")]
)
def test_other_refusals_fail_the_unit_with_the_code_alone(ec2, fetch, code, status, kind):
    ec2(error(code, status))
    with pytest.raises(FetchError, match=code) as refused:
        fetch(kind)
    assert SECRET not in str(refused.value)


def test_wrong_credentials_do_not_stop_the_price_lists(ec2, stub, tmp_path):
    ec2(error("AuthFailure", 401))
    regions = ("us-east-1", "us-gov-west-1", "us-west-2-lax-1")
    server = bulk_server(stub(), dict.fromkeys(regions, BODY), {})
    planned = units(get("aws").plan(context(tmp_path, **at(server), attempts=1), None))
    assert {"regions/global", *(f"prices/{region}" for region in regions)} <= set(planned)
    assert [unit for unit in planned if unit.startswith("spot/")] == ["spot/us-east-1"]


def test_plain_http_to_another_machine_is_refused(account, fetch):
    account("http://ec2.example.com")
    with pytest.raises(FetchError, match="not https"):
        fetch("zones")


def test_without_credentials_the_metadata_service_is_not_waited_for(stub, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    late = stub().on("/*", Reply(b"late", stall=30, cut=0)).url
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", late)
    bulk = bulk_server(stub(), {"us-east-1": BODY}, {})
    began = time.monotonic()
    planned = get("aws").plan(context(tmp_path, **at(bulk)), ["us-east-1"])
    assert units(planned) == ["prices/us-east-1", "spot_advisor/global"]
    assert time.monotonic() - began < 10


def test_capacity_blocks_are_asked_for_what_is_sold_in_blocks(ec2, fetch):
    types = ({"instanceType": name} for name in ("p5.48xlarge", "p4d.24xlarge"))
    sold, none = text(described(*types)), text(listed("capacity_blocks"))

    def answer(request: Request) -> Reply:
        if action_of(request) == "DescribeInstanceTypes":
            return sold
        return error("InvalidParameterValue", 400) if b"p4d" in request.body else none

    server = ec2(answer)
    (page,) = fetch("capacity_blocks")
    assert page.params["InstanceType"] == "p5.48xlarge"
    assert "Filter.1.Value.1=capacity-block" in server.requests[0].body.decode()
    server.on("/", error("UnauthorizedOperation", 403))
    with pytest.raises(SkippedError, match="UnauthorizedOperation"):
        fetch("capacity_blocks")
    for broken, words in (
        (error("InternalError", 500), "InternalError"),
        (text(b"<"), "an EC2 response"),
    ):
        server.on(
            "/", lambda r, bad=broken: sold if action_of(r) == "DescribeInstanceTypes" else bad
        )
        with pytest.raises(FetchError, match=words):
            fetch("capacity_blocks", attempts=1)


@pytest.mark.parametrize(("second", "is_known"), [("1", True), ("2", False)])
def test_savings_plans_that_the_index_lists_twice(stub, tmp_path, second, is_known):
    """Two files of one region: which is in force is not known. The price list is not concerned."""
    server = bulk_server(stub(), {"us-east-1": BODY}, {"us-east-1": savings_plans("us-east-1")})
    entries = [{"regionCode": "us-east-1", "versionUrl": f"/plans/{n}"} for n in ("1", second)]
    server.on(
        "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json",
        Reply.json({"regions": entries}),
    )
    planned = get("aws").plan(context(tmp_path, **at(server)), ["us-east-1"])
    by_kind = {unit.kind: unit.params for unit in planned}
    assert set(by_kind["savings_plans"]) == ({"url"} if is_known else {"error"})
    assert set(by_kind["prices"]) == {"url"}


def offered(**columns: str | int) -> bytes:
    """Answer DescribeCapacityBlockOfferings with one offering."""
    hours = {"startDate": "2026-08-01T11:30:00Z", "capacityBlockDurationHours": 24}
    return listed("capacity_blocks", {**hours, "currencyCode": "USD", **columns})


def blocks(request: Request) -> Reply:
    """Answer as EC2 does in us-east-1: a machine, and one UltraServer in Dallas."""
    asked = request.body.decode()
    zone = {"availabilityZone": "us-east-1-dfw-2a", "instanceType": "p6e-gb200.36xlarge"}
    if action_of(request) == "DescribeInstanceTypes":
        body = described({"instanceType": "p5.48xlarge"})
    elif "UltraserverType=u-p6e-gb200x72" in asked:
        assert "InstanceType" not in asked
        assert "UltraserverCount=1" in asked
        assert "AllAvailabilityZones=true" in asked
        rack = {"ultraserverType": "u-p6e-gb200x72", "ultraserverCount": 1, "instanceCount": 18}
        body = offered(**zone, **rack, upfrontFee="18285.696")
    elif "UltraserverType=u-trn" in asked:
        return error("InvalidParameterValue", 400)
    elif "UltraserverType=" in asked:
        body = listed("capacity_blocks")
    else:
        machine = {"availabilityZone": "us-east-1a", "instanceType": "p5.48xlarge"}
        body = offered(**machine, instanceCount=1, upfrontFee="755.136")
    return text(body)


def test_a22_ultraservers_are_asked_for_and_priced_as_a_whole(ec2, tmp_path):
    """GB200 in Dallas, July 2026: 761.904 an hour for 72 GPUs; machines stay as they are."""
    server = ec2(blocks)
    one = context(tmp_path)
    unit = Unit("aws", "capacity_blocks", "us-east-1")
    pages = get("aws").fetch(one, unit)
    assert [dict(page.params).get("UltraserverType") for page in pages] == [None, "u-p6e-gb200x72"]
    asked = "&".join(request.body.decode() for request in server.requests)
    for name in ("u-p6e-gb200x36", "u-p6e-gb300x72", "u-trn2x64", "u-trn3x144"):
        assert f"UltraserverType={name}&" in f"{asked}&"
    landed = LandedPages(tmp_path)
    landed.landing = one.landing
    landed.results.append(UnitResult(unit, "ok", tuple(pages)))
    prices = landed.table("prices").sort("instance_type")
    assert prices.select("instance_type", "zone", "region", "hourly").rows() == [
        ("p5.48xlarge", "us-east-1a", "us-east-1", Decimal("31.464")),
        ("u-p6e-gb200x72", "us-east-1-dfw-2a", "us-east-1-dfw-2", Decimal("761.904")),
    ]
    (rack,) = landed.table("instance_types").to_dicts()
    assert (rack["instance_type"], rack["accelerator_count"]) == ("u-p6e-gb200x72", 72.0)
    assert rack["accelerators"][0]["accelerator_id"] == "nvidia-gb200"


@pytest.mark.parametrize(
    ("code", "requests"),
    [("UnauthorizedOperation", 1), ("OperationNotPermitted", 1), ("InvalidRequest", 7)],
)
def test_a22_an_account_that_may_not_ask_for_ultraservers_has_the_machines(
    ec2, tmp_path, code, requests
) -> None:
    def answer(request: Request) -> Reply:
        is_rack = b"UltraserverType" in request.body
        return error(code, 403) if is_rack else blocks(request)

    server = ec2(answer)
    (page,) = get("aws").fetch(context(tmp_path), Unit("aws", "capacity_blocks", "us-east-1"))
    assert page.params["InstanceType"] == "p5.48xlarge"
    asked = sum(b"UltraserverType" in request.body for request in server.requests)
    assert asked == requests


def test_the_policy_allows_what_is_asked_and_no_more(project):
    from hwprices.providers.aws import ec2 as module

    policy = json.loads((project / "docs/aws-iam-policy.json").read_text())
    operations = {operation.name for operation in module.OPERATIONS.values()}
    operations.add("describe_capacity_block_offerings")
    actions = {"ec2:" + name.title().replace("_", "") for name in operations}
    assert {action for s in policy["Statement"] for action in s["Action"]} == actions
    assert all(s["Effect"] == "Allow" and s["Resource"] == "*" for s in policy["Statement"])
