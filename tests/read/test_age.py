"""How old figures are, in words."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from tests.helpers.manifests import provider_entry, release_manifest
from tests.helpers.terminal import run

from hwprices.release import wording
from hwprices.release.wording import sheet_notes

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
        "coreweave, lambda: prices read from their web pages on 2026-08-22, 91 days ago: stale.",
        "nebius: prices read from their web pages on 2026-11-01.",
    )


def test_prices_that_are_collected_have_no_note() -> None:
    assert sheet_notes(ENTRIES, ["aws"], datetime(2026, 11, 21, tzinfo=UTC)) == ()


class Release:
    """What ``age.stale`` reads of a dataset: aws and lambda of the sample, ovh collected."""

    release = release_manifest(
        {
            "aws": provider_entry(origin="sample", newest_price="2026-04-20T00:00:00+00:00"),
            "lambda": provider_entry(origin="sample", price_sheet=True),
            "ovh": provider_entry(),
        }
    )

    def scan(self, _: str) -> pl.LazyFrame:
        """Give prices: the release is of 2026-08-01."""
        days = {
            "aws": (datetime(2021, 2, 9, tzinfo=UTC), datetime(2026, 4, 20, tzinfo=UTC)),
            "lambda": (datetime(2026, 4, 20, tzinfo=UTC),),
            "ovh": (datetime(2026, 4, 20, tzinfo=UTC), datetime(2026, 7, 31, tzinfo=UTC)),
        }
        rows = [(name, day) for name, seen in days.items() for day in seen]
        return pl.LazyFrame(rows, schema=["provider", "observed_at"], orient="row")


def test_a_price_is_stale_by_its_release_and_a_recording_by_the_newest_of_its_provider() -> None:
    release = Release()
    rows = release.scan("prices").with_columns(stale=wording.stale(release)).collect()  # type: ignore[arg-type]
    assert rows["stale"].to_list() == [True, False, True, True, False]
    assert wording.stale_notes(rows, ["lambda"]) == (
        "aws: 1 price stale, seen on 2021-02-09.",
        "ovh: 1 price stale, seen on 2026-04-20.",
    )


def test_a_stale_price_is_marked_where_machines_and_devices_are_ranked(sample_root: Path) -> None:
    """Vultr's MI300X of January 2025 came first, without a word on its age."""
    words = ("llama", "3.1", "70b", "mi300x")  # the model's name may have several
    ranked = run("recommend", *words, "--where", "cloud", root=sample_root)
    assert "vultr: 1 price stale, seen on 2025-01-08." in ranked.stdout
    devices = run("compare", "h100", "vs", "mi300x", root=sample_root).stdout.splitlines()
    prices = [line for line in devices if "nvidia-h100-sxm5" in line or "amd-mi300x" in line]
    assert [line.count("*") for line in prices] == [0, 1]
    one = run("device", "h100", "sxm", root=sample_root).stdout
    assert one.startswith("H100 SXM5 80 GB (nvidia-h100-sxm5-80gb)")
    hopper = run("device", "hopper", root=sample_root).stdout
    assert {"nvidia-h100-sxm5-80gb", "nvidia-h200-sxm", "nvidia-gh200-96gb"} <= {*hopper.split()}
