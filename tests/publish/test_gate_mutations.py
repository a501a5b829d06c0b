"""Mistakes and genuine events, each applied to the sample's staged tables and put to the gate.

No mistake may be published: some check stops it. Every genuine event is published: nothing stops,
or one check does and is let through by name. These are the gate's own cases, each with the check
that is expected to see it; those of ``gate_cases`` name none.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.publish.gate_cases import Change, Tables
from tests.publish.gate_cases.changes import read

from hwprices import providers, stage
from hwprices.publish import gate
from hwprices.storage.store import Store

CHECKED = ("prices", "instance_types", "regions", "availability")


@pytest.fixture(scope="module")
def sample(sample_root: Path) -> dict[str, Tables]:
    """The sample's staged tables: provider to table to rows."""
    store = Store(sample_root)
    tables: dict[str, Tables] = {}
    for name in providers.names():
        staged = stage.latest(store, name)
        assert staged is not None
        paths = {
            table: [store.uri(f"{staged.directory}/{file.key}") for file in staged.of(table)]
            for table in CHECKED
        }
        tables[name] = {
            table: pl.read_parquet(files, hive_partitioning=False)
            for table, files in paths.items()
            if files
        }
    return tables


@pytest.fixture(scope="module")
def peers(sample: dict[str, Tables]) -> pl.LazyFrame:
    """What the gate compares accelerators with."""
    prices, machines = (
        pl.concat([tables[name].lazy() for tables in sample.values() if name in tables])
        for name in ("prices", "instance_types")
    )
    return gate.per_accelerator(prices, machines).collect().lazy()


@pytest.fixture(scope="module")
def judged(sample: dict[str, Tables], peers: pl.LazyFrame) -> Callable[..., gate.Judgement]:
    """Judge a change of a provider's tables."""

    def judge(provider: str, change: Change) -> gate.Judgement:
        old = sample[provider]
        new, before = (
            gate.Candidate(provider, "live", {name: frame.lazy() for name, frame in tables.items()})
            for tables in (change(old, 1), old)
        )
        return gate.judge(new, before, peers=peers)

    return judge


def reasons(judgement: gate.Judgement) -> set[str]:
    return {r.check for r in judgement.results if r.outcome in ("held", "stop")}


def each(name: str) -> pytest.MarkDecorator:
    """Try each case of ``tests/cases/gate/<name>.yaml``."""
    cases = read(name)
    values = [(case["provider"], case["change"], case.get("check")) for case in cases.values()]
    return pytest.mark.parametrize(("provider", "change", "check"), values, ids=cases)


@each("checked_mistakes")
def test_a_mistake_is_held(judged, provider, change, check):
    assert check in reasons(judged(provider, change))


@each("seen_by_one_rule")  # every price is published if that rule is left out
def test_no_price_of_a_mistake_that_one_rule_sees_is_published(
    judged, sample, provider, change, check
):
    judgement = judged(provider, change)
    amounts = ("price_id", "effective_hourly")
    before = sample[provider]["prices"].select(amounts).sort("price_id")
    assert judgement.published("prices").select(amounts).sort("price_id").equals(before)
    assert check in reasons(judgement)


@each("checked_events")
def test_a_genuine_event_is_published(judged, provider, change, check):
    judgement = judged(provider, change)
    assert reasons(judgement) == ({check} if check else set())
    assert gate.stopped(judgement.results) == []
