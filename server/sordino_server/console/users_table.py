"""How many users the statement "each answer ± margin at 95 %" needs, at several ε, for the question of a plan."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Annotated

import anyio.to_thread
from fastapi import Query

from sordino_analysis.documents.plan_summary import LinearSummary, read_summary
from sordino_analysis.figures import chosen
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.request_terms import Effort
from sordino_server.context import Context
from sordino_server.plans import service
from sordino_server.plans.checking import quick_summary
from sordino_server.plans.schemas import PlanOrder
from sordino_server.workloads import service as workloads
from sordino_shared.errors import InvalidValue

EPSILONS = ("0.25", "0.5", "1", "2", "4")
LEVEL = 0.95
# A search for one row; the best mechanism that it has found by then counts.
SEARCH_S = 5.0
_MOST = 256

Margin = Annotated[str, Query(max_length=40)]


@dataclass(frozen=True, kw_only=True)
class UsersRow:
    """What one ε needs. `summary` is None until it is searched; `users` are for one answer and for all at once, None
    where the bias alone exceeds the margin. `of_plan`: of the plan itself, not of a short search.
    """

    request: str
    margin: float
    epsilon: str
    summary: LinearSummary | None
    of_plan: bool = False

    @property
    def users(self) -> tuple[int, int] | None:
        """For every answer by itself, and for all answers at once."""
        return None if self.summary is None else self.summary.users_within(self.margin, LEVEL, False)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The finished plan of a request, and what a search for its question at another ε needs."""

    request: str
    order: PlanOrder
    specification: str
    summary: LinearSummary

    def key(self, epsilon: str) -> tuple[str, str]:
        return self._options(epsilon).model_dump_json(), self.order.workload

    def _options(self, epsilon: str) -> PlanningOptions:
        chosen = self.order.options().model_copy(update={"epsilon": epsilon, "effort": Effort.QUICK})
        return chosen.with_time_limit(SEARCH_S)

    async def search(self, context: Context, epsilon: str) -> LinearSummary:
        text = await context.answers.run(quick_summary, self.specification, self._options(epsilon))
        summary = read_summary(text).linear
        assert summary is not None, "quick summaries are of linear queries"
        return summary


class FoundSummaries:
    """Summaries of searches; of more than `most` the one unused for longest is forgotten."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], LinearSummary] = OrderedDict()

    def find(self, key: tuple[str, str]) -> LinearSummary | None:
        """The summary of a search that was made."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: tuple[str, str], summary: LinearSummary) -> None:
        """Remember a summary."""
        self._kept[key] = summary
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)


def statement_of(margin: str) -> float:
    """The half width; raises InvalidValue."""
    percent = margin.strip().endswith("%")
    try:
        value = float(margin.strip().rstrip("%")) / (100 if percent else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InvalidValue("margin is a number above 0, such as 0.01 or 1%", margin)
    return value


async def table_of_plan(context: Context, summaries: FoundSummaries, request_id: str, margin: float) -> list[UsersRow]:
    """Rows of all ε, also of the plan's own, in order; those that nobody searched have no summary."""
    asked = await anyio.to_thread.run_sync(_asked, context, request_id)
    own = chosen(asked.summary.epsilon)
    rows = [
        UsersRow(request=request_id, margin=margin, epsilon=each, summary=summaries.find(asked.key(each)))
        for each in EPSILONS
        if each != own
    ]
    rows.append(UsersRow(request=request_id, margin=margin, epsilon=own, summary=asked.summary, of_plan=True))
    return sorted(rows, key=lambda row: float(row.epsilon))


async def row_at(context: Context, summaries: FoundSummaries, request_id: str, margin: float, epsilon: str) -> UsersRow:
    """The row of an ε, searched where nobody did."""
    asked = await anyio.to_thread.run_sync(_asked, context, request_id)
    key = asked.key(epsilon)
    summary = summaries.find(key)
    if summary is None:
        summary = await asked.search(context, epsilon)
        summaries.keep(key, summary)
    return UsersRow(request=request_id, margin=margin, epsilon=epsilon, summary=summary)


def _asked(context: Context, request_id: str) -> _Asked:
    with context.database.read("console users table") as session:
        row = service.get(session, request_id)
        return _Asked(
            request=request_id,
            order=PlanOrder.model_validate_json(row.request),
            specification=workloads.get(session, row.workload_id).specification,
            summary=service.linear_summary(row),
        )
