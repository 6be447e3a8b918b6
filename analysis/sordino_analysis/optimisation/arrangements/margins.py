"""Arrangements as vectors, their margins, and how many users the scheme of Aldà and Simon says that it needs.

A scheme reports u_x with noise and answers one known rule from ⟨u_x, v⟩. It holds on average over databases that are
drawn uniformly from each class of the rule, and says nothing of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.arrangements.separators import HalfSpace
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Unit vectors `types` (M, d) and `rules` (N, d)."""

    types: Floats
    rules: Floats

    def margins(self, predicted: Mask) -> Floats:
        """(N,) (γ_0 + γ_1)/2 with γ_b the mean of ±⟨u_x, v⟩ over class b, (16) and (17); `predicted` (N, M).

        Raises InvalidValue for a rule that says the same of all types.
        """
        positives = predicted.sum(axis=1)
        if (positives == 0).any() or (positives == predicted.shape[1]).any():
            raise InvalidValue("a rule that says the same of all types has no margin: leave it out", predicted)
        products = self.rules @ self.types.T
        above = (products * predicted).sum(axis=1) / positives
        below = (products * ~predicted).sum(axis=1) / (predicted.shape[1] - positives)
        return np.asarray((above - below) / 2)

    def least_product(self, predicted: Mask) -> float:
        """min ±⟨u_x, v_f⟩ over all types and rules: above 0 where every sign is right. `predicted` (N, M)."""
        return float((np.where(predicted, 1.0, -1.0) * (self.rules @ self.types.T)).min())

    def projected(self, dimension: int, generator: np.random.Generator) -> Arrangement:
        """In fewer dimensions by normal directions, of unit length again (Theorem 8): its margins are other ones."""
        directions = generator.standard_normal((dimension, self.types.shape[1]))
        return Arrangement(_unit(self.types @ directions.T), _unit(self.rules @ directions.T))


def of_half_spaces(bits: Mask, half_spaces: Sequence[HalfSpace]) -> Arrangement:
    """The vectors (24) of (M, k) bits and N half-spaces: every ±⟨u_x, v_f⟩ ≥ 1/(4kP) for weights up to P (Lemma 9)."""
    variables, most = bits.shape[1], max(each.largest for each in half_spaces)
    weights = np.array([each.weights for each in half_spaces], dtype=float)
    thresholds = np.array([float(each.threshold) for each in half_spaces])
    types = np.column_stack([math.sqrt(most) * bits, np.full(len(bits), math.sqrt(variables * most))])
    rules = np.column_stack([weights / math.sqrt(most), -thresholds / math.sqrt(variables * most)])
    return Arrangement(_unit(types), _unit(rules))


def users_of_scheme(dimension: int, margin: float, epsilon: float, error: float, failure: float) -> int:
    """n of (20) with ln(4/β): the paper's proof spends β on the noise alone, and sampling needs as much again.

    Raises InvalidValue for a margin, error or failure that is not above 0.
    """
    if min(margin, error, failure, epsilon) <= 0 or failure >= 1:
        raise InvalidValue("margin, error and ε are above 0, and the chance of failure is between 0 and 1", margin)
    return math.ceil(32 * dimension / (error * epsilon * margin) ** 2 * math.log(4 / failure))


def projected_dimension(types: int, rules: int, margin: float, failure: float) -> int:
    """d of (22): a projection to so many dimensions keeps an eighth of the margin with chance 1 − β (Theorem 8)."""
    return math.ceil(8 * math.log(4 * (types + rules) / failure) + 128 / margin**2 * math.log(8 * rules / failure))


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
