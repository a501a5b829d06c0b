"""Whole live runs against servers that fail a tenth of their requests, through the real SDKs.

Every run either gives the tables of a healthy server, byte for byte, or names the units that
failed; no price differs from a healthy server's. Every pair of provider and fault is tried with
HWPRICES_NIGHTLY=1, with several seeds; otherwise each fault once.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from tests.helpers import vendors
from tests.helpers.faults import KINDS, Faults
from tests.helpers.nightly import NIGHTLY
from tests.helpers.stub_server import StubServer

from hwprices.errors import HwpricesError
from hwprices.stage import Staged
from hwprices.storage.store import Store

SHARE = 0.10

SETTINGS = {"read_timeout": 1.5, "connect_timeout": 5, "page_deadline": 6, "attempts": 4}
"""Shorter than the defaults, so that stalls and endless bodies end soon."""

SEEDS = range(1, 4) if NIGHTLY else range(1, 2)

PAIRS = [
    (provider, kind)
    for number, kind in enumerate(KINDS)
    for provider in vendors.PROVIDERS
    if NIGHTLY or provider == vendors.PROVIDERS[number % len(vendors.PROVIDERS)]
]

Prices = dict[str, tuple[object, ...]]
"""price_id → amounts and currency."""


@dataclass(frozen=True)
class Tables:
    """What a run staged: the digest of each file, the prices, and the units that are reported."""

    digests: Mapping[str, str]
    prices: Prices
    reported: frozenset[str]


def tables(staged: Staged, root: Path) -> Tables:
    store = Store(root)
    files = [store.uri(f"{staged.directory}/{file.key}") for file in staged.of("prices")]
    columns = ("price_id", "hourly", "effective_hourly", "currency", "purchase_option")
    rows = pl.read_parquet(files, columns=list(columns)).select(columns).iter_rows()
    return Tables(
        {file.key: file.content_sha256 for file in staged.files},
        {row[0]: row[1:] for row in rows},
        frozenset(trouble.unit for trouble in staged.troubles),
    )


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Tables]:
    """Give what a provider's healthy server sells; each is asked once."""
    known: dict[str, Tables] = {}

    def give(name: str) -> Tables:
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            server = vendors.serve(name, StubServer().start())
            known[name] = run(name, server, folder)
            server.stop()
        return known[name]

    return give


def run(name: str, server: StubServer, folder: Path) -> Tables:
    with pytest.MonkeyPatch.context() as variables:
        for variable, value in vendors.environment(name, server.url, folder).items():
            variables.setenv(variable, value)
        _results, staged = vendors.collect(name, root=str(folder / "data"), **SETTINGS)
    return tables(staged, folder / "data")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("provider", "kind"), PAIRS)
def test_a_tenth_of_requests_fails(stub, tmp_path, healthy, provider, kind, seed) -> None:
    expected = healthy(provider)
    server = vendors.serve(provider, stub())
    faults = Faults(server, kind, share=SHARE, seed=seed)
    found, reason = None, ""
    try:
        found = run(provider, server, tmp_path)
    except HwpricesError as error:
        reason = str(error)
    assert faults.count > 0
    assert found is not None or server.url in reason, "a provider that fails says which page it was"
    if found is not None:
        reported = found.reported - expected.reported
        assert found.digests == expected.digests or reported
        assert wrong_prices(found, expected) == {}
    result = outcome(found, expected)
    sys.stdout.write(f"{provider} | {kind} | {seed} | {faults.count} faults | {result}\n")


def wrong_prices(found: Tables, expected: Tables) -> Prices:
    """List the amounts that a healthy server does not sell at."""
    amounts = {key: row for key, row in found.prices.items() if row[1] is not None}
    return {key: row for key, row in amounts.items() if expected.prices.get(key) != row}


def outcome(found: Tables | None, expected: Tables) -> str:
    if found is None:
        return "provider failed, said why"
    if found.digests == expected.digests:
        return "same digest"
    return f"reported: {', '.join(sorted(found.reported - expected.reported))}"
