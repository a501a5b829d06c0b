"""The error of a file that is written for other programs and cannot be written."""

from pathlib import Path

from hwprices.errors import HwpricesError


def cannot_write(path: Path, reason: object) -> HwpricesError:
    """Say that a file cannot be written, and why: the first line of the reason."""
    first = str(reason).strip().split("\n")[0]
    return HwpricesError(
        f"cannot write {path}: {first}", "Make room there, or name another folder."
    )
