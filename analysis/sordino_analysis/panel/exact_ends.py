"""Which truths an answer does not rule out, from the law of one report: where few events make up an error.

Normal ends of an answer that one report in a thousand moves are too short, more so at the small levels of a band of
many points. Chernoff's bound holds for any number of reports and any level; where errors are normal, it is a fifth
wider than they need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.inversion import coverage_of_sum
from sordino_analysis.estimation.normality import MANY_EVENTS
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Cumulants

# Exponents s at which the bound is taken, in units of 1/reach. Each s bounds the chance, so a coarse grid only widens:
# of neighbours a factor 1.18 apart one is within 9 % of the best s, which costs .4 % of the exponent. The least is far
# below z/√events of a normal tail, and at the largest an event has e^-40 of its chance left.
_EXPONENTS = np.geomspace(0.02, 40.0, 48)
# e^10 is above the ratio that is allowed, and more would overflow.
_LARGEST_EXPONENT = 10.0
# How much larger than a normal one the chance of a miss may be before ends are taken from the law: a level of 95 % then
# holds in 94.5 % or more.
_MOST_RATIO = 1.1
# The distance that shares are moved by is found to 2^-20 of it, a millionth of the largest answer.
_HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Term:
    """A mean of so many `users`, each of whom adds a contribution with this `law`, times a `weight` other than 0.

    Where it is `fixed`, they are random reports: drawn from what the law says, about a truth that is known.
    """

    weight: float
    users: int
    law: ContributionLaw
    fixed: bool = False

    @property
    def step(self) -> float:
        """The furthest that one report moves the sum."""
        return abs(self.weight) / self.users * self.law.reach

    def moments(self, exponents: Floats, sign: int) -> Floats:
        """(S, g) E exp(sign·s·(what a report of a class adds, from the mean)) at the exponents s (S,)."""
        added = sign * self.weight / self.users * (self.law.values - self.centre)
        return np.asarray(np.exp(np.outer(exponents, added)) @ self.law.chances)

    @cached_property
    def centre(self) -> float:
        """The mean of the users who are spread as the law says."""
        return float(self.law.truth @ self.shares)

    @cached_property
    def shares(self) -> Floats:
        """(g,) of sum 1."""
        return np.asarray(self.law.shares / self.law.shares.sum())

    def end(self, sign: int) -> float:
        """The truth to which users move where the weighted sum falls (`sign` 1) or rises (−1)."""
        return float(self.law.truth.min() if sign * self.weight > 0 else self.law.truth.max())


def truths_not_ruled_out(terms: Sequence[Term], answer: float, tail: float, *, sampled: bool) -> tuple[float, float]:
    """The ends of the truths Σ w_b·truth_b under which `answer`, Σ w_b·mean_b, is no rarer than `tail` a side.

    Users of each term are spread as its law's shares, moved towards the class of the least or the largest entry as far
    as a truth needs, all terms by the same share of the way. Truths are those of the users, or where users are
    `sampled` of the populations that they are drawn from. A truth is ruled out where exp(K(s)) < tail for some s, with
    K the log-moment of the sum less the answer (Chernoff 1952): Σ n_b·Σ_g share_g·log M_g(s) of the users, and
    Σ n_b·log Σ_g share_g·M_g(s) of populations.
    """
    low, high = (_end(terms, answer, math.log(1 / tail), sign, sampled=sampled) for sign in (1, -1))
    return min(low, answer), max(high, answer)


def coverage_of_terms(terms: Sequence[Term], ends: Floats, *, sampled: bool, scatter: float = 0.0) -> float:
    """P(ends[0] ≤ error of the sum of the terms ≤ ends[1]) for `ends` (2,); see `coverage_of_sum`."""
    parts: tuple[list[tuple[float, int, ContributionLaw]], ...] = ([], [])
    for term in terms:
        parts[term.fixed].append((term.weight, term.users, term.law))
    return coverage_of_sum(parts[0], ends, sampled=sampled, drawn=parts[1], scatter=scatter)


def are_few(terms: Sequence[Term], z: float, *, sampled: bool) -> bool:
    """Whether errors beyond `z` standard errors need the law itself.

    So they do where less than MANY_EVENTS equal events make up the error, or where a tail is not normal: it is
    exp(γz³/6 + (κ − 3γ²)z⁴/24) times a normal one on one side, with −γ on the other (Cramér 1938).
    """
    error = error_of_sum(terms, sampled=sampled)
    if error.variance < MANY_EVENTS * max(term.step for term in terms) ** 2:
        return True
    bend = (error.excess_kurtosis - 3 * error.skewness**2) * z**4 / 24
    skew = min(abs(error.skewness) * z**3 / 6, _LARGEST_EXPONENT)
    return math.cosh(skew) * math.exp(min(bend, _LARGEST_EXPONENT)) > _MOST_RATIO


def error_of_sum(terms: Sequence[Term], *, sampled: bool) -> Cumulants:
    """Of Σ w_b·mean_b: the cumulants of independent terms add up."""
    moments = [(term, term.law.moments) for term in terms]
    return cumulants_of_sum(
        [
            (term.weight, term.users, each.of_population if sampled or term.fixed else each.of_reporters)
            for term, each in moments
        ]
    )


def cumulants_of_sum(parts: Sequence[tuple[float, int, Cumulants]]) -> Cumulants:
    """Of Σ w_b·(mean of n_b reports), the parts (w_b, n_b, what is known of a report)."""
    total = np.zeros(3)
    for weight, users, of_report in parts:
        deviation, scale = math.sqrt(of_report.variance), weight / users
        standard = (1.0, of_report.skewness, of_report.excess_kurtosis)
        total += [users * (scale * deviation) ** power * one for power, one in zip(range(2, 5), standard, strict=True)]
    return Cumulants.of(*total.tolist())


def _end(terms: Sequence[Term], answer: float, odds: float, sign: int, *, sampled: bool) -> float:
    """The least truth that is not ruled out, or with `sign` −1 the largest."""
    centre = sum(term.weight * term.centre for term in terms)
    furthest = sum(term.weight * (term.centre if term.fixed else term.end(sign)) for term in terms)
    exponents = _EXPONENTS / max(term.step for term in terms)
    # Entries are e^40 apart at most on either side, so that no sum underflows.
    moments = [term.moments(exponents, sign) for term in terms]
    limit = sign * exponents * (answer - centre) - odds
    here, there = [], []
    for term, held in zip(terms, moments, strict=True):
        if term.fixed:
            drawn = held @ term.shares
            here.append(drawn if sampled else np.log(drawn))
            there.append(here[-1])
            continue
        values = held if sampled else np.log(held)
        here.append(values @ term.shares)
        there.append(values[:, term.law.truth == term.end(sign)].max(axis=1))
    users = np.array([term.users for term in terms])
    way = (
        _first_below(np.array(here), np.array(there), users, limit)
        if sampled
        else _first_of_lines(users @ np.array(here), users @ np.array(there), limit)
    )
    return centre + way * (furthest - centre)


def _first_of_lines(here: Floats, there: Floats, limit: Floats) -> float:
    """The least share of the way from `here` to `there` (S,) at which one falls below its `limit`; 1 if none does."""
    falling = here > there
    if not falling.any():
        return 1.0
    ways = (here[falling] - limit[falling]) / (here[falling] - there[falling])
    return float(np.clip(ways, 0.0, 1.0).min())


def _first_below(here: Floats, there: Floats, users: Floats, limit: Floats) -> float:
    """The same of Σ users·log of what goes from `here` to `there` (b, S): concave, so that it stays below."""
    low, high = 0.0, 1.0

    def is_below(way: float) -> bool:
        return bool((users @ np.log(here + way * (there - here)) < limit).any())

    if not is_below(1.0):
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_below(middle) else (middle, high)
    return high
