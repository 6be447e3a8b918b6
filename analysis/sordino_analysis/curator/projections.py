"""Noise on whole-number measurements and the nearest histogram: the projection mechanism, JL-Release, K-norm noise.

All measure an integer matrix times the counts, under ρ with the discrete Gaussian or under ε with the ball of ℓ∞ on the
lattice, P(z) ∝ e^(−ε‖z‖∞/Δ), which is ε-private by the triangle inequality (Hardt and Talwar 2010 for this norm).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import BlockLaw, GaussianLaw, NoiseLaw, ball_blocks
from sordino_analysis.curator.noise import CuratorNoise, Integers
from sordino_analysis.curator.strategy import squared_sensitivity
from sordino_analysis.estimation.consistency import RELATIVE_GAP, nearest_histogram
from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear.operators import Dense
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon


@dataclass(frozen=True, eq=False)
class Projection:
    """Measures `rows` (ℓ, k) of integers and answers `matrix` (Q, k) of the histogram that is nearest to them."""

    matrix: Floats
    rows: Integers

    def release(self, counts: Integers, guarantee: Guarantee, noise: CuratorNoise) -> Floats:
        """(Q,) answers as shares of the people counted (k,), biased."""
        law = self.law(guarantee)
        return self.nearest(self.rows @ counts + law.drawn(noise), law, int(counts.sum()))

    def law(self, guarantee: Guarantee) -> NoiseLaw:
        """The noise on the ℓ measurements."""
        match guarantee:
            case Zcdp():
                return GaussianLaw.of(squared_sensitivity(self.rows, "replace"), len(self.rows), guarantee)
            case PureEpsilon():
                range_ = int((self.rows.max(axis=1) - self.rows.min(axis=1)).max())
                blocks = tuple(ball_blocks(len(self.rows), range_, guarantee))
                return BlockLaw(guarantee=guarantee, blocks=blocks)
        assert_never(guarantee)

    def nearest(self, measured: Floats | Integers, law: NoiseLaw, users: int) -> Floats:
        """(Q,) the answers of the histogram that is nearest to the measurements (ℓ,) of so many users."""
        deviations = np.sqrt(law.variances())
        scaled = Dense(np.asarray(self.rows * (users / deviations)[:, None], dtype=float))
        nearest = nearest_histogram(scaled, measured / deviations, RELATIVE_GAP * len(measured))
        return self.matrix @ nearest.histogram


def isotropic(matrix: Floats) -> Projection:
    """The same noise on every query, then the projection (Nikolov, Talwar and Zhang 2013, Section 3).

    `matrix` (Q, k) of integers. The root mean squared error of n people is at most √(w/(Qn)), w = E max ⟨z, w_x − w_x′⟩
    for noise z, since the squared distance to a projection is at most ⟨z, ŷ − y⟩ (their Lemma 1). Under ε the
    measurement alone is K-norm noise on the lattice.
    """
    return Projection(matrix, _integers(matrix))


def jl_release(matrix: Floats, dimension: int, generator: np.random.Generator) -> Projection:
    """JL-Release: T of random signs, (ℓ, Q) and public, and noise on TW (Nikolov 2022, Algorithm 1, Theorem 5.1).

    `matrix` (Q, k) of integers. With ℓ = nε, and noise of its Lemma 4.3, the error is O(w(K)/√(Q n ε)); Lemma 3.1 takes
    any noise.
    """
    signs = generator.choice(np.array([-1, 1]), size=(dimension, len(matrix)))
    return Projection(matrix, signs @ _integers(matrix))


def coarse_jl_release(matrix: Floats, alpha: float, dimension: int, generator: np.random.Generator) -> Projection:
    """JL-Release of answers moved to the nearest of some types, α√Q/2 apart (Nikolov 2022, Algorithm 2, Lemma 8.1).

    `matrix` (Q, k). The answers of everybody move by at most α/2, root mean squared.
    """
    chosen: list[int] = []
    apart = alpha * len(matrix) ** 0.5 / 2
    for cell in range(matrix.shape[1]):
        if not chosen or np.linalg.norm(matrix[:, chosen] - matrix[:, [cell]], axis=0).min() > apart:
            chosen.append(cell)
    net = matrix[:, chosen]
    squares = (net**2).sum(axis=0)[:, None] - 2 * net.T @ matrix
    return jl_release(net[:, squares.argmin(axis=0)], dimension, generator)


def _integers(matrix: Floats) -> Integers:
    if not np.array_equal(matrix, np.rint(matrix)):
        raise InvalidValue("noise on the lattice is for queries of whole numbers: multiply the rows")
    return matrix.astype(np.int64)
