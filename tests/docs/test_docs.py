"""Check that the documentation agrees with the code."""

import fnmatch
import re
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers import processes, toy_provider
from tools import questions

import hwprices
from hwprices import providers

PRIVATE_PATH = re.compile(r"/(?:home|root|Users)/[a-z]+/|/wor" + r"k/")
"""A path that exists on one machine only."""

MAX_TEXT_FILE = 2_000_000


def tracked_files(project: Path) -> list[Path]:
    """List the files that git knows."""
    listed = processes.run("git", "ls-files", cwd=project).stdout.splitlines()
    return [project / name for name in listed if (project / name).is_file()]


def documents(project: Path) -> list[Path]:
    """List every Markdown file of the project; not data, the toy provider and templates."""
    skipped = (project / "data", project / "tests/helpers")
    files = [path for path in tracked_files(project) if path.suffix == ".md"]
    return [
        path
        for path in files
        if path.parent.name != "templates"
        and not any(path.is_relative_to(folder) for folder in skipped)
    ]


def assert_lists_settings(readme: str, settings: list[tuple[str, str, str]]) -> None:
    for variable, default, meaning in settings:
        assert f"| `{variable}` | {default} | {meaning} |" in readme, variable


@pytest.mark.parametrize("name", providers.names())
def test_each_providers_readme_lists_its_settings(name: str, project: Path) -> None:
    """Its own folder documents them, so that a new provider edits no list. Sheets share one."""
    provider = providers.get(name)
    folder = provider.package.rpartition(".")[2]
    readme = (project / "src/hwprices/providers" / folder / "README.md").read_text()
    title = f"# {provider.about.title}\n" if folder == name else "# Price sheets\n"
    assert readme.startswith(title)
    if provider.about.is_price_sheet:
        assert f"| `{name}` | {provider.about.title} |" in readme
    assert_lists_settings(readme, provider.own_settings)


def test_relative_links_lead_to_files(project: Path) -> None:
    for document in documents(project):
        text = re.sub(r"```.*?```", "", document.read_text(), flags=re.S)
        for target in re.findall(r"\]\((?!https?://|mailto:|#)([^)#]+)", text):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_in_the_text_exist(name: str, project: Path) -> None:
    makefile = (project / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", (project / name).read_text(), re.M))
    assert [t for t in sorted(targets) if not re.search(rf"^{t}:", makefile, re.M)] == []


def test_no_file_names_a_path_of_one_machine(project: Path) -> None:
    for path in tracked_files(project):
        if path.stat().st_size < MAX_TEXT_FILE:
            assert not PRIVATE_PATH.search(path.read_text(errors="ignore")), path


SHOWN_BLOCK = re.compile(r"^`(\S+)`:\n\n```\w+\n(.*?)\n```$", re.M | re.S)
SOURCES = "tools/sample/sources/"
"""Recorded answers, which the page names by a pattern."""


def shown_files(project: Path) -> dict[str, str]:
    """Return the code blocks of the page by the file they show."""
    return dict(SHOWN_BLOCK.findall((project / "docs/a-provider.md").read_text()))


def test_code_blocks_are_the_files(project: Path) -> None:
    for name, block in shown_files(project).items():
        assert block == (toy_provider.FOLDER / name).read_text().rstrip("\n"), name


def test_every_file_is_named(project: Path) -> None:
    text = (project / "docs/a-provider.md").read_text()
    files = [name for name in toy_provider.files() if not name.startswith(SOURCES)]
    assert [name for name in files if f"`{name}`" not in text] == []


PAGE = Path(__file__).parents[2] / "docs" / "history.md"


def test_the_sql_of_a_day_means_its_end_in_utc() -> None:
    """The price fell on 2025-06-23 at 13:18 UTC."""
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    of_a_day, removed = block.strip().removesuffix(";").split(";\n")
    assert "the first of October?" in of_a_day
    data = hwprices.open("sample")
    for day, next_day, usd in [
        ("2025-06-22", "2025-06-23", "98.32"),
        ("2025-06-23", "2025-06-24", "55.04"),
    ]:
        query = of_a_day.replace("2026-10-02 00:00:00+00", f"{next_day} 00:00:00+00")
        assert query.count(next_day) == 2, day
        assert data.duckdb.sql(query).fetchall() == [("us-east-1", Decimal(usd))]
    assert data.duckdb.sql(removed).columns[-1] == "valid_to"


def test_the_page_has_the_answers_of_the_commands_and_queries() -> None:
    assert questions.main(["--check"]) == 0


def test_every_recording_is_described(project: Path) -> None:
    """In the table of a README in its folder or above; a row may use ``*`` and ``<region>``."""
    folder = project / "tests/recordings"
    patterns = [
        f"{readme.parent.relative_to(folder).as_posix()}/{re.sub(r'<[^>]+>', '*', file)}"
        for readme in folder.rglob("README.md")
        for file in re.findall(r"^\| `([^`]+)`", readme.read_text(), re.M)
    ]
    patterns = [pattern.removeprefix("./") for pattern in patterns]
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "README.md"]
    names = [path.relative_to(folder).as_posix() for path in files]
    undescribed = [n for n in names if not any(fnmatch.fnmatch(n, p) for p in patterns)]
    assert undescribed == []
