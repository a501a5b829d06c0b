"""Write a generated document, or check that the committed one is up to date."""

import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def write_or_check(target: Path, text: str, arguments: list[str]) -> int:
    """Write ``text`` to ``target``; with ``--check`` among the arguments compare only.

    Returns the exit status: 1 where the file is not what would be written.
    """
    if "--check" not in arguments:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return 0
    name = target.relative_to(PROJECT) if target.is_relative_to(PROJECT) else target
    sys.stderr.write(f"error: {name} is out of date: run make docs and commit it\n")
    return 1
