"""Check that docs/known-wrong-numbers.md names every entry and the test that holds it."""

import re
from pathlib import Path

import pytest

ENTRIES = {"G": 25, "A": 22, "Z": 10, "O": 12, "S": 12, "R": 4}
PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs/known-wrong-numbers.md").read_text()


def folders() -> dict[str, str]:
    """Return the folder of each entry's test by its id: the row's own, or that of its table."""
    found = {}
    for section in PAGE.split("\n## "):
        (shared,) = re.findall(r"^Test: `(.+)`$", section, re.M) or [""]
        for number, right in re.findall(r"^\| ([A-Z]\d+) \| .+? \| (.+) \|$", section, re.M):
            found[number] = (re.findall(r"`(tests/[\w/]+)`", right) or [shared])[0]
    return found


def test_every_entry_is_described() -> None:
    numbered = [f"{letter}{n + 1}" for letter, count in ENTRIES.items() for n in range(count)]
    assert list(folders()) == numbered


@pytest.mark.parametrize(("number", "folder"), folders().items())
def test_a_test_names_the_entry(number: str, folder: str) -> None:
    """A test in the folder, or a case of it, has the id in its name (``test_g1_…``) or text."""
    files = [*(PROJECT / folder).rglob("test_*.py")]
    cases = re.sub("^tests(/providers)?", "tests/cases", folder)
    files += (PROJECT / cases).rglob("*.yaml")
    texts = [path.read_text() for path in files]
    words = re.compile(
        rf"\b{number}\b|def test_(\w+_)?{number.lower()}_|^(\w+-)?{number.lower()}-", re.M
    )
    assert any(words.search(text) for text in texts), f"no test in {folder} names {number}"


def test_the_named_folders_exist() -> None:
    for folder in re.findall(r"`(tests/[\w/]+)`", PAGE):
        assert (PROJECT / folder).is_dir(), folder
