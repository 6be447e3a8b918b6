"""Samples of every randomizer, their laws written out, and a test that accepts a law or refuses it.

Laws come from `sordino_analysis.conformance`, which follows the protocol's page and shares no code with the
randomizers. Thresholds have a false alarm of one in a million; seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from sordino_analysis.conformance.enumeration import bit_law, payload_count, payload_law
from sordino_analysis.evaluation.integer_kernels import integer_kernel
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_analysis.vectorized.orbits import base_row
from sordino_analysis.vectorized.randomizers import split_pair
from sordino_shared.domains import Domain, Integers, Ordinal
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio, exp_lower_bound
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    DenseRows,
    Dithered,
    FieldLabel,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    ResidueLabel,
    SeededDirection,
    SubsetMixture,
    SubsetPartition,
    SubsetSelection,
    TwoLevelRows,
)

HALF, ONE, THREE = PureEpsilon.of("0.5"), PureEpsilon.of(1), PureEpsilon.of(3)
FALSE_ALARM = 1e-6
Law = dict[bytes, Fraction]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Sample:
    """A randomizer, the ε it claims, and another one with an integer changed that claims the same in vain."""

    randomizer: AnyRandomizer
    claim: PureEpsilon
    worse: AnyRandomizer
    shape: tuple[int, ...] | None = None
    stated: Domain | None = None

    @property
    def is_listed(self) -> bool:
        return payload_count(self.randomizer) is not None

    @property
    def is_exact(self) -> bool:
        """Whether means do not depend on seeds: in one dimension a direction is the side itself."""
        parts = (
            [self.randomizer.first, self.randomizer.second] if isinstance(self.randomizer, Pair) else [self.randomizer]
        )
        return all(payload_count(part) is not None or part.accumulator_size == 1 for part in parts)

    @property
    def domain(self) -> Domain:
        if self.stated is not None:
            return self.stated
        shape = self.shape or (self.randomizer.size,)
        return Domain(tuple(Ordinal(f"a{i}", tuple(map(float, range(1, size)))) for i, size in enumerate(shape)))

    @property
    def part(self) -> DevicePart:
        return DevicePart(self.domain, self.claim, self.randomizer)


def staircase(guarantee: PureEpsilon, excess: int = 0) -> FiniteKernel:
    level = 1 / (2 + math.exp(guarantee.epsilon))
    kernel = integer_kernel(np.full(3, level), np.eye(3, dtype=bool), guarantee)
    assert isinstance(kernel.rows, TwoLevelRows)
    raised = ndarray(kernel.rows.high) + np.array([excess, 0, 0], dtype=np.uint64)
    return FiniteKernel(kernel.bits, two_level_rows(ndarray(kernel.rows.low), raised, np.eye(3, dtype=bool)))


def dense(shortage: int = 0) -> FiniteKernel:
    """Sixteen bits, a null output, a row that is never sent; the first entry is the least of the row that decides."""
    rows = [[5000 - shortage, 12000, 7000, 11000], [25000, 15000, 18000, 12000], [0] * 4, [30000, 29000, 31000, 35000]]
    return FiniteKernel(16, DenseRows(array_of(np.array(rows), "<u8")))


def direction(*vectors: tuple[int, ...], guarantee: PureEpsilon = ONE, excess: int = 0) -> SeededDirection:
    """All types but the last at the largest keep weight."""
    most = SeededDirection.largest_keep_weight(guarantee) + excess
    keep = [most] * (len(vectors) - 1) + [(1 << 59) + (1 << 56)]
    return SeededDirection(60, array_of(np.array(vectors), "<i4"), array_of(np.array(keep, dtype=np.uint64), "<u8"))


def orbits(guarantee: PureEpsilon, overlaps: bool, excess: int = 0) -> OrbitKernel:
    rows = (base_row(np.array([True, False])), base_row(np.array([[True, True, False], [False, False, True]])))
    high = ((1 << 40) * exp_lower_bound(guarantee.nano, 128) >> 128) + excess
    return OrbitKernel(
        shape=(2, 3, 2),
        width=2,
        overlaps=overlaps,
        bits=60,
        low=1 << 40,
        high=high,
        row_weights=(1 << 58, 3 << 58),
        rows=rows,
    )


def pinned(guarantee: PureEpsilon, excess: int = 0) -> OrbitKernel:
    """Signs of the label, and of it times one of two attributes."""
    rows = (base_row(np.array([True, False])), base_row(np.eye(2, dtype=bool)))
    high = ((1 << 40) * exp_lower_bound(guarantee.nano, 128) >> 128) + excess
    weights = (1 << 58, 3 << 58)
    shape = (2, 2, 2)
    levels = {"bits": 60, "low": 1 << 40, "high": high}
    return OrbitKernel(shape=shape, width=2, overlaps=False, **levels, row_weights=weights, rows=rows, pinned=2)


def coarsened(sizes: tuple[int, ...], *levels: Level) -> Sample:
    """Levels within ε = 1, and the same with a high weight that is one larger."""
    randomizer = Coarsened.for_guarantee(sizes, levels, ONE)
    return Sample(randomizer, ONE, replace(randomizer, high=randomizer.high + 1), sizes)


def dithered(attribute: Integers, knots: tuple[int, ...], inner: AnyRandomizer, worse: AnyRandomizer) -> Sample:
    """One attribute on these knots."""
    return Sample(Dithered((knots,), inner), ONE, Dithered((knots,), worse), stated=Domain((attribute,)))


RESPONSE, TWO = RandomizedResponse.for_guarantee(5, ONE), RandomizedResponse.for_guarantee(2, ONE)
MIXTURE = SubsetMixture.for_guarantee(5, (1, 3), (0.3, 0.7), ONE)
LINE, PLANE, TURNED = ((5,), (-7,), (2,)), ((10, 0), (0, 10), (-6, 8)), ((3, 4), (5, -12), (1, 0))

SAMPLES: dict[type, dict[str, Sample]] = {
    RandomizedResponse: {
        "five": Sample(RESPONSE, ONE, replace(RESPONSE, other_weight=RESPONSE.other_weight - 1)),
        "two": Sample(TWO, ONE, replace(TWO, other_weight=TWO.other_weight - 1)),
    },
    SubsetSelection: {
        f"{selection.subset_size}_of_{selection.size}": Sample(
            selection, ONE, replace(selection, include_weight=selection.include_weight + 1)
        )
        for selection in (SubsetSelection.for_guarantee(k, d, ONE) for k, d in ((5, 2), (2, 1), (6, 5)))
    },
    SubsetMixture: {
        "one_or_three_of_five": Sample(
            MIXTURE, ONE, replace(MIXTURE, include_weights=(MIXTURE.include_weights[0], MIXTURE.include_weights[1] + 1))
        )
    },
    FiniteKernel: {
        "staircase": Sample(staircase(ONE), ONE, staircase(ONE, 1)),
        "dense": Sample(dense(), epsilon_of_ratio(12000, 5000), dense(1)),
    },
    SeededDirection: {
        "line": Sample(direction(*LINE), ONE, direction(*LINE, excess=1)),
        "plane": Sample(direction(*PLANE), ONE, direction(*PLANE, excess=1)),
    },
    OrbitKernel: {
        "plain": Sample(orbits(ONE, False), ONE, orbits(ONE, False, 1), (2, 3, 2)),
        # Characters exceed one, so that sums are kept in another unit.
        "overlaps": Sample(orbits(THREE, True), THREE, orbits(THREE, True, 1), (2, 3, 2)),
        "pinned": Sample(pinned(ONE), ONE, pinned(ONE, 1), (2, 2, 2)),
    },
    Coarsened: {
        "linear": coarsened((4,), Level(1 << 32, GridPartition((1,)), LinearLabel(2), b"\x01")),
        "field": coarsened((8,), Level(1 << 32, GridPartition((1,)), FieldLabel(3), b"\x07")),
        "grids": coarsened(
            (6,),
            Level(1 << 30, GridPartition((2,)), LinearLabel(1), b"\x02"),
            Level(1 << 30, GridPartition((12,)), LinearLabel(1), b"\x02"),
            Level(1 << 31, GridPartition((3,)), ResidueLabel((3,)), b"\x03"),
        ),
        "two_axes": coarsened(
            (3, 4),
            Level(3 << 30, GridPartition((2, 3)), ResidueLabel((2, 3)), b"\x12"),
            Level(1 << 30, GridPartition((0, 3)), LinearLabel(1), b"\x01"),
        ),
        "plane": coarsened(
            (3, 2),
            Level(1 << 31, GridPartition((1, 1)), LinearLabel(1), b"\x01"),
            Level(1 << 31, GridPartition((2, 1)), ResidueLabel((2, 2)), b"\x01"),
        ),
        "random_attributes": coarsened(
            (2, 3, 2, 2),
            Level(1 << 30, SubsetPartition((2, 2)), ResidueLabel((2, 2)), b"\x07"),
            Level(3 << 30, SubsetPartition((3, 2)), ResidueLabel((3, 2)), b"\x15"),
        ),
    },
    Dithered: {
        "response": dithered(
            Integers("a", -3, 4, missing=True),
            (0, 3, 3, 7),
            RESPONSE,
            replace(RESPONSE, other_weight=RESPONSE.other_weight - 1),
        ),
        "kernel": dithered(Integers("a", 0, 5), (0, 2, 5), staircase(ONE), staircase(ONE, 1)),
        "pair": dithered(
            Integers("a", 0, 4),
            (0, 1, 4),
            Pair(staircase(HALF), staircase(HALF)),
            Pair(staircase(HALF), staircase(HALF, 1)),
        ),
    },
    Pair: {
        "kernels": Sample(Pair(staircase(HALF), staircase(HALF)), ONE, Pair(staircase(HALF), staircase(HALF, 1))),
        "direction_and_kernel": Sample(
            Pair(direction(*PLANE, guarantee=HALF), staircase(HALF)),
            ONE,
            Pair(direction(*PLANE, guarantee=HALF, excess=1), staircase(HALF)),
        ),
        "lines": Sample(
            Pair(direction(*LINE, guarantee=HALF), direction(*LINE[::-1], guarantee=HALF)),
            ONE,
            Pair(direction(*LINE, guarantee=HALF), direction(*LINE[::-1], guarantee=HALF, excess=1)),
        ),
        "directions": Sample(
            Pair(direction(*PLANE, guarantee=HALF), direction(*TURNED, guarantee=HALF)),
            ONE,
            Pair(direction(*PLANE, guarantee=HALF), direction(*TURNED, guarantee=HALF, excess=1)),
        ),
    },
}


def every_sample(members: tuple[type, ...] = get_args(AnyRandomizer)) -> Iterator[object]:
    for member in members:
        if not SAMPLES.get(member):
            raise LookupError(f"{member.__name__} is in AnyRandomizer and has no sample in tests/randomizers.py")
        for name, sample in SAMPLES[member].items():
            yield pytest.param(sample, id=f"{member.__name__}-{name}")


def law_of(randomizer: AnyRandomizer, cell: int) -> Law:
    """Chance of every outcome: a payload; of a direction the seed's last bit, and whether the bit is the side."""
    if payload_count(randomizer) is not None:
        return dict(payload_law(randomizer, cell))
    if isinstance(randomizer, Pair):
        first, second = law_of(randomizer.first, cell), law_of(randomizer.second, cell)
        return {one + two: p * q for one, p in first.items() for two, q in second.items()}
    assert isinstance(randomizer, SeededDirection)
    keep = Fraction(int(ndarray(randomizer.keep_weights)[cell]), 1 << randomizer.bits)
    return {bytes([seed, kept]): (keep if kept else 1 - keep) / 2 for seed in (0, 1) for kept in (0, 1)}


