"""Odd kernels of sign vectors: the device draws g in {±1}^K from a law p and answers y·g(x) by randomised response.

Up to ε = ln 3 no kernel for an odd workload has less variance than the best of these: the bound needs nothing else.
With P = E ggᵀ and the folded queries D (Q, K) the best decoder has the second moment d P⁻¹ dᵀ/tanh²(ε/2) of a query d,
the same for every type. Its largest value over queries, or its mean, is convex in p: weights ρ of the queries and
chances p move by multiplicative steps, and a sign vector joins where gᵀNg, N = P⁻¹DᵀD_ρDP⁻¹, is above the mixture's
mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import NEARLY_ZERO, Floats
from sordino_analysis.optimisation.search.tuning import SIGN_VECTORS
from sordino_analysis.request_terms import Objective

# A vector of less chance is left out.
_LEAST_CHANCE = 1e-7
# Keeps the moment invertible in double precision.
_RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class SignDesign:
    """Vectors g (m, K) of ±1, their chances p (m,), and the objective: d P⁻¹ dᵀ of the worst query, or the mean."""

    signs: Floats
    chances: Floats
    value: float


def sign_design(
    folded: Floats, objective: Objective, seed: int, should_stop: Callable[[], bool] = lambda: False
) -> SignDesign:
    """The best law found for queries D (Q, K), no column of which is zero."""
    generator = np.random.Generator(np.random.PCG64(seed))
    size = folded.shape[1]
    signs = _distinct(np.vstack([_half_spaces(folded, generator), _signs(folded), 2 * np.eye(size) - 1]))
    chances = np.full(len(signs), 1 / len(signs))
    search = _SignSearch(folded, objective, SignDesign(signs, chances, np.inf))
    for _ in range(SIGN_VECTORS.rounds):
        chances = search.moved(signs, chances)
        kept = chances > _LEAST_CHANCE
        signs, chances = signs[kept], chances[kept] / chances[kept].sum()
        added = search.worth_adding(signs, chances, _candidates(signs, size, generator))
        if not len(added) or should_stop():
            break
        signs = _distinct(np.vstack([signs, added]))
        chances = _with_new(chances, len(signs) - len(chances))
    return _fewer(search.best, folded, objective)


class _SignSearch:
    """The best design met, and the weights ρ (Q,) of the queries D (Q, K), which follow the worst one."""

    def __init__(self, folded: Floats, objective: Objective, start: SignDesign) -> None:
        self.folded, self.objective, self.best = folded, objective, start
        self.rho = np.full(len(folded), 1 / len(folded))

    def moved(self, signs: Floats, chances: Floats) -> Floats:
        """The chances after steps towards those of least variance for the queries' weights, which move as well."""
        for _ in range(SIGN_VECTORS.steps):
            inverse = _inverse(signs, chances)
            moments = ((self.folded @ inverse) * self.folded).sum(axis=1)
            value = float(moments.max() if self.objective == "max" else moments.mean())
            if value < self.best.value:
                self.best = SignDesign(signs, chances, value)
            if self.objective == "max":
                self.rho = self.rho * (moments / moments.max()) ** 2
                self.rho /= self.rho.sum()
            worth = _worth(signs, inverse, self.folded, self.rho)
            chances = chances * np.sqrt(worth / (chances @ worth))
            chances /= chances.sum()
        return chances

    def worth_adding(self, signs: Floats, chances: Floats, candidates: Floats) -> Floats:
        """Where the candidates climb to, as far as that is worth more than the vectors are on average."""
        inverse = _inverse(signs, chances)
        worth = _worth(signs, inverse, self.folded, self.rho)
        added = _climbed(candidates, inverse, self.folded, self.rho)
        gains = _worth(added, inverse, self.folded, self.rho)
        return np.asarray(added[gains > (1 + SIGN_VECTORS.gain) * float(chances @ worth)])


def _with_new(chances: Floats, count: int) -> Floats:
    """The chances, and those of so many new vectors, which have a share of all together."""
    share = SIGN_VECTORS.share_of_new / max(1, count)
    chances = np.append((1 - SIGN_VECTORS.share_of_new) * chances, np.full(count, share))
    return np.asarray(chances / chances.sum())


def _fewer(design: SignDesign, folded: Floats, objective: Objective) -> SignDesign:
    """The design without its rarest vectors, as far as that costs next to nothing."""
    order = np.argsort(-design.chances)
    for count in np.unique(np.geomspace(len(folded[0]), len(order), SIGN_VECTORS.sizes_tried).astype(int)).tolist():
        signs, chances = design.signs[order[:count]], design.chances[order[:count]]
        chances = chances / chances.sum()
        if np.linalg.matrix_rank(signs) < signs.shape[1]:
            continue
        moments = ((folded @ _inverse(signs, chances)) * folded).sum(axis=1)
        value = float(moments.max() if objective == "max" else moments.mean())
        if value <= (1 + SIGN_VECTORS.cost_of_fewer) * design.value:
            return SignDesign(signs, chances, value)
    return design


def _inverse(signs: Floats, chances: Floats) -> Floats:
    """P⁻¹ (K, K)."""
    moment = (signs.T * chances) @ signs
    return np.asarray(np.linalg.inv(moment + _RIDGE * np.eye(len(moment))))


def _worth(signs: Floats, inverse: Floats, folded: Floats, rho: Floats) -> Floats:
    """(m,) gᵀNg of sign vectors (m, K)."""
    reached = signs @ inverse @ folded.T
    return np.asarray(reached**2 @ rho)


def _half_spaces(folded: Floats, generator: np.random.Generator) -> Floats:
    """Signs of random combinations of the columns of the factor R: within π/2 of the best before any search."""
    _, values, right = np.linalg.svd(folded, full_matrices=False)
    factor = np.sqrt(values)[:, None] * right
    return _signs(generator.standard_normal((SIGN_VECTORS.starts, len(factor))) @ factor)


def _signs(values: Floats) -> Floats:
    return np.where(values >= 0, 1.0, -1.0)


def _distinct(signs: Floats) -> Floats:
    """Without repetition, in order of first appearance; g and −g are one, as answers have both signs."""
    _, first = np.unique(signs * signs[:, :1], axis=0, return_index=True)
    return np.asarray((signs * signs[:, :1])[np.sort(first)])


def _candidates(signs: Floats, size: int, generator: np.random.Generator) -> Floats:
    """Vectors to climb from: those that there are, and random ones."""
    return np.vstack([signs, _signs(generator.standard_normal((SIGN_VECTORS.starts, size)))])


def _climbed(signs: Floats, inverse: Floats, folded: Floats, rho: Floats) -> Floats:
    """Each after the best single flip, repeated until none raises gᵀNg."""
    factor = np.sqrt(rho)[:, None] * (folded @ inverse)
    likeness = factor.T @ factor
    signs, everyone = signs.copy(), np.arange(len(signs))
    for _ in range(SIGN_VECTORS.most_flips):
        gains = np.diag(likeness) - signs * (signs @ likeness)
        best = gains.argmax(axis=1)
        better = gains[everyone, best] > NEARLY_ZERO * np.trace(likeness)
        if not better.any():
            break
        signs[everyone[better], best[better]] *= -1
    return _distinct(signs)
