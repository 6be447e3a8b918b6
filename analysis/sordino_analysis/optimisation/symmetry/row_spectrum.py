"""Fourier coefficients û_b(r) of the rows of an orbit kernel, and λ_o with E[H_r | x] = λ_o cas_r(x)."""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.questions.linear.characters import Characters, orbit_key
from sordino_analysis.vectorized.orbits import row_members
from sordino_shared.randomizers import OrbitKernel

Complex = NDArray[np.complex128]


# Numbers below this share of the largest are rounding.
_ROUNDING = 1e-9


class RowSpectrum:
    """The rows of a kernel as likelihood ratios u_b (mean 1) and their coefficients û_b(r) = E_z u_b(z) e^{−iθ_r(z)}.

    A report (b, A, t) counts H_r = (Re + Im) conj(û_b(r)) e^{iθ_r(t)} for each character r of the slots, carried to the
    attributes A; E[H_r | x] = λ_r cas_r(x), and λ_r, a sum over the rows, depends on the orbit of r only.
    """

    def __init__(self, kernel: OrbitKernel) -> None:
        self.kernel = kernel
        self.characters = Characters(kernel.shape, kernel.width, kernel.pinned)
        ratio = kernel.high / kernel.low
        self.ratios = tuple(likelihood_ratios(row_members(row).reshape(row.shape), ratio) for row in kernel.rows)
        self.coefficients = tuple(np.fft.fftn(u) / u.size for u in self.ratios)
        self.chances = np.array(kernel.row_weights) / float(1 << kernel.bits)

    @cached_property
    def single(self) -> Mask:
        """(rows,) whether a row tells one character alone, of attributes of two members."""
        cells = []
        for coefficients in self.coefficients:
            sizes = np.abs(coefficients.ravel()[1:])
            number = np.count_nonzero(sizes > _ROUNDING * sizes.max())
            cells.append(number == 1 and set(coefficients.shape) == {2})
        return np.array(cells)

    @cached_property
    def information(self) -> Floats:
        """(rows, orbits) the contribution of each row to every λ; an orbit's sum is 0 if no row is informative."""
        ratio = self.kernel.high / self.kernel.low
        tables = (row_members(row).reshape(row.shape) for row in self.kernel.rows)
        weights = np.array([orbit_weights(inside, ratio, self.characters) for inside in tables])
        return np.asarray(self.chances[:, None] * weights / self.characters.orbit_sizes)

    @cached_property
    def tells(self) -> Mask:
        """(rows, orbits) whether a report of the row tells a character of the orbit, rounding apart."""
        return np.asarray(self.information > _ROUNDING * self.information.max(axis=1, keepdims=True))

    def rows_by_shape(self) -> list[list[int]]:
        """The numbers of the rows, those over slots of the same sizes together."""
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for number, row in enumerate(self.kernel.rows):
            by_shape.setdefault(row.shape, []).append(number)
        return list(by_shape.values())


def likelihood_ratios(inside: Mask, ratio: float) -> Floats:
    """u = v/E[v] for v = ratio on the set and 1 elsewhere.

    `inside`: one axis per slot; the result has its shape, (K_1, K_2) for two slots.
    """
    levels = np.where(inside, ratio, 1.0)
    return np.asarray(levels / levels.mean())


def orbit_weights(inside: Mask, ratio: float, characters: Characters) -> Floats:
    """(orbits,) Σ |û(r)|² over the characters of up to `width` slots of a row, orbit by orbit."""
    numbers = {key: number for number, key in enumerate(characters.orbits)}
    u, kinds = likelihood_ratios(inside, ratio), characters.slot_kinds(inside.shape)
    squares = np.abs(np.fft.fftn(u) / u.size) ** 2
    weights = np.zeros(len(numbers))
    for r in product(*(range(size) for size in u.shape)):
        if 0 < sum(map(bool, r)) <= characters.width:
            weights[numbers[orbit_key(kinds, r)]] += squares[r]
    return weights
