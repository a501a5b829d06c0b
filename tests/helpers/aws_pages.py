"""Write AWS's pages for tests: price lists, EC2 responses, a bulk host, and runs made of pages."""

import csv
import hashlib
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import polars as pl
import pytest
from tools.sample.aws import HEADER, HOURLY, ON_DEMAND, UPFRONT

from hwprices.landing.pages import Unit, UnitResult
from hwprices.providers import Part, get
from hwprices.schemas.tables import TABLES
from hwprices.stage import corrections, validate
from tests.helpers.cases import entries
from tests.helpers.stub_server import Reply, StubServer
from tests.helpers.vendor_tables import Landed

NOW = datetime(2026, 7, 20, 12, tzinfo=UTC)

RECORDS = entries("aws/records")

RATE = {"Hrs": HOURLY, "Quantity": UPFRONT}
"""Codes of the two dimensions of a term, by their unit."""


ACCOUNT = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
    *("AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"),
)


def without_account(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a machine without AWS: no variables, no files, no metadata service."""
    for name in ACCOUNT:
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(folder / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def line(price: str = "0.0960000000", **columns: str) -> dict[str, str]:
    """Make a line of a price list: m5.large, Linux, on demand in us-east-1; ``columns`` replace."""
    sku = columns.get("SKU", "6C86BEPQVG73ZGGR")
    term = columns.get("OfferTermCode", ON_DEMAND)
    unit = columns.get("Unit", "Hrs")
    return {
        **RECORDS["line"],
        "SKU": sku,
        "OfferTermCode": term,
        "RateCode": f"{sku}.{term}.{RATE.get(unit, 'X')}",
        "StartingRange": "0" if unit == "Hrs" else "",
        "EndingRange": "Inf" if unit == "Hrs" else "",
        "Unit": unit,
        "PricePerUnit": price,
        **columns,
    }


def reserved(
    lease: str, offering: str, payment: str, hourly: str | None, fee: str | None, **columns: str
) -> list[dict[str, str]]:
    """Make the lines of one reserved term; ``hourly`` or ``fee`` None leaves that line out."""
    term = {
        "TermType": "Reserved",
        "LeaseContractLength": lease,
        "OfferingClass": offering,
        "PurchaseOption": payment,
    }
    term["OfferTermCode"] = (
        hashlib.sha256(f"{lease}{offering}{payment}".encode()).hexdigest()[:10].upper()
    )
    lines = [line(hourly, **term, **columns)] if hourly is not None else []
    columns = {**columns, "Unit": "Quantity"}
    return lines + ([line(fee, **term, **columns)] if fee is not None else [])


def price_list(lines: list[dict[str, str]], header: list[str] = HEADER) -> bytes:
    """Write a price list file."""
    out = io.StringIO()
    for name in ("FormatVersion", "Disclaimer", "Publication Date", "Version", "OfferCode"):
        out.write(f'"{name}","x"\n')
    writer = csv.DictWriter(
        out, header, quoting=csv.QUOTE_ALL, lineterminator="\n", restval="", extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue().encode()


def xml(action: str, inner: str) -> bytes:
    """Wrap a body as an EC2 response."""
    head = f'<{action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
    body = f"{head}<requestId>r</requestId>{inner}</{action}Response>"
    return f'<?xml version="1.0"?>{body}'.encode()


def element(name: str, value: Any) -> str:
    """Write a value in EC2's XML: dicts are structures, lists are items."""
    if isinstance(value, dict):
        return f"<{name}>" + "".join(element(k, v) for k, v in value.items()) + f"</{name}>"
    if isinstance(value, list):
        return f"<{name}>" + "".join(element("item", v) for v in value) + f"</{name}>"
    return f"<{name}>{str(value).lower() if isinstance(value, bool) else value}</{name}>"


LISTS = {
    "regions": ("DescribeRegions", "regionInfo"),
    "zones": ("DescribeAvailabilityZones", "availabilityZoneInfo"),
    "instance_types": ("DescribeInstanceTypes", "instanceTypeSet"),
    "offerings": ("DescribeInstanceTypeOfferings", "instanceTypeOfferingSet"),
    "capacity_blocks": ("DescribeCapacityBlockOfferings", "capacityBlockOfferingSet"),
}
"""The action of each kind of unit, and the element that its response lists."""


def listed(kind: str, *items: dict[str, Any]) -> bytes:
    """Write the response that lists these items."""
    action, name = LISTS[kind]
    return xml(action, element(name, list(items)))


def described(*infos: dict[str, Any]) -> bytes:
    """Write a DescribeInstanceTypes response."""
    return listed("instance_types", *infos)


def quotes(*rows: tuple[str, str, str, str, str]) -> bytes:
    """Write a DescribeSpotPriceHistory response: zone, type, product, price, time."""
    names = ("availabilityZone", "instanceType", "productDescription", "spotPrice", "timestamp")
    return xml(
        "DescribeSpotPriceHistory",
        element("spotPriceHistorySet", [dict(zip(names, row, strict=True)) for row in rows])
        + "<nextToken/>",
    )


class LandedPages(Landed):
    """Pages landed for a test, and what normalising them gives."""

    def __init__(self, folder: Path) -> None:
        super().__init__("aws", folder, NOW)
        self._read, self._parts = -1, list[Part]()

    def add(self, kind: str, region: str, *bodies: bytes, suffix: str = "csv", **more: Any) -> Self:
        return super().add(kind, region, *bodies, suffix=suffix, **more)

    def add_list(self, kind: str, region: str, *items: dict[str, Any]) -> Self:
        """Land EC2's list of these items."""
        return self.add(kind, region, listed(kind, *items), suffix="xml")

    def skip(self, kind: str, region: str, cause: str = "") -> Self:
        """Record a skipped unit, with the cause that fetching gave it."""
        unit = Unit("aws", kind, region)
        self.results.append(UnitResult(unit, "skipped", reason="not fetched", cause=cause))
        return self

    def parts(self) -> list[Part]:
        """Normalise the pages, once after each that was added."""
        if self._read != len(self.results):
            parts = get("aws").normalise(self.pages())
            self._parts = [replace(part, frame=part.frame.lazy().collect()) for part in parts]
            self._read = len(self.results)
        return self._parts

    def unchecked(self, name: str) -> pl.DataFrame:
        """Return all rows of a table as normalised."""
        return pl.concat(
            [part.frame.lazy().collect() for part in self.parts() if part.table == name]
        )

    def table(self, name: str, *, corrected: bool = True) -> pl.DataFrame:
        """Return the rows of a table that pass the checks of staging."""
        frame = self.unchecked(name)
        if name == "instance_types" and corrected:
            frame = corrections.apply(frame, "aws", corrections.load("aws"))
        return validate.split(frame, TABLES[name], {}).good

    def refused(self) -> pl.DataFrame:
        """Return all refused rows."""
        return pl.concat([part.refused for part in self.parts() if part.refused is not None])

    def counts(self) -> dict[str, int]:
        """Return the counts of all parts."""
        return {name: n for part in self.parts() for name, n in part.counts.items()}


def bulk_server(
    server: StubServer,
    files: dict[str, bytes],
    plans: dict[str, bytes] | None = None,
    partition: str = "aws",
) -> StubServer:
    """Serve what the bulk host does: indexes, a file for each region, plans, the spot advisor."""
    root = f"/offers/v1.0/{partition}"
    plans_root = f"/savingsPlan/v1.0/{partition}/AWSComputeSavingsPlan"
    offer = {
        "offerCode": "AmazonEC2",
        "currentRegionIndexUrl": f"{root}/AmazonEC2/current/region_index.json",
    }
    if plans is not None:
        offer["currentSavingsPlanIndexUrl"] = f"{plans_root}/current/region_index.json"
    server.on(f"{root}/index.json", Reply.json({"offers": {"AmazonEC2": offer}}))
    listed = {
        code: {
            "regionCode": code,
            "currentVersionUrl": f"{root}/AmazonEC2/20260720/{code}/index.json",
        }
        for code in files
    }
    server.on(f"{root}/AmazonEC2/current/region_index.json", Reply.json({"regions": listed}))
    for code, body in files.items():
        server.on(
            f"{root}/AmazonEC2/20260720/{code}/index.csv", Reply(body, content_type="text/csv")
        )
    index = [
        {"regionCode": code, "versionUrl": f"{plans_root}/20260720/{code}/index.json"}
        for code in plans or {}
    ]
    server.on(f"{plans_root}/current/region_index.json", Reply.json({"regions": index}))
    for code, body in (plans or {}).items():
        server.on(f"{plans_root}/20260720/{code}/index.json", Reply(body))
    advice = {
        "ranges": [{"index": 0, "label": "<5%", "max": 5}],
        "spot_advisor": {"us-east-1": {"Linux": {"m5.large": {"r": 0, "s": 61}}}},
    }
    return server.on("/spot-advisor-data.json", Reply.json(advice))


def savings_plans(region: str, *plans: tuple[str, str, str, str, list[tuple[str, str]]]) -> bytes:
    """Write a savings-plan file of (plan SKU, family, term, payment, [(discounted SKU, price)])."""
    products = [
        {
            "sku": sku,
            "productFamily": family,
            "serviceCode": "ComputeSavingsPlans",
            "attributes": {"purchaseOption": payment, "purchaseTerm": term},
        }
        for sku, family, term, payment, _ in plans
    ]
    terms = [
        {
            "sku": sku,
            "effectiveDate": "2026-07-01T00:00:00Z",
            "leaseContractLength": {"duration": int(term[0]), "unit": "year"},
            "rates": [
                {
                    "discountedSku": target,
                    "discountedServiceCode": "AmazonEC2",
                    "discountedUsageType": "BoxUsage:any",
                    "rateCode": f"{sku}.{target}",
                    "unit": "Hrs",
                    "discountedRate": {"price": price, "currency": "USD"},
                }
                for target, price in rates
            ],
        }
        for sku, _, term, _, rates in plans
    ]
    return json.dumps(
        {
            "version": "1",
            "regionCode": region,
            "products": products,
            "terms": {"savingsPlan": terms},
        }
    ).encode()


ONE_YEAR = ("P", "ComputeSavingsPlans", "1yr", "No Upfront")


def one_plan(*rates: tuple[str, str]) -> bytes:
    """Write the savings-plan file of one plan, without rates that of the SKU of ``line``."""
    return savings_plans("us-east-1", (*ONE_YEAR, list(rates) or [("6C86BEPQVG73ZGGR", "0.07")]))


@contextmanager
def moto_server() -> Iterator[str]:
    """Start moto on a loopback socket; it has recorded DescribeInstanceTypes of 1,395 types."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    server = make_server(
        "127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