def outcomes(randomizer: AnyRandomizer, cell: int, payloads: Bytes) -> Bytes:
    """(n, w) the outcome, as `law_of` lists it, of each payload."""
    if payload_count(randomizer) is not None:
        return payloads
    if isinstance(randomizer, Pair):
        first, second = split_pair(randomizer, payloads)
        return np.hstack([outcomes(randomizer.first, cell, first), outcomes(randomizer.second, cell, second)])
    assert isinstance(randomizer, SeededDirection)
    sides = [bit_law(randomizer, cell, bytes(payload[:16]))[0] for payload in payloads]
    return np.column_stack([payloads[:, 15] & 1, payloads[:, 16] == sides]).astype(np.uint8)


def is_accepted(found: Bytes, law: Law) -> bool:
    """Chi-square of outcomes; those that are expected less than ten times are counted as one with the rarest other."""
    width = found.shape[1]
    seen, times = np.unique(np.ascontiguousarray(found).view(f"V{width}").ravel(), return_counts=True)
    counts = dict(zip((one.tobytes() for one in seen), times.tolist(), strict=True))
    assert set(counts) <= {outcome for outcome, chance in law.items() if chance}
    table = sorted((float(chance) * len(found), counts.get(outcome, 0)) for outcome, chance in law.items())
    rare = sum(expected < 10 for expected, _ in table)
    merged = np.vstack([np.sum(table[: rare + 1], axis=0), table[rare + 1 :]])
    distance = ((merged[:, 1] - merged[:, 0]) ** 2 / merged[:, 0]).sum()
    return bool(distance < chi2.isf(FALSE_ALARM, len(merged) - 1))


