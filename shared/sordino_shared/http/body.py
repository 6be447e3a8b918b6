"""A response's body from its raw bytes, within the limit of its kind whatever coding it comes in.

A server that packs zeros several times over makes a decoder unpack gigabytes out of a few hundred bytes. Readers
of an untrusted answer pass its raw bytes, which are inflated here, piece by piece, from at most one gzip.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import IO

from sordino_shared.errors import OversizedDocument, UnreadableBody
from sordino_shared.http.deadline import time_left

_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 64 << 10


class Body:
    """Writes at most `limit` bytes of a body that comes plain or in one gzip to `into`, and holds little besides.

    `codings` is what `codings_of` finds in the head. Raises `OversizedDocument` past the limit, `UnreadableBody` for
    another coding and for a gzip that is damaged.
    """

    def __init__(self, limit: int, codings: Sequence[str], into: IO[bytes]) -> None:
        if len(codings) > 1 or any(coding.lower() != "gzip" for coding in codings):
            raise UnreadableBody(
                f"the answer comes in the content coding {', '.join(codings)[:64]!r}, at most one gzip is read"
            )
        self._limit = limit
        self._inflater = zlib.decompressobj(_GZIP) if codings else None
        # What is packed is hardly longer than what it holds: empty blocks and names without end are refused as well.
        self._raw_left = limit + (limit >> 8) + 1024
        self._packed = False
        self._into = into
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """The next raw bytes."""
        self._raw_left -= len(chunk)
        if self._inflater is None:
            self._keep(chunk)
        elif self._raw_left < 0:
            raise OversizedDocument(self._limit + 1, self._limit)
        else:
            self._packed = self._packed or bool(chunk)
            self._inflate(self._inflater, chunk)

    def end(self) -> None:
        """No more comes: raises `UnreadableBody` for a gzip that is cut short."""
        if self._inflater is not None and self._packed and not self._inflater.eof:
            raise UnreadableBody("the answer's gzip ends before its end")

    def _inflate(self, inflater: zlib._Decompress, chunk: bytes) -> None:
        while chunk:
            if inflater.eof:
                raise UnreadableBody("bytes follow the answer's gzip")
            try:
                inflated = inflater.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise UnreadableBody(f"the answer's gzip is damaged ({error})") from error
            self._keep(inflated)
            # Output that waits is before the gzip's last bytes, so there is always input left to fetch it with.
            chunk = inflater.unconsumed_tail or inflater.unused_data

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._limit:
            raise OversizedDocument(self._size, self._limit)
        self._into.write(chunk)


def read_body(chunks: Iterable[bytes], codings: Sequence[str], limit: int, into: IO[bytes]) -> None:
    """Write the body that these raw chunks hold to `into`, within the deadline around the call; see `Body`."""
    body = Body(limit, codings, into)
    for chunk in chunks:
        body.add(chunk)
        time_left()
    body.end()


def codings_of(headers: Iterable[str]) -> list[str]:
    """The codings that the values of one or several Content-Encoding headers name, in order."""
    return [coding.strip() for header in headers for coding in header.split(",") if coding.strip()]
