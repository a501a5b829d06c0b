"""The errors that the formats share: a file that cannot be written, a table named twice."""

from collections.abc import Sequence
from pathlib import Path

from hwprices.errors import HwpricesError


def cannot_write(path: Path, reason: object) -> HwpricesError:
    """Say that a file cannot be written, and why: the first line of the reason."""
    first = str(reason).strip().split("\n")[0]
    return HwpricesError(
        f"cannot write {path}: {first}", "Make room there, or name another folder."
    )


def check_once(tables: Sequence[str]) -> None:
    """Refuse a table that is named twice.

    Raises:
        HwpricesError: one is.
    """
    for name in tables:
        if tables.count(name) > 1:
            raise HwpricesError(f"table {name} is named twice", "Name each table once.")
