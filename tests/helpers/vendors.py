"""Serve a small AWS, Google Cloud, Azure or Scaleway on loopback, for whole live runs.

Each of the first three has a handful of regions and every kind of page, so that a run makes some 15
to 30 requests through the vendors' real SDKs. ``serve(name, server)`` sets the routes,
``environment(name, url)`` are the variables that send the provider there.
"""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from tools.fullsize.environment import GCP_PROJECT, aws_variables, azure_variables, gcp_variables

from hwprices.collect import Collector
from hwprices.landing.pages import UnitResult
from hwprices.publish import release
from hwprices.settings import load
from hwprices.stage import Staged, stage_run
from hwprices.storage.store import Store
from tests.helpers import aws_pages, azure_pages, gcp_pages
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.providers.scaleway.test_tables import SERVER

PROVIDERS = ("aws", "azure", "gcp")

AWS_REGIONS = ("eu-west-1", "us-east-1")
AZURE_REGIONS = ("eastus", "westeurope")
SCALEWAY_ZONE = "fr-par-2"
AWS_SIGNED_FOR = re.compile(r"Credential=[^/]+/\d+/([^/]+)/ec2/")

Step = Decimal
"""What is added to every price: servers of another step sell the same at another price."""

NO_STEP = Decimal(0)


def serve(name: str, server: StubServer, step: Step = NO_STEP, *, without: str = "") -> StubServer:
    """Set the routes of a provider on a server, which does not sell the machine ``without``."""
    return _SERVERS[name](server, step, without)


def environment(name: str, url: str, folder: Path) -> dict[str, str]:
    """List the variables with which a provider asks this server; ``folder`` is an empty one."""
    scaleway = {"HWPRICES_SCALEWAY_URL": url, "HWPRICES_SCALEWAY_ZONES": SCALEWAY_ZONE}
    return {
        "aws": aws_variables(url, folder),
        "azure": azure_variables(url),
        "gcp": gcp_variables(url),
        "scaleway": scaleway,
    }[name]


def collect(
    name: str, *, sleep: Callable[[float], None] = lambda _: None, **settings: object
) -> tuple[list[UnitResult], Staged]:
    """Plan, fetch, record and stage, as the flow ``collect`` does, but one unit after the other."""
    common = load(source="live", **settings)
    with Collector(name, common, sleep=sleep) as collector:
        started_at = datetime.now(UTC)
        results = [collector.fetch(unit) for unit in collector.plan()]
        run = collector.record(started_at, results)
    return results, stage_run(common, run)


def publish(name: str, server: StubServer, root: Path) -> None:
    """Collect and publish what a server sells, into an empty root."""
    with pytest.MonkeyPatch.context() as patched:
        for variable, value in environment(name, server.url, root.parent).items():
            patched.setenv(variable, value)
        collect(name, root=str(root))
    release.publish(Store(root))


def serve_aws(server: StubServer, step: Step = NO_STEP, without: str = "") -> StubServer:
    """Serve the bulk host of both partitions, and EC2."""
    for partition, regions in (("aws", AWS_REGIONS), ("cn", ("cn-north-1",))):
        currency = {"Currency": "CNY"} if partition == "cn" else {}
        aws_pages.bulk_server(
            server,
            {code: _price_list(code, step, without, **currency) for code in regions},
            {code: _savings_plans(code, step) for code in regions},
            partition,
        )
    return server.on("/", _answer_ec2)


def _price_list(region: str, step: Step, without: str, **columns: str) -> bytes:
    where = {"Region Code": region, **columns}
    types = [(f"m{n}.large", Decimal("0.09") + n / Decimal(1000) + step) for n in range(5, 25)]
    lines = [
        aws_pages.line(str(price), SKU=f"SKU{name}{region}", **where, **{"Instance Type": name})
        for name, price in types
        if name != without
    ]
    return aws_pages.price_list(lines)


