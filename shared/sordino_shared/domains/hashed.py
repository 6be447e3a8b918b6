"""Any text, by some bits of its salted hash: a list of labels would not fit a document."""

from __future__ import annotations

import hashlib
from typing import ClassVar

from sordino_shared._checks import check_name, check_range
from sordino_shared._records import KW_ONLY, dataclass
from sordino_shared.domains.members import trailing_label, unlisted
from sordino_shared.errors import InvalidValue

MAX_HASH_BITS = 64
SALT_BYTES = 16
_MAX_SIZE = 1 << 64


@dataclass(frozen=True)
class Hashed:
    """Member x of a text is the first `bits` bits of SHA-256(salt ‖ its UTF-8 bytes), most significant first.

    Two texts share a member with probability 2^−bits over the salt. The salt is no secret: it is drawn when a plan is
    made, so that nobody can choose texts that collide before. A workload has none yet; then it is empty.
    What is no text, or text that UTF-8 cannot encode (a lone surrogate), is not listed.
    """

    kind: ClassVar[str] = "hashed"
    name: str
    bits: int
    salt: bytes = b""
    _: KW_ONLY
    missing: bool = False
    other: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_range(self.bits, 1, MAX_HASH_BITS, f"bits of the hash of attribute {self.name!r}")
        if not isinstance(self.salt, bytes) or len(self.salt) not in (0, SALT_BYTES):
            raise InvalidValue(f"the salt of attribute {self.name!r} must have {SALT_BYTES} bytes", self.salt)
        if self.size > _MAX_SIZE:
            raise InvalidValue(
                f"attribute {self.name!r} has {self.size} members, at most 2^64 can be told apart: use at most 63 bits "
                "apart from `missing` and `other`",
                self.name,
            )

    @property
    def size(self) -> int:
        return self.listed + self.missing + self.other

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""
        return 1 << self.bits

    @property
    def entries(self) -> int:
        """How many labels or edges a document holds for the attribute."""
        return 1

    def label(self, index: int) -> str:
        """What a person reads for a member: the hash in hexadecimal."""
        if index >= self.listed:
            return trailing_label(self, index)
        return f"hash {index:0{(self.bits + 3) // 4}x}"

    def encode(self, value: object, *, strict: bool) -> int:
        """Hash of a text; see the package's text for what anything else becomes."""
        if not self.salt:
            raise InvalidValue(f"attribute {self.name!r} has no salt: it is drawn when a plan is made", self.name)
        try:
            text = value.encode("utf-8") if isinstance(value, str) else None
        except UnicodeEncodeError:
            text = None
        if text is None:
            return unlisted(self, value, strict)
        first = int.from_bytes(hashlib.sha256(self.salt + text).digest()[:8], "big")
        return first >> (MAX_HASH_BITS - self.bits)
