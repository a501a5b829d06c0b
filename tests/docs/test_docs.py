"""Check that the documentation agrees with the code."""

import re
import subprocess
from pathlib import Path

import pytest

from hwprices import providers

PRIVATE_PATH = re.compile(r"/(?:home|root|Users)/[a-z]+/|/wor" + r"k/")
"""A path that exists on one machine only."""

MAX_TEXT_FILE = 2_000_000


def tracked_files(project: Path) -> list[Path]:
    """List the files that git knows."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return [project / name for name in listed.stdout.splitlines() if (project / name).is_file()]


def documents(project: Path) -> list[Path]:
    """List every Markdown file of the project, data and toy provider aside."""
    skipped = (project / "data", project / "tests/helpers")
    files = [path for path in tracked_files(project) if path.suffix == ".md"]
    return [path for path in files if not any(path.is_relative_to(folder) for folder in skipped)]


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
    missing = [t for t in sorted(targets) if not re.search(rf"^{t}:", makefile, re.M)]
    assert missing == []


def test_no_file_names_a_path_of_one_machine(project: Path) -> None:
    for path in tracked_files(project):
        if path.stat().st_size < MAX_TEXT_FILE:
            assert not PRIVATE_PATH.search(path.read_text(errors="ignore")), path
