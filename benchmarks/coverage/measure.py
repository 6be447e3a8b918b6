"""Coverage of simulated campaigns beside what each estimate expects of its intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.coverage.campaigns import LAWS, aggregates, shares
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_shared.guarantees import PureEpsilon

# A mean coverage within .01 of .95 wants silence, one below .935 a warning; what is between may have either.
_FINE, _SHORT = 0.94, 0.935


@dataclass(frozen=True)
class Case:
    """A workload of `types` types and the mechanism that answers it; None is the planner's own choice."""

    kind: str
    types: int
    mechanism: str | None


CASES = (
    Case("histogram", 8, None),
    Case("histogram", 16, "randomized_response"),
    Case("histogram", 8, "subset_selection"),
    Case("histogram", 16, "hadamard_response"),
    Case("prefix", 8, None),
    Case("prefix", 16, "factorization"),
    Case("ranges", 8, None),
)


@dataclass(frozen=True)
class Coverage:
    """Means over varying queries and campaigns; `warned` is the share of queries that an estimate doubts."""

    kind: str
    mechanism: str
    epsilon: str
    users: int
    law: str
    campaigns: int
    interval: float
    expected: float
    population: float
    population_expected: float
    band: float
    warned: float

    @property
    def wrong(self) -> bool:
        """Whether most queries have a warning without reason, or most none with reason, three standard errors over."""
        least, error = min(self.interval, self.population), 3 * np.sqrt(0.05 * 0.95 / self.campaigns)
        return (least >= _FINE and self.warned > 0.5) or (least < _SHORT - error and self.warned < 0.5)


def coverages(case: Case, epsilon: str, sizes: Sequence[int], campaigns: int) -> Iterator[Coverage]:
    """Of one plan, for campaigns of each size under each law of the users."""
    workload = builtin(case.kind, case.types)
    plan = compile_plan(PlanRequest(workload, PureEpsilon.of(epsilon), "max", case.mechanism, effort=Effort.QUICK))
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    for users in sizes:
        for law in LAWS:
            found = _means(estimator, shares(law, case.types), users, campaigns)
            yield Coverage(case.kind, plan.analyst.mechanism, epsilon, users, law, campaigns, *found)


def _means(
    estimator: LinearEstimator, histogram: np.ndarray[Any, np.dtype[np.float64]], users: int, campaigns: int
) -> list[float]:
    operator, varying = estimator.workload.operator, estimator.workload.varying_rows
    population, rows = operator.matvec(histogram), []
    for held, aggregate in aggregates(estimator.device.randomizer, histogram, users, campaigns, seed=1):
        made, truth = estimator.estimate(aggregate), operator.matvec(held / users)
        known = [one for one in (made.normality[query] for query in varying) if one is not None]
        rows.append(
            [
                ((made.lower <= truth) & (truth <= made.upper))[varying].mean(),
                np.mean([one.coverage for one in known]),
                ((made.population_lower <= population) & (population <= made.population_upper))[varying].mean(),
                np.mean([one.population_coverage for one in known]),
                ((made.band_lower <= truth) & (truth <= made.band_upper)).all(),
                np.mean([one.enough_reports is not None for one in known]),
            ]
        )
    return [float(mean) for mean in np.mean(rows, axis=0)]


def as_json(rows: Sequence[Coverage]) -> list[dict[str, Any]]:
    """As JSON, with the verdict."""
    return [asdict(row) | {"wrong": bool(row.wrong)} for row in rows]


def table(rows: Sequence[Coverage]) -> str:
    """One line a case, as Markdown."""
    head = "| workload | mechanism | ε | users | law | interval (expected) | population (expected) | band | doubted |"
    lines = [
        f"| {row.kind} | {row.mechanism} | {row.epsilon} | {row.users:,} | {row.law} | {row.interval:.3f} "
        f"({row.expected:.3f}) | {row.population:.3f} ({row.population_expected:.3f}) | {row.band:.3f} "
        f"| {row.warned:.0%}{' !' if row.wrong else ''} |"
        for row in rows
    ]
    return "\n".join([head, "|---" * 9 + "|", *lines])
