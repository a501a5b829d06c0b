"""Check workflows, issue forms and the citation against their schemas, without network."""

import re
from pathlib import Path

import pytest
import yaml
from tests.helpers import processes

SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "custom.github-workflows-require-timeout": ".github/workflows/*.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.citation-file-format": "CITATION.cff",
}
"""Schemas that check-jsonschema brings along, and the files they are for."""


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_their_schema(schema: str, project: Path) -> None:
    files = sorted(str(path) for path in project.glob(SCHEMAS[schema]))
    assert files
    options = ("--builtin-schema", schema, "--default-filetype", "yaml")
    processes.python("-m", "check_jsonschema", *options, *files)


def test_tests_run_on_every_python_that_is_declared(project: Path) -> None:
    workflow = yaml.safe_load((project / ".github/workflows/tests.yml").read_text())
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    declared = re.findall(
        r"Programming Language :: Python :: (3\.\d+)", (project / "pyproject.toml").read_text()
    )
    assert set(declared) <= set(matrix)


def test_every_test_with_a_long_form_runs_at_night(project: Path) -> None:
    """A file that uses tests/helpers/nightly.py is below a path that the workflow gives pytest."""
    workflow = yaml.safe_load((project / ".github/workflows/nightly-tests.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "HWPRICES_NIGHTLY" in step.get("env", {})]
    paths = [
        project / word for line in commands for word in line.split() if word.startswith("tests/")
    ]
    assert [path for path in paths if not path.exists()] == []
    uses = re.compile("^from tests.helpers.nightly import ", re.MULTILINE)
    files = [path for path in project.glob("tests/**/test_*.py") if uses.search(path.read_text())]
    assert files
    missing = [file for file in files if not any(file.is_relative_to(path) for path in paths)]
    assert missing == []


def test_workflows_may_write_nothing_but_the_nightly_issue(project: Path) -> None:
    for path in (project / ".github/workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}, path.name
        rights = {
            right for job in workflow["jobs"].values() for right in job.get("permissions", {})
        }
        assert rights <= {"contents", "issues"}, path.name


def test_actions_are_pinned_to_a_commit(project: Path) -> None:
    """A tag can be moved to other code; the comment says which version the commit is."""
    pinned = re.compile(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    used = [
        line.split("uses:")[1].strip()
        for path in (project / ".github/workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert used
    assert [action for action in used if not pinned.fullmatch(action)] == []
    commits = {action.split("@")[0]: action for action in used}
    assert set(used) == set(commits.values()), "one version of each action"


def test_pyproject_and_citation_have_one_version(project: Path) -> None:
    citation = yaml.safe_load((project / "CITATION.cff").read_text())
    assert f'version = "{citation["version"]}"' in (project / "pyproject.toml").read_text()


def test_a_wrong_price_asks_for_what_is_needed_to_find_it(project: Path) -> None:
    form = yaml.safe_load((project / ".github/ISSUE_TEMPLATE/wrong-price.yml").read_text())
    required = {
        field["id"] for field in form["body"] if field.get("validations", {}).get("required")
    }
    assert required == {"price_id", "release", "figure", "vendor"}
