"""The best Gaussian noise for queries that XOR shifts and exchanges of d bits map to queries: d unknowns.

Such a workload has one eigenvalue λ_j of WᵀW for all characters of j bits. Weights of pairs depend on their Hamming
distance t alone, and with K_j the Krawtchouk polynomials

    add-remove:  √Q γ = Σ_j C(d,j) √(λ_j/k)
    replace:     √Q γ = max over p of Σ_{j≥1} C(d,j) √(2 (λ_j/k) Σ_t p_t (1 − K_j(t)/C(d,j))).

Only λ_j/k occurs, so k = 2^d is never written out. Edmonds, Nikolov and Ullman 2020, Section 2.5, by symmetry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.gaussian.tuning import DISTANCE_ORBITS
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk
from sordino_analysis.request_terms import Neighbours
from sordino_shared.errors import InvalidValue

# No weight falls below this, so that one that was nearly zero comes back.
_FLOOR = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class OrbitOptimum:
    """lower ≤ γ(W) ≤ upper for a workload of `spectrum` λ_j/k, (w+1,).

    `distance_weights` p (d,) on the distances 1…d proves `lower` alone; it is empty for `add-remove`, where γ is a
    closed form.
    """

    neighbours: Neighbours
    spectrum: Floats
    distance_weights: Floats
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """upper/lower − 1, the proved distance from the best noise."""
        return self.upper / self.lower - 1


def marginal_spectrum(bits: int, width: int) -> Floats:
    """(width + 1,) λ_j/k = C(d−j, w−j) 2^(−w) of all marginals of w of d bits.

    Raises InvalidValue unless 1 ≤ w ≤ d.
    """
    if not 1 <= width <= bits:
        raise InvalidValue(f"marginals are of 1 to {bits} of the bits, not {width}", width)
    return np.array([math.comb(bits - j, width - j) / 2**width for j in range(width + 1)])


def optimal_orbits(
    bits: int,
    spectrum: Floats,
    queries: int,
    neighbours: Neighbours = "replace",
    gap: float = DISTANCE_ORBITS.gap,
    steps: int = DISTANCE_ORBITS.steps,
) -> OrbitOptimum:
    """The best noise for Q queries of `spectrum` λ_j/k, (w+1,), with λ_0 first.

    Raises InvalidValue for a spectrum that is negative, not finite, or zero on every character but the constant.
    """
    if not (np.isfinite(spectrum).all() and (spectrum >= 0).all() and spectrum[1:].any() and len(spectrum) <= bits + 1):
        raise InvalidValue("a spectrum has numbers of at least 0 for 0 to d bits, and one above 0", spectrum)
    scale = 1 / math.sqrt(queries)
    if neighbours == "add-remove":
        value = scale * float(_characters(bits, len(spectrum)) @ np.sqrt(spectrum))
        return OrbitOptimum(
            neighbours=neighbours, spectrum=spectrum, distance_weights=np.zeros(0), lower=value, upper=value
        )
    search = _Search(bits, spectrum)
    search.run(gap, steps)
    return OrbitOptimum(
        neighbours=neighbours,
        spectrum=spectrum,
        distance_weights=search.weights,
        lower=search.value * scale,
        upper=search.upper * scale,
    )


def orbit_dual_value(bits: int, spectrum: Floats, queries: int, distance_weights: Floats) -> float:
    """What p (d,) proves of γ for `replace`, from the spectrum (w+1,) alone.

    Raises InvalidValue unless p is on the simplex.
    """
    p = distance_weights
    if p.shape != (bits,) or not (p >= 0).all() or abs(p.sum() - 1) > SUM_TOLERANCE:
        raise InvalidValue("the weights of distances are not negative and sum to 1", p)
    return _Search(bits, spectrum).evaluate(p)[0] / math.sqrt(queries)


def _characters(bits: int, degrees: int) -> Floats:
    """(degrees,) C(d, j)."""
    return np.array([math.comb(bits, j) for j in range(degrees)], dtype=float)


class _Search:
    """Ascent in p: p_t ← p_t·(D_t/value)^η with D_t the squared distance of pairs at Hamming distance t."""

    def __init__(self, bits: int, spectrum: Floats) -> None:
        used = np.flatnonzero(spectrum[1:]) + 1
        self._counts = _characters(bits, len(spectrum))[used]
        values = krawtchouk(bits, len(spectrum) - 1)[1:, used]
        # (d, degrees): squared distance of two types at distance t in an orthonormal basis of degree j, times λ_j.
        self._squares = 2 * spectrum[used] * (1 - values / self._counts)
        self.weights = np.full(bits, 1 / bits)
        self.upper = math.inf
        self.value = 0.0

    def evaluate(self, weights: Floats) -> tuple[float, Floats]:
        roots = np.sqrt(weights @ self._squares)
        return float(self._counts @ roots), np.asarray(self._squares @ (self._counts / roots))

    def run(self, gap: float, steps: int) -> None:
        exponent = DISTANCE_ORBITS.largest_exponent
        self.value, distances = self.evaluate(self.weights)
        self.upper = math.sqrt(self.value * distances.max())
        for _ in range(steps):
            if self.upper <= (1 + gap) * self.value:
                return
            moved = np.maximum(self.weights * (distances / self.value) ** exponent, _FLOOR)
            moved /= moved.sum()
            value, there = self.evaluate(moved)
            self.upper = min(self.upper, math.sqrt(value * there.max()))
            if value > self.value:
                self.weights, self.value, distances = moved, value, there
                exponent = min(DISTANCE_ORBITS.recovery * exponent, DISTANCE_ORBITS.largest_exponent)
            else:
                exponent /= 2
