"""What a question would tell at several ε, before any plan of it is requested: for the sliders of a form."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict

from pydantic import BaseModel, Field

from sordino_analysis.documents.plan_summary import read_summary, two_sided
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.request_terms import Effort
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.kit.token_buckets import TokenBuckets
from sordino_server.plans.checking import quick_summary
from sordino_server.workloads.checking import CheckedWorkload
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem

EPSILONS = ("0.25", "0.5", "1", "2", "4")
LEVEL = 0.95
# A search at one ε; the best mechanism that it has found by then counts.
SEARCH_S = 3.0
# Each takes about 5 s of one core, one of 1,000 answers 35 s.
A_MINUTE = 10
# A form asks few questions; a larger one is planned without a preview.
MOST_QUERIES = 1024
_MOST_KEPT = 256


class PreviewRow(BaseModel):
    """One ε of a preview."""

    epsilon: str
    variance: float = Field(description="Of the worst answer from one report; of n reports it is this over n.")
    bias_bound: float = Field(description="The largest bias of an answer, which no number of devices makes smaller.")


class ErrorPreview(BaseModel):
    """The error of all answers at once, half of the width of their band: factor · √(variance / devices) + bias_bound.

    `factor` is the normal quantile that holds all `queries` answers at once at `level` (Šidák 1967).
    """

    workload: str = Field(description="Digest of the workload, which is not stored.")
    queries: int
    level: float
    factor: float
    rows: list[PreviewRow]

    def half_width(self, row: int, devices: int) -> float:
        """Of the band at the ε of `row` with so many devices."""
        found = self.rows[row]
        return self.factor * math.sqrt(found.variance / devices) + found.bias_bound

    def devices(self, row: int, margin: float) -> int | None:
        """How many devices give ± `margin` to all answers; None where the bias alone exceeds it."""
        found = self.rows[row]
        room = margin - found.bias_bound
        return None if room <= 0 else math.ceil((self.factor / room) ** 2 * found.variance)


class Previews:
    """Previews by digest of the workload; of more than `most` the one unused for longest is forgotten.

    A key may compute `A_MINUTE` a minute; those that are known are free.
    """

    def __init__(self, most: int = _MOST_KEPT, buckets: TokenBuckets | None = None) -> None:
        self._most = most
        self._kept: OrderedDict[str, ErrorPreview] = OrderedDict()
        self._buckets = TokenBuckets(A_MINUTE / 60, A_MINUTE) if buckets is None else buckets
        self._turn = asyncio.Lock()

    async def preview(self, context: Context, checked: CheckedWorkload, key: str) -> ErrorPreview:
        """The preview of a workload for the operator key of this id.

        Raises InvalidValue for what is no question of shares with at most 1,024 answers, and `rate-limited`.
        """
        if checked.kind != "linear" or checked.cells is None or checked.queries > MOST_QUERIES:
            raise InvalidValue(
                f"only questions of shares with at most {MOST_QUERIES:,} answers have a preview: request a plan",
                checked.name,
            )
        # What is known waits for no search of others.
        found = self._known(checked.id)
        if found is not None:
            return found
        # One at a time: two forms that ask the same wait for one search.
        async with self._turn:
            found = self._known(checked.id)
            if found is not None:
                return found
            self._take(key)
            found = await _compute(context, checked)
            self._kept[checked.id] = found
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found

    def _known(self, workload: str) -> ErrorPreview | None:
        if workload not in self._kept:
            return None
        self._kept.move_to_end(workload)
        return self._kept[workload]

    def _take(self, key: str) -> None:
        wait = self._buckets.take(key)
        if wait:
            seconds = math.ceil(wait)
            detail = f"a key may ask for {A_MINUTE} previews a minute: ask again in {seconds} s"
            raise ServerError(Problem.RATE_LIMITED, detail, retry_after=seconds)


async def _compute(context: Context, checked: CheckedWorkload) -> ErrorPreview:
    rows, queries = [], 1
    for epsilon in EPSILONS:
        options = PlanningOptions(epsilon=epsilon, effort=Effort.QUICK).with_time_limit(SEARCH_S)
        summary = read_summary(await context.answers.run(quick_summary, checked.specification, options)).linear
        assert summary is not None, "quick summaries are of linear queries"
        queries = max(1, summary.queries)
        rows.append(PreviewRow(epsilon=epsilon, variance=summary.band_variance, bias_bound=summary.bias_bound))
    return ErrorPreview(workload=checked.id, queries=queries, level=LEVEL, factor=two_sided(LEVEL, queries), rows=rows)
