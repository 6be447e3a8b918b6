"""ε of what the shipped client sends, from the histogram of its output and not from its own account.

Reports are drawn through the client's session, one at a time, and their histograms for all cells are held together
against exact integer laws by a χ² test at level 10⁻⁶: the right law is rejected for one seed in a million. With 18,000
reports a cell, a law whose ε is 10 % off is LEAST_DISTANCE or more away in χ², where the thresholds are 33 to 66: it
passes for less than one seed in 10,000.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from sordino_client import PureEpsilon
from sordino_client._session import Session, VerifiedPart
from sordino_shared.arrays import Array
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Categorical, Domain
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    FiniteKernel,
    RandomizedResponse,
    SeededDirection,
    SubsetSelection,
    TwoLevelRows,
    directions,
)
from sordino_shared.randomness import SeededRandomness
from tests.randomizers import Sample, every_sample, is_accepted, law_of, outcomes

REPORTS = 18_000
# Enough to tell the values of any sample apart.
FEW_REPORTS = 1200
FALSE_ALARM = 1e-6
LEAST_DISTANCE = 120
CELLS = 4
DOMAIN = Domain((Categorical("letter", ("a", "b", "c", "d")),))
VECTORS = np.array([[3, 1], [-2, 5], [4, -4], [-1, -6]])


def response(epsilon: float) -> RandomizedResponse:
    return RandomizedResponse.for_guarantee(CELLS, PureEpsilon.of(epsilon))


def subset(epsilon: float) -> SubsetSelection:
    return SubsetSelection.for_guarantee(CELLS, 2, PureEpsilon.of(epsilon))


def kernel(epsilon: float) -> FiniteKernel:
    """Rows for {a}, {b}, {c}, {d}: upper level e^ε times the lower, a little left over for the null output."""
    low = int(2**60 / (math.exp(epsilon) + CELLS - 1) * (1 - 1e-6))
    levels = np.full(CELLS, low, dtype=np.uint64)
    high = np.full(CELLS, int(low * math.exp(epsilon) * (1 - 1e-12)), dtype=np.uint64)
    return FiniteKernel(60, TwoLevelRows.of(levels, high, np.eye(CELLS, dtype=bool)))


def direction(epsilon: float) -> SeededDirection:
    weight = SeededDirection.largest_keep_weight(PureEpsilon.of(epsilon))
    return SeededDirection(60, Array.of(VECTORS, "<i4"), Array.of(np.full(CELLS, weight, dtype=np.uint64), "<u8"))


def index_outcome(payloads: np.ndarray, cell: int) -> np.ndarray:
    return payloads[:, 0]


def side_outcome(payloads: np.ndarray, cell: int) -> np.ndarray:
    """Whether the bit tells the true side of the vector: all that depends on the value."""
    sides = directions(payloads[:, :16], 2).astype(int) @ VECTORS[cell] >= 0
    return sides == payloads[:, 16]


def response_law(randomizer: RandomizedResponse, cell: int) -> dict[int, float]:
    other = randomizer.other_weight / 2**randomizer.bits
    return {y: randomizer.own_weight / 2**randomizer.bits if y == cell else other for y in range(CELLS)}


def subset_law(randomizer: SubsetSelection, cell: int) -> dict[int, float]:
    include = randomizer.include_weight / 2**randomizer.bits
    subsets = {sum(1 << member for member in members): cell in members for members in combinations(range(CELLS), 2)}
    return {bitmap: include / 3 if inside else (1 - include) / 3 for bitmap, inside in subsets.items()}


def kernel_law(randomizer: FiniteKernel, cell: int) -> dict[int, float]:
    column = randomizer.table[:, cell].astype(float) / 2**randomizer.bits
    return {output: probability for output, probability in enumerate(column) if probability > 1e-5}


def direction_law(randomizer: SeededDirection, cell: int) -> dict[int, float]:
    keep = int(randomizer.keep_weights.numpy()[cell]) / 2**randomizer.bits
    return {1: keep, 0: 1 - keep}


FAMILIES = {
    "randomized_response": (response, response_law, index_outcome),
    "subset_selection": (subset, subset_law, index_outcome),
    "finite_kernel": (kernel, kernel_law, index_outcome),
    "seeded_direction": (direction, direction_law, side_outcome),
}


@pytest.fixture
def histogram(make_world):
    def collect(randomizer, outcome, seed: int) -> list[Counter[int]]:
        """What a session sends for every cell, each report under its own id."""
        part = DevicePart(DOMAIN, PureEpsilon.of(2), randomizer)
        session = Session(make_world(part).manifest, None)
        verified = VerifiedPart(part.digest, part, check_guarantee(part))
        randomness = SeededRandomness(seed)
        counts = []
        for cell in range(CELLS):
            codes = np.array([cell], dtype=np.uint64)
            batches = (session.randomize(verified, codes, 0, randomness) for _ in range(REPORTS))
            payloads = np.concatenate([batch.payload_rows() for batch in batches])
            counts.append(Counter(outcome(payloads, cell).astype(int).tolist()))
        return counts

    return collect


def distance(counts: list[Counter[int]], laws: list[dict[int, float]]) -> float:
    """χ² of the counts of all cells under their laws, over its threshold: above 1 the law is rejected."""
    stray = sum(count for cell, law in zip(counts, laws, strict=True) for y, count in cell.items() if y not in law)
    statistic = sum(
        (cell[y] - REPORTS * p) ** 2 / (REPORTS * p)
        for cell, law in zip(counts, laws, strict=True)
        for y, p in law.items()
    )
    freedom = sum(len(law) - 1 for law in laws)
    # Outputs that the law gives less than 10⁻⁵ are left out of it; more than a few of them are a law of their own.
    return math.inf if stray > 8 else statistic / chi2.ppf(1 - FALSE_ALARM, freedom)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_client_sends_what_its_plan_states_and_no_law_ten_percent_off(histogram, family) -> None:
    make, law, outcome = FAMILIES[family]
    stated, low, high = ([law(make(epsilon), cell) for cell in range(CELLS)] for epsilon in (1.0, 0.9, 1.1))
    counts = histogram(make(1.0), outcome, seed=1)
    assert distance(counts, stated) < 1 < min(distance(counts, low), distance(counts, high))
    ratios = [math.log(counts[x][y] / counts[z][y]) for x in range(CELLS) for z in range(CELLS) for y in stated[x]]
    # The least probable output has .088, so that each of these log ratios errs by .035 at most: 5 of them, as above.
    assert max(ratios) < 1.0 + 5 * 0.035


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("off", [0.9, 1.1])
def test_the_power_is_as_stated(family, off) -> None:
    make, law, _ = FAMILIES[family]
    right, wrong = ([law(make(epsilon), cell) for cell in range(CELLS)] for epsilon in (1.0, off))
    distances = [REPORTS * (r[y] - w[y]) ** 2 / w[y] for r, w in zip(right, wrong, strict=True) for y in w]
    assert sum(distances) > LEAST_DISTANCE


@pytest.mark.parametrize("sample", list(every_sample()))
def test_reports_of_every_randomizer_follow_the_law_of_their_value_and_not_of_another(
    make_world, sample: Sample
) -> None:
    session = Session(make_world(sample.part).manifest, None)
    verified = VerifiedPart(sample.part.digest, sample.part, check_guarantee(sample.part))
    randomness = SeededRandomness(9)
    laws = [law_of(sample.randomizer, value) for value in range(sample.randomizer.size)]
    other = max(range(1, len(laws)), key=lambda value: _distance(laws[0], laws[value]))
    # The χ² of the other law has a mean of at least 150 above its degrees of freedom: it is refused.
    reports = max(FEW_REPORTS, math.ceil(150 / _distance(laws[0], laws[other])))
    codes = np.zeros(len(sample.domain.shape), dtype=np.uint64)
    batches = (session.randomize(verified, codes, 0, randomness) for _ in range(reports))
    payloads = np.concatenate([batch.payload_rows() for batch in batches])
    assert is_accepted(outcomes(sample.randomizer, 0, payloads), laws[0])
    assert not is_accepted(outcomes(sample.randomizer, other, payloads), laws[other])


def _distance(law: Mapping[bytes, Fraction], other: Mapping[bytes, Fraction]) -> float:
    """Σ (p − q)²/q over payloads: what one report adds to the χ² of the law q, in the mean, where p is true."""
    return float(sum((law.get(y, Fraction()) - q) ** 2 / q for y, q in other.items() if q))