def _savings_plans(region: str, step: Step) -> bytes:
    rates = [(f"SKUm{n}.large{region}", str(Decimal("0.07") + step)) for n in range(5, 25)]
    return aws_pages.savings_plans(
        region, (f"PLAN{region}", "ComputeSavingsPlans", "1yr", "No Upfront", rates)
    )


def _answer_ec2(request: Request) -> Reply:
    """Answer a call of EC2 for the region that the request is signed for."""
    region = AWS_SIGNED_FOR.search(request.headers.get("Authorization", ""))
    query = parse_qs(request.body.decode())
    code = region[1] if region else "us-east-1"
    if "Filter.1.Name" in query:  # types that are sold in capacity blocks
        return Reply(aws_pages.described(), content_type="text/xml")
    return Reply(_EC2_ANSWERS[query["Action"][0]](code), content_type="text/xml")


def _regions(_region: str) -> bytes:
    status = {"optInStatus": "opt-in-not-required"}
    return aws_pages.listed("regions", *({"regionName": code, **status} for code in AWS_REGIONS))


def _zones(region: str) -> bytes:
    zone = {"zoneName": f"{region}a", "zoneId": f"{region}-az1", "zoneState": "available"}
    return aws_pages.listed(
        "zones", {**zone, "regionName": region, "zoneType": "availability-zone"}
    )


def _instance_types(_region: str) -> bytes:
    return aws_pages.described(
        *(
            {
                "instanceType": f"m{n}.large",
                "currentGeneration": True,
                "vCpuInfo": {"defaultVCpus": 2, "defaultCores": 1, "defaultThreadsPerCore": 2},
                "memoryInfo": {"sizeInMiB": 8192},
                "processorInfo": {"supportedArchitectures": ["x86_64"]},
                "supportedUsageClasses": ["on-demand", "spot"],
            }
            for n in range(5, 25)
        )
    )


def _offerings(region: str) -> bytes:
    where = {"locationType": "availability-zone", "location": f"{region}a"}
    types = ({"instanceType": f"m{n}.large", **where} for n in range(5, 25))
    return aws_pages.listed("offerings", *types)


def _spot(region: str) -> bytes:
    return aws_pages.quotes(
        *(
            (f"{region}a", f"m{n}.large", "Linux/UNIX", "0.031", "2026-07-20T12:00:00Z")
            for n in range(5, 25)
        )
    )


_EC2_ANSWERS: dict[str, Callable[[str], bytes]] = {
    "DescribeRegions": _regions,
    "DescribeAvailabilityZones": _zones,
    "DescribeInstanceTypes": _instance_types,
    "DescribeInstanceTypeOfferings": _offerings,
    "DescribeSpotPriceHistory": _spot,
}


def serve_azure(server: StubServer, step: Step = NO_STEP, without: str = "") -> StubServer:
    """Serve Retail Prices and Resource Manager."""
    items = [
        azure_pages.item(
            float(Decimal("0.09") + n / Decimal(1000) + step),
            armRegionName=region,
            meterId=f"meter-{region}-{n}-{kind}",
            skuId=f"P{n}/{region}/{kind}",
            armSkuName=f"Standard_D{n}s_v3",
            skuName=f"D{n}s v3",
            meterName=f"D{n}s v3",
            type=kind,
            **({"reservationTerm": "1 Year"} if kind == "Reservation" else {}),
        )
        for region in AZURE_REGIONS
        for n in (2, 4, 8, 16, 32, 48, 64)
        if f"Standard_D{n}s_v3" != without
        for kind in ("Consumption", "Reservation")
    ]
    azure_pages.RetailServer(server, items)
    server.on(azure_pages.SKUS, _azure_sizes)
    locations = [azure_pages.location(region) for region in AZURE_REGIONS]
    return server.on(azure_pages.LOCATIONS, Reply.json({"value": locations}))


def _azure_sizes(request: Request) -> Reply:
    region = request.query["$filter"].split("'")[1]
    sizes = [
        azure_pages.sku(f"Standard_D{n}s_v3", location=region, vCPUs=str(n), MemoryGB=str(4 * n))
        for n in (2, 4, 8, 16, 32, 48, 64)
    ]
    return Reply.json({"value": sizes})


