"""The noise of a release: a law for the r numbers that are measured, with the guarantee that it was made for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.ball_law import BallLaw
from sordino_analysis.curator.noise import CuratorNoise, check_ball, check_scale, check_variance
from sordino_analysis.curator.shell_index import MAX_DIMENSION
from sordino_analysis.documents.curator_part import BlockNoise, GaussianNoise, NoiseBlock
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class NoiseLaw(ABC):
    """A law of noise on r numbers that knows nothing of the data."""

    normal: ClassVar[bool]
    """Whether sums of the noise count as normal, as those of the discrete Gaussian do."""

    @abstractmethod
    def variances(self) -> Floats:
        """(r,) variances of the numbers."""

    @abstractmethod
    def drawn(self, noise: CuratorNoise) -> Integers:
        """(r,) one exact draw."""

    @abstractmethod
    def simulated(self, generator: np.random.Generator, count: int) -> Floats:
        """(r, count) draws in floats, to look at: never to release."""

    @abstractmethod
    def check_drawable(self) -> None:
        """Raise InvalidValue where the exact sampler does not reach."""

    @abstractmethod
    def published(self) -> GaussianNoise | BlockNoise:
        """Its parameters."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianLaw(NoiseLaw):
    """N_Z(0, σ²)^r with σ² = Δ²/2ρ: exactly ρ-zCDP (Canonne, Kamath and Steinke 2020, in several dimensions)."""

    normal: ClassVar[bool] = True
    squared_sensitivity: int
    variance: Fraction
    measured: int

    @classmethod
    def of(cls, squared_sensitivity: int, measured: int, guarantee: Zcdp) -> GaussianLaw:
        """The noise of a ρ; raises InvalidValue for ρ = 0."""
        if guarantee.nano_rho == 0:
            raise InvalidValue("ρ = 0 releases nothing: plan with ρ of at least 1e-9", guarantee)
        variance = squared_sensitivity / (2 * guarantee.exact)
        return cls(squared_sensitivity=squared_sensitivity, variance=variance, measured=measured)

    def variances(self) -> Floats:
        """(r,) of the discrete Gaussian: each is at most σ², and at σ² ≥ 10 equal to it in every digit of a float."""
        return np.full(self.measured, float(self.variance))

    def drawn(self, noise: CuratorNoise) -> Integers:
        return noise.gaussian(self.variance, self.measured)

    def simulated(self, generator: np.random.Generator, count: int) -> Floats:
        return np.asarray(generator.standard_normal((self.measured, count)) * float(self.variance) ** 0.5)

    def check_drawable(self) -> None:
        check_variance(self.variance)

    def published(self) -> GaussianNoise:
        return GaussianNoise(str(self.squared_sensitivity), str(self.variance))


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockLaw(NoiseLaw):
    """P(z) ∝ Π_b e^(−‖z_b‖_b/s_b): independent blocks of noise of norms ℓ₁ or ℓ∞ on the lattice.

    By the triangle inequality the release is ε-private for ε = max over neighbours of Σ_b ‖R̂_b(e_x − e_x′)‖_b/s_b
    (Hardt and Talwar 2010; blocks as in Nikolov 2022, Lemma 4.5).
    """

    normal: ClassVar[bool] = False
    guarantee: PureEpsilon
    blocks: tuple[NoiseBlock, ...]

    def variances(self) -> Floats:
        each = np.array([variance_of(block) for block in self.blocks])
        return np.asarray(np.repeat(each, [block.rows for block in self.blocks]))

    def drawn(self, noise: CuratorNoise) -> Integers:
        return np.concatenate([_drawn(block, noise) for block in self.blocks])

    def simulated(self, generator: np.random.Generator, count: int) -> Floats:
        return np.concatenate([_simulated(block, generator, count) for block in self.blocks])

    def check_drawable(self) -> None:
        for block in self.blocks:
            if block.norm == "l1":
                check_scale(block.exact_scale)
            else:
                check_ball(block.exact_scale, block.rows)

    def published(self) -> BlockNoise:
        return BlockNoise(self.blocks)


def laplace_block(rows: int, distance: int, budget: PureEpsilon) -> NoiseBlock:
    """Noise of ℓ₁ for neighbours that are `distance` apart in this norm."""
    return _block(rows, "l1", distance, budget.nano)


def ball_blocks(rows: int, range_: int, budget: PureEpsilon) -> Sequence[NoiseBlock]:
    """Noise of ℓ∞ for neighbours that are `range_` apart in each of the rows; equal parts where a ball is too large."""
    parts = next(parts for parts in range(-(-rows // MAX_DIMENSION), rows + 1) if rows % parts == 0)
    return [_block(rows // parts, "linf", range_ * parts, budget.nano)] * parts


def variance_of(block: NoiseBlock) -> float:
    """Of each coordinate."""
    scale = float(block.exact_scale)
    if block.norm == "l1":
        # 2a/(1−a)² for a = e^(−1/s).
        return float(0.5 / np.sinh(0.5 / scale) ** 2)
    return BallLaw.of(block.rows, scale).variance


def _block(rows: int, norm: str, distance: int, nano: int) -> NoiseBlock:
    if nano <= 0:
        raise InvalidValue("ε = 0 releases nothing: give every block of noise some of it", nano)
    scale = Fraction(distance * NANO, nano)
    check_scale(scale)
    return NoiseBlock(rows, norm, (scale.numerator, scale.denominator))


def _drawn(block: NoiseBlock, noise: CuratorNoise) -> Integers:
    if block.norm == "l1":
        return noise.laplace(block.exact_scale, block.rows)
    return np.asarray(noise.ball(block.exact_scale, block.rows, 1)[0])


def _simulated(block: NoiseBlock, generator: np.random.Generator, count: int) -> Floats:
    scale = float(block.exact_scale)
    if block.norm == "linf":
        return BallLaw.of(block.rows, scale).drawn(generator, count)
    fails = -np.expm1(-1 / scale)
    first, second = (generator.geometric(fails, (block.rows, count)) for _ in range(2))
    return (first - second).astype(float)
