"""A lower bound for the worst threshold query, in which every query has type weights of its own.

Let k types be ordered and query t be the share of the types before t. For Λ ≥ 0 (Q, k) of sum 1, any A (Q, k), and
ν (k,) with

    g(v) = Σ_t (A_tᵀv)² / (Λ_tᵀv)  ≤  νᵀv   for all v ∈ {1, e^ε}^k,

every unbiased decoder V of an ε-LDP kernel K with rows v_y has, as V²s ≥ 2Vc − c²/s for c = A_tᵀv_y and s = Λ_tᵀv_y,

    max Var_t(x)  ≥  Σ Λ_tx Var_t(x)  ≥  2⟨A, W⟩ − 1ᵀν − ⟨Λ, W∘W⟩,   and ⟨A, W⟩²/1ᵀν − ⟨Λ, W∘W⟩ for A scaled best.

g is convex and homogeneous, so the extreme rays v suffice. Constants do not count: W is ½ before t and −½ from it on.
A and Λ are constant left and right of a window around t, so `window_paths` finds the largest violation over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.tuning import LARGEST_EPSILON, LARGEST_TYPES
from sordino_analysis.optimisation.bounds.window_paths import ROUNDING, Form, Integers, Windows, largest
from sordino_shared.errors import InvalidValue

# Windows of more types are checked for minutes.
LONGEST_WINDOW = 8
# A violation is rounded, so that it is taken this share larger.
_LIFTED = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnTypes:
    """`value` ≤ max Var_t(x) for the thresholds t of `thresholds` (Q,), 0 < t < k, increasing.

    The certificate: `weights` Λ and `numerators` A on the cells of windows of L types (Q, L + 2), and ν (k,).
    """

    value: float
    thresholds: Integers
    weights: Floats
    numerators: Floats
    multipliers: Floats


def recheck_own_types(
    thresholds: Integers, types: int, epsilon: float, weights: Floats, numerators: Floats, multipliers: Floats
) -> float:
    """The bound that these numbers prove, or 0 where they prove nothing; ν is raised to what the worst row needs.

    `thresholds` (Q,), `weights` and `numerators` (Q, L + 2), `multipliers` (k,). Raises InvalidValue for numbers that
    are no certificate.
    """
    windows = _checked(thresholds, types, epsilon, weights, numerators, multipliers)
    form = Form(numerators, weights, multipliers)
    violation = largest(windows, epsilon, form)
    scale = largest(windows, epsilon, Form(numerators, weights, np.zeros(types)))
    raised = float(multipliers.sum()) + max(0.0, violation) * (1 + _LIFTED) + ROUNDING * scale
    return _value(windows, thresholds, weights, numerators, raised)


def _value(windows: Windows, thresholds: Integers, weights: Floats, numerators: Floats, level: float) -> float:
    """⟨A, W⟩²/1ᵀν − ⟨Λ, W∘W⟩ for 1ᵀν = `level`, less what rounding may add."""
    if not level > 0:
        return 0.0
    products = numerators * signed_sizes(windows, thresholds) / 2
    correlation = max(0.0, abs(float(products.sum())) - ROUNDING * float(np.abs(products).sum()))
    squares = float((weights * windows.sizes).sum()) / 4
    second = correlation**2 / level
    return max(0.0, second - squares - ROUNDING * (second + squares))


def signed_sizes(windows: Windows, thresholds: Integers) -> Floats:
    """(Q, L + 2) the types of each cell before the threshold less those after it: 2 Σ W over the cell."""
    signs = np.where(np.arange(windows.types) < thresholds[:, None], 1.0, -1.0)
    inside = np.arange(windows.types) - windows.starts[:, None]
    left, right = inside < 0, inside >= windows.length
    window = signs[(inside >= 0) & (inside < windows.length)].reshape(len(thresholds), windows.length)
    return np.column_stack([(signs * left).sum(axis=1), window, (signs * right).sum(axis=1)])


def _checked(
    thresholds: Integers, types: int, epsilon: float, weights: Floats, numerators: Floats, multipliers: Floats
) -> Windows:
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidValue(f"ε must be positive and at most {LARGEST_EPSILON:g} for this bound, got {epsilon}", epsilon)
    if not 2 <= types <= LARGEST_TYPES:
        raise InvalidValue(f"this bound is for 2 to {LARGEST_TYPES} types, not {types}", types)
    length = weights.shape[1] - 2
    if not 1 <= length <= min(LONGEST_WINDOW, types):
        raise InvalidValue(
            f"windows are of 1 to {LONGEST_WINDOW} types and no longer than the domain, not of {length}", length
        )
    if not (np.diff(thresholds) > 0).all() or not 0 < thresholds[0] <= thresholds[-1] < types:
        raise InvalidValue("thresholds increase and lie between the first and the last type", thresholds)
    if weights.shape != numerators.shape or len(weights) != len(thresholds) or multipliers.shape != (types,):
        raise InvalidValue("a bound has numbers for the cells of every threshold, and for every type", weights.shape)
    windows = Windows.around(thresholds, types, length)
    _check_numbers(windows, weights, numerators, multipliers)
    return windows


def _check_numbers(windows: Windows, weights: Floats, numerators: Floats, multipliers: Floats) -> None:
    if not all(np.isfinite(numbers).all() for numbers in (weights, numerators, multipliers)):
        raise InvalidValue("the numbers of a bound are finite", weights)
    if not (weights >= 0).all() or not abs(float((weights * windows.sizes).sum()) - 1.0) <= SUM_TOLERANCE:
        raise InvalidValue("the weights of a bound are non-negative and sum to 1 over all types", weights)
    empty = windows.sizes == 0
    if weights[empty].any() or numerators[empty].any():
        raise InvalidValue("a cell without types has no weight", weights)
    idle = ~(weights * windows.sizes).any(axis=1)
    if numerators[idle].any():
        raise InvalidValue("a query without weight has no numerators", numerators)
