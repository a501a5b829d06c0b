"""Read a JSON file of hundreds of megabytes a value at a time, in memory that does not grow with it.

Whoever iterates over an object or array must take each value (``value``, or another ``object_keys``/``array``) before going on.
"""

import json
from collections.abc import Iterator
from typing import IO, Any

from hwprices.errors import HwpricesError

CHUNK = 1 << 20  # characters; a savings-plan rate is about 400


class JsonStream:
    """A cursor over JSON text.

    Raises:
        HwpricesError: the text is not JSON, or ends early; from any method.
    """

    def __init__(self, text: IO[str], name: str) -> None:
        self._text = text
        self._name = name
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder()

    def object_keys(self) -> Iterator[str]:
        """Keys of the object at the cursor."""
        self._take("{")
        if self._peek() == "}":
            self._take("}")
            return
        while True:
            key = self.value()
            self._take(":")
            yield str(key)
            if self._take(",}") == "}":
                return

    def array(self) -> Iterator[None]:
        """One step for each element of the array at the cursor."""
        self._take("[")
        if self._peek() == "]":
            self._take("]")
            return
        while True:
            yield None
            if self._take(",]") == "]":
                return

    def value(self) -> Any:
        """The whole value at the cursor."""
        self._peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._buffer, self._at)
            except ValueError as error:
                if self._ended:
                    raise self._wrong(str(error)) from None
            else:
                if end < len(self._buffer) or self._ended:  # a number could go on in the next chunk
                    self._at = end
                    return found
            self._more()

    def _peek(self) -> str:
        """The next character that is not blank."""
        while True:
            while self._at < len(self._buffer):
                if not (character := self._buffer[self._at]).isspace():
                    return character
                self._at += 1
            if self._ended:
                raise self._wrong("it ends early")
            self._more()

    def _take(self, wanted: str) -> str:
        character = self._peek()
        if character not in wanted:
            raise self._wrong(f"{character!r} where one of {wanted!r} belongs")
        self._at += 1
        return character

    def _more(self) -> None:
        chunk = self._text.read(CHUNK)
        self._ended = not chunk
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0

    def _wrong(self, why: str) -> HwpricesError:
        return HwpricesError(
            f"{self._name} is not the JSON it should be: {why}", "Delete it and fetch again."
        )
