"""Stage a run: checked tables under the keys of a release, or an error that changes nothing."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.releases import AT, prices
from tests.publish.test_market import quantiles

from hwprices import stage
from hwprices.errors import HwpricesError, HwpricesWarning
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import About, Pages, Part
from hwprices.release.manifest import Trouble
from hwprices.rows.prices import refused
from hwprices.stage import StagedTables
from hwprices.storage.store import Store


@dataclass
class Vendor:
    """A provider that yields these parts, whatever the pages hold."""

    parts: list[Part]
    name: str = "vendor"
    about = About("Vendor", "all prices", "nothing more")

    def holds_prices(self, kind: str) -> bool:
        return kind in ("prices", "spot")

    def normalise(self, pages: Pages) -> Iterator[Part]:
        yield from self.parts


def part(*changes, region="us-east-1", **more) -> Part:
    rows = ({"provider": "vendor", "region": region, **change} for change in changes)
    return Part("prices", prices(*rows), region, **more)


def refused_rows(rows: Part, reason: str, message: str, **more):
    """Make quarantine rows of prices, as a provider does."""
    more |= {"table": "prices", "reason": reason, "message": message}
    return refused(rows.frame.lazy(), **more).collect()


def run(tmp_path, parts, run_id="r1", results=()) -> stage.Staged:
    manifest = Run(run_id, "vendor", "live", AT, "0.1.0", tuple(results))
    return stage.stage(Vendor(parts), manifest, Landing(tmp_path / "raw"), Store(tmp_path), keep=2)


def names(count):
    return [{"instance_type": f"m{i}.large"} for i in range(count)]


def test_every_region_has_a_file_and_counts_are_added(tmp_path):
    east = part(*names(3), counts={"out_of_scope:storage": 7})
    west = part(*names(2), region="eu-west-1", counts={"out_of_scope:storage": 1})
    staged = run(tmp_path, [east, west])
    keys = [f"prices/vendor/{region}.parquet" for region in ("eu-west-1", "us-east-1")]
    assert [file.key for file in staged.files] == keys
    assert (staged.rows("prices"), staged.accounted) == (5, {"out_of_scope:storage": 8})
    assert stage.latest(Store(tmp_path), "vendor") == staged
    assert pl.read_parquet(tmp_path / staged.directory / keys[0]).height == 2


@pytest.mark.parametrize(
    ("limit", "order"),
    [
        (1_000, ["read 0", "read 1", "checked", "checked"]),
        (0, ["read 0", "checked", "read 1", "checked"]),
    ],
)
def test_a_part_is_checked_while_the_next_is_read_unless_it_is_large(
    tmp_path, monkeypatch, limit, order
) -> None:
    """Checking waits until the next part is asked for: without a thread nobody would ask."""
    happened: list[str] = []
    asked_for_next = threading.Event()

    class Reading(Vendor):
        def normalise(self, pages: Pages) -> Iterator[Part]:
            for number, each in enumerate(self.parts):
                happened.append(f"read {number}")
                if number:
                    asked_for_next.set()
                yield each

    def add(tables: StagedTables, each: Part, **more: bool) -> None:
        if limit:
            assert asked_for_next.wait(timeout=60)
        check(tables, each, **more)
        happened.append("checked")

    check = StagedTables.add
    monkeypatch.setattr(StagedTables, "add", add)
    monkeypatch.setattr(stage, "MAX_PARALLEL_ROWS", limit)
    manifest = Run("r1", "vendor", "live", AT, "0.1.0", ())
    vendor = Reading([part(*names(3)), part(*names(2), region="eu-west-1")])
    staged = stage.stage(vendor, manifest, Landing(tmp_path / "raw"), Store(tmp_path), keep=2)
    assert happened == order
    assert staged.rows("prices") == 5


@pytest.mark.parametrize("place", [0, 1])
def test_a_part_that_cannot_be_checked_leaves_the_tables_in_force(tmp_path, place):
    run(tmp_path, [part(*names(2))])
    parts = [part(*names(3)), part(*names(3), region="eu-west-1")]
    parts[place] = Part("prices", pl.DataFrame({"price": [1]}), "us-west-2")
    with pytest.raises(HwpricesError, match="a frame does not fit the table prices"):
        run(tmp_path, parts, "r2")
    assert stage.latest(Store(tmp_path), "vendor").run_id == "r1"


def test_a_second_part_of_a_region_does_not_replace_the_first(tmp_path):
    staged = run(tmp_path, [part(*names(3))])
    twice = [part(*names(3)), part(*names(1))]
    with pytest.raises(HwpricesError, match="two parts for the file prices/vendor/us-east-1"):
        run(tmp_path, twice, "r2")
    assert stage.latest(Store(tmp_path), "vendor") == staged


def test_refused_rows_are_kept_and_counted(tmp_path):
    refused = refused_rows(part({"os": "linux"}), "unknown_grammar", "unknown grammar")
    staged = run(tmp_path, [part(*names(3), {"os": "dos"}, refused=refused)])
    assert staged.quarantined == {"check:os:isin": 1, "unknown_grammar": 1}
    assert staged.rows("quarantine") == 2


NO_SUCH_PRICE = Decimal("700")
"""More than any machine costs for an hour: refused by a check of a known kind."""


def broken(count, **more):
    return [{"instance_type": f"x{i}.large", "hourly": NO_SUCH_PRICE, **more} for i in range(count)]


def test_too_many_refused_rows_fail_and_stay_to_be_looked_at(tmp_path):
    run(tmp_path, [part(*names(120))])
    with pytest.raises(
        HwpricesError,
        match=r"vendor: 7\.7% of the rows for prices were refused"
        r" \(check:no_sentinel 10; for example .*\); the limit is 2%",
    ):
        run(tmp_path, [part(*names(120), *broken(10))], "r2")
    assert stage.latest(Store(tmp_path), "vendor").run_id == "r1"
    assert pl.read_parquet(tmp_path / "staged/vendor/r2/quarantine/vendor/all.parquet").height == 10


@pytest.mark.parametrize("first_run", [True, False])
def test_values_that_are_new_never_stop_a_provider(tmp_path, first_run):
    if not first_run:
        run(tmp_path, [part(*names(120))])
    new = [{"instance_type": f"x{i}.large", "os": "dos", "hourly": NO_SUCH_PRICE} for i in range(9)]
    staged = run(tmp_path, [part(*names(120), *new, {"term_months": 84})], "r2")
    assert staged.rows("prices") == 120
    refused = pl.read_parquet(tmp_path / staged.directory / "quarantine/vendor/all.parquet")
    words = refused.group_by("reason", "word").agg(pl.col("occurrences").sum()).sort("reason")
    assert words.rows() == [("check:os:isin", "dos", 9), ("check:term_months:isin", "84", 1)]


def test_a_new_value_takes_no_row_of_a_known_kind_with_it(tmp_path):
    """The key of a price does not have the billing unit: both rows have one key."""
    staged = run(tmp_path, [part({}, {"billing_unit": "fortnight"})])
    assert staged.rows("prices") == 1
    assert staged.quarantined == {"check:billing_unit:isin": 1}


REWORDED = [{**name, "os": "LINUX/UNIX"} for name in names(120)]


def test_a_provider_that_is_reworded_is_held_and_says_so(tmp_path):
    run(tmp_path, [part(*names(120))])
    with pytest.raises(
        HwpricesError,
        match=r"vendor: everything was reworded: 61 of 120 rows for prices are gone, with"
        r" new words in their place \(check:os:isin 'LINUX/UNIX' 61\)",
    ):
        run(tmp_path, [part(*names(120)[61:], *REWORDED[:61])], "r2")
    assert stage.latest(Store(tmp_path), "vendor").run_id == "r1"
    half = run(tmp_path, [part(*names(120)[60:], *REWORDED[:60])], "r3")
    assert half.rows("prices") == 60


def test_prices_that_a_new_word_took_are_gone_though_their_rows_are_there(tmp_path):
    run(tmp_path, [part(*names(100))])
    word = pl.lit("N4 Instance Core")
    refused = refused_rows(part({}), "unknown_grammar", "unknown grammar", word=word)
    unknown = {"hourly": None, "effective_hourly": None, "price_reason": "core_sku_missing"}
    without = [name | unknown for name in names(99)]
    with pytest.raises(HwpricesError, match="99 of 100 rows for prices are gone"):
        run(tmp_path, [part(*without, names(100)[-1], refused=refused)], "r2")


def test_rows_that_go_beside_a_word_that_was_there_before_are_left_to_the_gate(tmp_path):
    run(tmp_path, [part(*names(100), REWORDED[0])])
    assert run(tmp_path, [part(*names(10), REWORDED[0])], "r2").rows("prices") == 10


def test_what_was_refused_before_does_not_count_again(tmp_path):
    first = [part(*names(200), *broken(4))]
    assert run(tmp_path, first, "r1").quarantined == {"check:no_sentinel": 4}
    again = [part(*names(200), *broken(8))]
    assert run(tmp_path, again, "r2").quarantined == {"check:no_sentinel": 8}
    with pytest.raises(HwpricesError, match=r"2\.3% of the rows for prices"):  # 13 - 8 of 213
        run(tmp_path, [part(*names(200), *broken(13))], "r3")


def test_another_reason_counts_although_as_many_rows_were_refused_before(tmp_path):
    run(tmp_path, [part(*names(300), *broken(6))])
    other = [{"instance_type": f"x{i}.large", "currency": "usd"} for i in range(7)]
    with pytest.raises(HwpricesError, match=r"\(check:currency:str_matches 7;"):
        run(tmp_path, [part(*names(300), *other)], "r2")


OTHER_GROUPS = part(*({"instance_type": f"b{i}.large"} for i in range(3_000)), region="eu-west-1")
"""So many rows that 30 refused ones stay below the limit of the whole table."""


@cases("stage/groups", own=yaml.safe_load)
def test_a_group_that_loses_many_rows_stops_the_provider(tmp_path, own, group):
    rows = [{**name, **own} for name in names(100)]
    others = [] if own == {} else [{"instance_type": f"c{i}.large"} for i in range(400)]
    run(tmp_path, [part(*rows, *others), OTHER_GROUPS])
    lost = [{**row, "hourly": NO_SUCH_PRICE} for row in rows[:30]]
    with pytest.raises(
        HwpricesError, match=rf"30\.0% of the rows for prices of {group} were refused.*20%"
    ):
        run(tmp_path, [part(*rows[30:], *lost, *others), OTHER_GROUPS], "r2")


@pytest.mark.parametrize(
    ("kept", "lost"),
    [(80, 20), (100, 30)],  # a fifth; or lines that were never prices, beside all that were
)
def test_a_group_that_keeps_its_rows_does_not(tmp_path, kept, lost):
    run(tmp_path, [part(*names(100)), OTHER_GROUPS])
    staged = run(tmp_path, [part(*names(kept), *broken(lost)), OTHER_GROUPS], "r2")
    assert staged.quarantined == {"check:no_sentinel": lost}


def test_a_refused_sku_is_counted_once_and_its_dependants_are_not(tmp_path):
    dependants = pl.lit(500)
    refused = refused_rows(part(*names(40)), "refused_sku", "refused", dependants=dependants)
    staged = run(tmp_path, [part(*names(120), refused=refused)])
    assert staged.quarantined == {"refused_sku": 40}


def test_a_reason_that_is_not_declared_is_kept_and_said(tmp_path):
    refused = refused_rows(part({}), "no_such_reason", "uneven pair")
    with pytest.warns(HwpricesWarning, match="1 rows break a rule.*no_such_reason"):
        staged = run(tmp_path, [part(*names(2), refused=refused)])
    assert staged.quarantined == {"program_mistake": 1}
    written = pl.read_parquet(tmp_path / staged.directory / "quarantine/vendor/all.parquet")
    assert written["message"].to_list() == ["reason str_matches: no_such_reason: uneven pair"]
    assert written["row"].to_list() == refused["row"].to_list()


def test_a_run_without_one_price_fails(tmp_path):
    unit, why = Unit("vendor", "skus"), "no credentials for https://billing.example"
    unpriced = part({"hourly": None, "price_reason": "core_sku_missing"})
    words = r"no price is known.*vendor/skus/global failed: no credentials"
    with pytest.raises(HwpricesError, match=words):
        run(tmp_path, [unpriced], results=[UnitResult(unit, "failed", reason=why)])
    assert stage.latest(Store(tmp_path), "vendor") is None


def test_quantiles_are_the_prices_of_a_market(tmp_path):
    table = quantiles(22, "7.5", "vendor")
    run(tmp_path, [Part("market_quantiles", table)])
    assert stage.latest(Store(tmp_path), "vendor") is not None
    with pytest.raises(HwpricesError, match="no price is known"):
        run(tmp_path, [Part("market_quantiles", table.clear())], "r2")


def test_old_runs_are_deleted_and_the_newest_kept(tmp_path):
    for i in range(4):
        run(tmp_path, [part({"hourly": Decimal(i + 1)})], f"r{i}")
    tables = (tmp_path / "staged/vendor").rglob("*.parquet")
    kept = {path.relative_to(tmp_path / "staged/vendor").parts[0] for path in tables}
    assert kept == {"r2", "r3"}


def test_units_that_were_not_fetched_are_listed(tmp_path):
    results = [
        UnitResult(Unit("vendor", "prices", "me-south-1"), "skipped", reason="not enabled"),
        UnitResult(Unit("vendor", "prices", "us-east-1"), "ok"),
    ]
    staged = run(tmp_path, [part({})], results=results)
    assert staged.units == {"ok": 1, "skipped": 1}
    assert staged.troubles == (Trouble("vendor/prices/me-south-1", "skipped", "not enabled"),)


def test_units_that_were_not_requested_are_told_apart(tmp_path):
    """A narrowed run: one unit fetched, three as earlier runs left them, one of those carried."""
    earlier = {"requested": False, "reason": "timed out"}
    zones, spot, prices = (Unit("vendor", kind, "eu-1") for kind in ("zones", "spot", "prices"))
    [page] = run_pages(tmp_path)
    results = [
        UnitResult(Unit("vendor", "prices", "us-east-1"), "ok"),
        UnitResult(zones, "ok", (page,), carried_from="r2", requested=False),
        UnitResult(spot, "carried", (page,), carried_from="r1", **earlier),
        UnitResult(prices, "failed", **earlier),
    ]
    staged = run(tmp_path, [part({})], results=results)
    assert staged.units == {"not_requested": 3, "ok": 1}
    assert staged.oldest_run == "r1"
    assert staged.troubles == (
        Trouble("vendor/spot/eu-1", "carried", "timed out", False, "r1"),
        Trouble("vendor/prices/eu-1", "failed", "timed out", requested=False),
    )


def run_pages(tmp_path):
    """One landed page."""
    unit = Unit("vendor", "prices", "us-east-1")
    landing = Landing(tmp_path / "raw")
    return [landing.land_bytes(unit, b"{}", url="https://vendor.example", retrieved_at=AT)]


def test_a_damaged_pointer_is_named(tmp_path):
    run(tmp_path, [part({})])
    (tmp_path / "staged/vendor/latest.json").write_text("{")
    with pytest.raises(HwpricesError, match=r"staged/vendor/latest\.json is damaged"):
        stage.latest(Store(tmp_path), "vendor")
