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
from tests.helpers import processes, toy_provider
from tests.helpers.nightly import only_at_night

TOY_README = "src/hwprices/providers/toycloud/README.md"
OTHER = "lambda"  # The provider that is released beside the toy

ANSWERS = f"""
import json, sys
from datetime import UTC, datetime
from typer.testing import CliRunner
from hwprices.cli import app
from hwprices.collect import Collector
from hwprices.publish import release
from hwprices.settings import load
from hwprices.stage import stage_run
from hwprices.storage.store import Store

settings = load(root=sys.argv[1], source="sample")
for name in ("toycloud", "{OTHER}"):
    with Collector(name, settings) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        stage_run(settings, collector.record(datetime.now(UTC), results))
release.publish(Store(sys.argv[1]))
results = {{name: CliRunner().invoke(app, words) for name, words in json.load(sys.stdin).items()}}
assert all(result.exit_code == 0 for result in results.values()), results
print(json.dumps({{name: result.stdout for name, result in results.items()}}))
"""
"""Make a release, and ask it the commands of the input. One process: each imports all anew."""

PRICES = (
    "select region, instance_type, purchase_option, hourly from prices "
    "where provider = 'toycloud' order by all"
)
OFFERS = (
    "select accelerator_id, usd_per_accelerator_hour from offers "
    "where accelerator_count = 1 and provider = 'toycloud'"
)
REFUSED = "select reason, word, message from quarantine where provider = 'toycloud'"

COMMANDS = {
    "prices": ["query", PRICES, "--json"],
    "offers": ["query", OFFERS, "--json"],
    "refused": ["query", REFUSED, "--json"],
    "show": ["show"],
    "explain": ["explain", "gpu-h100-1", "--region", "eu-1", "--option", "on_demand"],
    "device": ["device", "nvidia-h100-sxm5-80gb", "--json"],
}
"""Commands that are asked of the release."""

CONTRACT = "tests/providers/test_contract.py"
FAULTS = "tests/providers/test_faults.py"
DOCS = "tests/docs/test_docs.py"
pytestmark = pytest.mark.slow


def tracked_files(project: Path) -> list[str]:
    """List the files of the checkout as git sees them, links not followed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = processes.run(*command, cwd=project).stdout.splitlines()
    return [name for name in names if (project / name).exists()]


def run(
    tree: Path, *command: str, check: bool = True, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python in the tree, with the tree's own hwprices."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HWPRICES_")}
    environment["PYTHONPATH"] = str(tree / "src")
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment,
        input=stdin,
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
def answers(tree: Path) -> dict[str, str]:
    """Make a release of the toy and one other provider, and ask it all commands."""
    root = str(tree / "data/local")
    commands = {name: [*words, "--root", root] for name, words in COMMANDS.items()}
    done = run(tree, "-c", ANSWERS, root, stdin=json.dumps(commands))
    printed: dict[str, str] = json.loads(done.stdout)
    return printed


def test_it_is_a_folder_a_sheet_of_names_and_a_sample() -> None:
    """What a new provider has to touch; a cloud on a web page needs its price sheet only."""
    places = ("src/hwprices/providers/toycloud/", "tools/sample/", "data/specs/accelerator_names/")
    assert [name for name in toy_provider.files() if not name.startswith(places)] == []


def test_its_prices_are_in_the_release(answers: dict[str, str]) -> None:
    rows = [tuple(row.values()) for row in json.loads(answers["prices"])]
    assert [(*names, float(price)) for *names, price in rows] == [
        ("eu-1", "cpu-8", "on_demand", 0.2),
        ("eu-1", "gpu-h100-1", "on_demand", 2.49),
        ("eu-1", "gpu-h100-1", "spot", 1.4),
        ("us-1", "cpu-8", "on_demand", 0.18),
    ]


def test_its_offers_are_joined_with_the_spec_sheets(answers: dict[str, str]) -> None:
    rows = json.loads(answers["offers"])
    assert [row["accelerator_id"] for row in rows] == ["nvidia-h100-sxm5-80gb"]
    assert float(rows[0]["usd_per_accelerator_hour"]) == 2.49


def test_what_it_refused_is_in_quarantine(answers: dict[str, str]) -> None:
    (refused,) = json.loads(answers["refused"])
    assert (refused["reason"], refused["word"]) == ("unknown_price_type", "loyalty")
    assert "TC-104" in refused["message"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("show", ["toycloud"]),
        ("explain", ["TC-102", "payg", "2.49"]),  # only the landed page has "payg"
        ("device", ["toycloud", "gpu-h100-1"]),  # 2.49 USD is less than Lambda asks
    ],
)
def test_commands_show_the_new_provider(answers, command, words) -> None:
    text = answers[command].lower().replace(" ", "")
    assert [word for word in words if word.lower() not in text] == []


@pytest.fixture
def readme_without_settings(tree: Path) -> Iterator[None]:
    """Take the setting out of the toy's README for one test."""
    readme = tree / TOY_README
    text = readme.read_text()
    readme.write_text(text.replace("| `HWPRICES_TOYCLOUD_URL`", "| `HWPRICES_OTHER`"))
    yield
    readme.write_text(text)


def run_tests(tree: Path, *tests: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run some tests of the tree, and list each with its outcome."""
    return run(tree, "-m", "pytest", "-q", "-rA", "-p", "no:xdist", *tests, check=check)


@pytest.fixture(scope="module")
def outcomes(tree: Path) -> list[str]:
    """Run its tests of README, contract and faults; return a line for each, outcome first."""
    choice = "toycloud and (readme or test_contract or test_faults)"
    printed = run_tests(tree, DOCS, CONTRACT, FAULTS, "-k", choice, check=False).stdout
    return [line for line in printed.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]


@pytest.mark.parametrize("file", [DOCS, CONTRACT, FAULTS])
def test_its_readme_its_contract_and_faults_of_a_server_are_checked(file, outcomes) -> None:
    of_file = [line for line in outcomes if file in line]
    assert of_file
    assert [line for line in of_file if not line.startswith("PASSED")] == []


@pytest.mark.usefixtures("readme_without_settings")
def test_a_setting_missing_in_its_readme_is_reported(tree: Path) -> None:
    done = run_tests(tree, DOCS, "-k", "readme and toycloud", check=False)
    assert (done.returncode, "1 failed" in done.stdout) == (1, True), done.stdout
    assert "HWPRICES_TOYCLOUD_URL" in done.stdout


@only_at_night("runs a part of the suite once more")
def test_the_tests_of_settings_and_sheets_pass_with_it(tree: Path) -> None:
    files = (
        "tests/test_settings.py",
        "tests/specs/test_sheets.py",
        "tests/tools/test_spec_lint.py",
    )
    done = run_tests(tree, *files, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_directions_hold_with_it(tree: Path) -> None:
    check = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = run(tree, "-c", check, "--no-cache", check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
