"""Check that docs/a-provider.md shows the files of the toy provider as they are."""

import re
from pathlib import Path

from tests.helpers import toy_provider

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
