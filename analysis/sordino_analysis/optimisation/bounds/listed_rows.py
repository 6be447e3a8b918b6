"""A lower bound for few types, in which every query has type weights of its own: rechecked over all extreme rows.

Let m types be given and W (Q, m). For Λ ≥ 0 and any A, both (Q, m), and ν (m,) with

    g(v) = Σ_q (A_qᵀv)² / (Λ_qᵀv)  ≤  νᵀv   for all v ∈ {1, e^ε}^m,

every unbiased decoder V of an ε-LDP kernel K with rows v_y has, as V²s ≥ 2Vc − c²/s for c = A_qᵀv_y and s = Λ_qᵀv_y,

    Σ Λ_qx Var_q(x)  ≥  2⟨A, W⟩ − 1ᵀν − ⟨Λ, W∘W⟩,   and ⟨A, W⟩²/1ᵀν − ⟨Λ, W∘W⟩ for A and ν scaled best.

g is convex and homogeneous of degree 1, so the 2^m extreme rays v suffice; the rays of all ones and of all e^ε are one.
Λ, A and ν enter concavely together, and by conic duality the best of them prove the least value that a kernel has. A
constant taken off a row of W changes no variance. `own_types` is this bound for thresholds of many types.

What Λ is makes the bound one of several: of sum 1, of the largest variance; ρπᵀ, of the mean over queries with weights
ρ; and for the pairwise statistics of `pair_game` a row of Λ is a population.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.tuning import LARGEST_EPSILON, LISTED_ROWS
from sordino_shared.errors import InvalidValue

# What double precision loses in a sum of some thousand terms, relative to the sum of their sizes.
_ROUNDING = 1e-12
# A violation is rounded, so that it is taken this share larger.
_LIFTED = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedRows:
    """The numbers of a bound: `weights` Λ (Q, m), `numerators` A (Q, m), `multipliers` ν (m,)."""

    weights: Floats
    numerators: Floats
    multipliers: Floats


def centred_rows(matrix: Floats) -> Floats:
    """W (Q, m) with the middle between its least and its largest entry taken off each row."""
    middle = (matrix.min(axis=1) + matrix.max(axis=1)) / 2
    return np.asarray(matrix - middle[:, None])


def recheck_listed_rows(matrix: Floats, epsilon: float, numbers: ListedRows) -> float:
    """The bound on Σ Λ_qx Var_q(x) that these numbers prove, or 0 where they prove nothing.

    `matrix` W (Q, m), of at most `LISTED_ROWS.most_types` types. ν is raised to what the worst row needs, so any A and
    ν, and any Λ that is not negative, are a certificate. Raises InvalidValue for other numbers.
    """
    _check(matrix, epsilon, numbers)
    weights, numerators, multipliers = numbers.weights, numbers.numerators, numbers.multipliers
    violation = max(_violations(epsilon, numbers), default=0.0)
    level = float(multipliers.sum()) + max(0.0, violation) * matrix.shape[1] * (1 + _LIFTED)
    level += _ROUNDING * float(np.abs(multipliers).sum())
    if not level > 0:
        return 0.0
    products = numerators * matrix
    correlation = max(0.0, abs(float(products.sum())) - _ROUNDING * float(np.abs(products).sum()))
    second, squares = correlation**2 / level, float((weights * matrix**2).sum())
    return float(max(0.0, second - squares - _ROUNDING * (second + squares)))


def listed_rows(types: int, epsilon: float) -> Iterator[Floats]:
    """All rows of 1 and e^ε but one of the two constant ones, some thousand at a time: (n, types) each."""
    boost = np.expm1(epsilon)
    for start in range(0, 2**types - 1, LISTED_ROWS.at_a_time):
        numbers = np.arange(start, min(2**types - 1, start + LISTED_ROWS.at_a_time))
        yield 1 + boost * ((numbers[:, None] >> np.arange(types)) & 1)


def _violations(epsilon: float, numbers: ListedRows) -> Iterator[float]:
    """The largest (g(v) − νᵀv)/1ᵀv of some rows after the other, rounded up; above 0 where ν falls short."""
    used = numbers.weights.any(axis=1)
    weights, numerators = numbers.weights[used], numbers.numerators[used]
    for rows in listed_rows(weights.shape[1], epsilon):
        shares = rows @ weights.T
        values = np.abs(rows @ numerators.T) + _ROUNDING * (rows @ np.abs(numerators).T)
        form, allowed = (values**2 / shares).sum(axis=1), rows @ numbers.multipliers
        yield float(((form * (1 + _ROUNDING) - allowed) / rows.sum(axis=1)).max())


def _check(matrix: Floats, epsilon: float, numbers: ListedRows) -> None:
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidValue(f"ε must be positive and at most {LARGEST_EPSILON:g} for this bound, got {epsilon}", epsilon)
    types, most = matrix.shape[1], LISTED_ROWS.most_types
    if not 2 <= types <= most:
        raise InvalidValue(f"this bound is for 2 to {most} types, not {types}", types)
    weights, numerators, multipliers = numbers.weights, numbers.numerators, numbers.multipliers
    if weights.shape != matrix.shape or numerators.shape != matrix.shape or multipliers.shape != (types,):
        raise InvalidValue("a bound has a weight and a numerator for every query and type", weights.shape)
    if not all(np.isfinite(array).all() for array in (weights, numerators, multipliers)):
        raise InvalidValue("the numbers of a bound are finite", weights)
    if not (weights >= 0).all():
        raise InvalidValue("the weights of a bound are not negative", weights)
    if numerators[~weights.any(axis=1)].any():
        raise InvalidValue("a query without weight has no numerators", numerators)
