"""Every candidate's exact variance, the chosen one's ratio to the certified bound, its bytes and its seconds."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sordino_server.design.factorization import Objective
from sordino_server.design.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_server.design.workloads import builtin
from sordino_shared.guarantees import PureEpsilon

OBJECTIVES: tuple[Objective, ...] = ("max", "mean")
# All ranges over 128 bins are 8,255 queries: minutes for each ε; 32 bins show the same.
_LARGEST_RANGES = 32


@dataclass(frozen=True)
class Plan:
    """One plan: `candidates` maps each that applies to its variance for the objective."""

    workload: str
    epsilon: float
    objective: Objective
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


def workloads(sizes: Sequence[int]) -> list[tuple[str, int]]:
    """The built-in workloads at the sizes that are affordable for each."""
    plain = [(kind, size) for kind in ("histogram", "prefix") for size in sizes]
    return plain + [("ranges", size) for size in sizes if size <= _LARGEST_RANGES]


def plans(asked: Sequence[tuple[str, int]], epsilons: Sequence[float], seed: int) -> Iterator[Plan]:
    """Plan each workload for each ε and objective at standard effort."""
    for kind, size in asked:
        for epsilon in epsilons:
            for objective in OBJECTIVES:
                request = PlanRequest(builtin(kind, size), PureEpsilon.of(epsilon), objective, seed=seed)
                start = time.perf_counter()
                yield _plan(f"{kind} {size}", compile_plan(request), time.perf_counter() - start)


def _plan(workload: str, plan: CompiledPlan, seconds: float) -> Plan:
    summary, objective = plan.summary(), plan.request.objective
    evaluated = [c for c in summary["candidates"] if c["applies"] and c[f"{objective}_variance"] is not None]
    return Plan(
        workload,
        summary["epsilon"],
        objective,
        summary["mechanism"],
        summary[f"{objective}_variance"],
        summary[f"lower_bound_{objective}"],
        {candidate["name"]: candidate[f"{objective}_variance"] for candidate in evaluated},
        summary["device_bytes"],
        summary["analyst_bytes"],
        seconds,
    )


def as_json(rows: Sequence[Plan]) -> list[dict[str, Any]]:
    """As JSON, with the ratio."""
    return [asdict(row) | {"ratio": row.ratio} for row in rows]


def table(rows: Sequence[Plan]) -> str:
    """One line a plan, a column a candidate, as Markdown."""
    names = list(dict.fromkeys(name for row in rows for name in row.candidates))
    head = ["workload", "ε", "objective", *names, "chosen", "lower bound", "ratio", "device bytes", "seconds"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        variances = [f"{row.candidates[name]:.4g}" if name in row.candidates else "" for name in names]
        ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
        chosen = [row.mechanism, f"{row.lower_bound:.4g}", ratio, f"{row.device_bytes:,}", f"{row.seconds:.1f}"]
        lines.append([row.workload, f"{row.epsilon:g}", row.objective, *variances, *chosen])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
