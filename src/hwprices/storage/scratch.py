"""Make directories for files that are needed for a moment, and find those of killed processes."""

import os
import re
import shutil
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

PREFIX = "hwprices-scratch-"
"""How the names of these directories begin; the number of the process follows."""

_NAME = re.compile(re.escape(PREFIX) + r"(\d+)-[a-z0-9_]{8}")  # The eight characters are tempfile's


def scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a directory in the system's folder for temporary files; leaving it deletes it.

    Raises:
        OSError: the folder for temporary files is missing or full.
    """
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def delete_left(at: datetime, age: timedelta) -> int:
    """Delete this user's directories of processes that have ended; return their number.

    See ``left`` for ``at`` and ``age``.
    """
    deleted = 0
    for path in left(at, age):
        with suppress(OSError):
            shutil.rmtree(path)
            deleted += 1
    return deleted


def left(at: datetime, age: timedelta) -> list[Path]:
    """List this user's directories of processes that have ended.

    ``at`` is now. A directory younger than ``age`` is left out: in a folder that containers share,
    the number of another container's process says nothing.
    """
    directories: list[Path] = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        name = _NAME.fullmatch(path.name)
        if name is None or _is_running(int(name[1])):
            continue
        with suppress(OSError):
            state = path.lstat()
            is_own = state.st_uid == os.getuid() if hasattr(os, "getuid") else True
            is_old = at - datetime.fromtimestamp(state.st_mtime, UTC) > age
            if is_own and is_old and path.is_dir() and not path.is_symlink():
                directories.append(path)
    return directories


def _is_running(process: int) -> bool:
    if os.name == "nt":  # os.kill would end the process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
