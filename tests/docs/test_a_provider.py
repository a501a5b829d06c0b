"""Check that docs/a-provider.md shows the files of the toy provider as they are."""

import re
from pathlib import Path

from tests.helpers import toy_provider

SHOWN_BLOCK = re.compile(r"^`(\S+)`:\n\n```\w+\n(.*?)\n```$", re.M | re.S)
NOT_SHOWN = {
    "tools/sample/sources/toycloud_inventory.json",
    "tools/sample/sources/toycloud_prices_us-1.json",
}
"""Recorded answers like the one that is shown."""


def shown_files(project: Path) -> dict[str, str]:
    """Return the code blocks of the page by the file they show."""
    return dict(SHOWN_BLOCK.findall((project / "docs/a-provider.md").read_text()))


def test_code_blocks_are_the_files(project: Path) -> None:
    for name, block in shown_files(project).items():
        assert block == (toy_provider.FOLDER / name).read_text().rstrip("\n"), name


def test_every_file_is_shown(project: Path) -> None:
    assert set(toy_provider.files()) - NOT_SHOWN == set(shown_files(project))
