"""What people see of strings: text whose characters all show themselves, and how much of a string it is."""

from __future__ import annotations

import re
import unicodedata

from sordino_analysis.text_codes.reading import End, ReadBits
from sordino_shared._text import is_legible

_NO_TEXT = "(no text)"
_KINDS = {End.ENDED: "string", End.OPEN: "begins with", End.NO_TEXT: "no text"}
# Of no character, and of none that every font knows.
_UNKNOWN = ("Cf", "Cn", "Co")
# What a shown number begins with: a text that has it itself is told from one with the character.
_NUMBER = "<U+"
_SHOWN_NUMBER = re.compile(r"<U\+([0-9A-F]{4,6})>")


def kind_of(read: ReadBits) -> str:
    """Whether it is a whole string, what strings begin with, or no text."""
    return _KINDS[read.end]


def label_of(read: ReadBits) -> str:
    """The text, with invisible characters by their numbers; of a beginning also the bits of the piece that is cut.

    No two values of a code have the same label and kind.
    """
    if read.end is End.NO_TEXT:
        return _NO_TEXT
    if read.end is not End.OPEN:
        return legible(read.shown)
    return f"{legible(read.shown)}…{f'[{read.cut}]' if read.cut else ''}"


def legible(text: str) -> str:
    """The text with invisible characters, and those that change the direction, written as <U+202E>."""
    plain = text.replace(_NUMBER, f"{_written('<')}U+")
    return "".join(_written(each) if _hides(each) else each for each in plain)


def text_of(label: str) -> str:
    """The text of the label of a whole string."""
    return _SHOWN_NUMBER.sub(lambda found: chr(int(f"0x{found[1]}", 0)), label)


def _written(character: str) -> str:
    return f"{_NUMBER}{ord(character):04X}>"


def _hides(character: str) -> bool:
    category = unicodedata.category(character)
    return not is_legible(character) or category in _UNKNOWN or (category == "Zs" and character != " ")
