"""Keep stdout usable: every character can be written, and a full disk is an error of one line."""

import codecs
import errno
import io
import os
import sys

from hwprices.errors import HwpricesError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a file gives that takes no more: disk full, quota, longest file, hardware."""


def prepare() -> None:
    """Let stdout and stderr take every character, in UTF-8 where they are not a terminal.

    A terminal with another encoding shows what it cannot write as a question mark, and so does
    a stream for which the user has set PYTHONIOENCODING. A stream that is closed takes everything
    and keeps nothing.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif not isinstance(stream, io.TextIOWrapper) or _is_utf8(stream):
            continue
        elif stream.isatty() or os.environ.get("PYTHONIOENCODING"):
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")


def _is_utf8(stream: io.TextIOWrapper) -> bool:
    return codecs.lookup(stream.encoding).name == "utf-8"


def error_of(cause: OSError) -> HwpricesError:
    """Report that stdout takes no more, and throw away what is left.

    Raises:
        OSError: the cause is another one.
    """
    if cause.filename is not None or cause.errno not in NO_ROOM:
        raise cause
    throw_away()
    return HwpricesError(
        f"the output cannot be written: {cause.strerror}", "Make room where it goes."
    )


def throw_away() -> None:
    """Throw away what is left to be written: Python would try it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
