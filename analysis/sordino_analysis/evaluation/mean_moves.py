"""How far a fake report moves an answer in the mean where its public part is drawn, as that of a report with a token.

M_q(κ) = max(max_y c_q(y; κ) − min W_q, max W_q − min_y c_q(y; κ)) for a coin κ: anyone who gets it picks the output y.
A share f of tokens moves answer q by at most f·E M_q(κ) in the mean; M_q(κ) is never above the move of a chosen coin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices

# Coins of which a mean is estimated at most.
COINS = 10_000
# Of many types fewer coins, each of which takes longer: so many types of all coins, and the fewest coins.
_TYPES_OF_COINS, _FEWEST_COINS = 25_000_000, 500
# The chance that one of the estimates is below the mean of all coins, and that fakes move an answer further than said.
MISSED = 1e-6


def coins_of(size: int) -> int:
    """How many coins of grids over so many types are drawn: of 2,500 at most 10,000, of 10,000 2,500."""
    return min(COINS, max(_FEWEST_COINS, _TYPES_OF_COINS // size))


@dataclass(frozen=True, eq=False)
class MeanMoves:
    """Upper bounds (m,) of E M_q(κ) for the listed queries `rows` (m,)."""

    rows: Indices
    moves: Floats

    def over(self, asked: int) -> str | None:
        """In words of which of the queries `asked` the largest is meant; None where they are all, listed or not."""
        return None if len(self.rows) == asked else f"{len(self.rows)} of {asked} queries"


def upper_mean(total: Floats, squares: Floats, count: int, most: Floats, estimates: int) -> Floats:
    """(m,) bounds, all above the mean with a chance of 1 − 10⁻⁶, from sums over `count` draws of 0 … `most` (m,).

    Maurer and Pontil 2009, Theorem 4 (empirical Bernstein), for so many `estimates` together.
    """
    mean = total / count
    variance = np.maximum(squares - count * mean**2, 0.0) / (count - 1)
    exponent = math.log(2 * estimates / MISSED)
    margin = np.sqrt(2 * variance * exponent / count) + 7 * most * exponent / (3 * (count - 1))
    return np.minimum(mean + margin, most)


def moves_of_ends(low: Floats, high: Floats, least: Floats, most: Floats) -> Floats:
    """max(high − least, most − low): how far from any honest answer the ends of what a report adds are."""
    return np.maximum(high - least, most - low)


def moved_with_chance(mean: float, most: float, share: float, reports: int, missed: float, queries: int) -> float:
    """By how much a share of drawn coins moves any of the answers, but for a chance `missed` (Hoeffding 1963).

    f·(d + m·√(ln(2Q/β)/(2fn))), and never above f·m.
    """
    spread = math.sqrt(math.log(2 * queries / missed) / (2 * share * reports))
    return share * min(most, mean + most * spread)
