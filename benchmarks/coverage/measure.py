"""Coverage of simulated campaigns beside what each estimate expects of its intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from benchmarks.coverage.campaigns import LAWS, aggregates, drawn_report_by_report, shares
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear import LinearEstimator, Reliability
from sordino_analysis.estimation.normality import Reach
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_analysis.request_terms import Effort

# A mean coverage within .01 of .95 wants silence, one below .935 a warning; what is between may have either.
_FINE, _SHORT, _WIDE = 0.94, 0.935, 0.96
# Campaigns of a case whose doubts and band are worked out: either takes as long as a hundred estimates without. Other
# campaigns take the quantile of the band from one of them.
_JUDGED = 4
# Reports of a case that are drawn one by one, where outputs are too many to be counted.
_MOST_REPORTS = 1_000_000


@dataclass(frozen=True)
class Case:
    """A workload of `types` types and the mechanism that answers it; None is the planner's own choice."""

    kind: str
    types: int
    mechanism: str | None

    def workload(self) -> Workload:
        """Marginals are of pairs of yes-or-no attributes."""
        if self.kind != "marginals":
            return builtin(self.kind, self.types)
        attributes = self.types.bit_length() - 1
        domain = [{"name": f"a{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(attributes)]
        queries = {"kind": "marginals", "width": 2, "exactly": True}
        return parse_specification({"name": "marginals", "domain": domain, "queries": queries}).build()


CASES = (
    Case("histogram", 8, None),
    Case("histogram", 16, "randomized_response"),
    Case("histogram", 8, "subset_selection"),
    Case("histogram", 16, "hadamard_response"),
    Case("prefix", 8, None),
    Case("prefix", 16, "factorization"),
    Case("ranges", 8, None),
    Case("marginals", 16, None),
)


@dataclass(frozen=True)
class Coverage:
    """Means over varying queries and campaigns, and the `least` mean of one query.

    `warned` is the share of queries that an estimate doubts. Most estimates doubt the queries of `false_alarms` without
    reason, two standard errors over, and do not doubt those of `misses` with reason, three standard errors over.
    `band_warned` is the share of estimates that doubt the band.
    """

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
    least: float
    warned: float
    false_alarms: int
    misses: int
    band: float
    band_warned: float

    @property
    def wrong(self) -> bool:
        """Whether the warning of some query is without reason or missing, or a band fails without one."""
        error = 3 * np.sqrt(0.05 * 0.95 / self.campaigns)
        return bool(self.false_alarms or self.misses or (self.band < _FINE - error and self.band_warned < 0.5))

    @property
    def wide(self) -> bool:
        """Whether the band holds more often than .96."""
        return self.band > _WIDE + 3 * float(np.sqrt(0.04 * 0.96 / self.campaigns))


@dataclass(frozen=True, eq=False)
class _Reused(LinearEstimator):
    """An estimator that takes doubts and band from another estimate of the same campaigns."""

    reused: Reliability

    def _reliability(
        self,
        histogram: Floats,
        spread: Floats,
        reaches: Iterable[Reach],
        users: int,
        level: float,
        compared: int | None,
    ) -> Reliability:
        return self.reused


def coverages(case: Case, epsilon: str, sizes: Sequence[int], campaigns: int) -> Iterator[Coverage]:
    """Of one plan, for campaigns of each size under each law of the users."""
    workload = case.workload()
    plan = compile_plan(
        PlanRequest(
            workload,
            PlanningOptions.of(epsilon=epsilon, objective="max", mechanism=case.mechanism, effort=Effort.QUICK),
        )
    )
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    for users in sizes:
        number = campaigns
        if drawn_report_by_report(plan.device.randomizer):
            number = min(campaigns, _MOST_REPORTS // users)
        for law in LAWS:
            found = measured(estimator, shares(law, workload.size), users, number)
            yield Coverage(case.kind, plan.analyst.mechanism, epsilon, users, law, number, **found)


def measured(estimator: LinearEstimator, histogram: Floats, users: int, campaigns: int) -> dict[str, Any]:
    """The fields of a `Coverage` that campaigns tell, for users who are spread as the histogram."""
    operator, varying = estimator.workload.operator, estimator.workload.varying_rows
    population, held_by, judged, bands = operator.matvec(histogram), [], [], []
    own = {field.name: getattr(estimator, field.name) for field in fields(estimator)}
    for number, (held, aggregate) in enumerate(aggregates(estimator.device.randomizer, histogram, users, campaigns, 1)):
        chosen = estimator if number < _JUDGED else _Reused(**own, reused=judged[number % _JUDGED])
        made, truth = chosen.estimate(aggregate), operator.matvec(held / users)
        if number < _JUDGED:
            judged.append(made.reliability)
        held_by.append(
            [
                (made.lower <= truth) & (truth <= made.upper),
                (made.population_lower <= population) & (population <= made.population_upper),
            ]
        )
        bands.append(((made.band_lower <= truth) & (truth <= made.band_upper)).all())
    return summary(np.mean(held_by, axis=0)[:, varying], judged, varying, campaigns) | {
        "band": float(np.mean(bands)),
        "band_warned": float(np.mean([not one.band.holds for one in judged])),
    }


def summary(
    coverage: Floats, judged: Sequence[Reliability], varying: np.ndarray[Any, Any], campaigns: int
) -> dict[str, Any]:
    """From the coverage (2, Q) of the intervals about the users' and the population's answers."""
    known = [[one.normality[query] for query in varying] for one in judged]
    expected = np.array([[[one.coverage, one.population_coverage] for one in row if one] for row in known])
    doubted = np.array([[one is not None and one.enough_reports is not None for one in row] for row in known])
    worse, often = coverage.min(axis=0), doubted.mean(axis=0) > 0.5
    error = 3 * np.sqrt(0.05 * 0.95 / campaigns)
    return {
        "interval": float(coverage[0].mean()),
        "expected": float(expected[..., 0].mean()),
        "population": float(coverage[1].mean()),
        "population_expected": float(expected[..., 1].mean()),
        "least": float(worse.min()),
        "warned": float(doubted.mean()),
        "false_alarms": int((often & (worse >= _FINE + 2 * error / 3)).sum()),
        "misses": int((~often & (worse < _SHORT - error)).sum()),
    }


def as_json(row: Coverage) -> dict[str, Any]:
    """As JSON, with the verdict."""
    return asdict(row) | {"wrong": row.wrong, "wide": row.wide}


HEAD = (
    "| workload | mechanism | ε | users | law | interval (expected) | population (expected) "
    "| least | doubted | band |\n" + "|---" * 10 + "|"
)


def line(row: Coverage) -> str:
    """One line of the Markdown table."""
    verdict = " !" * row.wrong + " wide" * row.wide
    return (
        f"| {row.kind} | {row.mechanism} | {row.epsilon} | {row.users:,} | {row.law} | {row.interval:.3f} "
        f"({row.expected:.3f}) | {row.population:.3f} ({row.population_expected:.3f}) | {row.least:.3f} "
        f"| {row.warned:.0%} | {row.band:.3f}{' ?' if row.band_warned > 0.5 else ''}{verdict} |"
    )
