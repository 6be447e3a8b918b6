"""A public code of text in bits: canonical words of bytes and tokens, taken by longest match from the left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

MAX_TOKENS = 4096
MAX_TOKEN_BYTES = 64
MAX_WORD_BITS = 32
MAX_TOKENS_BYTES = 48 << 10
_BYTES = 256


@dataclass(frozen=True)
class TextCode:
    """The word of byte b has lengths[b] bits, then come those of the tokens, of END and of NONE.

    Words are canonical: numbered in order of (length, place). A text is its words, END, and then zeros; what is no text
    is NONE and zeros.
    """

    tokens: tuple[bytes, ...]
    lengths: bytes

    def __post_init__(self) -> None:
        check_range(len(self.tokens), 0, MAX_TOKENS, "number of tokens")
        for token in self.tokens:
            check_range(len(token), 2, MAX_TOKEN_BYTES, "bytes of a token")
        if list(self.tokens) != sorted(set(self.tokens)):
            raise InvalidValue("tokens are in ascending order, each once", self.tokens)
        if sum(map(len, self.tokens)) > MAX_TOKENS_BYTES:
            raise InvalidValue(f"all tokens have at most {MAX_TOKENS_BYTES} bytes together", self.tokens)
        self._check_lengths()

    def _check_lengths(self) -> None:
        words = _BYTES + len(self.tokens) + 2
        if len(self.lengths) != words:
            raise InvalidValue(f"there are {words} words and {len(self.lengths)} lengths", self.lengths)
        for length in self.lengths:
            check_range(length, 1, MAX_WORD_BITS, "bits of a word")
        if sum(1 << (MAX_WORD_BITS - length) for length in self.lengths) != 1 << MAX_WORD_BITS:
            raise InvalidValue("the words are no whole code: 2^-length of all must sum to 1", self.lengths)

    def first_bits(self, text: bytes | None, depth: int) -> int:
        """The first `depth` bits of the code of UTF-8 bytes, or of no text, as an integer."""
        code, bits = 0, 0
        for place in self.places(text):
            code = code << self.lengths[place] | self.words[place]
            bits += self.lengths[place]
            if bits >= depth:
                return code >> (bits - depth)
        return code << (depth - bits)

    def places(self, text: bytes | None) -> Iterator[int]:
        """The places of the words of a text, END included."""
        if text is None:
            yield len(self.lengths) - 1
            return
        position = 0
        while position < len(text):
            place, length = self._longest(text, position)
            yield place
            position += length
        yield len(self.lengths) - 2

    def _longest(self, text: bytes, position: int) -> tuple[int, int]:
        """The place and the bytes of the longest token at `position`, else of its byte."""
        for length in self._token_lengths:
            place = self._token_places.get(text[position : position + length])
            if place is not None:
                return place, length
        return text[position], 1

    @cached_property
    def _token_places(self) -> dict[bytes, int]:
        return {token: _BYTES + index for index, token in enumerate(self.tokens)}

    @cached_property
    def _token_lengths(self) -> list[int]:
        return sorted({len(token) for token in self.tokens}, reverse=True)

    @cached_property
    def words(self) -> list[int]:
        """The bits of each word as an integer, by place."""
        words, word, before = [0] * len(self.lengths), 0, 0
        for place in sorted(range(len(self.lengths)), key=lambda each: (self.lengths[each], each)):
            word <<= self.lengths[place] - before
            before = self.lengths[place]
            words[place] = word
            word += 1
        return words


def packed_bits(bits: int, count: int) -> bytes:
    """`count` bits from the highest of the first byte on, the last byte filled with zeros."""
    size = -(-count // 8)
    return (bits << (8 * size - count)).to_bytes(size, "big")
