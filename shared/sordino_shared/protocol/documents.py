"""Documents: versioned canonical bytes with a digest. Every wire value of protocol v1 is one of these."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

from sordino_shared._records import dataclass
from sordino_shared.errors import MalformedDocument, OversizedDocument, UnsupportedVersion
from sordino_shared.protocol.codec import MAX_ITEMS, encode_value, read_value
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.schema import from_plain, to_plain

PROTOCOL_VERSION = 1
# Of a larger document the bytes are not held beside its values: a device part has up to 34 MB of them.
_HELD_BYTES = 1 << 16


@dataclass(frozen=True)
class Document:
    """A wire value. `document` names its type on the wire, so that no bytes can be read as another type.

    `limit` is the most bytes, `max_items` the most arrays, maps and scalars that its reader takes.
    """

    document: ClassVar[str]
    limit: ClassVar[int]
    max_items: ClassVar[int] = MAX_ITEMS

    @cached_property
    def content(self) -> bytes:
        """The canonical bytes; raises `OversizedDocument` for a value that nobody would read."""
        content = self.content_with()
        if len(content) > self.limit:
            raise OversizedDocument(len(content), self.limit)
        return content

    def content_with(self, **fields: bytes | None) -> bytes:
        """The canonical bytes with other values in some fields: what a signature inside of the document is about."""
        header = {"document": self.document, "version": PROTOCOL_VERSION}
        return encode_value(header | to_plain(self) | fields)

    @cached_property
    def digest(self) -> Digest:
        """SHA-256 of the canonical bytes."""
        return Digest.of(self.content)

    @classmethod
    def read(cls, content: bytes, digest: Digest | None = None) -> Self:
        """The document that `content` encodes; with `digest`, only if it names exactly these bytes.

        Raises `OversizedDocument`, `DigestMismatch`, `UnsupportedVersion` or `MalformedDocument`.
        """
        if digest is not None:
            digest.check(content)
        plain = read_value(content, cls.limit, cls.max_items)
        if not isinstance(plain, dict) or plain.get("document") != cls.document:
            raise MalformedDocument(f"not a {cls.document}")
        version = plain.get("version")
        if type(version) is not int:
            raise MalformedDocument("version must be an integer")
        if version != PROTOCOL_VERSION:
            raise UnsupportedVersion(version, PROTOCOL_VERSION)
        fields = {name: value for name, value in plain.items() if name not in ("document", "version")}
        found = from_plain(cls, fields)
        if len(content) <= _HELD_BYTES:
            # The codec reads no other bytes of these values, so they need not be written again.
            vars(found)["content"] = bytes(content)
        return found
