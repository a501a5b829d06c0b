"""Answer EC2's calls for the region that a request is signed for."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from tools.fullsize.answers import Answer, Handler, Request
from tools.fullsize.aws_world import World

SIGNED_FOR = re.compile(r"Credential=[^/]+/\d+/([^/]+)/ec2/")

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"

SPOT_PRODUCTS = {
    "Linux/UNIX": "Linux",
    "Red Hat Enterprise Linux": "Linux",
    "SUSE Linux": "Linux",
    "Windows": "Windows",
}
"""Products that spot quotes name, and the advisor's name for their system."""

Items = Callable[[World, str], Iterator[str]]
"""The items of a list, of a region."""


ListOf = Callable[[str, str], list[str]]
"""Makes the items of a whole list: (action, region) → items."""

LISTS_AT_ONCE = 16
"""Lists kept while their pages are sent. The longest, spot quotes of a region, takes 5 MB."""


def handlers(world: World) -> dict[str, Handler]:
    """Return the one path of the EC2 API."""

    @lru_cache(maxsize=LISTS_AT_ONCE)
    def list_of(action: str, region: str) -> list[str]:
        return list(LISTS[action][1](world, region))

    return {"/": partial(answer, list_of)}


def answer(list_of: ListOf, request: Request) -> Answer:
    """Answer one page of a list. No type is sold in capacity blocks here."""
    action = request.form["Action"]
    if action not in LISTS:
        body = f"<Response><Errors><Error><Code>InvalidAction</Code><Message>{action}</Message>"
        body += "</Error></Errors><RequestID>r</RequestID></Response>"
        return Answer(body.encode(), "text/xml", status=400)
    signed = SIGNED_FOR.search(request.headers.get("Authorization", ""))
    region = signed[1] if signed else "us-east-1"
    name = LISTS[action][0]
    items = [] if "Filter.1.Name" in request.form else list_of(action, region)
    first = int(request.form.get("NextToken") or 0)
    following = first + int(request.form.get("MaxResults") or len(items) or 1)
    token = str(following) if following < len(items) else ""
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?><{action}Response xmlns="{NAMESPACE}">'
        f"<requestId>fullsize</requestId><{name}>{''.join(items[first:following])}</{name}>"
        f"<nextToken>{token}</nextToken></{action}Response>"
    )
    return Answer(body.encode(), "text/xml;charset=UTF-8")


def _item(**values: str) -> str:
    return f"<item>{''.join(f'<{name}>{text}</{name}>' for name, text in values.items())}</item>"


def _regions(world: World, _region: str) -> Iterator[str]:
    for code in world.ec2_regions:
        yield _item(regionName=code, optInStatus="opt-in-not-required")


def _zones(world: World, region: str) -> Iterator[str]:
    for number, zone in enumerate(world.zones(region), 1):
        yield _item(
            regionName=region,
            zoneName=zone,
            zoneId=f"{region}-az{number}",
            zoneType="availability-zone",
            zoneState="available",
        )


def _instance_types(world: World, region: str) -> Iterator[str]:
    for machine in world.offered[region]:
        yield machine.item


def _offerings(world: World, region: str) -> Iterator[str]:
    for zone in world.zones(region):
        for machine in world.offered[region]:
            if world.size.draw(10, machine.name, zone):  # one zone in ten lacks a type
                yield _item(
                    instanceType=machine.name, locationType="availability-zone", location=zone
                )


def _spot(world: World, region: str) -> Iterator[str]:
    advice = world.advice["spot_advisor"][region]
    for machine in world.offered[region]:
        on_demand = world.micro_per_hour(region, machine)
        for product, system in SPOT_PRODUCTS.items():
            if machine.name not in advice[system]:
                continue
            for zone in world.zones(region):
                percent = 25 + world.size.draw(30, machine.name, product, zone)
                micro = on_demand * percent // 100
                yield _item(
                    availabilityZone=zone,
                    instanceType=machine.name,
                    productDescription=product,
                    spotPrice=f"{micro // 10**6}.{micro % 10**6:06d}",
                    timestamp="2026-11-01T00:00:00.000Z",
                )


LISTS: dict[str, tuple[str, Items]] = {
    "DescribeRegions": ("regionInfo", _regions),
    "DescribeAvailabilityZones": ("availabilityZoneInfo", _zones),
    "DescribeInstanceTypes": ("instanceTypeSet", _instance_types),
    "DescribeInstanceTypeOfferings": ("instanceTypeOfferingSet", _offerings),
    "DescribeSpotPriceHistory": ("spotPriceHistorySet", _spot),
}
"""Name of the list in an answer, and what makes its items, by action."""
