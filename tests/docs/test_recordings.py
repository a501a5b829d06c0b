"""Check that every recording says where it is from."""

import fnmatch
import re
from pathlib import Path


def test_every_recording_is_described(project: Path) -> None:
    """In the table of a README in its folder or above; a row may use ``*`` and ``<region>``."""
    folder = project / "tests/recordings"
    patterns = [
        f"{readme.parent.relative_to(folder).as_posix()}/{re.sub(r'<[^>]+>', '*', file)}"
        for readme in folder.rglob("README.md")
        for file in re.findall(r"^\| `([^`]+)`", readme.read_text(), re.M)
    ]
    patterns = [pattern.removeprefix("./") for pattern in patterns]
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "README.md"]
    names = [path.relative_to(folder).as_posix() for path in files]
    undescribed = [n for n in names if not any(fnmatch.fnmatch(n, p) for p in patterns)]
    assert undescribed == []
