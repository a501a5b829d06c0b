"""The suite of measurements: goals, ratios against recorded ones, and scripts that fail."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
from bench import __main__ as suite
from bench import measure

COST = measure.Cost(seconds=3, cpu_seconds=4, megabytes=500)
BASELINE = measure.Cost(seconds=2, cpu_seconds=2, megabytes=100)


def row(**options):
    return measure.make_row("copy", "1 GB", COST, baseline=BASELINE, **options)


@pytest.mark.parametrize(
    ("goal", "is_met"),
    [
        (measure.Goal(ratio=1.5), True),
        (measure.Goal(ratio=1.4), False),
        (measure.Goal(ratio=1.5, megabytes=499), False),
        (measure.Goal(seconds=3, megabytes=500), True),
    ],
)
def test_a_goal_holds_if_all_its_parts_do(goal, is_met):
    made = row(goal=goal)
    assert (made.ratio, made.cpu_ratio, made.is_met) == (1.5, 2, is_met)
    assert ("NO" in measure.table([made])) is not is_met


def test_a_small_size_has_no_goal():
    assert row(goal=measure.Goal(ratio=1), is_small=True).is_met is None


def test_steps_take_turns_and_the_least_counts():
    calls = []
    costs = measure.compare({"a": (calls.append, 1), "b": (calls.append, 2)}, in_process=True)
    assert calls == [1, 2] * 3
    assert 0 <= costs["a"].cpu_seconds < 1


def test_a_step_runs_in_a_process_of_its_own():
    cost = measure.run_apart(measure.table, [])
    assert cost.result.startswith("| name")
    assert cost.megabytes > 1


def test_a_ratio_far_above_the_recorded_one_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "RECORDED", tmp_path / "recorded.json")
    suite.record({"files: copy": 2.0, "files: move": 1.0})
    suite.record({"other: read": 1.0})
    assert set(json.loads(suite.RECORDED.read_text())) == {
        "files: copy",
        "files: move",
        "other: read",
    }
    assert suite.slower({"files: copy": 3.2, "files: move": 1.5}, ["files"]) == []
    assert suite.slower({"files: copy": 3.4}, ["files"]) == [
        "files: move was not measured",
        "files: copy: 3.40 × its baseline, recorded are 2.00 ×",
    ]


@pytest.mark.parametrize(("again", "counts"), [(1.9, 1.9), (5.0, 4.0)])
def test_a_slower_script_is_run_once_more_and_the_lower_ratio_counts(
    tmp_path, monkeypatch, again, counts
) -> None:
    monkeypatch.setattr(suite, "RECORDED", tmp_path / "recorded.json")
    suite.record({"files: copy": 2.0, "other: read": 1.0})
    names = []

    def run(script, results, *, is_small):
        names.append(script)
        results.rows[script] = [measure.Row("copy", "1 MB", 1, ratio=1, cpu_ratio=again)]

    monkeypatch.setattr(suite, "run", run)
    results = suite.Results(
        {
            "files": [measure.Row("copy", "1 MB", 1, ratio=1, cpu_ratio=4.0)],
            "other": [measure.Row("read", "1 MB", 1, ratio=1.1)],
        }
    )
    suite.run_slower_again(results)
    assert names == ["files"]
    assert results.ratios() == {"files: copy": counts, "other: read": 1.1}
    assert bool(suite.slower(results.ratios(), results.rows)) is (counts == 4.0)


def test_a_script_that_fails_or_misses_stops_no_other(monkeypatch):
    def run(command, **_):
        script, file = command[2], command[4]
        missed = measure.Row(script, "1 GB", 3, goal="≤ 1 s", is_met=False)
        if script == "bench.b":
            Path(file).write_text(json.dumps(asdict(missed)) + "\n")
        return subprocess.CompletedProcess(command, returncode=1)

    monkeypatch.setattr(suite.subprocess, "run", run)
    results = suite.Results()
    for script in ("a", "b", "c"):
        suite.run(script, results, is_small=False)
    assert results.problems == [
        "a failed with exit code 1",
        "b: bench.b missed its goal",
        "c failed with exit code 1",
    ]
    assert [made.name for made in results.rows["b"]] == ["bench.b"]
