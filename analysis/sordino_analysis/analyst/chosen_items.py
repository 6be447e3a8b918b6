"""Of a histogram that is too long to list: a workload of some of its items, and their estimate from one round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.plans import Plan
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.items import ItemEstimate, ItemEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.item_counts import count_items
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.items import ChosenItems
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_shared.randomness import Randomness

# Counting an item takes a tenth of a second for a million reports.
MOST_SIMULATED_ITEMS = 100
Words = NDArray[np.uint64]


def workload_of_items(plan: Plan, codes: Words, labels: Sequence[str]) -> Workload:
    """The shares of the items `codes` (m, attributes), which `labels` (m,) name."""

    def scope(query: int) -> QueryScope:
        return QueryScope("histogram", tuple((int(code), int(code)) for code in codes[query]))

    operator = ChosenItems(plan.workload.size, codes)
    return replace(plan.workload, operator=operator, name_query=labels.__getitem__, scope=scope)


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedItems:
    """The items that most of the simulated users hold: their workload, true shares (m,) and estimate.

    Items were chosen by the truth, which no answer has a part in, so that each interval is of a question fixed before.
    """

    workload: Workload
    truth: Floats
    estimate: ItemEstimate


def simulated_items(
    plan: Plan, codes: Words, values: Sequence[object], randomness: Randomness, *, batch: int
) -> tuple[Aggregate, SimulatedItems]:
    """The sum of one report for each of the users' members `codes` (n, attributes), and what it says of their items.

    `values` (n,) name the items. Reports are drawn and counted `batch` at once, since no table holds all items.
    """
    estimator = ItemEstimator(plan.device, plan.analyst)
    chosen, first, held = _most_held(codes)
    total, counts = Aggregate.empty(plan.device.randomizer), np.zeros(len(chosen), dtype=np.int64)
    for start in range(0, len(codes), batch):
        payloads = randomize_part(plan.device, codes[start : start + batch], randomness)
        total += Aggregate(len(payloads), accumulate(plan.device.randomizer, payloads))
        counts += count_items(estimator.randomizer, payloads, chosen)
    one = len(plan.domain.attributes) == 1
    labels = [str(values[place]) if one else plan.domain.describe(codes[place].tolist()) for place in first]
    found = estimator.of_counts(chosen, counts, len(codes))
    workload = workload_of_items(plan, chosen, labels)
    return total, SimulatedItems(workload=workload, truth=held / len(codes), estimate=found)


def _most_held(codes: Words) -> tuple[Words, NDArray[np.intp], NDArray[np.int64]]:
    """The items that most users hold, the place of the first who does, and how many do; ties go to the first user."""
    items, first, held = np.unique(codes, axis=0, return_index=True, return_counts=True)
    order = np.lexsort((first, -held))[:MOST_SIMULATED_ITEMS]
    return items[order], first[order], held[order]
