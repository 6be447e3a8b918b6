"""Strings that nobody can list: a text by a hash of its code, and pieces of its code below a hash of what comes before.

A domain of strings has one `Text` and then one to 63 `TextPrefix`, which follow each other from bit 0 to bit `depth` of
the text's code, and nothing else. A value is one text for all of them.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from sordino_shared._checks import check_name, check_range
from sordino_shared._records import dataclass
from sordino_shared.domains.hashed import SALT_BYTES
from sordino_shared.domains.text_code import TextCode, packed_bits
from sordino_shared.errors import InvalidValue, OutsideDomain

MAX_DEPTH = 512
MAX_PIECE = 20
MAX_PREFIXES = 63
_INDEX_BITS = 64
_TEXT_CONTEXT = b"sordino text v1\0"
_PREFIX_CONTEXT = b"sordino prefix v1\0"
_NORMAL_FORMS = ("nfc", "none")


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text: the first 64 bits of a hash of the first `depth` bits of its code. Texts that share them are one value.

    `normal` is `nfc`, by the Unicode version of the device, or `none`. `tokens` and `lengths` are the public code. What
    is no text, or has a lone surrogate, is a value of its own, so that every device answers.
    """

    kind: ClassVar[str] = "text"
    missing: ClassVar[bool] = False
    other: ClassVar[bool] = False
    listed: ClassVar[int] = 1 << _INDEX_BITS
    size: ClassVar[int] = 1 << _INDEX_BITS
    entries: ClassVar[int] = 0
    name: str
    normal: str
    depth: int
    salt: bytes
    tokens: tuple[bytes, ...]
    lengths: bytes

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        if self.normal not in _NORMAL_FORMS:
            raise InvalidValue(f"normal must be one of {list(_NORMAL_FORMS)}, got {self.normal!r}", self.normal)
        check_range(self.depth, 8, MAX_DEPTH, "depth of a text")
        if not isinstance(self.salt, bytes) or len(self.salt) != SALT_BYTES:
            raise InvalidValue(f"the salt of attribute {self.name!r} must have {SALT_BYTES} bytes", self.salt)
        _ = self.code

    @cached_property
    def code(self) -> TextCode:
        """The public code."""
        return TextCode(self.tokens, self.lengths)

    def bits_of(self, value: object) -> int:
        """The first `depth` bits of a value's code, as an integer."""
        return self.code.first_bits(self.utf_8(value), self.depth)

    def index_of(self, bits: int) -> int:
        """The member of a text whose code begins with these `depth` bits."""
        hashed = _TEXT_CONTEXT + self.salt + self.depth.to_bytes(2, "big") + packed_bits(bits, self.depth)
        return int.from_bytes(hashlib.sha256(hashed).digest()[:8], "big")

    def encode(self, value: object, *, strict: bool) -> int:
        """The member of a value; raises `OutsideDomain` for what is no text where `strict`."""
        if strict and self.utf_8(value) is None:
            raise OutsideDomain(
                f"attribute {self.name!r} takes texts, and {value!r} is none: give a text, or leave out who has none",
                value,
                self.name,
            )
        return self.index_of(self.bits_of(value))

    def label(self, index: int) -> str:
        """What a person reads for a member: the hash in hexadecimal."""
        return f"text {index:016x}"

    def utf_8(self, value: object) -> bytes | None:
        """The bytes of a text in its normal form; None for what is no text, or has a lone surrogate."""
        if not isinstance(value, str):
            return None
        try:
            return (unicodedata.normalize("NFC", value) if self.normal == "nfc" else value).encode("utf-8")
        except UnicodeEncodeError:
            return None


@dataclass(frozen=True)
class TextPrefix:
    """Bits `first` to before `last` of a text's code, below a hash of the bits before them.

    The low last − first bits of a member are these bits themselves; the others are a hash of what comes before, so that
    a code of any depth fits 64 bits.
    """

    kind: ClassVar[str] = "prefix"
    missing: ClassVar[bool] = False
    other: ClassVar[bool] = False
    listed: ClassVar[int] = 1 << _INDEX_BITS
    size: ClassVar[int] = 1 << _INDEX_BITS
    entries: ClassVar[int] = 0
    name: str
    first: int
    last: int

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_range(self.first, 0, MAX_DEPTH - 1, "first bit of a prefix")
        check_range(self.last, self.first + 1, self.first + MAX_PIECE, "last bit of a prefix")

    def index_of(self, text: Text, bits: int) -> int:
        """The member of a text whose code begins with these bits."""
        piece = self.last - self.first
        before, until = bits >> (text.depth - self.first), bits >> (text.depth - self.last)
        ends = self.first.to_bytes(2, "big") + self.last.to_bytes(2, "big")
        hashed = hashlib.sha256(_PREFIX_CONTEXT + text.salt + ends + packed_bits(before, self.first)).digest()
        parent = int.from_bytes(hashed[:8], "big") >> piece
        return parent << piece | until & ((1 << piece) - 1)

    def encode(self, value: object, *, strict: bool) -> int:
        """Raises `InvalidValue`: the domain, which has the text, finds the member by `index_of`."""
        raise InvalidValue("the member of a prefix is found by its domain, which has the text", self.name)

    def label(self, index: int) -> str:
        """What a person reads for a member: the hash of what comes before, and the bits."""
        piece = self.last - self.first
        return f"{index >> piece:x}, bits {index & ((1 << piece) - 1):0{piece}b}"


def check_strings(attributes: Sequence[object]) -> None:
    """Raise InvalidValue unless text and prefixes make up the whole domain, in the one order, or there are none."""
    prefixes = [attribute for attribute in attributes if isinstance(attribute, TextPrefix)]
    texts = [attribute for attribute in attributes if isinstance(attribute, Text)]
    if not prefixes and not texts:
        return
    if len(texts) != 1 or attributes[0] is not texts[0] or len(attributes) != 1 + len(prefixes):
        raise InvalidValue("a domain of strings is one text and then prefixes of it, and nothing else", attributes)
    check_range(len(prefixes), 1, MAX_PREFIXES, "number of prefixes of a text")
    ends = [0, *(prefix.last for prefix in prefixes)]
    starts = [*(prefix.first for prefix in prefixes), texts[0].depth]
    if ends != starts:
        raise InvalidValue(
            f"the prefixes of a text follow each other from bit 0 to {texts[0].depth}, not {list(pairwise(ends))}", ends
        )
