"""Check that docs/known-wrong-numbers.md names every entry and the test that holds it."""

import re
from pathlib import Path

import pytest

ENTRIES = {"G": 25, "A": 22, "Z": 10, "O": 12, "S": 12, "R": 4}
PARTS = ("Wrong", "Right", "Why")


def sections(project: Path) -> dict[str, str]:
    """Return the text of each entry by its id, with the test that its heading names for all."""
    text = (project / "docs/known-wrong-numbers.md").read_text()
    entries = {}
    for heading in re.split(r"^## ", text, flags=re.M):
        intro, *split = re.split(r"^### ([A-Z]\d+): ", heading, flags=re.M)
        shared = "".join(re.findall(r"^Test: .+$", intro, re.M))
        for number, entry in zip(split[::2], split[1::2], strict=True):
            entries[number] = entry if "\n- Test: " in entry else f"{entry}\n- {shared}"
    return entries


def test_every_entry_is_described(project: Path) -> None:
    numbered = [f"{letter}{n + 1}" for letter, count in ENTRIES.items() for n in range(count)]
    assert list(sections(project)) == numbered
    for number, text in sections(project).items():
        assert [part for part in PARTS if f"\n- {part}: " not in text] == [], number


@pytest.mark.parametrize("number", sections(Path(__file__).parents[2]))
def test_a_test_names_the_entry(number: str, project: Path) -> None:
    """A test in the folder has the id in its name (``test_g1_…``) or in its text."""
    statement = sections(project)[number].partition("\n- Test: ")[2]
    folder = re.match(r"`(tests/[\w/]+)`", statement)
    assert folder, statement
    texts = [path.read_text() for path in (project / folder[1]).rglob("test_*.py")]
    words = re.compile(rf"\b{number}\b|def test_(\w+_)?{number.lower()}_")
    assert any(words.search(text) for text in texts), f"no test in {folder[1]} names {number}"


def test_the_named_folders_exist(project: Path) -> None:
    text = (project / "docs/known-wrong-numbers.md").read_text()
    for folder in re.findall(r"`(tests/[\w/]+)`", text):
        assert (project / folder).is_dir(), folder