def serve_gcp(server: StubServer, step: Step = NO_STEP, without: str = "") -> StubServer:
    """Serve the catalog (of Compute Engine and Cloud TPU), Compute Engine and Cloud TPU."""
    parts = [
        gcp_pages.sku(
            f"{series} Instance {part} running in Americas",
            str(Decimal(price) + step),
            regions=("us-central1", "us-east1"),
        )
        for series in ("N2", "N1 Predefined", "E2", "C2D AMD", "N2D AMD", "T2D AMD")
        if series.split()[0].lower() != without.partition("-")[0]
        for part, price in (("Core", "0.031611"), ("Ram", "0.004237"))
    ]
    skus = "/v1/services/6F81-5844-456A/skus"
    server.on(skus, _paged("skus", [parts[n : n + 2] for n in range(0, len(parts), 2)]))
    chips = [gcp_pages.sku("TpuV5e running in Iowa", "1.2", group="TPU")]
    server.on("/v1/services/E000-3F24-B8AA/skus", Reply.json({"skus": chips}))
    server.on("/v1/services/C7E2-9256-1C43/skus", Reply.json({"skus": []}))
    compute = f"/compute/v1/projects/{GCP_PROJECT}"
    zones = [("us-central1", "us-central1-a"), ("us-east1", "us-east1-b")]
    regions = [{"name": region, "status": "UP"} for region, _ in zones]
    server.on(f"{compute}/regions", Reply.json({"items": regions}))
    listed = [
        {"name": zone, "region": f"{server.url}{compute}/regions/{region}", "status": "UP"}
        for region, zone in zones
    ]
    server.on(f"{compute}/zones", Reply.json({"items": listed}))
    machines = {
        f"zones/{zone}": {
            "machineTypes": [
                gcp_pages.machine_type(f"{series}-standard-{n}", n, 4096 * n)
                for series in ("n2", "e2", "n2d", "c2d", "t2d")
                for n in (2, 4, 8, 16)
            ]
        }
        for _, zone in zones
    }
    pages = [{zone: types} for zone, types in machines.items()]
    server.on(f"{compute}/aggregated/machineTypes", _paged("items", pages))
    server.on(f"{compute}/aggregated/acceleratorTypes", Reply.json({"items": {}}))
    locations = f"/v2/projects/{GCP_PROJECT}/locations"
    server.on(locations, Reply.json({"locations": [{"locationId": zone} for _, zone in zones]}))
    tpu = {"type": "V5LITE_POD", "topology": "4x4"}
    types = [{"name": "x", "type": "v5litepod-16", "acceleratorConfigs": [tpu]}]
    for _, zone in zones:
        server.on(f"{locations}/{zone}/acceleratorTypes", Reply.json({"acceleratorTypes": types}))
    return server


def serve_scaleway(server: StubServer, step: Step = NO_STEP, without: str = "") -> StubServer:
    """Serve two machines in a zone; only the first sells at another price."""
    h100 = SERVER | {"hourly_price": SERVER["hourly_price"] + float(step)}
    listed = {"H100-1-80G": h100, "L4-1-24G": SERVER}
    listed.pop(without, None)
    path = f"/zones/{SCALEWAY_ZONE}/products/servers"
    return server.on(path, Reply.json({"servers": listed}))


_SERVERS = {"aws": serve_aws, "azure": serve_azure, "gcp": serve_gcp, "scaleway": serve_scaleway}


def _paged(member: str, pages: Sequence[object]) -> Callable[[Request], Reply]:
    """Answer the pages of a list, each with the token of the next."""

    def answer(request: Request) -> Reply:
        number = int(request.query.get("pageToken") or 0)
        following = {"nextPageToken": str(number + 1)} if number + 1 < len(pages) else {}
        return Reply(json.dumps({member: pages[number], **following}).encode())

    return answer
