"""Errors that a person can act on: what went wrong, where, and what to do."""

from hwprices.hidden_characters import escaped


class HwpricesError(Exception):
    """Something that a person can mend. ``str()`` gives one line: what went wrong, then the remedy.

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


def first_line(error: BaseException) -> str:
    """Return the first line of an error, up to 300 characters.

    The lines below it are no message: obstore's are a debug dump, DuckDB's point into the query.
    """
    return str(error).strip().split("\n")[0][:300]
