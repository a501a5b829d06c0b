"""The errors that the formats share: a file that cannot be written, a table named twice."""

from collections.abc import Sequence
from pathlib import Path

from hwprices.errors import HwpricesError

REMEDIES = {
    NotADirectoryError: "A part of the path is a file: name another folder.",
    FileExistsError: "A part of the path is a file: name another folder.",
    IsADirectoryError: "This is a folder: name a file.",
    PermissionError: "Name a folder that you may write to.",
}
"""What to do about an error of the system; of others see ``cannot_write``."""


def cannot_write(path: Path, cause: object) -> HwpricesError:
    """Say that a file cannot be written, and why: the first line of the cause, and what to do."""
    reason = (cause.strerror or cause) if isinstance(cause, OSError) else cause
    first = str(reason).strip().split("\n")[0]
    remedies = (text for kind, text in REMEDIES.items() if isinstance(cause, kind))
    remedy = next(remedies, "Make room there, or name another folder.")
    if not path.parent.exists():
        remedy = "Make the folder first, or name another."
    return HwpricesError(f"cannot write {path}: {first}", remedy)


def check_once(tables: Sequence[str]) -> None:
    """Refuse a table that is named twice.

    Raises:
        HwpricesError: one is.
    """
    for name in tables:
        if tables.count(name) > 1:
            raise HwpricesError(f"table {name} is named twice", "Name each table once.")
