"""What a plan says of one known rule on average: users by each scheme, and below how many there is none."""

from __future__ import annotations

import math

from sordino_analysis.average_case import refusals, usefulness
from sordino_analysis.average_case.rule_classes import Literals
from sordino_analysis.documents.plan_summary import AverageCaseFigures
from sordino_shared.errors import InvalidValue

ERROR, FAILURE = 0.05, 0.05


def average_case_figures(family: str, indicators: int, width: int, epsilon: float) -> AverageCaseFigures:
    """For conjunctions or clauses of w of k indicators, at α = β = .05.

    Raises InvalidValue for parities, and where answers that hold for each database need no more users.
    """
    if family == "parities":
        raise _refused_parities(indicators, width, epsilon)
    separation = Literals(indicators, tuple((place, True) for place in range(width))).means().separation
    variance = usefulness.one_attribute_variance(indicators, separation, epsilon)
    worst = usefulness.worst_case_variance(indicators, width, epsilon)
    if worst <= variance * (1 + 1e-9):
        users = usefulness.strong_users(worst, ERROR, FAILURE)
        raise InvalidValue(
            f"on average over databases a rule of {width} of {indicators} indicators takes "
            f"{usefulness.strong_users(variance, ERROR, FAILURE):,} users, and {users:,} give an answer that holds for "
            "each database: ask for marginals",
            width,
        )
    forster = refusals.forster_bound_of_literals(indicators, width)
    hellinger = refusals.squared_hellinger(forster, epsilon, balanced=width == 1)
    laplace = usefulness.laplace_variance(indicators, width, epsilon)
    return AverageCaseFigures(
        width=width,
        indicators=indicators,
        error=ERROR,
        failure=FAILURE,
        variance=variance,
        strong_users=usefulness.strong_users(variance, ERROR, FAILURE),
        weak_users=usefulness.weak_users(variance, FAILURE),
        laplace_users=usefulness.strong_users(laplace, ERROR, FAILURE),
        margin_users=usefulness.margin_users(indicators, width, epsilon, ERROR, FAILURE),
        lemma_users=usefulness.lemma_users(indicators, epsilon, ERROR, FAILURE),
        worst_case_users=usefulness.strong_users(worst, ERROR, FAILURE),
        forster_bound=forster,
        least_users=refusals.least_users(hellinger, FAILURE),
        least_users_of_paper=refusals.least_users_of_paper(forster, epsilon, FAILURE),
    )


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
