"""A lower bound on the variance of unbiased estimates of a quadratic form from reports of n users.

Let θ be the mean of W over the pairs of different users, "pairs", or hᵀWh of their histogram, "histogram". Let every
user hold a type that is drawn from h, and let one of them hold x instead: the mean of θ moves by 2q̃_x/n, where

    q̃ = Wh − hᵀWh   for pairs,   q̃_x = (1 − 1/n)(W_jx − W_jj) + (W_xx − W_jj)/2n   for the histogram and h = e_j.

The likelihood ratios of the n users' transcripts are uncorrelated, so for M_h = Σ_y v_y v_yᵀ/(hᵀv_y), the mean of the
users' kernels, Cramér and Rao's inequality is

    n E Var(U | X)  ≥  4 q̃ᵀM_h⁻¹q̃ − n Var_hⁿ(θ)   for X ~ hⁿ,
    n Var_hⁿ(θ) = 4(n − 2)/(n − 1)·Var_h(Wh) + 2/(n − 1)·Var_hh(W),

which is nothing where h is one type. q̃ᵀM_h⁻¹q̃ − Var_h(Wh) is the least variance of the query q̃ under the type weights
h, so for weights λ of populations h it is `listed_rows` with the queries q̃ and Λ_h = λ_h h. This is the reduction of
Ghazi et al., Theorem 14, to linear queries in finite form. With several populations the bound is about protocols of one
round, whose users' kernels may differ: one kernel has the sum of their information. With one population it holds for
any number of rounds, in which users see what others sent: their M_h add up, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.listed_rows import ListedRows, recheck_listed_rows
from sordino_analysis.request_terms import Target
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False, kw_only=True)
class PairGame:
    """`populations` h (P, m) with weights λ (P,), `numerators` A (P, m), `multipliers` ν (m,): a certificate."""

    populations: Floats
    weights: Floats
    numerators: Floats
    multipliers: Floats


def recheck_pair_game(matrix: Floats, epsilon: float, users: int, target: Target, game: PairGame) -> float:
    """The bound on n times the variance, on average over populations by λ, that these numbers prove; at least 0.

    `matrix` W (m, m), symmetric. Raises InvalidValue for numbers that are no certificate.
    """
    populations, weights = game.populations, game.weights
    if populations.shape != (len(weights), len(matrix)):
        raise InvalidValue("a bound has one weight for every population, of the bound's types", populations.shape)
    for shares in (*populations, weights):
        if not (shares >= 0).all() or not abs(float(shares.sum()) - 1) <= SUM_TOLERANCE:
            raise InvalidValue("shares of a population, and weights of populations, sum to 1", shares)
    numbers = ListedRows(
        weights=weights[:, None] * populations, numerators=game.numerators, multipliers=game.multipliers
    )
    proved = 4 * recheck_listed_rows(slopes(matrix, populations, users, target), epsilon, numbers)
    return max(0.0, proved - float(weights @ sampling_excess(matrix, populations, users)))


def slopes(matrix: Floats, populations: Floats, users: int, target: Target) -> Floats:
    """q̃ (P, m) at populations h (P, m); raises InvalidValue for the histogram of a population of several types."""
    queries = populations @ matrix
    if target == "histogram":
        if not np.isin(populations, (0.0, 1.0)).all():
            raise InvalidValue("a bound of the histogram's form is about populations of one type", populations)
        queries = (1 - 1 / users) * queries + np.diag(matrix) / (2 * users)
    return np.asarray(queries - (populations * queries).sum(axis=1, keepdims=True))


def sampling_excess(matrix: Floats, populations: Floats, users: int) -> Floats:
    """n Var_hⁿ(θ) − 4 Var_h(Wh) of pairs, (P,): 2(Var_hh(W) − 2 Var_h(Wh))/(n − 1), at least 0."""
    queries, squares = populations @ matrix, populations @ matrix**2
    means = (populations * queries).sum(axis=1)
    of_queries = (populations * queries**2).sum(axis=1) - means**2
    of_pairs = (populations * squares).sum(axis=1) - means**2
    return np.asarray(2 * np.maximum(0.0, of_pairs - 2 * of_queries) / (users - 1))
