"""Show characters that steer a terminal, turn the direction of writing or show nothing.

Texts come from vendors, or from whoever wrote a dataset: none may move the cursor, change colours
or hide a part of a line.
"""

import unicodedata

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
