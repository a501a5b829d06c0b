"""``hwprices admin status``: text for operators, an exit status for monitors."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from tests.helpers import processes
from tests.helpers.cases import cases, number
from tests.helpers.terminal import drawn

from hwprices.cli.status import render_status
from hwprices.errors import HwpricesError
from hwprices.read import status as read_status
from hwprices.release.manifest import ProviderStatus, Status, Trouble, UnitCounts
from hwprices.release.versions import sample_root
from hwprices.release.wording import ago
from hwprices.storage import manifests

NOW = datetime(2026, 8, 3, 12, tzinfo=UTC)


def entry(outcome="published", hours=5.0, **values):
    at = (NOW - timedelta(hours=hours)).isoformat()
    return ProviderStatus(
        **{
            "title": "AWS",
            "outcome": outcome,
            "last_try": at,
            "last_success": at,
            "complete_since": at,
            "units": UnitCounts(fetched=12, failed=1, not_requested=3),
            **values,
        }
    )


def status_of(**entries):
    return Status(updated_at=NOW.isoformat(), providers=entries)


def judge(max_age="", **entries):
    limit = read_status.parse_age(max_age) if max_age else None
    return read_status.judge(status_of(**entries), NOW, limit)


def screen(**entries):
    return drawn(render_status(judge(**entries)), width=140)


@cases("read/ages", seconds=number)
def test_an_age_reads_as_people_say_it(seconds, text):
    assert ago(None if seconds is None else timedelta(seconds=seconds)) == text


def test_tables_of_a_narrowed_run_are_as_old_as_their_oldest_unit():
    """Hourly spot prices do not make a price list of three days ago young."""
    old = (NOW - timedelta(days=3)).isoformat()
    [verdict] = judge("36h", aws=entry(hours=1, complete_since=old))
    assert (verdict.well, ago(verdict.since_success)) == (False, "60 min ago")


@cases("read/well", values=yaml.safe_load, well=yaml.safe_load)
def test_what_a_monitor_is_told_of_a_provider(values, max_age, well):
    """Its tables are five hours old, and only --max-age makes old tables a fault."""
    [verdict] = judge(max_age, aws=entry(**values))
    assert verdict.well == well


def test_the_table_names_outcome_reason_units_and_troubles():
    text = screen(
        aws=entry("held_back", reason="rows_lost: 200 of 300 rows"),
        gcp=entry(
            title="Google Cloud",
            troubles=(
                Trouble("gcp/skus/global", "carried", "timed out"),
                Trouble("gcp/tpu/global", "skipped", "no project"),
                Trouble("gcp/zones/global", "failed", "HTTP 500", requested=False),
            ),
        ),
    )
    assert "held back" in text
    assert "rows_lost: 200 of 300 rows" in text
    assert "5 h ago" in text
    assert "12 fetched, 1 failed, 3 not requested" in text
    assert "Google Cloud" in text
    assert "gcp/skus/global carried: timed out" in text
    assert "gcp/zones/global failed in an earlier run: HTTP 500" in text
    assert "gcp/tpu" not in text


@pytest.mark.parametrize("text", ["36", "h", "-1h", "1w", "1e9h", "9999999h"])
def test_what_is_no_duration_is_named(text):
    with pytest.raises(HwpricesError, match="this is not a duration"):
        read_status.parse_age(text)


def run(root, *arguments):
    command = ("-m", "hwprices", "status", "--root", root, *arguments)
    return processes.python(*command, status=None)


def test_the_exit_status_tells_a_monitor(tmp_path):
    missing = run(tmp_path)
    assert missing.returncode == 2
    assert missing.stderr.startswith("error: there is no ")
    at = datetime.now(UTC).isoformat()
    fresh = entry(last_try=at, last_success=at, complete_since=at)
    (tmp_path / "status.json").write_bytes(manifests.encode(status_of(aws=fresh)))
    assert run(tmp_path, "--max-age", "36h").returncode == 0
    held = entry("held_back", last_success=at, complete_since=at, reason="rows_lost: many")
    (tmp_path / "status.json").write_bytes(manifests.encode(status_of(aws=fresh, gcp=held)))
    done = run(tmp_path, "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["well"], answer["providers"]["gcp"]["well"]) == (False, False)
    assert answer["providers"]["aws"]["age_seconds"] < 300
    assert run(tmp_path, "--max-age", "soon").returncode == 2


def test_the_command_needs_no_part_of_the_pipeline():
    code = (
        "import sys, hwprices.cli.status, hwprices.read.status as s; s.parse_age('1h');"
        "bad = {'hwprices.publish', 'hwprices.providers', 'hwprices.stage', 'prefect', 'filelock'};"
        "sys.exit(', '.join(bad & set(sys.modules)) or 0)"
    )
    processes.python("-c", code)


@pytest.mark.parametrize("root", ["sample", sample_root()], ids=["word", "path"])
def test_the_release_of_the_program_was_never_collected(root):
    line = "^the release that comes with the program was never collected, and has no status"
    with pytest.raises(HwpricesError, match=line):
        read_status.read(root)
