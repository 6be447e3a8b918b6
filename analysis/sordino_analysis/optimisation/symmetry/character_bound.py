"""A lower bound for parities, marginals and their stacks: the doubly non-negative relaxation, orbit by orbit.

For an output of an ε-LDP kernel let u be its likelihood ratios under uniform types, so E_x u = 1, and a its least.
Kernels mix staircase rows u ∈ {a, a·e^ε}; with p = 1 − a and q = a·e^ε − 1 their covariances R(z) = E_x u(x)u(x+z) − 1,
averaged over shifts and exchanges of attributes, obey R(0) = pq, Σ_z R(z) = 0 and, from products of a ≤ u ≤ a·e^ε,

    −min(p, q)² ≤ R(z) ≤ pq,

and what they tell of a character, λ_r = Σ_z R(z) cas_r(z)/k, is not negative (Delsarte's linear program has the same
form). For a spectrum c ≥ 0, multipliers g ≥ c on the characters r ≠ 0, any level μ, and t(z) = Σ_r g_r cas_r(z)/k − μ,

    Σ_r c_r λ_r ≤ Σ_r g_r λ_r = Σ_z t(z)R(z) ≤ F := max over a of P·pq + N·min(p, q)²

with P = t(0) + Σ_{z≠0} t(z)₊ and N = Σ_{z≠0} t(z)₋. A mechanism mixes outputs, so this holds for its λ. The best
decoder of queries with squared coefficients n_r has the mean variance Σ_r n_r(1/λ_r − 1), which is at least
(Σ_r √(n_r c_r))²/F − Σ_r n_r, and more where some λ_r = μ√(n_r/c_r) would be above tanh²(ε/2), the largest eigenvalue
of an information matrix: see `bounds.information`. Equal g and μ = −g/k give F = g·sinh²(ε/2): the trace bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.information import information_limits, least_variance
from sordino_analysis.optimisation.symmetry.group_orbits import GroupOrbits, group_orbits
from sordino_analysis.optimisation.symmetry.programs import best_multipliers
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_shared.errors import InvalidValue

# What double precision loses in sums of this length, relative to their largest term.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False, kw_only=True)
class SymmetricBound:
    """`value` ≤ Σ_B weight_B · (mean variance of block B) for every mechanism that the bound speaks of.

    It speaks of the mechanisms of `TraceBound`. `recheck_characters` makes the value of the weights again.
    """

    value: float
    block_weights: Floats
    spectrum: Floats
    multipliers: Floats
    level: float


def recheck_characters(
    operator: CharacterMap,
    epsilon: float,
    block_weights: Floats,
    spectrum: Floats,
    multipliers: Floats,
    level: float,
) -> float:
    """Σ n(1/λ − 1) for λ = min(tanh²(ε/2), μ√(n/c)) and Σ cλ ≤ F; weights of the blocks of queries sum to one.

    `spectrum` c has a number for each orbit that queries use, `multipliers` g one for each orbit of the group but the
    zero, or one for all; then `level` is not used. Raises InvalidValue for numbers that are not a certificate.
    `block_weights` (blocks,).
    """
    needs, sizes = query_fourier_weights(operator), operator.characters.orbit_sizes
    if block_weights.shape != needs.shares.shape or spectrum.shape != sizes.shape:
        raise InvalidValue("the certificate has weights for other blocks of queries or other orbits", block_weights)
    if (block_weights < 0).any() or (spectrum < 0).any() or not abs(block_weights.sum() - 1) <= SUM_TOLERANCE:
        raise InvalidValue("weights of a bound are not negative, and those of the blocks sum to 1", block_weights)
    needed = block_weights @ needs.by_orbit
    if len(multipliers) == 1:
        short, most = multipliers[0] < spectrum.max(), float(multipliers[0] * np.sinh(epsilon / 2) ** 2)
    else:
        orbits = group_orbits(operator.characters)
        if orbits is None or len(multipliers) != len(orbits.sizes) - 1:
            raise InvalidValue(f"{len(multipliers)} multipliers are not one for each orbit", multipliers)
        short = bool((multipliers < 0).any() or (multipliers[orbits.places - 1] < spectrum).any())
        most = _largest_form(orbits, multipliers, level, epsilon)
    if short:
        raise InvalidValue("a multiplier must not be below the spectrum that it stands for", multipliers)
    limits = information_limits(epsilon, most)
    return (1 - _ROUNDING) * least_variance(np.sqrt(needed / sizes), limits, sizes, spectrum)


def character_bound(operator: CharacterMap, epsilon: float, block_weights: Floats) -> SymmetricBound:
    """The bound of `recheck_characters`, maximised over c, g and μ; the trace bound where orbits are too many.

    `block_weights` (blocks,).
    """
    characters = operator.characters
    trace = np.where(query_fourier_weights(operator).by_orbit.max(axis=0) > 0, 1.0, 0.0)
    bounds = [(trace, np.ones(1), 0.0)]
    orbits = group_orbits(characters)
    if orbits is not None:
        needed = characters.orbit_sizes * (block_weights @ query_fourier_weights(operator).by_orbit)
        bounds.append(best_multipliers(needed, orbits, epsilon))
    values = [recheck_characters(operator, epsilon, block_weights, *weights) for weights in bounds]
    best = int(np.argmax(values))
    spectrum, multipliers, level = bounds[best]
    return SymmetricBound(
        value=values[best], block_weights=block_weights, spectrum=spectrum, multipliers=multipliers, level=level
    )


def _largest_form(orbits: GroupOrbits, multipliers: Floats, level: float, epsilon: float) -> float:
    """F: the maximum over p and q = (e^ε − 1) − e^ε p of P·pq + N·min(p, q)², in closed form."""
    prices = orbits.table[:, 1:] @ multipliers / orbits.sizes.sum() - level
    weighted = orbits.sizes * prices
    most = float(weighted[0] + np.maximum(weighted[1:], 0.0).sum())
    least = float(np.maximum(-weighted[1:], 0.0).sum())
    slack = _ROUNDING * float(np.abs(weighted).sum())
    return _most_of_rows(most + slack, least + slack, epsilon)


def _most_of_rows(most: float, least: float, epsilon: float) -> float:
    """max over 0 ≤ p ≤ 1 − e^{−ε} of P·pq + N·min(p, q)²: at p = q or where a piece is stationary."""
    boost = math.exp(epsilon)
    both = (boost - 1) / (boost + 1)
    values = [(most + least) * both**2, 0.0]
    for curvature, reach in ((most * boost - least, most), (most / boost - least, most / boost)):
        # With p ≤ q the value is reach·(e^ε − 1)p − curvature·p²; with q ≤ p the same in q, divided by e^ε.
        if curvature > 0 and (at := reach * (boost - 1) / (2 * curvature)) < both:
            values.append(reach * (boost - 1) * at - curvature * at**2)
    return max(values)
