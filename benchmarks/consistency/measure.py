"""The error of simulated campaigns with and without consistency."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.consistency.populations import Population
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon

# Campaigns of n users: as many as fit this number of reports, within bounds.
_REPORTS, _FEWEST, _MOST = 1_000_000, 2, 40
# The projection is found to within a ten-thousandth of the squared noise: a hundredth of an error.
_ALLOWED = 1.01


@dataclass(frozen=True)
class Errors:
    """Root mean squared errors over queries and campaigns; `worse` campaigns had more error with than without."""

    population: str
    mechanism: str
    epsilon: float
    users: int
    campaigns: int
    unbiased: float
    projected: float
    worse: int

    @property
    def ratio(self) -> float:
        """What is left of the error."""
        return self.projected / self.unbiased


def errors(populations: Sequence[Population], sizes: Sequence[int], epsilon: float, effort: Effort) -> Iterator[Errors]:
    """Plan each population's workload for the mean over queries, and simulate campaigns of each size."""
    for population in populations:
        guarantee = PureEpsilon.of(epsilon)
        plan = compile_plan(
            PlanRequest(
                population.workload, PlanningOptions.of(epsilon=guarantee.epsilon, objective="mean", effort=effort)
            )
        )
        for users in sizes:
            yield _errors(population, plan, epsilon, users)


def _errors(population: Population, plan: CompiledPlan, epsilon: float, users: int) -> Errors:
    campaigns = min(max(_REPORTS // users, _FEWEST), _MOST)
    squared = np.array([_squared_errors(population, plan, users, seed) for seed in range(campaigns)])
    worse = int((squared[:, 1] > _ALLOWED**2 * squared[:, 0]).sum())
    unbiased, projected = np.sqrt(squared.mean(axis=0)).tolist()
    mechanism = plan.analyst.mechanism
    return Errors(population.name, mechanism, epsilon, users, campaigns, unbiased, projected, worse)


def _squared_errors(population: Population, plan: CompiledPlan, users: int, seed: int) -> tuple[float, float]:
    """Means over queries for one campaign: of the unbiased and of the projected answers."""
    cells, randomizer = population.draw(users, seed), plan.device.randomizer
    reports = randomize_many(randomizer, cells, SeededRandomness(seed))
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    answers = estimator.unbiased(Aggregate(users, accumulate(randomizer, reports)))
    nearest = population.workload.operator.matvec(estimator.nearest(answers, users).histogram)
    truth = population.workload.truth(cells)
    return float(((answers - truth) ** 2).mean()), float(((nearest - truth) ** 2).mean())


def as_json(rows: Sequence[Errors]) -> list[dict[str, Any]]:
    """As JSON, with the ratio."""
    return [asdict(row) | {"ratio": row.ratio} for row in rows]


def table(rows: Sequence[Errors]) -> str:
    """One line a population and number of users, as Markdown."""
    head = "| population | mechanism | users | campaigns | unbiased | projected | ratio | worse campaigns |"
    lines = [
        f"| {row.population} | {row.mechanism} | {row.users:,} | {row.campaigns} | {row.unbiased:.4f} "
        f"| {row.projected:.4f} | {row.ratio:.3f} | {row.worse} |"
        for row in rows
    ]
    return "\n".join([head, "|---" * 8 + "|", *lines])
