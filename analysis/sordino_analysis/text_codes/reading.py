"""From the bits of a code back to text, also where the bits end within a word."""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sordino_shared.domains.text_code import TextCode

# One word for each byte comes before those of tokens.
_BYTES = 256


class End(Enum):
    """How bits go on: with further words, not at all after END or after NONE, or as no device's code does."""

    OPEN = "open"
    ENDED = "ended"
    NO_TEXT = "no text"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class ReadBits:
    """The bytes of the whole words, how they end, and the `bits` of a cut word as digits."""

    text: bytes
    end: End
    bits: str = ""

    @property
    def shown(self) -> str:
        """The text; bytes that are no UTF-8 become escapes, and a character cut at an open end is left out."""
        text = self.text
        if self.end is End.OPEN:
            # An incremental decoder holds back the bytes of a character that has only begun.
            text = text[: len(text) - len(_begun(text))]
        return text.decode("utf-8", "backslashreplace")

    @property
    def cut(self) -> str:
        """What is known behind the shown text: the bytes of a character that has begun, and the bits of a word."""
        begun = _begun(self.text) if self.end is End.OPEN else b""
        return " ".join([*(f"{byte:02x}" for byte in begun), *([self.bits] if self.bits else [])])


@dataclass(frozen=True)
class CodeReader:
    """A code made ready to read many strings of bits."""

    code: TextCode

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        return {(self.code.lengths[place], word): place for place, word in enumerate(self.code.words)}

    @cached_property
    def _pieces(self) -> list[bytes]:
        return [bytes([byte]) for byte in range(_BYTES)] + list(self.code.tokens)

    def read(self, bits: int, count: int) -> ReadBits:
        """The first `count` bits of a code, as an integer."""
        places, word, length = list[int](), 0, 0
        for left in range(count - 1, -1, -1):
            word, length = word << 1 | bits >> left & 1, length + 1
            place = self._places.get((length, word))
            if place is None:
                continue
            if place >= len(self._pieces):
                is_end, rest = place == len(self._pieces), bits & ((1 << left) - 1)
                # NONE stands alone, and zeros follow both.
                if rest or not (is_end or not places):
                    return self._of(places, End.IMPOSSIBLE)
                return self._of(places, End.ENDED if is_end else End.NO_TEXT)
            places.append(place)
            word, length = 0, 0
        return self._of(places, End.OPEN, f"{word:0{length}b}" if length else "")

    def _of(self, places: list[int], end: End, bits: str = "") -> ReadBits:
        """Whole words at these places; no device splits a token into its parts."""
        text = b"".join(self._pieces[place] for place in places)
        *whole, _ = self.code.places(text)
        return ReadBits(text, end if whole == places else End.IMPOSSIBLE, bits)


def _begun(text: bytes) -> bytes:
    decoder = getincrementaldecoder("utf-8")("replace")
    decoder.decode(text)
    return decoder.getstate()[0]
