"""Users that a statement about a pairwise statistic needs: the protocol is planned again until the number settles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from sordino_analysis.documents.plan_summary import PairwiseSummary
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.tuning import SAMPLE_SIZE
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest, never
from sordino_analysis.planning.sample_size import NeededUsers, Statement
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import ignore_progress
from sordino_shared.errors import InvalidValue

# A margin that needs more is refused.
MOST_USERS = 10**12


def _compiled(request: PlanningRequest) -> FinishedPlan:
    return request.compile(ignore_progress, never)


def pairwise_sample_size(
    request: PairwiseRequest,
    statement: Statement,
    planned: Callable[[PlanningRequest], FinishedPlan] = _compiled,
) -> NeededUsers:
    """The number of devices for which z times the predicted root mean squared error is at most the margin.

    `predicted` is the margin that they give, in units of the statistic, over the reference histograms; `planned` makes
    a plan of a request.

    `request.options.users` is not used. Raises InvalidValue for a statement about a population (the request's target
    "histogram" is that), and PlanError where 10¹² devices are not enough or no protocol applies.
    """
    if statement.population:
        raise InvalidValue("a pairwise statistic of the population is the target `histogram`: give that target")
    users = SAMPLE_SIZE.first_users
    for _ in range(SAMPLE_SIZE.most_plans):
        margin, protocol = _predicted(request, statement, users, planned)
        needed = max(2, math.ceil(users * (margin / statement.margin) ** 2))
        if needed > MOST_USERS:
            raise PlanError(f"± {statement.margin:g} needs more than {MOST_USERS:,} devices", statement.margin)
        if abs(needed - users) <= SAMPLE_SIZE.settled * users and margin <= statement.margin:
            return NeededUsers(epsilon=str(request.options.epsilon), mechanism=protocol, users=users, predicted=margin)
        users = needed if needed == 2 else math.ceil(needed * SAMPLE_SIZE.spare)
    raise PlanError(f"the predicted error does not settle near ± {statement.margin:g}: try another margin")


def _predicted(
    request: PairwiseRequest, statement: Statement, users: int, planned: Callable[[PlanningRequest], FinishedPlan]
) -> tuple[float, str]:
    options = request.options.model_copy(update={"users": users})
    summary = planned(replace(request, options=options)).summary
    assert isinstance(summary, PairwiseSummary)
    campaigns = 2 if statement.difference else 1
    margin = normal_quantile(statement.level) * math.sqrt(campaigns) * summary.predicted_rmse
    return margin, summary.protocol
