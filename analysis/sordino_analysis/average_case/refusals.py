"""How few users no ε-LDP scheme can do with, on average over the rules of a class.

A scheme that is weakly useful tells databases that the rule says no to from those that it says yes to. With
M_f = 1_{X₁}/|X₁| − 1_{X₀}/|X₀| and FB = 2/(√|X|·‖D_q^½ M‖), which is Forster's bound for balanced rules, the squared
Hellinger distance of one report under the two databases is, averaged over f ~ q,

    E_f H² ≤ b·sinh²(ε/2)/(FB²·(1 + 1/cosh(ε/2))),   b = 2 for balanced rules and 4 for others.

For it E‖u_z − 1‖² ≤ sinh²(ε/2) of the normalised likelihoods u of an output. Aldà and Simon's Theorem 3 bounds the
statistical distance of n reports by 4n((e^ε − 1)/FB)^(2/3), which refuses far less.
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_shared.errors import InvalidValue


def forster_bound(predicted: Mask, weights: Floats | None = None) -> float:
    """FB of rules (N, M) over M types with weights (N,) that sum to 1, evenly if none are given.

    Raises InvalidValue for a rule that says the same of all types.
    """
    positives = predicted.sum(axis=1)
    types = predicted.shape[1]
    if (positives == 0).any() or (positives == types).any():
        raise InvalidValue("a rule that says the same of all types cannot be refused: leave it out", predicted)
    even = np.full(len(predicted), 1 / len(predicted)) if weights is None else weights
    rows = predicted / positives[:, None] - ~predicted / (types - positives)[:, None]
    return float(2 / (math.sqrt(types) * np.linalg.norm(np.sqrt(even)[:, None] * rows, 2)))


def forster_bound_of_parities(count: int) -> float:
    """√N for N parities, whose signs are orthogonal."""
    return math.sqrt(count)


def forster_bound_of_literals(indicators: int, width: int) -> float:
    """2√(k/w)·(2^w − 1)/2^w for all conjunctions, or clauses, of w of k indicators: the characters of one attribute."""
    return 2 * math.sqrt(indicators / width) * (1 - 0.5**width)


def squared_hellinger(forster: float, epsilon: float, *, balanced: bool) -> float:
    """The most that H² of one report is, on average over the rules; at most 2."""
    spread = math.sinh(epsilon / 2) ** 2 / (1 + 1 / math.cosh(epsilon / 2))
    return min(2.0, 2 * (1 if balanced else 2) * spread / forster**2)


def least_users(hellinger: float, failure: float) -> int:
    """n below which no scheme succeeds with probability 1 − β, where H² of a report is `hellinger`.

    By success ≤ ½ + ½√(1 − (1 − H²/2)^(2n)). Raises InvalidValue for a β that is not between 0 and ½.
    """
    if not 0 < failure < 0.5:
        raise InvalidValue(f"the chance of failure is between 0 and 1/2, got {failure}", failure)
    if hellinger >= 2:
        return 1
    return max(1, math.ceil(-math.log1p(-((1 - 2 * failure) ** 2)) / (-2 * math.log1p(-hellinger / 2))))


def least_users_of_paper(forster: float, epsilon: float, failure: float) -> int:
    """The same by Aldà and Simon's Theorem 3: 4n((e^ε − 1)/FB)^(2/3) ≥ 1 − 2β."""
    of_one = 4 * math.pow(math.expm1(epsilon) / forster, 2 / 3)
    return max(1, math.ceil((1 - 2 * failure) / of_one))
