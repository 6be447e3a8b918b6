"""This writer's share of every round's aggregate, kept in memory and written whole with every commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_server import aggregates
from sordino_server.estimation.statistics import accumulate
from sordino_shared.randomizers import Randomizer
from sordino_shared.randomness import Randomness, SystemRandomness

_SHARD_BYTES = 16
_MAX_ROUNDS = 256


@dataclass(frozen=True, eq=False)
class Share:
    """`count` reports and their sums: (p,), or (0,) where sums are computed from the log."""

    count: int
    sums: NDArray[np.int64]

    @classmethod
    def empty(cls, randomizer: Randomizer) -> Share:
        """No report yet."""
        size = randomizer.statistic_size if aggregates.summed_on_ingest(randomizer) else 0
        return cls(0, np.zeros(size, dtype=np.int64))

    def plus(self, randomizer: Randomizer, payloads: NDArray[np.uint8]) -> Share:
        """The share with the (n, width) payloads added."""
        sums = self.sums + accumulate(randomizer, payloads) if self.sums.size else self.sums
        return Share(self.count + len(payloads), sums)

    @property
    def sums_bytes(self) -> bytes:
        """Little-endian, as stored."""
        return self.sums.astype("<i8").tobytes()


class Shares:
    """Shares by round under the name of one shard, which nobody else uses.

    Whether a transaction that failed was committed after all cannot always be known (a connection may break during
    the commit). So a failure ends the shard: its rows stay as the database has them, and a new name starts from zero.
    """

    def __init__(self, randomness: Randomness | None = None) -> None:
        self._randomness = randomness or SystemRandomness()
        self.restart()

    def restart(self) -> None:
        """Take a new name and start from zero."""
        self.shard = self._randomness.bytes(_SHARD_BYTES).hex()
        self._by_round: dict[int, Share] = {}

    def get(self, round_id: int) -> Share | None:
        """What is committed under this name; None if nothing is."""
        return self._by_round.get(round_id)

    def keep(self, committed: Mapping[int, Share]) -> None:
        """Remember what a transaction has committed."""
        self._by_round.update(committed)
        if len(self._by_round) > _MAX_ROUNDS:
            self.restart()
