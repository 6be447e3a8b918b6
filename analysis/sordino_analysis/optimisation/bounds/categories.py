"""The lower bound for intervals within members of attributes without an order, from spectra in closed form.

It is the trace bound of A = D_ρ^½ (W − Wπ1ᵀ) D_π^½ with even weights π of the bins, and ρ_q ∝ w_q. AᵀA leaves the
functions of sum 0 on some attributes U and constant on the others apart, as M does in `category_law.py`: on each it is
a sum over the parts of the workload of the Gram matrices of their intervals, as often as there are such functions of
the members, Π_{a ∈ U} (c_a − 1). Means are taken off the constant functions alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.information import information_limits, least_variance

# Eigenvalues (n,) of the Gram matrix of some intervals of so many bins, in any order; with `centred` about the mean.
Spectrum = Callable[[int, bool], Floats]


@dataclass(frozen=True)
class CategoryTerms:
    """Queries with the `spectrum` of their intervals for each member of the attributes told `apart`; `weight` is w."""

    apart: tuple[bool, ...]
    spectrum: Spectrum
    weight: float = 1.0


def category_bound(
    sizes: Sequence[int], bins: int, parts: Sequence[CategoryTerms], queries: int, epsilon: float
) -> float:
    """The bound on the mean of w_q Var_q over `queries`, for attributes of these `sizes` beside so many bins."""
    values, counts = [], []
    for subset in product((False, True), repeat=len(sizes)):
        found = _spectrum_on(subset, sizes, bins, parts)
        values.append(np.sqrt(found / (queries * math.prod(sizes) * bins)))
        members = math.prod(size - 1 for size, zero in zip(sizes, subset, strict=True) if zero)
        counts.append(np.full(len(found), float(members)))
    return least_variance(np.concatenate(values), information_limits(epsilon), np.concatenate(counts))


def _spectrum_on(subset: Sequence[bool], sizes: Sequence[int], bins: int, parts: Sequence[CategoryTerms]) -> Floats:
    """(bins,) no more than the eigenvalues on the functions of sum 0 on the `subset`, largest first.

    Those of a sum of matrices of different kinds are at least those of each (Weyl 1912); of one kind they are added.
    """
    by_kind: dict[Spectrum, float] = {}
    for part in parts:
        if all(named or not zero for named, zero in zip(part.apart, subset, strict=True)):
            unnamed = math.prod(size for size, named in zip(sizes, part.apart, strict=True) if not named)
            by_kind[part.spectrum] = by_kind.get(part.spectrum, 0.0) + part.weight * unnamed
    found = np.zeros(bins)
    for spectrum, weight in by_kind.items():
        one = weight * np.sort(spectrum(bins, not any(subset)))[::-1]
        found[: len(one)] = np.maximum(found[: len(one)], one)
    return found


@dataclass(frozen=True)
class PlaneSpectrum:
    """Of rectangles of two attributes of `plane` bins, whose intervals have the spectra `first` and `second`."""

    plane: tuple[int, int]
    first: Spectrum
    second: Spectrum

    def __call__(self, bins: int, centred: bool) -> Floats:
        """All products of both; about the mean without the largest.

        To take off the mean is a change of rank one, after which the eigenvalue i is at least the one i + 1 before it.
        """
        products = np.multiply.outer(self.first(self.plane[0], False), self.second(self.plane[1], False))
        found = np.sort(products.ravel())[::-1]
        return np.asarray(found[1:] if centred else found)


def prefix_spectrum(bins: int, centred: bool) -> Floats:
    """Of [0, j) for j = 1 … k, (k,): (2 sin((2j − 1)π/(4k + 2)))⁻², about the mean (2 sin(πj/2k))⁻² for j < k."""
    if centred:
        angles = np.pi * np.arange(1, bins) / (2 * bins)
    else:
        angles = np.pi * (2 * np.arange(1, bins + 1) - 1) / (4 * bins + 2)
    return np.asarray(1 / (2 * np.sin(angles)) ** 2)


def range_spectrum(bins: int, centred: bool) -> Floats:
    """Of all ranges (k,): (k + 1)/(2 sin(πi/(2k + 2)))² for i = 1 … k, and about the mean as in `even_range_bound`."""
    if centred:
        odd = np.pi * np.arange(1, bins // 2 + 1) / (bins + 1)
        angles = np.concatenate([odd, np.pi * np.arange(1, (bins + 1) // 2) / bins])
    else:
        angles = np.pi * np.arange(1, bins + 1) / (2 * bins + 2)
    return np.asarray((bins + 1) / (2 * np.sin(angles)) ** 2)


def cell_spectrum(bins: int, centred: bool) -> Floats:
    """Of single bins: ones, (k,) or one fewer about the mean."""
    return np.ones(bins - centred)


def whole_spectrum(bins: int, centred: bool) -> Floats:
    """Of the interval of all bins: k, (1,), and nothing about the mean."""
    return np.zeros(0) if centred else np.array([float(bins)])
