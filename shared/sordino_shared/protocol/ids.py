"""Typed identifiers: digests name content, report ids name one report."""

from __future__ import annotations

import hashlib
from typing import IO, Self

from sordino_shared.errors import DigestMismatch, InvalidValue

_PIECE = 1 << 18


class Digest(bytes):
    """A SHA-256: the name of immutable bytes. Its text form is 64 lower-case hexadecimal digits."""

    LENGTH = 32

    def __new__(cls, value: bytes) -> Self:
        if len(value) != cls.LENGTH:
            raise InvalidValue(f"a digest has {cls.LENGTH} bytes, got {len(value)}", value)
        return super().__new__(cls, value)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The digest that names `content`."""
        return cls(hashlib.sha256(content).digest())

    @classmethod
    def parse(cls, text: str) -> Self:
        """From 64 hexadecimal digits, as in URLs."""
        if len(text) != 2 * cls.LENGTH or text != text.lower():
            raise InvalidValue(f"a digest is written as {2 * cls.LENGTH} lower-case hexadecimal digits", text)
        try:
            return cls(bytes.fromhex(text))
        except ValueError as error:
            raise InvalidValue("a digest is written in hexadecimal digits", text) from error

    def check(self, content: bytes) -> None:
        """Raise `DigestMismatch` unless `content` is what this digest names."""
        if (actual := Digest.of(content)) != self:
            raise DigestMismatch(self, actual)

    def check_file(self, file: IO[bytes]) -> None:
        """Raise `DigestMismatch` unless a file holds what this digest names; it is at its beginning afterwards."""
        actual = hashlib.sha256()
        while piece := file.read(_PIECE):
            actual.update(piece)
        file.seek(0)
        if actual.digest() != self:
            raise DigestMismatch(self, actual.digest())

    def __str__(self) -> str:
        return self.hex()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hex()})"


class CampaignId(Digest):
    """The digest of a campaign's manifest."""


class ReportId(bytes):
    """16 bytes: the task's 16-bit epoch, big-endian, then 14 random bytes."""

    LENGTH = 16

    def __new__(cls, value: bytes) -> Self:
        if len(value) != cls.LENGTH:
            raise InvalidValue(f"a report id has {cls.LENGTH} bytes, got {len(value)}", value)
        return super().__new__(cls, value)

    @property
    def epoch(self) -> int:
        return int.from_bytes(self[:2], "big")

    def __str__(self) -> str:
        return self.hex()
