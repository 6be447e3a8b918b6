"""Rounds with a bucket of its own for every report: a count above one is a replay that counted, nought is a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from sordino_server import aggregates
from sordino_server.kit.db import Database
from sordino_server.reports import Upload
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomizers.base import pack_indices

BUCKETS = 10_000


class Buckets:
    """Uploads and counts of one round in which report n says cell n, unless told otherwise."""

    def __init__(self, database: Database, store_round: Callable) -> None:
        self._stored = store_round(database, RandomizedResponse.for_guarantee(BUCKETS, PureEpsilon(10**9)))
        self.campaign = self._stored.campaign

    def upload(self, numbers: Iterable[int], shift: int = 0) -> Upload:
        """The reports of these numbers; with a shift, their ids under other bytes."""
        numbers = list(numbers)
        ids = [self._stored.report_id(number) for number in numbers]
        payloads = pack_indices((np.array(numbers) + shift) % BUCKETS, 2)
        return Upload(self.campaign, 0, self._stored.part.digest, ids, payloads)

    def counts(self, database: Database) -> dict[int, int]:
        """Count by bucket that is not empty; shares and log must agree."""
        randomizer = self._stored.part.randomizer
        total = aggregates.aggregate(database, self._stored.id, randomizer)
        logged = aggregates.re_aggregate(database, self._stored.id, randomizer, total.count)
        assert logged.sums.tobytes() == total.sums.tobytes()
        assert total.count == int(total.sums.sum())
        return {int(cell): int(total.sums[cell]) for cell in np.flatnonzero(total.sums)}

    def arguments(self) -> list[str]:
        """What another process needs to send the same uploads."""
        return [self.campaign, str(self._stored.part.digest), str(self._stored.epoch)]


@pytest.fixture
def buckets(store_round) -> Callable[[Database], Buckets]:
    return lambda database: Buckets(database, store_round)
