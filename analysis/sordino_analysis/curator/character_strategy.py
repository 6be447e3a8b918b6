"""What a curator measures for parities and marginals of bits: every character of few bits, times a whole number.

One scale c_j serves all characters of j bits, so that neither the measurement nor its sensitivity needs a list of the
2^d types: Δ² = max over the distances t of 2 Σ_j c_j² (C(d,j) − K_j(t)), in whole numbers, with K_j of Krawtchouk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.loss import loss_of_characters
from sordino_analysis.curator.strategy import Integers, IntegerStrategy, Nearest, Strategy, check_sensitivity
from sordino_analysis.documents.curator_part import CharacterScales, NoiseBlock
from sordino_analysis.estimation.few_attributes import LocalShares
from sordino_analysis.estimation.intervals import independent_quantile
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk_integers
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.questions.linear.workload import Workload
from sordino_shared.errors import InvalidValue

# Counts of all types are transformed at once: 8 MiB of them.
_MAX_BITS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class CharacterStrategy(Strategy):
    """c_|S| Σ_x χ_S(x) counts(x) for the sets S of at most w of d bits; `scales` has c_0 … c_w.

    c_0 = 0 for `replace`, where the number of people is known. Raises InvalidValue for a Δ² that the scales do not
    have.
    """

    operator: CharacterMap
    scales: tuple[int, ...]

    def __post_init__(self) -> None:
        check_sensitivity(self.squared_sensitivity, squared_sensitivity_of_scales(self.bits, self.scales))

    @property
    def bits(self) -> int:
        """d, the number of attributes of two members."""
        return len(self.operator.characters.shape)

    @property
    def measured(self) -> int:
        return sum(math.comb(self.bits, degree) for degree, scale in enumerate(self.scales) if scale)

    def published(self) -> CharacterScales:
        return CharacterScales(self.scales)

    def loss(self, blocks: Sequence[NoiseBlock]) -> Fraction:
        return loss_of_characters(self.bits, self.scales, blocks, self.neighbours)

    def variances_under(self, noise: Floats) -> Floats:
        """(r,) → (m,): noise of one degree has one variance in every plan; of several the largest is taken."""
        inverse = _inverse_squares(self.scales) * self.by_degree(noise)
        found = np.zeros(self.operator.shape[0])
        for block in self.operator.blocks:
            found[block.queries] = block.table**2 @ inverse[degrees(block.shape)]
        if self.neighbours == "add-remove":
            found = np.append(found, inverse[0])
        return np.asarray(found)

    def exact(self, counts: Integers) -> Integers:
        if self.bits > _MAX_BITS:
            raise InvalidValue(
                f"counts of the 2^{self.bits} types are too many: release marginals of at most {_MAX_BITS} attributes"
            )
        sums, half = counts.astype(np.int64), 1
        while half < len(sums):
            pairs = sums.reshape(-1, 2, half)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            half *= 2
        scales = self._each_scale()
        cells = np.concatenate([[0], self.operator.characters.cells])
        return np.asarray((scales * sums[cells])[scales > 0])

    def decode(self, noisy: Floats) -> Floats:
        coefficients = self._coefficients(noisy)
        answers = self.operator.answers([coefficients] * len(self.operator.blocks))
        if self.neighbours == "add-remove":
            return np.concatenate([answers, coefficients[:1]])
        return answers

    def known_part(self) -> Floats:
        known = np.zeros(self.operator.shape[0])
        for block in self.operator.blocks:
            known[block.queries] = block.table[:, 0]
        return known if self.neighbours == "replace" else np.zeros(len(known) + 1)

    def total_covariances(self, noise: Floats) -> Floats:
        known = np.zeros(self.operator.shape[0])
        for block in self.operator.blocks:
            known[block.queries] = block.table[:, 0]
        return np.asarray(known * (_inverse_squares(self.scales) * self.by_degree(noise))[0])

    def band_quantile(self, level: float) -> float:
        """By Šidák's inequality: listing the covariance of all answers would take too long."""
        return independent_quantile(level, self.operator.shape[0])

    def nearest(self, workload: Workload, noisy: Floats, deviations: Floats, users: int) -> Nearest:
        """Each marginal's nearest distribution; those that share attributes need not agree. `noisy` (r,)."""
        shares = LocalShares.nearest(self.operator, self.decode(noisy) / users + self.known_part())
        squares = shares.weigh([block.values**2 for block in self.operator.blocks])
        return Nearest(shares.answers, squares, ())

    def nearest_counts(self, workload: Workload, noisy: Floats, deviations: Floats) -> Floats:
        answers = self.decode(noisy)
        people = max(answers[-1], 0.0)
        if people == 0:
            return np.zeros(len(answers) - 1)
        return np.asarray(LocalShares.nearest(self.operator, answers[:-1] / people).answers * people)

    def dense(self, matrix: Floats) -> IntegerStrategy:
        """The same measurement with all its integers listed, for rows (m, k) that it answers."""
        size = 2**self.bits
        rows = np.array([self.exact(unit) for unit in np.eye(size, dtype=np.int64)]).T
        coefficients = matrix @ rows.T / size
        squares = (rows.astype(float) ** 2).sum(axis=1) / size
        return IntegerStrategy(
            neighbours=self.neighbours,
            rows=rows,
            squared_sensitivity=self.squared_sensitivity,
            decoder=coefficients / squares,
            offset=matrix.mean(axis=1) if self.neighbours == "replace" else np.zeros(len(matrix)),
        )

    def _coefficients(self, noisy: Floats) -> Floats:
        """(1 + p, …) total and character sums, 0 where nothing is measured; the total of `replace` is known."""
        scales = self._each_scale()
        found = np.zeros((len(scales), *noisy.shape[1:]))
        found[scales > 0] = (noisy.T / scales[scales > 0]).T
        return found

    def by_degree(self, noise: Floats) -> Floats:
        """(w + 1,) the largest of the variances (r,) of each number of bits, 0 where nothing is measured."""
        found, start = np.zeros(len(self.scales)), 0
        for degree, scale in enumerate(self.scales):
            if scale:
                stop = start + math.comb(self.bits, degree)
                found[degree], start = noise[start:stop].max(), stop
        return found

    def _each_scale(self) -> Integers:
        """(1 + p,) the scale of the constant and of every character, in the order of the map's: by their bits."""
        counts = [math.comb(self.bits, degree) for degree in range(len(self.scales))]
        return np.repeat(np.array(self.scales, dtype=np.int64), counts)


def squared_sensitivity_of_scales(bits: int, scales: tuple[int, ...]) -> int:
    """The exact Δ² of c_|S| χ_S for the sets S of at most w bits: by distances for c_0 = 0, else of adding a row."""
    squares = [scale * scale for scale in scales]
    characters = [math.comb(bits, degree) for degree in range(len(scales))]
    if scales[0]:
        return sum(square * count for square, count in zip(squares, characters, strict=True))
    values = krawtchouk_integers(bits, len(scales) - 1)
    return max(
        2 * sum(square * (count - value) for square, count, value in zip(squares, characters, row, strict=True))
        for row in values[1:]
    )


def degrees(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """(2^m,) how many bits each frequency of a block of m attributes has, in C order."""
    return np.asarray(np.indices(shape).reshape(len(shape), -1).sum(axis=0))


def _inverse_squares(scales: tuple[int, ...]) -> Floats:
    return np.array([1 / scale**2 if scale else 0.0 for scale in scales])
