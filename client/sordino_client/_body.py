"""A response's body from its raw bytes, within the limit of its kind whatever coding it comes in.

A server that packs zeros a thousand times over would have a decoder unpack gigabytes out of a few hundred bytes, so
the one coding that the SDK accepts is inflated here, piece by piece; no other is read.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO

from sordino_client._errors import TransportFailed
from sordino_shared.errors import OversizedDocument

_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 64 << 10


class Body:
    """Collects at most `limit` bytes of a body that comes plain or in one gzip; holds little more than these bytes.

    Raises `OversizedDocument` past the limit, `TransportFailed` for another coding and for a gzip that is damaged.
    """

    def __init__(self, limit: int, codings: Sequence[str]) -> None:
        if len(codings) > 1 or any(coding.strip().lower() != "gzip" for coding in codings):
            raise TransportFailed(
                f"the answer comes in the content coding {', '.join(codings)[:64]!r}, at most one gzip is read"
            )
        self._limit = limit
        self._inflater = zlib.decompressobj(_GZIP) if codings else None
        # What is packed is hardly longer than what it holds: empty blocks and names without end are refused as well.
        self._raw_left = limit + (limit >> 8) + 1024
        self._packed = False
        self._bytes = BytesIO()

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

    def content(self) -> bytes:
        """The whole body."""
        if self._inflater is not None and self._packed and not self._inflater.eof:
            raise TransportFailed("the answer's gzip ends before its end")
        return self._bytes.getvalue()

    def _inflate(self, inflater: zlib._Decompress, chunk: bytes) -> None:
        while chunk:
            if inflater.eof:
                raise TransportFailed("bytes follow the answer's gzip")
            try:
                inflated = inflater.decompress(chunk, _PIECE)
            except zlib.error as error:
                raise TransportFailed(f"the answer's gzip is damaged ({error})") from error
            self._keep(inflated)
            # Output that waits is before the gzip's last bytes, so there is always input left to fetch it with.
            chunk = inflater.unconsumed_tail or inflater.unused_data

    def _keep(self, chunk: bytes) -> None:
        size = self._bytes.tell() + len(chunk)
        if size > self._limit:
            raise OversizedDocument(size, self._limit)
        self._bytes.write(chunk)
