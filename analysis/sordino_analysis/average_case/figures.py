"""What a plan says of one known rule on average: users by each scheme, and below how many there is none."""

from __future__ import annotations

import math

from sordino_analysis.average_case import decision_lists, refusals, usefulness
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
    forster = refusals.forster_bound_of_literals(indicators, width)
    hellinger = refusals.squared_hellinger(forster, epsilon, balanced=width == 1)
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
        least_users=refusals.least_users(hellinger, FAILURE),
        least_users_of_paper=refusals.least_users_of_paper(forster, epsilon, FAILURE),
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
    forster = refusals.forster_bound_of_parities(count)
    least = refusals.least_users(refusals.squared_hellinger(forster, epsilon, balanced=True), FAILURE)
    return InvalidValue(
        f"no single indicator tells of a parity of several; Forster's bound of {count:,} parities is {forster:.4g}, so "
        f"no scheme with ε = {epsilon:g} tells databases apart with fewer than {least:,} users",
        width,
    )
