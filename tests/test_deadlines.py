"""No test depends on how fast the machine is."""

import re
from pathlib import Path

import hypothesis

DEADLINE = re.compile(r"\bdeadline\s*=\s*(?!None\b)\S+")


def test_property_tests_have_no_deadline(project: Path) -> None:
    """The profile of tests/conftest.py is loaded, and no test sets a deadline of its own."""
    assert hypothesis.settings().deadline is None
    property_tests = [
        path
        for path in (project / "tests").rglob("*.py")
        if path.name != Path(__file__).name and "hypothesis" in path.read_text()
    ]
    assert len(property_tests) > 10
    found = {str(path): DEADLINE.findall(path.read_text()) for path in property_tests}
    assert {path: deadlines for path, deadlines in found.items() if deadlines} == {}
