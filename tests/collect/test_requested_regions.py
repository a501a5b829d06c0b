"""Regions that a run is narrowed to, checked before it starts."""

from pathlib import Path

import pytest

from hwprices.collect.replay import check_requested
from hwprices.errors import HwpricesError
from hwprices.settings import Settings, load


@pytest.fixture
def live() -> Settings:
    return load(source="live")


@pytest.fixture
def sample() -> Settings:
    return load(source="sample")


def test_a_region_that_no_provider_of_the_sample_has_is_refused(sample: Settings) -> None:
    with pytest.raises(HwpricesError) as refused:
        check_requested(sample, ["aws", "azure"], ["eastus", "eastsu"])
    assert str(refused.value) == "the sample has no region eastsu. Did you mean eastus?"
    with pytest.raises(HwpricesError, match="the sample of azure has no region nowhere"):
        check_requested(sample, ["azure"], ["nowhere"])


def test_a_region_of_one_of_the_providers_will_do(sample: Settings) -> None:
    assert check_requested(sample, ["aws", "azure"], ["eastus"]) == []


def test_providers_with_one_price_everywhere_have_no_regions_to_misspell(sample, live) -> None:
    assert check_requested(sample, ["oracle", "lambda"], ["eastsu"]) == []
    assert check_requested(live, ["lambda"], ["eastsu"]) == []


def test_a_region_of_a_vendor_that_is_not_known_is_a_warning(live: Settings) -> None:
    [warning] = check_requested(live, ["azure"], ["eastsu", "eastus", "EastUS2"])
    assert warning == (
        "eastsu is not known as a region of azure; the vendor is asked, as it may be new."
        " Did you mean eastus, eastus3, eastus2?"
    )
    [warning] = check_requested(live, ["aws", "gcp"], ["nowhere-1", "us-east-1", "us-east1"])
    assert warning.startswith("nowhere-1 is not known as a region of any provider asked; ")


def test_local_zones_and_china_are_known(live: Settings) -> None:
    assert check_requested(live, ["aws"], ["us-east-1-atl-1", "cn-north-1"]) == []


def test_without_a_sample_the_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_SAMPLE", str(tmp_path))
    assert check_requested(load(source="sample"), ["azure"], ["eastsu"]) == []
