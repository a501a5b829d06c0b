"""Documentation that follows the code."""

import re

import pytest

from hwprices import providers
from hwprices.settings import describe


def test_the_readme_lists_every_setting(project):
    readme = (project / "README.md").read_text()
    for variable, default, meaning in describe():
        assert f"| `{variable}` | {default} | {meaning} |" in readme


@pytest.mark.parametrize("name", providers.names())
def test_each_providers_readme_lists_its_settings(name, project):
    """The settings of a provider are documented in its own folder, so that a new one edits no list."""
    readme = (project / "src/hwprices/providers" / name / "README.md").read_text()
    assert readme.startswith(f"# {providers.get(name).about.title}\n")
    for variable, default, meaning in describe(providers.get(name).settings_class):
        assert f"| `{variable}` | {default} | {meaning} |" in readme


def test_links_lead_somewhere(project):
    for document in [project / "README.md", *(project / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_commands_of_the_readme_exist(project):
    readme, makefile = (project / "README.md").read_text(), (project / "Makefile").read_text()
    for target in set(re.findall(r"(?:^|`)make ([a-z]+)", readme, re.M)):
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target}"


def test_nothing_names_the_machine_it_was_made_on(project):
    import subprocess

    files = subprocess.run(
        ["git", "ls-files"], cwd=project, capture_output=True, text=True, check=False
    ).stdout.split()
    for name in files:
        path = project / name
        if path.is_file() and path.stat().st_size < 2_000_000:
            text = path.read_text(errors="ignore")
            assert not re.search(r"/(?:home|root|Users)/[a-z]+/|/wor" + r"k/", text), name
