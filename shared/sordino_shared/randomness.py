"""The one source of randomness. Devices draw from the operating system; tests from a seed."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod

from sordino_shared._checks import check_range

_WORD = 64
# What most coins take: a level, an offset and a multiplier are 24 bytes.
_FIRST_BYTES = 128


class Randomness(ABC):
    """Uniform bytes, and exact integer laws built from them by rejection: no float is involved.

    Nothing is kept between two draws: a process that forks would hand out the same noise twice.
    """

    @abstractmethod
    def bytes(self, count: int) -> bytes:
        """`count` independent uniform bytes."""

    def bits(self, bits: int) -> int:
        """A uniform integer in [0, 2^bits), 1 ≤ bits ≤ 64: the upper bits of 8 bytes, little-endian."""
        check_range(bits, 1, _WORD, "bits")
        return int.from_bytes(self.bytes(8), "little") >> (_WORD - bits)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), exactly: words past the last multiple of the bound are drawn again."""
        check_range(bound, 1, 2**63, "bound")
        end = (2**_WORD // bound) * bound
        while (word := self.bits(_WORD)) >= end:
            pass
        return word % bound


class SystemRandomness(Randomness):
    """The operating system's generator: what devices use."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


class CoinStream(Randomness):
    """The bytes of SHAKE-256 of a seed, one after the other: anyone who knows the seed draws the same.

    Public coins of reports with tokens; never for what is to stay secret.
    """

    def __init__(self, seed: bytes) -> None:
        self._hash = hashlib.shake_256(seed)
        self._stream = b""
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        start, self._drawn = self._drawn, self._drawn + count
        if self._drawn > len(self._stream):
            # The stream is made again from its start, so twice as long each time.
            self._stream = self._hash.digest(max(_FIRST_BYTES, 2 * self._drawn))
        return self._stream[start : self._drawn]


class ShakeRandomness(Randomness):
    """A reproducible stream, SHAKE-128 of the seed, for tests of devices; never for a real one.

    Draw n of the stream is the start of SHAKE-128(`sordino test stream` ‖ seed ‖ n), both of 8 bytes, big-endian.
    """

    def __init__(self, seed: int) -> None:
        check_range(seed, 0, 2**63 - 1, "seed")
        self._seed = b"sordino test stream" + seed.to_bytes(8, "big")
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_128(self._seed + self._drawn.to_bytes(8, "big")).digest(count)
