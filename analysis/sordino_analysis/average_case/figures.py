"""What a plan says of one known rule on average: users by each scheme, and below how many there is none.

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
from sordino_analysis.average_case import decision_lists, usefulness
from sordino_analysis.average_case.rule_classes import Literals
from sordino_analysis.documents.summary_parts import AverageCaseFigures
from sordino_analysis.optimisation.arrangements.margins import users_of_scheme
from sordino_shared.errors import InvalidValue

# Variances that differ by no more are the same up to rounding.
_SAME = 1e-9
# A share of users is said to hold within 5 points …
ERROR = 0.05
# … but for one database in 20: what tables of this field state.
FAILURE = 0.05


def average_case_figures(family: str, indicators: int, width: int, epsilon: float) -> AverageCaseFigures:
    """How many users a rule of w of k indicators takes at α = β = .05; of decision lists, the worst list.

    Raises InvalidValue for parities, and where answers that hold for each database need no more users.
    """
    if family == "parities":
        raise _refused_parities(indicators, width, epsilon)
    separation, worst, margin, lemma = _of_class(family, indicators, width, epsilon)
    variance = usefulness.one_attribute_variance(indicators, separation, epsilon)
    if worst <= variance * (1 + _SAME):
        users = usefulness.strong_users(worst, ERROR, FAILURE)
        raise InvalidValue(
            f"on average over databases a rule of {width} of {indicators} indicators takes "
            f"{usefulness.strong_users(variance, ERROR, FAILURE):,} users, and {users:,} give an answer that holds for "
            "each database: ask for marginals",
            width,
        )
    forster = forster_bound_of_literals(indicators, width)
    hellinger = squared_hellinger(forster, epsilon, balanced=width == 1)
    laplace = usefulness.laplace_variance(indicators, separation, epsilon)
    return AverageCaseFigures(
        width=width,
        indicators=indicators,
        error=ERROR,
        failure=FAILURE,
        variance=variance,
        strong_users=usefulness.strong_users(variance, ERROR, FAILURE),
        weak_users=usefulness.weak_users(variance, FAILURE),
        laplace_users=usefulness.strong_users(laplace, ERROR, FAILURE),
        margin_users=margin,
        lemma_users=lemma,
        worst_case_users=usefulness.strong_users(worst, ERROR, FAILURE),
        forster_bound=forster,
        least_users=least_users(hellinger, FAILURE),
        least_users_of_paper=least_users_of_paper(forster, epsilon, FAILURE),
    )


def _of_class(family: str, indicators: int, width: int, epsilon: float) -> tuple[float, float, int, int]:
    """‖m₁ − m₀‖², the variance of answers for each database, and the paper's users with its true margin and lemma's."""
    terms = (epsilon, ERROR, FAILURE)
    if family == "lists":
        margin = users_of_scheme(indicators + 1, decision_lists.list_margin(indicators, width), *terms)
        lemma = decision_lists.list_lemma_users(indicators, width, *terms)
        characters = decision_lists.worst_case_list_variance(indicators, width, epsilon)
        worst = min(characters, decision_lists.list_response_variance(indicators, width, epsilon))
        return decision_lists.list_separation(width), worst, margin, lemma
    separation = Literals(indicators, tuple((place, True) for place in range(width))).means().separation
    margin = usefulness.margin_users(indicators, width, *terms)
    characters = usefulness.worst_case_variance(indicators, width, epsilon)
    worst = min(characters, usefulness.response_variance(indicators, 0.5**width, epsilon))
    return separation, worst, margin, usefulness.lemma_users(indicators, *terms)


def _refused_parities(indicators: int, width: int, epsilon: float) -> InvalidValue:
    """Why no scheme of a single indicator answers parities, with how many users any other needs at least."""
    count = sum(math.comb(indicators, size) for size in range(1, width + 1))
    forster = forster_bound_of_parities(count)
    least = least_users(squared_hellinger(forster, epsilon, balanced=True), FAILURE)
    return InvalidValue(
        f"no single indicator tells of a parity of several; Forster's bound of {count:,} parities is {forster:.4g}, so "
        f"no scheme with ε = {epsilon:g} tells databases apart with fewer than {least:,} users",
        width,
    )


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
