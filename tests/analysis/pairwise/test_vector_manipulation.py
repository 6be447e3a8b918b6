"""Made-up reports with chosen seeds in the real estimators of vectors: never further than published.

Honest devices are so many that their reports come as often as expected: what is left is what the others did.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_SCALE, unit_vectors
from sordino_analysis.pairwise.one_round_split import OneRoundSplit, SplitReports
from sordino_analysis.pairwise.protocol import ProtocolDesign
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.pairwise.three_round import ThreeRound
from sordino_analysis.pairwise.three_round_mechanism import ThreeRoundMechanism
from sordino_analysis.pairwise.vector_reports import VectorReports
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import FiniteKernel, Pair, Randomizer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MANY = 10**6
# Seeds that somebody tries to find one that hurts.
SEEDS = 2000
UNITS = np.eye(4)


def vectors(randomizer: Randomizer) -> tuple[NDArray[np.uint8], Floats]:
    """Payloads with different seeds, and the directions (SEEDS, d) that they stand for."""
    payloads = randomize_many(randomizer, np.zeros(SEEDS, dtype=np.int64), SeededRandomness(4))
    return payloads, unit_vectors(payloads, randomizer.accumulator_size) / DIRECTION_SCALE


def nearest(found: Floats, aim: Floats) -> int:
    """The direction that turns furthest towards the aim."""
    return int((found @ aim).argmax())


@pytest.fixture(scope="module")
def split(small: Any) -> tuple[ProtocolDesign, SplitReports]:
    design = OneRoundSplit().design(small.request(4, 10**7), lambda fraction: None)
    return design, SplitReports.of(design.first)


def split_value(design: ProtocolDesign, honest: Floats, share: float = 0.0, payload: Any = None) -> float:
    """The estimate for honest users with this histogram, and a share that sends this payload."""
    reports = SplitReports.of(design.first)
    left, right = reports.left, reports.right
    own = (left.columns * right.columns).sum(axis=0) @ honest / (left.scale * right.scale)
    expected = np.concatenate([left.columns @ honest / left.scale, right.columns @ honest / right.scale, [own]])
    crowd = round(share * MANY)
    sums = np.rint(expected * (MANY - crowd) * DIRECTION_SCALE).astype(np.int64)
    if payload is not None:
        sums += crowd * accumulate(reports.randomizer, payload[None])
    estimate = OneRoundSplit().step(design.plan, (ClosedRound(design.first, Aggregate(MANY, sums)),))
    return estimate.value


@pytest.mark.parametrize(("share", "room"), [(1e-3, 0.98), (0.9, 0.9)])
def test_chosen_seeds_of_two_vectors_do_nearly_what_is_published_and_never_more(
    split: tuple[ProtocolDesign, SplitReports], share: float, room: float
) -> None:
    design, reports = split
    (lefts, towards_left), (rights, towards_right) = (
        vectors(part) for part in (reports.randomizer.first, reports.randomizer.second)
    )
    furthest, matrix = 0.0, reports.matrix
    for held, sign in product(range(4), (1, -1)):
        other = int((sign * matrix[held]).argmin())
        truth = split_value(design, (1 - share) * UNITS[held] + share * UNITS[other])
        first = nearest(towards_left, sign * reports.right.columns[:, held])
        for aim in (reports.left.columns[:, held], towards_left[first]):
            second = nearest(towards_right, sign * aim)
            payload = np.concatenate([lefts[first], rights[second]])
            furthest = max(furthest, abs(split_value(design, UNITS[held], share, payload) - truth))
    most = OneRoundSplit().manipulation(design)[0].most(share)
    assert room * most < furthest <= most


def test_no_seeds_do_more_to_two_vectors(small: Any, split: tuple[ProtocolDesign, SplitReports]) -> None:
    design, reports = split
    payloads = randomize_many(reports.randomizer, np.zeros(200, dtype=np.int64), SeededRandomness(5))
    figure, generator = OneRoundSplit().manipulation(design)[0], np.random.default_rng(6)
    for payload in payloads:
        honest, share = generator.dirichlet(np.full(4, 0.3)), generator.choice([0.01, 0.3, 0.9])
        moved = split_value(design, honest, share, payload) - small.distances().of_histogram(honest)
        assert abs(moved) <= figure.most(share)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Honest users with a histogram, and a share who send the direction nearest to an aim, or the output at an end."""

    honest: Floats
    share: float

    @property
    def made_up(self) -> int:
        return round(self.share * MANY)

    def vector(self, randomizer: Randomizer, reports: VectorReports, aim: Floats) -> Integers:
        payloads, found = vectors(randomizer)
        expected = reports.columns @ self.honest / reports.scale * (MANY - self.made_up) * DIRECTION_SCALE
        chosen = accumulate(randomizer, payloads[nearest(found, aim)][None])
        return np.asarray(np.rint(expected).astype(np.int64) + self.made_up * chosen)

    def number(self, kernel: Randomizer, end: int) -> Integers:
        assert isinstance(kernel, FiniteKernel)
        sums = np.rint(kernel_table(kernel) / 2.0**kernel.bits @ self.honest * (MANY - self.made_up)).astype(np.int64)
        # The last output is the null output; the ends are the first one and the one before it.
        sums[0 if end < 0 else -2] += MANY - sums.sum()
        return np.asarray(sums)


def three_rounds(design: ProtocolDesign, crowd: Crowd, pushed: Floats, turned: Floats, end: int) -> float:
    """The estimate, where made-up reports push μ, turn Y and name numbers at one end."""
    mechanism, plans, closed = ThreeRoundMechanism.published(design.first), [design.first], []

    def close(sums: Integers) -> RoundPlan | PairwiseEstimate:
        closed.append(ClosedRound(plans[-1], Aggregate(MANY, sums)))
        following = ThreeRound().step(design.plan, tuple(closed))
        if isinstance(following, RoundPlan):
            plans.append(following)
        return following

    close(crowd.vector(design.first.device.randomizer, mechanism.right, pushed))
    both = plans[1].device.randomizer
    assert isinstance(both, Pair)
    close(np.concatenate([crowd.vector(both.first, mechanism.left, turned), crowd.number(both.second, end)]))
    estimate = close(crowd.number(plans[2].device.randomizer, end))
    assert isinstance(estimate, PairwiseEstimate)
    return estimate.value


@pytest.mark.parametrize(
    "share", [pytest.param(0.002, marks=pytest.mark.slow), 0.02, pytest.param(0.3, marks=pytest.mark.slow)]
)
def test_nobody_does_more_in_three_rounds_and_somebody_nearly_a_third_of_it(small: Any, share: float) -> None:
    design = ThreeRound().design(small.request(8, MANY), lambda fraction: None)
    mechanism, most = ThreeRoundMechanism.published(design.first), ThreeRound().manipulation(design)[0].most(share)
    columns, furthest = mechanism.right.columns, 0.0
    for held, pushed, sign in product((0, 1), (2, 3), (1, -1)):
        apart, crowd = columns[:, pushed] - columns[:, held], Crowd(UNITS[held], share)
        found = three_rounds(design, crowd, apart, sign * apart, -sign)
        furthest = max(furthest, abs(found - small.distances().of_histogram(UNITS[held])))
    assert 0.3 * most < furthest <= most
