"""Cited prices rechecked with the vendor: servers on loopback that sell at another price, or not.

Each vendor is collected and published once. Then other servers answer: the same, dearer, without
the machine, or not at all.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from shutil import copytree, rmtree

import polars as pl
import pytest
from click.testing import Result
from tests.helpers import vendors
from tests.helpers.azure_pages import RETAIL
from tests.helpers.sample_release import made_once
from tests.helpers.stub_server import StubServer
from tests.helpers.terminal import run

import hwprices
from hwprices.providers import Pages, Part, Provider
from hwprices.publish import release
from hwprices.read.citation import Citation
from hwprices.storage.store import Store
from hwprices.units import Money

TYPES = {
    "aws": "m7.large us-east-1 on_demand",
    "azure": "Standard_D8s_v3 westeurope on_demand",
    "gcp": "n2-standard-4 us-central1 on_demand",
    "scaleway": "H100-1-80G",
}
"""What is cited of each vendor."""

PAGES = {"aws": 1, "azure": 1, "gcp": 6, "scaleway": 1}
"""How many pages hold it: Google's list has six on these servers. Azure's partition has three, of
which the vendor gives those of one machine."""


@dataclass
class Vendor:
    """One vendor on loopback, the release that was made of it, and the price that is cited."""

    name: str
    root: Path
    start: Callable[[], StubServer]
    point_to: Callable[[StubServer], None]

    def serve(self, step: str = "0", *, without: str = "") -> StubServer:
        """Start a server that sells at ``step`` more, and send the provider there."""
        server = self.start()
        vendors.serve(self.name, server, Decimal(step), without=without)
        self.point_to(server)
        return server

    def cite(self) -> Citation:
        return hwprices.open(self.root).cite(TYPES[self.name])

    def recheck(self, *options: str) -> Result:
        arguments = [str(self.cite()), "--live", "--root", str(self.root), *options]
        return run("recheck", *arguments)


@pytest.fixture(params=list(TYPES))
def vendor(request, stub, tmp_path, tmp_path_factory, monkeypatch) -> Vendor:
    """A vendor with one release."""
    name = request.param
    folder = tmp_path / "empty"
    folder.mkdir()

    def point_to(server: StubServer) -> None:
        for variable, value in vendors.environment(name, server.url, folder).items():
            monkeypatch.setenv(variable, value)

    monkeypatch.setenv("HWPRICES_ATTEMPTS", "1")

    def make(root: Path) -> None:
        vendors.publish(name, vendors.serve(name, stub()), root)

    root = copytree(made_once(tmp_path_factory, f"live-{name}", make), tmp_path / "data")
    return Vendor(name, root, stub, point_to)


def answer(result: Result) -> tuple[object, ...]:
    assert result.stdout, result.output + repr(result.exception)
    (one,) = json.loads(result.stdout)
    return one["status"], one["release"], result.exit_code


def test_at_the_same_price_only_the_pages_that_hold_it_are_fetched(vendor: Vendor) -> None:
    server = vendor.serve()
    result = vendor.recheck("--json")
    assert answer(result) == ("SAME", "live", 0)
    *_, last = result.stderr.splitlines()
    unit, _, size = last.partition(": ")
    count, fetched = size.split(", ", 1)
    assert unit.startswith(f"{vendor.name}/")
    assert int(count.split()[0]) == PAGES[vendor.name]
    assert int(fetched.split()[0].replace(",", "")) > 100
    paths = {request.path for request in server.requests}
    assert not any("savings" in path.lower() and "index" not in path for path in paths)


def test_a_vendor_that_has_raised_the_price_leaves_the_dataset_as_it_is(vendor: Vendor) -> None:
    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in vendor.root.rglob("*") if path.is_file()}

    before = files()
    vendor.serve("0.5")
    result = vendor.recheck("--json")
    assert answer(result) == ("MOVED", "live", 1)
    (one,) = json.loads(result.stdout)
    assert Decimal(one["amount"]) > Decimal(one["cited_amount"])
    assert files() == before


def test_a_vendor_that_does_not_answer(vendor: Vendor) -> None:
    vendor.point_to(vendor.start())  # each path is 404
    assert answer(vendor.recheck("--json")) == ("UNREACHABLE", "live", 2)


def test_a_machine_that_is_no_longer_sold_is_gone(vendor: Vendor) -> None:
    vendor.serve(without=TYPES[vendor.name].split()[0])
    assert answer(vendor.recheck("--json")) == ("GONE", "live", 1)


@pytest.mark.parametrize("vendor", ["gcp", "scaleway"], indirect=True)
def test_a_price_that_was_read_wrongly_is_restated(vendor, monkeypatch) -> None:
    """The release read a tenth too much; the program that rechecks it does not.

    A composed price and a listed one: what is compared does not depend on the vendor.
    """
    right = Provider.normalise

    def wrong(provider: Provider, pages: Pages) -> Iterator[Part]:
        for part in right(provider, pages):
            columns = pl.col("hourly", "effective_hourly") * Decimal("1.1")
            frame = part.frame.with_columns(columns.cast(Money)) if part.table == "prices" else None
            yield part if frame is None else replace(part, frame=frame, source=None)

    vendor.serve()
    rmtree(vendor.root / "staged")  # else rows of the same pages are taken over
    with monkeypatch.context() as patched:
        patched.setattr(Provider, "normalise", wrong)
        vendors.collect(vendor.name, root=str(vendor.root))
        release.publish(Store(vendor.root), accepted=[f"{vendor.name}:*"])

    result = vendor.recheck("--json")
    assert answer(result) == ("RESTATED", "live", 1)
    (one,) = json.loads(result.stdout)
    assert Decimal(one["cited_amount"]) == Decimal(one["amount"]) * Decimal("1.1")


@pytest.mark.parametrize("vendor", ["azure"], indirect=True)
def test_azure_is_asked_for_one_machine(vendor: Vendor) -> None:
    server = vendor.serve()
    vendor.recheck()
    asked = [one.query["$filter"] for one in server.requests if one.path == RETAIL]
    assert len(asked) == 1
    assert "armSkuName eq 'Standard_D8s_v3'" in asked[0]


@pytest.mark.parametrize("vendor", ["gcp"], indirect=True)
def test_pages_that_are_gone_are_fetched_too(vendor: Vendor) -> None:
    """Without the landed machine types a composed price needs them from the vendor."""
    for page in (vendor.root / "raw" / "gcp").rglob("*.zst"):
        page.unlink()
    vendor.serve("0.5")
    assert answer(vendor.recheck("--json")) == ("MOVED", "live", 1)
