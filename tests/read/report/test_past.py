"""What the page says of earlier releases is what their tables say."""

from decimal import Decimal

import hwprices
from hwprices.read.report.index import changes, history


def test_the_history_has_each_value_of_a_price(dataset: hwprices.Dataset) -> None:
    rows = history(dataset).filter(instance_type="p5.48xlarge").sort("valid_from")
    assert rows["usd"].to_list() == [Decimal("7.5"), Decimal("6.88")]
    assert rows["valid_to"][0] == rows["valid_from"][1]
    assert rows["start_reason"][1] == "restated"


def test_the_changes_are_those_since_the_release_before(dataset: hwprices.Dataset) -> None:
    since = changes(dataset)
    assert [row["instance_type"] for row in since["prices"]] == ["p5.48xlarge"]
    assert since["prices"][0]["change_percent"] < 0
    assert since["prices"][0]["change"] == "restated"
    assert since["lines"] == ["Prices: 1 restated by us."]
