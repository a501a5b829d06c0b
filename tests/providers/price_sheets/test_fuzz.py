"""Mutated price sheets and pages of RunPod and Scaleway give rows or errors of our own."""

import json
from collections.abc import Callable

import pytest
from tests.helpers.nightly import only_at_night
from tests.providers.fuzz.pages import PageKind, sampled
from tests.providers.fuzz.test_parsers import LONG, SHORT, fuzz


def sheet() -> PageKind:
    lines = sampled("coreweave", "sheet").splitlines(keepends=True)
    return PageKind("coreweave", "sheet", "global", "csv", b"".join(lines[:12]))


def rates() -> PageKind:
    lines = sampled("lambda", "sheet").splitlines(keepends=True)
    return PageKind("lambda", "sheet", "global", "csv", b"".join(lines[:8]))


def gpu_types() -> PageKind:
    listed = json.loads(sampled("runpod", "gpu_types"))["data"]["gpuTypes"][:3]
    offers = {"maxGpuCount": 8, "secureCloud": True, "communityCloud": True}
    types = [{**gpu_type, **offers, "communitySpotPrice": 0.1} for gpu_type in listed]
    body = json.dumps({"data": {"gpuTypes": types}}).encode()
    return PageKind("runpod", "gpu_types", "global", "json", body)


def servers() -> PageKind:
    body = sampled("scaleway", "servers", "fr-par-2")
    return PageKind("scaleway", "servers", "fr-par-2", "json", body)


PAGE_KINDS = [sheet, rates, gpu_types, servers]


@pytest.mark.parametrize("make", PAGE_KINDS)
def test_a_mutated_page_gives_rows_or_an_error_of_our_own(make: Callable[[], PageKind]) -> None:
    fuzz(make, SHORT)


@only_at_night("takes long")
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("make", PAGE_KINDS)
def test_a_thousand_mutated_pages(make: Callable[[], PageKind]) -> None:
    fuzz(make, LONG)
