"""The answers of a second round that asked one query."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.arrays import Floats
from sordino_analysis.mechanisms.single_query import cumulants


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """The second round: `mean` A of n₂ = `users` answers, and whether the same users gave both.

    A user of type x sends the y-th output with chance `chances`[y, x] (m, k), which is decoded as `sent`[y] (m,) and
    the same number for all.
    """

    mean: float
    sent: Floats
    chances: Floats
    users: int
    same_users: bool

    @property
    def cumulants(self) -> tuple[Floats, Floats, Floats]:
        """(k,) each: the second, third and fourth cumulant of one answer of each type."""
        return cumulants(self.sent, self.chances)
