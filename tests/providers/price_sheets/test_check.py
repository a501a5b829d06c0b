"""``hwprices admin sheets``: what is refused, what is worth knowing, and what changed."""

import json
from pathlib import Path

import pytest
from tests.providers.price_sheets.test_sheet import GOOD
from typer.testing import CliRunner

from hwprices.cli import app
from hwprices.providers import price_sheets

runner = CliRunner()


@pytest.fixture
def edited(tmp_path: Path):
    """Write an edited copy of CoreWeave's sheet."""

    def write(*edits: tuple[str, str], name: str = "coreweave") -> Path:
        text = price_sheets.sheet_file("coreweave").read_text()
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / f"{name}.csv"
        file.write_text(text)
        return file

    return write


def check(file: Path, *options: str) -> tuple[int, str]:
    done = runner.invoke(app, ["sheets", str(file), "--root", str(file.parent), *options])
    return done.exit_code, done.output


def test_the_sheet_of_the_project_has_no_changes() -> None:
    status, output = check(price_sheets.sheet_file("coreweave"))
    assert status == 0
    assert "coreweave: can be used" in output
    assert "no changes" in output


def test_a_changed_price_is_shown_with_both_figures(edited) -> None:
    status, output = check(edited(("$49.24", "$45.00")), "--json")
    report = json.loads(output)
    assert status == 0
    assert [(tuple(c["key"]), c["before"], c["after"]) for c in report["changes"]] == [
        ((region, "NVIDIA HGX H100", "on_demand"), "49.24 USD per machine", "45.00 USD per machine")
        for region in ("europe", "north-america")
    ]


def test_a_price_that_became_words_or_went_away_is_shown(edited) -> None:
    line = next(
        text
        for text in price_sheets.sheet_file("coreweave").read_text().splitlines()
        if text.startswith("na/l40s/spot")
    )
    _, output = check(edited(("$42.00", "Contact sales"), (f"{line}\n", "")), "--json")
    after = {tuple(change["key"]): change["after"] for change in json.loads(output)["changes"]}
    assert after == {
        ("europe", "NVIDIA GB200 NVL72", "on_demand"): "contact_sales",
        ("north-america", "NVIDIA GB200 NVL72", "on_demand"): "contact_sales",
        ("north-america", "NVIDIA L40S", "spot"): "-",
    }


def test_a_refused_line_is_named_and_is_exit_status_1(edited) -> None:
    status, output = check(edited((GOOD["license"] + ",\n", ",\n")))
    assert status == 1
    assert "coreweave: cannot be used" in output
    assert "refused: line 6: license is empty" in output


def test_a_stale_sheet_and_a_gpu_without_a_spec_sheet_are_noted(edited) -> None:
    _, output = check(edited(("2026-08-22", "2026-01-02")), "--json")
    notes = " ".join(json.loads(output)["notes"])
    assert "stale: the oldest line was read on 2026-01-02" in notes
    assert "no spec sheet for NVIDIA A100" in notes


def test_a_form_factor_that_is_not_the_spec_sheets_is_noted(edited) -> None:
    _, output = check(edited(("NVIDIA L40S,pcie", "NVIDIA L40S,sxm")), "--json")
    assert "NVIDIA L40S is sxm, but nvidia-l40s is pcie" in json.loads(output)["notes"]


def test_a_new_cloud_has_nothing_to_compare_with(edited) -> None:
    status, output = check(edited(name="newcloud"))
    assert status == 0
    assert "an earlier sheet is missing" in output
    assert "accelerator_names/newcloud.csv is missing" in output


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    status, output = check(tmp_path / "nothing.csv")
    assert status == 2
    assert "cannot be read" in output


def test_pages_read_long_ago_are_listed_with_their_figures() -> None:
    done = runner.invoke(app, ["admin", "sheets", "--json"])
    pages = {(page["provider"], page["page"]): page for page in json.loads(done.output)}
    page = pages["lambda", "https://lambda.ai/pricing"]
    assert page["due"] == (page["days"] > 60)
    assert "8 NVIDIA H100 SXM: 3.99 USD per gpu" in page["figures"]
    drawn = runner.invoke(app, ["admin", "sheets"]).output
    assert all((page["page"] in drawn) == page["due"] for page in pages.values())
