"""How old figures are, in words."""

from datetime import UTC, datetime

from tests.helpers.manifests import provider_entry

from hwprices.read.age import sheet_notes

READ = "2026-08-22T00:00:00+00:00"
ENTRIES = {
    "aws": provider_entry(observed_from=READ),
    "coreweave": provider_entry(observed_from=READ, price_sheet=True),
    "lambda": provider_entry(observed_from=READ, price_sheet=True),
    "nebius": provider_entry(observed_from="2026-11-01T00:00:00+00:00", price_sheet=True),
}


def test_an_answer_says_how_old_its_price_sheets_are() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    assert sheet_notes(ENTRIES, ["lambda", "coreweave", "aws", "nebius", None], now) == (
        "coreweave, lambda: prices as their web pages had them on 2026-08-22,"
        " stale: more than 90 days ago.",
        "nebius: prices as their web pages had them on 2026-11-01.",
    )


def test_prices_that_are_collected_have_no_note() -> None:
    assert sheet_notes(ENTRIES, ["aws"], datetime(2026, 11, 21, tzinfo=UTC)) == ()
