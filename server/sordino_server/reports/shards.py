"""This writer's share of every round's aggregate, kept in memory and written whole with every commit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.randomizers import IngestSums
from sordino_server import aggregates
from sordino_shared.randomizers import AnyRandomizer
from sordino_shared.randomness import Randomness, SystemRandomness

# The row number of a round, and an arm.
ShardKey = tuple[int, int]

_SHARD_BYTES = 16
_MAX_ROUNDS = 256


def empty_shard(randomizer: AnyRandomizer, setting: IngestSums) -> Aggregate:
    """No report yet; there are no sums where they are computed from the log."""
    if aggregates.summed_on_ingest(randomizer, setting):
        return Aggregate.empty(randomizer)
    return Aggregate(0, np.zeros(0, dtype=np.int64))


def with_reports(share: Aggregate, randomizer: AnyRandomizer, payloads: NDArray[np.uint8]) -> Aggregate:
    """The share with the (n, width) payloads added."""
    sums = accumulate(randomizer, payloads) if share.sums.size else share.sums
    return share + Aggregate(len(payloads), sums)


class ShardAccumulators:
    """Accumulators by round and arm under the name of one shard, which nobody else uses.

    Whether a transaction that failed was committed after all cannot always be known (a connection may break during
    the commit). So a failure ends the shard: its rows stay as the database has them, and a new name starts from zero.
    """

    def __init__(self, randomness: Randomness | None = None) -> None:
        self._randomness = randomness or SystemRandomness()
        self.restart()

    def restart(self) -> None:
        """Take a new name and start from zero."""
        self.shard = self._randomness.bytes(_SHARD_BYTES).hex()
        self._by_round: dict[ShardKey, Aggregate] = {}

    def get(self, key: ShardKey) -> Aggregate | None:
        """What is committed under this name; None if nothing is."""
        return self._by_round.get(key)

    def keep(self, committed: Mapping[ShardKey, Aggregate]) -> None:
        """Remember what a transaction has committed."""
        self._by_round.update(committed)
        if len(self._by_round) > _MAX_ROUNDS:
            self.restart()
