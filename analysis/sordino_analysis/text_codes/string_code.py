"""A public code of text with how long it is for the texts it was made from, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sordino_analysis.validation_messages import reason
from sordino_shared.domains.text_code import MAX_TOKENS, TextCode
from sordino_shared.errors import InvalidValue

# Levels behind the end of most strings take reports and tell nothing.
MAX_DEPTH = 96
# The wire has none below.
_LEAST_DEPTH = 8
# Bytes of the note on where the texts come from.
_MAX_SOURCE = 1000
# Of the texts, by their counts, whose code has at most so many bits.
SHARES = (0.5, 0.8, 0.9)
_DIGITS = "0123456789abcdefghijklmnopqrstuvw"
# A code with its tokens as JSON escapes.
MAX_FILE_BYTES = 1 << 20


# Bytes, tokens, END and NONE.
_MOST_WORDS = 258 + MAX_TOKENS


class WrittenCode(BaseModel):
    """The JSON of a code: tokens with a character for each byte, lengths as digits to the base of 33."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal["sordino-text-code-1"]
    source: str = Field(max_length=_MAX_SOURCE)
    bits: list[int] = Field(min_length=len(SHARES), max_length=len(SHARES))
    tokens: list[str] = Field(max_length=MAX_TOKENS)
    lengths: str = Field(max_length=_MOST_WORDS)


@dataclass(frozen=True)
class StringCode:
    """A code with the bits that half, 80 and 90 % of the public texts have at most, by their counts."""

    code: TextCode
    bits: tuple[int, ...]
    source: str = ""

    @classmethod
    def of_texts(cls, code: TextCode, texts: Mapping[bytes, int], source: str = "") -> StringCode:
        """With the bits of these texts and their counts."""
        return cls(code, _quantiles(sorted((bits_of(code, text), count) for text, count in texts.items())), source)

    @property
    def depth(self) -> int:
        """Bits that are collected unless a question says otherwise: the 80 % quantile, 8 to 96."""
        return min(MAX_DEPTH, max(_LEAST_DEPTH, self.bits[1]))

    @cached_property
    def json(self) -> str:
        """The file of the code: one line."""
        return json.dumps(self.document(), separators=(",", ":"))

    def document(self) -> dict[str, Any]:
        """The code as JSON has it, which workloads take in place of a name."""
        return {
            "format": "sordino-text-code-1",
            "source": self.source,
            "bits": list(self.bits),
            "tokens": [token.decode("latin-1") for token in self.code.tokens],
            "lengths": "".join(_DIGITS[length] for length in self.code.lengths),
        }

    @classmethod
    def read(cls, text: str | bytes) -> StringCode:
        """The code of a file; raises InvalidValue with what does not fit."""
        if len(text) > MAX_FILE_BYTES:
            raise InvalidValue(f"a text code has at most {MAX_FILE_BYTES} bytes, this one {len(text)}", len(text))
        try:
            return cls.of_written(WrittenCode.model_validate_json(text))
        except ValidationError as error:
            raise InvalidValue(f"not a text code as `sordino text-code` writes it: {_places(error)}") from error

    @classmethod
    def of_written(cls, written: WrittenCode) -> StringCode:
        """The code that was read from JSON; raises InvalidValue where its words are no whole code."""
        return cls(TextCode(_tokens(written.tokens), _lengths(written.lengths)), tuple(written.bits), written.source)


def bits_of(code: TextCode, text: bytes) -> int:
    """How many bits the code of a text has, END included."""
    return sum(code.lengths[place] for place in code.places(text))


def _places(error: ValidationError) -> str:
    found = [f"{'.'.join(map(str, each['loc'])) or 'the file'}: {reason(each)}" for each in error.errors()]
    return "; ".join(found[:3])


def _tokens(texts: Iterable[str]) -> tuple[bytes, ...]:
    try:
        return tuple(text.encode("latin-1") for text in texts)
    except UnicodeEncodeError as error:
        raise InvalidValue("tokens of a text code have a character from U+0000 to U+00FF for each byte") from error


def _lengths(text: str) -> bytes:
    unknown = set(text) - set(_DIGITS)
    if unknown:
        raise InvalidValue(f"lengths of a text code are digits from 1 to w, not {min(unknown)!r}", text)
    return bytes(map(_DIGITS.index, text))


def _quantiles(lengths: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    total, found, below = sum(count for _, count in lengths), list[int](), 0
    for bits, count in lengths:
        below += count
        while len(found) < len(SHARES) and below >= SHARES[len(found)] * total:
            found.append(bits)
    return tuple(found)
