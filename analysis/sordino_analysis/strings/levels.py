"""Widths and chances of the levels of a text code, and which share is found and certified with 90 % power.

A device answers one level: the held-out one, which certifies and counts, or a piece of the code. The rules are derived
for one string among many and were fitted where noted; `python -m benchmarks.strings` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from sordino_analysis.documents.string_queries import WATCHED_SHARE
from sordino_shared._checks import check_range
from sordino_shared.domains.strings import MAX_DEPTH, MAX_PIECE

_NORMAL = NormalDist()
# Of each level but the first: wider ones have too many children a parent, narrower ones too few reports a level.
_WIDTH = 14
# The share is found with this power.
POWER = 0.9
_REACH = _NORMAL.inv_cdf(POWER)
# Standard errors beyond the threshold at which p_W balances selection and certification.
_BALANCE = 1.63
# With weights about so many candidates share the half of the error that the list has.
_SHARING = 40
# Of the held-out level, from what certifies well to what still selects.
_LEAST_HELD_OUT, _MOST_HELD_OUT = 0.2, 0.5
# What a beam loses against a list of all prefixes, whose heavy parents' other children crowd it; more when it is deep.
_CROWDING, _DEEP_CROWDING, _DEEP = 1.12, 1.15, 80
# The shares that the beam is tuned for are above those that it just finds.
SOUGHT = 1.2
_WHOLE = 1 << 32


def piece_ends(depth: int) -> tuple[int, ...]:
    """Where the pieces of a code of so many bits end: the first after 20, the others of nearly even widths up to 14."""
    check_range(depth, 1, MAX_DEPTH, "depth of a text")
    first = min(depth, MAX_PIECE)
    count = -(-(depth - first) // _WIDTH)
    return (first, *(first + round((depth - first) * (at + 1) / count) for at in range(count)))


@dataclass(frozen=True)
class LevelPlan:
    """The levels of a code of `depth` bits with a beam of so many parents and an error of the list and intervals.

    So many strings are `watched`, which takes half of the error from those that are found.
    """

    depth: int
    beam: int
    error: float
    watched: int = 0

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where the pieces end."""
        return piece_ends(self.depth)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bits of each piece."""
        return tuple(last - first for first, last in zip((0, *self.ends), self.ends, strict=False))

    @cached_property
    def held_out(self) -> float:
        """p_W, the chance of the held-out level."""
        select, certify = self._select + _BALANCE, self._certify + _BALANCE
        return min(_MOST_HELD_OUT, max(_LEAST_HELD_OUT, certify**2 / (certify**2 + select**2)))

    @cached_property
    def chances(self) -> tuple[int, ...]:
        """Of the held-out level, then of each piece, in 2^−32; p_ℓ grows with what a piece has to rule out."""
        margin = _NORMAL.inv_cdf(POWER ** (1 / (len(self.widths) + 1)))
        shares = [(_tail(2.0**-width) + margin) ** 2 for width in self.widths]
        whole = _WHOLE * (1 - self.held_out)
        pieces = [round(whole * share / sum(shares)) for share in shares]
        return (_WHOLE - sum(pieces), *pieces)

    @cached_property
    def bracket(self) -> float:
        """f90 of a list of all prefixes that keeps `beam` of them, in units of √(V/n)."""
        select = (self._select + _REACH) / math.sqrt(1 - self.held_out)
        certify = (self._certify + _REACH) / math.sqrt(self.held_out)
        return max(select, certify)

    @property
    def found(self) -> float:
        """The share that is found and certified with 90 %, in units of √(V/n)."""
        return self.bracket * (_DEEP_CROWDING if self.depth >= _DEEP else _CROWDING)

    @property
    def found_watched(self) -> float | None:
        """The share of a watched string that is certified with 90 %, in units of √(V/n); None where none is watched."""
        if not self.watched:
            return None
        certify = _tail(self.error / 2 * WATCHED_SHARE / self.watched)
        return (certify + _REACH) / math.sqrt(self.held_out)

    @property
    def sought(self) -> float:
        """f*, the share that paths are scored for, in units of √(V/n)."""
        return SOUGHT * self.bracket

    @property
    def _select(self) -> float:
        return _tail(min(0.5, self.beam * 2.0**-self.depth))

    @property
    def _certify(self) -> float:
        left = 1 - WATCHED_SHARE if self.watched else 1
        return _tail(self.error / 2 * left / _SHARING)


def found_by_depth(depths: Sequence[int], beam: int, error: float) -> tuple[tuple[int, float], ...]:
    """For each depth the share that is found with 90 %, in units of √(V/n)."""
    return tuple((depth, LevelPlan(depth, beam, error).found) for depth in depths)


def _tail(chance: float) -> float:
    """Φ⁻¹(1 − chance)."""
    return -_NORMAL.inv_cdf(chance)
