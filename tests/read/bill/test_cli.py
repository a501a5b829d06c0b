"""The command ``hwprices bill`` prints coverage first, and says which options belong together."""

import json
from pathlib import Path

import pytest
from tests.helpers import terminal
from tests.read.bill.test_real_bill import RECORDED


def run(*arguments: str) -> tuple[int, str, str]:
    result = terminal.run("bill", *arguments, root="sample")
    return result.exit_code, result.stdout, result.stderr


def test_check_prints_coverage_first_and_writes_all_lines(tmp_path: Path) -> None:
    out = tmp_path / "lines.csv"
    code, said, _ = run("check", str(RECORDED), "--nearest", "--out", str(out))
    assert code == 0
    assert "usage lines" in said.splitlines()[1]
    assert len(out.read_text().splitlines()) == 34


def test_both_actions_print_json() -> None:
    _, checked, _ = run("check", str(RECORDED), "--json")
    answer = json.loads(checked)
    assert answer["coverage"][0]["lines_checked"] == 1
    assert {row["class"] for row in answer["totals"]} == {
        "commitment",
        "no_price_then",
        "not_collected",
        "not_usage",
    }
    _, repriced, _ = run("reprice", str(RECORDED), "--on", "gcp,azure", "--json")
    assert [row["on"] for row in json.loads(repriced)["totals"]] == ["gcp", "azure"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", str(RECORDED), "--on", "gcp"),
        ("reprice", str(RECORDED), "--nearest"),
        ("reprice", str(RECORDED), "--on", "no-cloud"),
        ("check", "no.csv"),
        ("check", str(RECORDED), "--out", "lines.doc"),
    ],
)
def test_what_does_not_fit_is_one_line(arguments: tuple[str, ...]) -> None:
    code, _, error = run(*arguments)
    assert (code, error.count("error: ")) == (2, 1)
