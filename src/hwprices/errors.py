"""Errors of one line with a remedy, escaped hidden characters, and spelling suggestions.

Texts come from vendors and from the authors of datasets. None may move the cursor, change colors or
hide part of a line.
"""

import difflib
import importlib.metadata
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories: control, format, surrogate, private use, unassigned, line and paragraph
separator. https://www.unicode.org/reports/tr44/#General_Category_Values"""


def escaped(text: str) -> str:
    r"""Escape hidden characters as Python does: ESC becomes ``\x1b``. Line breaks stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_escaped_character(character) for character in text)


def _escaped_character(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()


class HwpricesError(Exception):
    """An error that the user can fix. ``str()`` returns one line: what went wrong, then the remedy.

    ``message`` names the file or endpoint and never holds a credential; ``remedy`` says what to do.
    Both may quote text from outside, so hidden characters are escaped.
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
    """Something the user should know about an answer that is returned anyway."""


class FetchError(HwpricesError):
    """A page could not be downloaded, even after retries."""


class TooLargeError(HwpricesError):
    """A file is larger than the limit for reading it."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error, up to 300 characters.

    Later lines are not part of the message: obstore appends a debug dump, DuckDB points into the
    query.
    """
    return str(error).strip().split("\n")[0][:300]


WRITE_REMEDIES = {
    NotADirectoryError: "A part of the path is a file: name another folder.",
    FileExistsError: "A part of the path is a file: name another folder.",
    IsADirectoryError: "This is a folder: name a file.",
    PermissionError: "Name a folder that you may write to.",
}
"""Remedies for system errors; ``cannot_write`` has the one for all others."""


def cannot_write(path: Path, cause: object) -> HwpricesError:
    """Make the error for a file that cannot be written, with the first line of the cause."""
    reason = (cause.strerror or cause) if isinstance(cause, OSError) else cause
    first = str(reason).strip().split("\n")[0]
    remedies = (text for kind, text in WRITE_REMEDIES.items() if isinstance(cause, kind))
    remedy = next(remedies, "Make room there, or name another folder.")
    if not path.parent.exists():
        remedy = "Make the folder first, or name another."
    return HwpricesError(f"cannot write {path}: {first}", remedy)


def install_command(extra: str = "") -> str:
    """Return the command that installs this program, with an extra, from its original source.

    hwprices is not on a package index: a plain ``pip install hwprices`` would run whatever somebody
    else has published under the name.
    """
    extras = f"[{extra}]" if extra else ""
    url = _installed_from()
    target = f"hwprices{extras} @ {url}" if url else f"/path/to/checkout{extras}"
    return f"pip install {target!r}"


def _installed_from() -> str:
    """Return the URL that pip installed from (PEP 610); empty if unknown."""
    try:
        text = importlib.metadata.distribution("hwprices").read_text("direct_url.json")
        origin = json.loads(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""
    vcs = origin.get("vcs_info", {}).get("vcs", "")
    return f"{vcs}+{origin['url']}" if vcs else str(origin.get("url", ""))


MAX_SUGGESTIONS = 6


def near(word: str, choices: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """List the choices that are spelled most like the word, closest first."""
    by_spelling = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_spelling, MAX_SUGGESTIONS, cutoff)
    return [by_spelling[spelling] for spelling in close]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Suggest the closest names as a question; empty if no name is close."""
    names = near(word, choices)
    return f"Did you mean {', '.join(names)}?" if names else ""
