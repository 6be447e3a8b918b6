"""γ₂ of all conjunctions of one width up to an error α, and what bias is worth at a stated number of users.

y·AND of w of d indicators is a function c(s) of how many literals hold, −1 but for c(w) = 1. By symmetry the best
approximation is Σ_j f_j K_j, K_j the Krawtchouk sums over the sets of j of the w literals, and

    γ₂(D; α) = min Σ_j √(C(d, j)·C(w, j))·|f_j|   with   |Σ_j f_j K_j(s) − c(s)| ≤ α for s = 0 … w,

a linear program in w + 1 unknowns: the polynomials of lower degree of Edmonds, Nikolov and Ullman's section 3.6. A
character of size j is drawn with a chance proportional to its term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize_scalar

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False)
class ApproximateConjunctions:
    """`coefficients` (w + 1,) f, one for each size of a character; errors of y·c(x) are at most `bias`."""

    coefficients: Floats
    bias: float
    norm: float

    def loss_error(self, epsilon: float, users: int) -> float:
        """Root mean squared error of a loss for the worst population, up to ε = ln 3 the same for all but the bias."""
        noise = (self.norm**2 / math.tanh(epsilon / 2) ** 2 - (1 - self.bias) ** 2) / users
        return math.sqrt(noise + self.bias**2) / 2


def approximate_conjunctions(indicators: int, width: int, bias: float) -> ApproximateConjunctions:
    """The least norm at this bias of y·c(x), 0 for unbiased answers.

    Raises InvalidValue for a width that is not 1 to the number of indicators, or a bias that is not from 0 to 1.
    """
    if not 1 <= width <= indicators or not 0 <= bias <= 1:
        raise InvalidValue(f"the width is 1 to {indicators} and the bias 0 to 1, not {width} and {bias}", width)
    sums = krawtchouk(width, width)
    wanted = np.full(width + 1, -1.0)
    # Row i of the sums has i literals that do not hold.
    wanted[0] = 1.0
    costs = np.array([math.sqrt(math.comb(indicators, j) * math.comb(width, j)) for j in range(width + 1)])
    # f = p − m with both above 0. Terms are scaled to the same cost, so that their sizes do not lie far apart.
    scaled = sums / costs
    both = np.hstack([scaled, -scaled])
    found = linprog(
        np.ones(2 * (width + 1)),
        A_ub=np.vstack([both, -both]),
        b_ub=np.concatenate([bias + wanted, bias - wanted]),
        method="highs",
    )
    assert found.success, found.message
    terms = found.x[: width + 1] - found.x[width + 1 :]
    return ApproximateConjunctions(terms / costs, bias, float(np.abs(terms).sum()))


def best_bias(indicators: int, width: int, epsilon: float, users: int) -> ApproximateConjunctions:
    """The bias with the least root mean squared error of a loss at so many users; the error is convex in it."""

    def squared_error(bias: float) -> float:
        return approximate_conjunctions(indicators, width, bias).loss_error(epsilon, users) ** 2

    found = minimize_scalar(squared_error, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
    unbiased = approximate_conjunctions(indicators, width, 0.0)
    best = approximate_conjunctions(indicators, width, float(found.x))
    return min(unbiased, best, key=lambda each: each.loss_error(epsilon, users))
