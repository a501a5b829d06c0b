"""Errors in one line with their remedy, suggestions of near names, and text that hides nothing.

Texts come from vendors, or from whoever wrote a dataset: none may move the cursor, change colours
or hide a part of a line.
"""

import difflib
import importlib.metadata
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode's categories of these characters: control, format, surrogates, private use, unassigned,
and separators of lines and paragraphs.
https://www.unicode.org/reports/tr44/#General_Category_Values"""


def escaped(text: str) -> str:
    r"""Write hidden characters as Python would: ESC as ``\x1b``. Line breaks stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_escaped_character(character) for character in text)


def _escaped_character(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()


CHECKOUT = "/path/to/checkout"


class HwpricesError(Exception):
    """An error that the user can fix. ``str()`` returns one line: what went wrong, then the remedy.

    ``message`` names the file or endpoint and never holds a credential; ``remedy`` says what to do.
    Both may quote what came from outside: hidden characters are escaped.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = escaped(" ".join(message.split()))
        self.remedy = escaped(" ".join(remedy.split()))

    def __str__(self) -> str:
        """Join message and remedy, with a full stop between them."""
        if not self.remedy:
            return self.message
        separator = " " if self.message.endswith((".", "!", "?")) else ". "
        return f"{self.message}{separator}{self.remedy}"


class HwpricesWarning(UserWarning):
    """Something that a person should know of an answer that is given all the same."""


class FetchError(HwpricesError):
    """A page could not be downloaded, after all tries."""


class TooLargeError(HwpricesError):
    """A file has more bytes than are read of it."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error, up to 300 characters.

    The lines below it are not a message: obstore's are a debug dump, DuckDB's point into the query.
    """
    return str(error).strip().split("\n")[0][:300]


WRITE_REMEDIES = {
    NotADirectoryError: "A part of the path is a file: name another folder.",
    FileExistsError: "A part of the path is a file: name another folder.",
    IsADirectoryError: "This is a folder: name a file.",
    PermissionError: "Name a folder that you may write to.",
}
"""What to do about an error of the system; of others see ``cannot_write``."""


def cannot_write(path: Path, cause: object) -> HwpricesError:
    """Make the error of a file that cannot be written: first line of the cause and remedy."""
    reason = (cause.strerror or cause) if isinstance(cause, OSError) else cause
    first = str(reason).strip().split("\n")[0]
    remedies = (text for kind, text in WRITE_REMEDIES.items() if isinstance(cause, kind))
    remedy = next(remedies, "Make room there, or name another folder.")
    if not path.parent.exists():
        remedy = "Make the folder first, or name another."
    return HwpricesError(f"cannot write {path}: {first}", remedy)


def install_command(extra: str = "") -> str:
    """Return the command that installs this program, with an extra, from where it came.

    hwprices is on no package index: a bare ``pip install hwprices`` would run whatever somebody
    else has put there under the name.
    """
    with_extra = f"[{extra}]" if extra else ""
    url = _installed_from()
    target = f"hwprices{with_extra} @ {url}" if url else CHECKOUT + with_extra
    return f"pip install {target!r}"


def _installed_from() -> str:
    """Return the URL that pip was given (PEP 610); empty where it is not known."""
    try:
        text = importlib.metadata.distribution("hwprices").read_text("direct_url.json")
        origin = json.loads(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""
    vcs = origin.get("vcs_info", {}).get("vcs", "")
    return f"{vcs}+{origin['url']}" if vcs else str(origin.get("url", ""))


MAX_SUGGESTIONS = 6


def near(word: str, choices: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """List the choices that are spelled nearly like the word, the nearest first."""
    by_spelling = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_spelling, MAX_SUGGESTIONS, cutoff)
    return [by_spelling[spelling] for spelling in close]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Write a question with near names; empty if there is none."""
    names = near(word, choices)
    return f"Did you mean {', '.join(names)}?" if names else ""
