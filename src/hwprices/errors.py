"""The one error a person is meant to read: what went wrong, where, and what to do."""


class HwpricesError(Exception):
    """Something a person can mend. ``str()`` is one line: what, then the remedy.

    ``message`` names the file or endpoint and never holds a credential; ``remedy`` says what to do.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = " ".join(message.split())
        self.remedy = " ".join(remedy.split())

    def __str__(self) -> str:
        return (
            f"{self.message} {self.remedy}".strip()
            if self.message.endswith((".", "!", "?")) or not self.remedy
            else f"{self.message}. {self.remedy}"
        )
