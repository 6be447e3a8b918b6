"""What speaks against using a plan, in words, and what to do instead."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.mechanisms.mechanism import MAX_DENSE_TYPES
from sordino_analysis.percentages import percent
from sordino_analysis.planning.coarser_questions import coarser_question
from sordino_analysis.planning_options import PlanError
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.request_terms import CutShort, Objective
from sordino_shared.quantities import quantity

# Plans are within 1.3 of their bound at ε ≤ 1; beyond, bounds of many types prove half of what is possible, or less.
_LARGE_RATIO, _WEAK_BOUNDS = 3.0, 2.0
# Above it a question is named that has a good plan.
_FAR = 10.0
_UNSTRUCTURED = {"randomized_response", "subset_selection"}
# An error of a tenth of what an answer can be tells the small from the large.
_USEFUL_SHARE = 0.1
# An interval of ± 1.96 such errors is .98 of the range.
_IDLE_SHARE = 0.25


def quality_warnings(
    variance: float,
    bound: float,
    workload: Workload,
    *,
    mechanism: str,
    epsilon: float,
    objective: Objective,
    cut_short: CutShort | None = None,
) -> Iterator[str]:
    """Where the plan's variance is far from the bound, or no bound above 0 is proved."""
    advice = _advice(mechanism, workload.size, cut_short)
    coarser = coarser_question(workload, epsilon, objective, variance) if variance > _FAR * bound else None
    if coarser is not None:
        advice = f"{coarser}; or {advice}"
    if bound <= 0:
        yield f"no lower bound above 0 was proved, so it is not known how far {mechanism} is from the best: {advice}"
    elif variance > _LARGE_RATIO * bound:
        weak = "; or the bound is weak, as it often is above ε = 2" if epsilon > _WEAK_BOUNDS else ""
        yield f"the variance of {mechanism} is {variance / bound:.3g} times the lower bound: {advice}{weak}"


def check_matrix(
    workload: Workload, variance: float, bound: float, *, mechanism: str, epsilon: float, objective: Objective
) -> None:
    """Raise PlanError for a matrix over more types than dense designs take, where all that is left is far off."""
    if not isinstance(workload.operator, Dense) or workload.size <= MAX_DENSE_TYPES or variance <= _FAR * bound:
        return
    coarser = coarser_question(workload, epsilon, objective, variance)
    raise PlanError(
        f"the rows of a matrix over {workload.size} types are planned where they are like sums of neighbouring bins, "
        f"and the best of these, {mechanism}, has {variance / bound:.3g} times the variance that the bound leaves: "
        f"{coarser or 'use wider bins'}; or merge types to at most {MAX_DENSE_TYPES}; or name the mechanism to have it",
        workload,
    )


def _advice(mechanism: str, types: int, cut_short: CutShort | None) -> str:
    if cut_short is not None:
        return "plan again with more time"
    if types > MAX_DENSE_TYPES and mechanism in _UNSTRUCTURED:
        return (
            f"it tells all {types} types apart; ask about fewer (wider bins, fewer labels), about one attribute at a "
            "time (total sums over the others), or marginals"
        )
    return "leave the mechanism to the planner, raise the effort, or ask about fewer types"


def error_warnings(profile: ErrorProfile, listed: Workload, users: int) -> Iterator[str]:
    """Where an interval of 95 % from so many users is predicted to be as wide as all that an answer can be.

    `listed` are the queries of the profile.
    """
    least, most = listed.operator.entry_range()
    ranges, errors = most - least, profile.rmse(users)
    idle = np.flatnonzero((ranges > 0) & (errors >= _IDLE_SHARE * ranges))
    if not idle.size:
        return
    room = (_USEFUL_SHARE * ranges[idle]) ** 2 - profile.bias[idle] ** 2
    advice = "plan for more users, ask fewer queries, or use a larger ε"
    if (room > 0).all():
        needed = math.ceil(float((profile.variance[idle] / room).max()))
        advice = f"from {needed:,} users on their errors are below {percent(_USEFUL_SHARE)} of it; else {advice}"
    yield (
        f"with {quantity(users, 'user')}, {idle.size} of {quantity(len(errors), 'answer')} have a predicted error of "
        f"{percent(_IDLE_SHARE)} of their range or more, and an interval of 95 % is as wide as the range: {advice}"
    )
