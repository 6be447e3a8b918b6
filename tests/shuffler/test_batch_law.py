"""Where a report stands in a batch tells nothing of when it came, nor whether a device sent it.

Each round gives a p-value; those of many rounds are uniform. The test rejects a right shuffler for one seed in 5,000,
and rejects three wrong ones, whose batches show the order of arrival, of commits, or the blanket.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest, mannwhitneyu, spearmanr

from sordino_shuffler.mixing import mix
from sordino_shuffler.released import Released
from sordino_shuffler.store import Store, StoredRound, id_of

FALSE_ALARM = 1e-4
TOGETHER = 64
# (devices in the order in which they came, blanket) → the batch.
Batch = Callable[[Sequence[bytes], Sequence[bytes]], list[bytes]]


def _is_lawful(rounds: int, devices: int, blanket: int, batch_of: Batch) -> bool:
    """Whether p-values of rank correlations with arrival, and of the blanket's places, are uniform over the rounds."""
    chosen = random.Random(rounds * devices)
    arrivals, places = [], []
    for _ in range(rounds):
        sent = [chosen.randbytes(81) for _ in range(devices)]
        mixed = [chosen.randbytes(81) for _ in range(blanket)]
        place = {report: number for number, report in enumerate(batch_of(sent, mixed))}
        assert len(place) == devices + blanket
        of_devices = [place[report] for report in sent]
        correlation = spearmanr(np.arange(devices), of_devices)
        if abs(correlation.statistic) > 6 / devices**0.5:
            return False
        arrivals.append(correlation.pvalue)
        places.append(mannwhitneyu(of_devices, [place[report] for report in mixed], method="asymptotic").pvalue)
    return all(kstest(values, "uniform").pvalue > FALSE_ALARM for values in (arrivals, places))


def _sign(_row: StoredRound, _outcome: object) -> bytes:
    return b"signed"


@pytest.mark.parametrize(
    ("rounds", "devices"), [(60, 150), pytest.param(200, 500, marks=pytest.mark.slow)], ids=["quick", "whole"]
)
class TestPlaces:
    def test_those_of_the_shuffler_tell_nothing(self, tmp_path: Path, rounds: int, devices: int):
        store = Store(tmp_path / "shuffler.sqlite3")
        numbers = iter(range(rounds))

        def batch_of(sent: Sequence[bytes], mixed: Sequence[bytes]) -> list[bytes]:
            row = store.pin(bytes(32), next(numbers), bytes(32), 1)
            for start in range(0, len(sent), TOGETHER):
                with store.transaction():
                    store.add(row, sent[start : start + TOGETHER])
            row = mix(store, released, row, 1, mixed, _sign)
            pages: list[tuple[bytes, bytes]] = []
            while page := store.page(row, pages[-1][0] if pages else None, 50):
                pages += page
            ids = [identity for identity, _ in pages]
            assert all(first < second for first, second in pairwise(ids))
            return [body for _, body in pages]

        with Released(tmp_path / "released") as released:
            assert _is_lawful(rounds, devices, devices // 2, batch_of)
        store.close()

    @pytest.mark.parametrize("wrong", ["arrival", "commits", "blanket last"])
    def test_three_wrong_shufflers_are_noticed(self, rounds: int, devices: int, wrong: str):
        def batch_of(sent: Sequence[bytes], mixed: Sequence[bytes]) -> list[bytes]:
            if wrong == "arrival":
                together = [*sent, *mixed]
                random.Random(len(together)).shuffle(together)
                ordered = {report: number for number, report in enumerate(sent)}
                # The blanket is anywhere, the devices keep their order.
                kept = iter(sorted((report for report in together if report in ordered), key=ordered.__getitem__))
                return [next(kept) if report in ordered else report for report in together]
            if wrong == "commits":
                parts = [sent[start : start + TOGETHER] for start in range(0, len(sent), TOGETHER)]
                return [report for part in [*parts, mixed] for report in sorted(part, key=id_of)]
            return [*sorted(sent, key=id_of), *sorted(mixed, key=id_of)]

        assert not _is_lawful(rounds, devices, devices // 2, batch_of)
