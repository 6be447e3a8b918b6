"""The exact variance of every candidate, the ratio of the chosen one to the certified bound, bytes, CPU seconds."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective

OBJECTIVES: tuple[Objective, ...] = ("max", "mean")
# What the planner calls a tie: the rounding of a mechanism's integers.
_TIE = 1e-9


@dataclass(frozen=True)
class Case:
    """One plan to be made."""

    workload: str
    epsilon: float
    objective: Objective
    seed: int

    def __str__(self) -> str:
        return f"{self.workload}, ε = {self.epsilon:g}, {self.objective}"


@dataclass(frozen=True)
class Plan:
    """One plan: `candidates` maps each that applies to its variance for the objective."""

    case: Case
    mechanism: str
    variance: float
    lower_bound: float
    candidates: dict[str, float]
    device_bytes: int
    analyst_bytes: int
    seconds: float

    @property
    def ratio(self) -> float | None:
        """Variance over the bound, where there is one."""
        return self.variance / self.lower_bound if self.lower_bound > 0 else None

    @property
    def below(self) -> list[str]:
        """Candidates that would have been better than the chosen one: none, unless the planner is wrong."""
        return [name for name, variance in self.candidates.items() if variance * (1 + _TIE) < self.variance]

    def __str__(self) -> str:
        return f"{self.case}: {self.mechanism}, {self.seconds:.1f} s"

    def as_json(self) -> dict[str, Any]:
        """One flat object, with what follows from it."""
        plan = asdict(self)
        return {**plan.pop("case"), **plan, "ratio": self.ratio, "below": self.below}


@dataclass(frozen=True)
class Failure:
    """A plan that could not be made, and why."""

    case: Case
    error: str

    def __str__(self) -> str:
        return f"{self.case}: failed, {self.error}"

    def as_json(self) -> dict[str, Any]:
        """One flat object."""
        return {**asdict(self.case), "error": self.error}


Outcome = Plan | Failure


def cases(workloads: Iterable[Workload], epsilons: Sequence[float], seed: int) -> dict[Case, Workload]:
    """Every workload with every ε and objective."""
    return {
        Case(workload.name, epsilon, objective, seed): workload
        for workload in workloads
        for epsilon in epsilons
        for objective in OBJECTIVES
    }


def sweep(cases: dict[Case, Workload], results: Path | None) -> Iterator[Outcome]:
    """Plan each case at standard effort; what `results` holds already is not planned again, the rest is added to it."""
    known = {} if results is None or not results.exists() else dict(_read(results))
    for case, workload in cases.items():
        if case in known:
            yield known[case]
            continue
        outcome = _outcome(case, workload)
        if results is not None and isinstance(outcome, Plan):
            with results.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(outcome)) + "\n")
        yield outcome


def _read(results: Path) -> Iterator[tuple[Case, Plan]]:
    for line in results.read_text(encoding="utf-8").splitlines():
        written = json.loads(line)
        case = Case(**written.pop("case"))
        yield case, Plan(case, **written)


def _outcome(case: Case, workload: Workload) -> Outcome:
    # Of the processor, since others may share it.
    start = time.process_time()
    try:
        request = PlanRequest(
            workload, PlanningOptions.of(epsilon=case.epsilon, objective=case.objective, seed=case.seed)
        )
        return _plan(case, compile_plan(request), time.process_time() - start)
    # Whatever went wrong with one plan, an hour of others is not lost to it.
    except Exception as error:
        return Failure(case, f"{type(error).__name__}: {error}")


def _plan(case: Case, plan: CompiledPlan, seconds: float) -> Plan:
    summary, variance = plan.summary.model_dump(), f"{case.objective}_variance"
    evaluated = [c for c in summary["candidates"] if c["applies"] and c[variance] is not None]
    return Plan(
        case,
        summary["mechanism"],
        summary[variance],
        summary[f"lower_bound_{case.objective}"],
        {candidate["name"]: candidate[variance] for candidate in evaluated},
        summary["device_bytes"],
        summary["analyst_bytes"],
        round(seconds, 3),
    )
