"""Seeded directions: reports add up as signed unit vectors in fixed point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import PlainDecoder
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.contribution_law import Moments
from sordino_analysis.evaluation.linear_answers import linear_decoder
from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_analysis.evaluation.randomizers.server_half import Ends, Integers, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import check_length
from sordino_analysis.questions.linear import Workload
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import SeededDirection
from sordino_shared.randomizers.directions import SEED_BYTES

# Entries of unit vectors, and characters, are rounded to multiples of 2^-32: below the noise of 10^18 reports, and the
# sums of 2^31 reports still fit a signed word.
DIRECTION_SCALE = 1 << 32
# Unit vectors pass through the processor's cache five times, and so few of them stay in it.
_DIRECTION_ENTRIES = 1 << 16
# ‖E[bit·ĝ | x] − (2t_x/2^B − 1)·c_d·û_x‖ relative to the second term, for atoms in place of normal variables. Exact
# sums at d = 2 reach 1.1e-4 for vectors near a diagonal, where two atoms tie, and 5.6e-5 near an axis; generic
# vectors and more dimensions average the steps of the atoms out, to 1e-6. A plan states almost twice the worst.
DIRECTION_ERROR = 2e-4


@dataclass(frozen=True, eq=False)
class DirectionMoments(AccumulatorMoments):
    """s = ±ĝ for a direction ĝ of d dimensions: E[s|x] is `vectors`[:, x] (d, k) and E[s sᵀ] is I/d exactly.

    The second is exact for the atoms as well, since entries of ĝ are exchangeable and have symmetric signs.
    """

    vectors: Floats

    @classmethod
    def of(cls, randomizer: SeededDirection) -> DirectionMoments:
        """From the integers of the vectors and of their coins."""
        vectors, lengths = _vectors_of(randomizer)
        kept = ndarray(randomizer.keep_weights).astype(float) / float(1 << (randomizer.bits - 1)) - 1.0
        sizes = kept * half_sphere_mean(randomizer.dimension)
        # A type with the zero vector reports a fair coin on average, whatever its keep weight.
        return cls(vectors * np.divide(sizes, lengths, out=np.zeros_like(sizes), where=lengths > 0))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.vectors.shape[0])

    def means(self, rows: Floats) -> Floats:
        return rows @ self.vectors

    def variances(self, rows: Floats) -> Floats:
        second = (rows**2).sum(axis=1, keepdims=True) / self.dimension
        return np.asarray(second - (rows @ self.vectors) ** 2)

    def blanket(self, rows: Floats) -> tuple[Floats, Floats]:
        """(Q,) means and (Q,) variances of a direction with a fair sign, for `rows` (Q, dimension)."""
        return np.zeros(len(rows)), np.asarray((rows**2).sum(axis=1) / self.dimension)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        means = rows @ self.vectors
        return np.asarray(rows @ rows.T / self.dimension - (means * histogram) @ means.T)

    def mean_error(self, rows: Floats) -> Floats:
        if self.dimension == 1:
            return np.zeros(len(rows))
        longest = float(np.sqrt((self.vectors**2).sum(axis=0).max()))
        return np.asarray(DIRECTION_ERROR * longest * np.sqrt((rows**2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class DirectionHalf(ServerHalf):
    """s = ±ĝ (d,), each entry in units of 2^-32."""

    summed_on_ingest: ClassVar[IngestSums | None] = "all"
    randomizer: SeededDirection

    @cached_property
    def moments(self) -> DirectionMoments:
        return DirectionMoments.of(self.randomizer)

    @property
    def reports_at_once(self) -> int:
        return max(1, _DIRECTION_ENTRIES // self.randomizer.dimension)

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        return np.asarray(unit_vectors(payloads, self.randomizer.dimension).sum(axis=0))

    def check(self, sums: Integers, count: int) -> None:
        """A sum of unit vectors is no longer than their number, each entry being rounded; `sums` (d,).

        Raises InvalidValue for a longer one.
        """
        check_length(sums, self.randomizer.dimension)
        longest = DIRECTION_SCALE + self.randomizer.dimension
        if sum(value * value for value in sums.tolist()) > (count * longest) ** 2:
            raise InvalidValue(f"the sum of {count} unit vectors is no longer than {count}", count)

    def units(self) -> Floats:
        return np.full(self.randomizer.dimension, float(DIRECTION_SCALE))

    @property
    def mean_reach(self) -> float:
        """c_d, with what atoms in place of normal variables may add to it."""
        return min(1.0, half_sphere_mean(self.randomizer.dimension) * (1 + DIRECTION_ERROR))

    def extremes(self, rows: Floats, reach: float) -> Ends:
        lengths = np.linalg.norm(rows, axis=1) * reach
        return -lengths, lengths

    def contribution_laws(
        self, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
    ) -> Iterator[Moments]:
        """c = a + ⟨f, s⟩, s = ±ĝ: E⟨f,s⟩³ = E⟨f,s⟩·|f|²(3 − ρ²)/(d+1), ρ the cosine of f and the type's vector.

        For f = |f|(ρû + √(1−ρ²)ŵ) it is ρ³E|g_u|³ + 3ρ(1−ρ²)E|g_u|g_w², and moments of degree m of a sphere are those
        of normal variables over d(d+2)…, so that E|g_u|³ = 2E|g_u|/(d+1) and E|g_u|g_w² = E|g_u|/(d+1).
        `histogram` (k,).
        """
        linear, d = linear_decoder(decoder, self.randomizer, workload), self.randomizer.dimension
        vectors, lengths = _vectors_of(self.randomizer)
        units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        for query in queries:
            rows, _ = linear.rows(workload.operator, query, query + 1)
            mean, length = self.moments.means(rows)[0], float(np.sqrt((rows**2).sum()))
            cosine = (rows[0] @ units) / (length or 1.0)
            third = mean * length**2 * (3 - cosine**2) / (d + 1)
            fourth = np.full_like(mean, 3 * length**4 / (d * (d + 2)))
            yield Moments(np.stack([mean, np.full_like(mean, length**2 / d), third, fourth]), histogram)


def half_sphere_mean(dimension: int) -> float:
    """c_d = E|⟨ĝ, u⟩| = Γ(d/2)/(√π Γ((d+1)/2)) for a uniform direction ĝ and a unit vector u in d dimensions."""
    return math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)) / math.sqrt(math.pi)


def _vectors_of(randomizer: SeededDirection) -> tuple[Floats, Floats]:
    """The types' vectors (d, k) and their lengths (k,)."""
    vectors = ndarray(randomizer.vectors).astype(float).T
    return vectors, np.sqrt((vectors**2).sum(axis=0))


def unit_vectors(payloads: NDArray[np.uint8], size: int) -> Integers:
    """(n, d) ±g/‖g‖ in units of 2^-32, every entry of every report rounded on its own so that order cannot matter."""
    # Sums of 2^16 squares of 16-bit atoms are exact in floats too.
    drawn = directions(payloads[:, :SEED_BYTES], size).astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", drawn, drawn))
    signs = 2.0 * payloads[:, SEED_BYTES] - 1.0
    drawn *= (signs * DIRECTION_SCALE / lengths)[:, None]
    return np.asarray(np.rint(drawn, out=drawn).astype(np.int64))