def tilted(law: Law, share: float) -> Law:
    """Every other outcome, in the order of their chances, that share likelier, the others rarer."""
    ordered = sorted(law.items(), key=lambda item: (item[1], item[0]))
    factors = (Fraction(1 + share), Fraction(1 - share))
    raw = {outcome: chance * factors[number % 2] for number, (outcome, chance) in enumerate(ordered)}
    return {outcome: chance / sum(raw.values()) for outcome, chance in raw.items()}


def written_out(randomizer: AnyRandomizer, replicas: int) -> tuple[Bytes, NDArray[np.object_]]:
    """Payloads (N, m, width) and the chance (N, m, k) of each for every type, given the seeds of a replica."""
    if payload_count(randomizer) is not None:
        laws = [dict(payload_law(randomizer, cell)) for cell in range(randomizer.size)]
        payloads = np.array([list(payload) for payload in laws[0]], dtype=np.uint8)
        return payloads[None], np.array([[[law[payload] for law in laws] for payload in laws[0]]])
    if isinstance(randomizer, Pair):
        parts = [written_out(part, replicas) for part in (randomizer.first, randomizer.second)]
        (first, chance), (second, other) = ([np.broadcast_to(a, (replicas, *a.shape[1:])) for a in p] for p in parts)
        outer = (replicas, first.shape[1], second.shape[1])
        left = np.broadcast_to(first[:, :, None], (*outer, first.shape[2]))
        right = np.broadcast_to(second[:, None], (*outer, second.shape[2]))
        payloads = np.concatenate([left, right], axis=3).reshape(replicas, -1, randomizer.payload_bytes)
        return payloads, (chance[:, :, None] * other[:, None]).reshape(replicas, -1, randomizer.size)
    assert isinstance(randomizer, SeededDirection)
    seeds = np.random.default_rng(randomizer.accumulator_size).integers(0, 256, (replicas, 1, 16), dtype=np.uint8)
    bits = np.broadcast_to(np.array([0, 1], dtype=np.uint8)[None, :, None], (replicas, 2, 1))
    laws = [[bit_law(randomizer, cell, bytes(seed[0]))[1:] for cell in range(randomizer.size)] for seed in seeds]
    chances = [[[Fraction(law[bit], 1 << randomizer.bits) for law in one] for bit in (0, 1)] for one in laws]
    return np.concatenate([np.broadcast_to(seeds, (replicas, 2, 16)), bits], axis=2), np.array(chances)
