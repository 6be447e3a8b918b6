"""ε of what the shipped client sends, from the histogram of its output and not from its own account.

Reports are drawn through the client's session, one at a time, and their histograms for all cells are held together
against exact integer laws. A law is rejected by χ², for whatever is wrong with it, or by the one direction in which the
law of another ε lies, each at half of the level 10⁻⁶: the right law is rejected for one seed in a million. A law whose
ε is 10 % off is LEAST_DISTANCE away in that direction, and passes for less than one seed in 10,000.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.kernels import kernel_table, two_level_rows
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import PureEpsilon
from sordino_client._session import Session, VerifiedPart
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Categorical, Domain
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import FiniteKernel, RandomizedResponse, SeededDirection, SubsetSelection
from tests.randomizers import Sample, every_sample, is_accepted, law_of, outcomes

# Enough to tell the values of any sample apart.
FEW_REPORTS = 1200
FALSE_ALARM = 1e-6
# Its root is the 5.03 standard errors of the threshold, and 3.9 more.
LEAST_DISTANCE = 80
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
    return FiniteKernel(60, two_level_rows(levels, high, np.eye(CELLS, dtype=bool)))


def direction(epsilon: float) -> SeededDirection:
    weight = SeededDirection.largest_keep_weight(PureEpsilon.of(epsilon))
    return SeededDirection(60, array_of(VECTORS, "<i4"), array_of(np.full(CELLS, weight, dtype=np.uint64), "<u8"))


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
    column = kernel_table(randomizer)[:, cell].astype(float) / 2**randomizer.bits
    return {output: probability for output, probability in enumerate(column) if probability > 1e-5}


def direction_law(randomizer: SeededDirection, cell: int) -> dict[int, float]:
    keep = int(ndarray(randomizer.keep_weights)[cell]) / 2**randomizer.bits
    return {1: keep, 0: 1 - keep}


FAMILIES = {
    "randomized_response": (response, response_law, index_outcome),
    "subset_selection": (subset, subset_law, index_outcome),
    "finite_kernel": (kernel, kernel_law, index_outcome),
    "seeded_direction": (direction, direction_law, side_outcome),
}


Laws = list[dict[int, float]]


def three_laws(family: str) -> tuple[Laws, Laws, Laws]:
    """Of every cell: at the stated ε, and at an ε 10 % below and above it."""
    make, law, _ = FAMILIES[family]
    stated, low, high = ([law(make(epsilon), cell) for cell in range(CELLS)] for epsilon in (1.0, 0.9, 1.1))
    return stated, low, high


def distance(true: Laws, rejected: Laws) -> float:
    """Σ (p − q)²/q over cells and outputs: what a report of each cell adds to χ² of q in the mean where p is true."""
    return sum((p[y] - q[y]) ** 2 / q[y] for p, q in zip(true, rejected, strict=True) for y in q)


def reports_a_cell(family: str) -> int:
    """As few as put the laws of an ε that is 10 % off at LEAST_DISTANCE or more."""
    stated, low, high = three_laws(family)
    return math.ceil(LEAST_DISTANCE / min(distance(stated, low), distance(stated, high)))


@pytest.fixture
def histogram(make_world):
    def collect(randomizer, outcome, reports: int, seed: int) -> list[Counter[int]]:
        """What a session sends for every cell, each report under its own id."""
        part = DevicePart(DOMAIN, PureEpsilon.of(2), randomizer)
        session = Session(make_world(part).manifest, None)
        verified = VerifiedPart(part.digest, part, check_guarantee(part))
        randomness = SeededRandomness(seed)
        counts = []
        for cell in range(CELLS):
            codes = [cell]
            sent = [session.randomize(verified, codes, randomness) for _ in range(reports)]
            payloads = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(reports, -1)
            counts.append(Counter(outcome(payloads, cell).astype(int).tolist()))
        return counts

    return collect


def is_rejected(counts: list[Counter[int]], laws: Laws, other: Laws) -> bool:
    """Whether counts of all cells are not of these laws: in χ², or in the direction in which the other laws lie."""
    reports = counts[0].total()
    cells = list(zip(counts, laws, other, strict=True))
    # Outputs that the law gives less than 10⁻⁵ are left out of it; more than a few of them are a law of their own.
    if sum(count for cell, law, _ in cells for y, count in cell.items() if y not in law) > 8:
        return True
    statistic = sum((cell[y] - reports * p) ** 2 / (reports * p) for cell, law, _ in cells for y, p in law.items())
    freedom = sum(len(law) - 1 for law in laws)
    # (count − n·p)·(p′ − p)/p has mean 0 and variance n·Σ(p′ − p)²/p where p is the law.
    along = sum((cell[y] - reports * p) * (away[y] - p) / p for cell, law, away in cells for y, p in law.items())
    score = along / math.sqrt(reports * distance(other, laws))
    return bool(statistic > chi2.isf(FALSE_ALARM / 2, freedom) or abs(score) > norm.isf(FALSE_ALARM / 4))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_client_sends_what_its_plan_states_and_no_law_ten_percent_off(histogram, family) -> None:
    make, _, outcome = FAMILIES[family]
    stated, low, high = three_laws(family)
    reports = reports_a_cell(family)
    counts = histogram(make(1.0), outcome, reports, seed=1)
    assert not is_rejected(counts, stated, high)
    assert is_rejected(counts, low, stated)
    assert is_rejected(counts, high, stated)
    ratios = [math.log(counts[x][y] / counts[z][y]) for x in range(CELLS) for z in range(CELLS) for y in stated[x]]
    # Each of these log ratios errs by √(2/np) at most, where p is the chance of the least probable output.
    error = math.sqrt(2 / (reports * min(min(law.values()) for law in stated)))
    assert max(ratios) < 1.0 + 5 * error < 1.3


@pytest.mark.parametrize("family", FAMILIES)
def test_the_power_is_as_stated(family) -> None:
    """The score against a law that is off is nearly normal: its mean is √(nD), its variance that of the true law."""
    stated, *both = three_laws(family)
    for off in both:
        shift = math.sqrt(reports_a_cell(family) * distance(stated, off))
        scores = [{y: (p[y] - q[y]) / q[y] for y in q} for p, q in zip(stated, off, strict=True)]
        moments = [
            [sum(p[y] * a[y] ** power for y in a) for p, a in zip(stated, scores, strict=True)] for power in (1, 2)
        ]
        variance = sum(second - first**2 for first, second in zip(*moments, strict=True)) / distance(stated, off)
        assert norm.sf((shift - norm.isf(FALSE_ALARM / 4)) / math.sqrt(variance)) < 1e-4


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
    codes = [0] * len(sample.domain.shape)
    drawn = b"".join(session.randomize(verified, codes, randomness) for _ in range(reports))
    payloads = np.frombuffer(drawn, np.uint8).reshape(reports, -1)
    assert is_accepted(outcomes(sample.randomizer, 0, payloads), laws[0])
    assert not is_accepted(outcomes(sample.randomizer, other, payloads), laws[other])


def _distance(law: Mapping[bytes, Fraction], other: Mapping[bytes, Fraction]) -> float:
    """Σ (p − q)²/q over payloads: what one report adds to the χ² of the law q, in the mean, where p is true."""
    return float(sum((law.get(y, Fraction()) - q) ** 2 / q for y, q in other.items() if q))
