"""The Spot Instance Advisor's bands and savings."""

import json

import pytest
from tests.helpers.aws_pages import LandedPages

from hwprices.providers.aws.prices.spot import read_band


def test_bands_and_savings_are_read_by_system(tmp_path):
    body = {
        "ranges": [
            {"index": 0, "label": "<5%", "max": 5},
            {"index": 4, "label": ">20%", "max": 100},
        ],
        "spot_advisor": {
            "us-east-1": {
                "Linux": {"m5.large": {"s": 61, "r": 4}},
                "Windows": {"m5.large": {"s": 40, "r": 0}},
                "SUSE": {name: {"s": 40, "r": 0} for name in ("m5.large", "m5.xlarge")},
            }
        },
    }
    landed = LandedPages(tmp_path).add(
        "spot_advisor", "global", json.dumps(body).encode(), suffix="json"
    )
    assert landed.counts() == {"out_of_scope:spot_advice_system=SUSE": 2}
    assert landed.table("spot_advice").select(
        "os",
        "interruption_band",
        "interruption_percent_from",
        "interruption_percent_to",
        "saving_percent",
    ).rows() == [("linux", ">20%", 20, 100, 61), ("windows", "<5%", 0, 5, 40)]


def test_a_band_written_in_another_way_is_an_error():
    with pytest.raises(ValueError, match="band 'often' is not understood"):
        read_band("often")
