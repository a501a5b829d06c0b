"""Check that a new provider is a folder, a sample and a sheet of names, and edits no list.

A copy of the tree gets the files of tests/helpers/toy_provider and no other change. Everything then
runs in that copy, in processes of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers import toy_provider

TOY_README = "src/hwprices/providers/toycloud/README.md"
OTHER = "gcp"
"""The provider that is released beside the toy."""

MAKE_RELEASE = f"""
import sys
from datetime import UTC, datetime
from hwprices.collect.collector import Collector
from hwprices.publish import release
from hwprices.settings import load
from hwprices.stage.stage import stage_run
from hwprices.storage.store import Store

settings = load(root=sys.argv[1], source="sample")
for name in ("toycloud", "{OTHER}"):
    with Collector(name, settings) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        stage_run(settings, collector.record(datetime.now(UTC), results))
release.publish(Store(sys.argv[1]))
"""

COMMAND = "from hwprices.cli import main; main()"

pytestmark = pytest.mark.slow


def tracked_files(project: Path) -> list[str]:
    """List the files of the checkout as git sees them, links not followed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    names = listed.stdout.splitlines()
    return [name for name in names if (project / name).exists()]


def run(tree: Path, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Python in the tree, with the tree's own hwprices."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HWPRICES_")}
    environment["PYTHONPATH"] = str(tree / "src")
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def tree(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the checkout, add the toy provider, and write its sample."""
    tree = tmp_path_factory.mktemp("tree")
    for name in tracked_files(project):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project / name, tree / name, follow_symlinks=False)
    for name in toy_provider.files():
        assert not (tree / name).exists(), f"{name} is a file of the project, not a new one"
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(toy_provider.FOLDER / name, tree / name)
    run(tree, "-m", "tools.sample.toycloud")
    return tree


@pytest.fixture(scope="module")
def root(tree: Path) -> Path:
    """Make a release of the toy and one other provider."""
    root = tree / "data/local"
    run(tree, "-c", MAKE_RELEASE, str(root))
    return root


def command(tree: Path, root: Path, *arguments: str) -> str:
    """Run ``hwprices`` on the release."""
    return run(tree, "-c", COMMAND, *arguments, "--root", str(root)).stdout


def test_its_prices_are_in_the_release(tree: Path, root: Path) -> None:
    sql = (
        "select region, instance_type, purchase_option, hourly from prices "
        "where provider = 'toycloud' order by all"
    )
    rows = [tuple(row.values()) for row in json.loads(command(tree, root, "query", sql, "--json"))]
    assert [(*names, float(price)) for *names, price in rows] == [
        ("eu-1", "cpu-8", "on_demand", 0.2),
        ("eu-1", "gpu-h100-1", "on_demand", 2.49),
        ("eu-1", "gpu-h100-1", "spot", 1.4),
        ("us-1", "cpu-8", "on_demand", 0.18),
    ]


def test_its_offers_are_joined_with_the_spec_sheets(tree: Path, root: Path) -> None:
    sql = "select accelerator_id, usd_per_accelerator_hour from offers where accelerator_count = 1"
    rows = json.loads(command(tree, root, "query", f"{sql} and provider = 'toycloud'", "--json"))
    assert [row["accelerator_id"] for row in rows] == ["nvidia-h100-sxm5-80gb"]
    assert float(rows[0]["usd_per_accelerator_hour"]) == 2.49


def test_what_it_refused_is_in_quarantine(tree: Path, root: Path) -> None:
    sql = "select reason, message from quarantine where provider = 'toycloud'"
    refused = json.loads(command(tree, root, "query", sql, "--json"))
    assert refused == [{"reason": "unknown_price_type", "message": "billing is loyalty"}]


def test_show_lists_it(tree: Path, root: Path) -> None:
    shown = command(tree, root, "show").lower().replace(" ", "")
    assert "toycloud" in shown


def test_explain_leads_to_the_line_of_its_price_list(tree: Path, root: Path) -> None:
    explained = command(
        tree, root, "explain", "gpu-h100-1", "--region", "eu-1", "--option", "on_demand"
    )
    assert "TC-102" in explained
    assert "payg" in explained  # only the landed page has this word
    assert "2.49" in explained


def test_device_counts_it_among_the_clouds_that_sell_an_h100(tree: Path, root: Path) -> None:
    answer = command(tree, root, "device", "nvidia-h100-sxm5-80gb", "--json")
    assert "toycloud" in answer
    assert "gpu-h100-1" in answer  # 2.49 USD is less than Google Cloud asks


@pytest.fixture
def readme_without_settings(tree: Path) -> Iterator[None]:
    """Take the setting out of the toy's README for one test."""
    readme = tree / TOY_README
    text = readme.read_text()
    readme.write_text(text.replace("| `HWPRICES_TOYCLOUD_URL`", "| `HWPRICES_OTHER`"))
    yield
    readme.write_text(text)


def check_readme(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run the test of its README in the tree."""
    return run_tests(tree, "tests/docs/test_docs.py", "-k", "readme and toycloud", check=False)


def run_tests(tree: Path, *tests: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run some tests of the tree."""
    return run(tree, "-m", "pytest", "-q", "-p", "no:xdist", *tests, check=check)


def test_its_settings_are_checked_against_its_readme(tree: Path) -> None:
    done = check_readme(tree)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.usefixtures("readme_without_settings")
def test_a_setting_missing_in_its_readme_is_reported(tree: Path) -> None:
    done = check_readme(tree)
    assert (done.returncode, "1 failed" in done.stdout) == (1, True), done.stdout
    assert "HWPRICES_TOYCLOUD_URL" in done.stdout


def test_the_contract_holds_for_it(tree: Path) -> None:
    done = run_tests(tree, "tests/providers/test_contract.py", "-k", "toycloud")
    assert " passed" in done.stdout
    assert " failed" not in done.stdout


def test_it_is_tried_with_the_faults_of_a_server(tree: Path) -> None:
    done = run_tests(tree, "tests/providers/test_faults.py", "-k", "toycloud")
    assert " passed" in done.stdout
    assert " failed" not in done.stdout


@pytest.mark.skipif(
    os.environ.get("HWPRICES_NIGHTLY") != "1",
    reason="runs a part of the suite once more: set HWPRICES_NIGHTLY=1 to run it",
)
def test_the_tests_of_settings_and_sheets_pass_with_it(tree: Path) -> None:
    run_tests(
        tree,
        "tests/test_settings.py",
        "tests/specs/test_sheets.py",
        "tests/tools/test_spec_lint.py",
    )


def test_import_directions_hold_with_it(tree: Path) -> None:
    check = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = run(tree, "-c", check, "--no-cache", check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
