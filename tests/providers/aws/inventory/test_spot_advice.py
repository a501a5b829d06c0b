"""The Spot Instance Advisor's bands and savings."""

import json

import pytest
from tests.helpers.aws_pages import LandedPages

from hwprices.providers.aws.prices.spot import read_band


def test_bands_and_savings_are_read_by_system(tmp_path):
    systems = {
        "Linux": {"m5.large": {"s": 61, "r": 4}},
        "Windows": {"m5.large": {"s": 40, "r": 0}, "m5.xlarge": {"s": 41, "r": 1}},
        "SUSE": {name: {"s": 40, "r": 0} for name in ("m5.large", "m5.xlarge")},
    }
    bands = {0: "<5%", 1: "5-10%", 4: ">20%"}
    ranges = [{"index": index, "label": label, "max": 1} for index, label in bands.items()]
    body = json.dumps({"ranges": ranges, "spot_advisor": {"us-east-1": systems}}).encode()
    landed = LandedPages(tmp_path).add("spot_advisor", "global", body, suffix="json")
    assert landed.counts() == {"out_of_scope:spot_advice_system=SUSE": 2}
    limits = ("interruption_percent_from", "interruption_percent_to", "saving_percent")
    advice = landed.table("spot_advice").select("os", "interruption_band", *limits)
    assert advice.sort("saving_percent").rows() == [
        ("windows", "<5%", 0, 5, 40),
        ("windows", "5-10%", 5, 10, 41),
        ("linux", ">20%", 20, 100, 61),
    ]


def test_a_band_written_in_another_way_is_an_error():
    with pytest.raises(ValueError, match="band 'often' is not understood"):
        read_band("often")
