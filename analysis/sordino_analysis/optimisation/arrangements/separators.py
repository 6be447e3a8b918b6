"""Rules over bits as half-spaces with small integer weights.

Aldà and Simon, Randomized response schemes, privacy and usefulness, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from sordino_analysis.arrays import Mask
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True)
class HalfSpace:
    """Yes where Σ w_i x_i ≥ t for x in {0, 1}^k, with integers w (k,) and t in the middle between two integers."""

    weights: tuple[int, ...]
    threshold: Fraction

    def predicts(self, bits: Mask) -> Mask:
        """(n,) whether it says yes at the (n, k) bits."""
        return np.asarray(2 * (bits.astype(np.int64) @ np.array(self.weights)) > int(2 * self.threshold))

    @property
    def largest(self) -> int:
        """The largest absolute weight."""
        return max(map(abs, self.weights))


def monomial(literals: Sequence[int | None]) -> HalfSpace:
    """All literals hold: for each variable 1, 0, or None where it is not asked."""
    signs = [0 if literal is None else 2 * literal - 1 for literal in literals]
    return HalfSpace(tuple(signs), sum(sign > 0 for sign in signs) - Fraction(1, 2))


def clause(literals: Sequence[int | None]) -> HalfSpace:
    """At least one literal holds."""
    signs = [0 if literal is None else 2 * literal - 1 for literal in literals]
    return HalfSpace(tuple(signs), Fraction(1, 2) - sum(sign < 0 for sign in signs))


def box_bits(values: np.ndarray[tuple[int, int], np.dtype[np.int64]], members: int) -> Mask:
    """(n, 2kJ) bits of (n, k) values from 0 to J − 1: whether each is ≥ a, then whether ≤ b, for all a, b."""
    ends = np.arange(members)
    above, below = values[:, :, None] >= ends, values[:, :, None] <= ends
    return np.asarray(np.concatenate([above, below], axis=1).reshape(len(values), -1))


def box(sides: Sequence[tuple[int, int]], members: int) -> HalfSpace:
    """A box with sides from a_i to b_i as a monomial over the bits of `box_bits`."""
    literals: list[int | None] = [None] * (2 * len(sides) * members)
    for place, (first, last) in enumerate(sides):
        literals[place * members + first] = 1
        literals[(len(sides) + place) * members + last] = 1
    return monomial(literals)


def decision_list(variables: int, items: Sequence[tuple[int, int, int]], otherwise: int) -> HalfSpace:
    """If x_i = e then b, for the first (i, e, b) of `items` that holds, else `otherwise`; with the weights of (27).

    Raises InvalidValue where a variable is asked twice.
    """
    if len({variable for variable, _, _ in items}) < len(items):
        raise InvalidValue("a decision list asks each variable once", tuple(items))
    weights, threshold = [0] * variables, Fraction(1, 2) if otherwise == 0 else Fraction(-1, 2)
    size, total, answer = 1, 1, None
    # From the end: a run of items with one answer has one weight, one more than all before it together.
    for variable, wanted, found in _from_first_change(items, otherwise):
        if found != answer:
            size, answer = total, found
        total += size
        signed = size if found else -size
        weights[variable] = signed if wanted else -signed
        threshold -= 0 if wanted else signed
    return HalfSpace(tuple(weights), threshold)


def _from_first_change(items: Sequence[tuple[int, int, int]], otherwise: int) -> list[tuple[int, int, int]]:
    """From the last item on, without those that say the same as what follows them all."""
    backwards = list(reversed(items))
    while backwards and backwards[0][2] == otherwise:
        backwards.pop(0)
    return backwards


def label_changes(items: Sequence[tuple[int, int, int]], otherwise: int) -> int:
    """How often the answer changes along a decision list."""
    return sum(a != b for a, b in pairwise([*(answer for _, _, answer in items), otherwise]))


def largest_list_weight(variables: int, changes: int) -> float:
    """(1 + (k − 1)/(c − 1))^(c−1), which bounds the weights of lists of k variables and c changes (Theorem 9)."""
    return 1.0 if changes <= 1 else (1 + (variables - 1) / (changes - 1)) ** (changes - 1)
