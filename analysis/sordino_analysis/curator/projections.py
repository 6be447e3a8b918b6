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
from sordino_analysis.curator.strategy import exact_products, squared_sensitivity
from sordino_analysis.estimation.consistency import RELATIVE_GAP, NearestHistogram, nearest_histogram
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
        return self.answers(self.exact(counts) + law.drawn(noise), law, int(counts.sum()))

    def exact(self, counts: Integers) -> Integers:
        """(k,) → (ℓ,) what is measured of these counts, before noise."""
        return exact_products(self.rows, counts)

    def law(self, guarantee: Guarantee) -> NoiseLaw:
        """The noise on the ℓ measurements; raises InvalidValue where they are the same for all types."""
        range_ = int((self.rows.max(axis=1) - self.rows.min(axis=1)).max())
        if range_ == 0:
            raise InvalidValue(
                "there is nothing to measure: the answers of all types agree, or are nearer than coarse_jl tells them "
                "apart; multiply the rows, or take jl"
            )
        match guarantee:
            case Zcdp():
                return GaussianLaw.of(squared_sensitivity(self.rows, "replace"), len(self.rows), guarantee)
            case PureEpsilon():
                blocks = tuple(ball_blocks(len(self.rows), range_, guarantee))
                return BlockLaw(guarantee=guarantee, blocks=blocks)
        assert_never(guarantee)

    def answers(self, measured: Floats | Integers, law: NoiseLaw, users: int) -> Floats:
        """(Q,) those of `nearest`."""
        return self.matrix @ self.nearest(measured, law, users).histogram

    def nearest(self, measured: Floats | Integers, law: NoiseLaw, users: int) -> NearestHistogram:
        """The histogram (k,) that is nearest to the measurements (ℓ,) of so many users."""
        deviations = np.sqrt(law.variances())
        scaled = Dense(np.asarray(self.rows * (users / deviations)[:, None], dtype=float))
        return nearest_histogram(scaled, measured / deviations, RELATIVE_GAP * len(measured))


def isotropic(matrix: Floats) -> Projection:
    """The same noise on every query, then the projection (Nikolov, Talwar and Zhang 2013, Section 3).

    `matrix` (Q, k) of integers. The root mean squared error of n people is at most √(w/(Qn)), w = E max ⟨z, w_x − w_x′⟩
    for noise z, since the squared distance to a projection is at most ⟨z, ŷ − y⟩ (their Lemma 1). Under ε the
    measurement alone is K-norm noise on the lattice. Raises InvalidValue for queries of no whole numbers.
    """
    if not np.array_equal(matrix, np.rint(matrix)):
        raise InvalidValue("noise on the lattice is for queries of whole numbers: multiply the rows")
    return Projection(matrix, matrix.astype(np.int64))
