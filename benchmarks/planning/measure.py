"""Seconds that a certified factorization takes, alone and beside general cone solvers."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.planning.semidefinite import SemidefiniteSolution, solve_semidefinite
from sordino_analysis.optimisation.bounds import trace_bound
from sordino_analysis.optimisation.factorization import check_certificate, factorize
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Objective

GAP = 0.01
OBJECTIVES: tuple[Objective, ...] = ("max", "mean")
# From loose to tight: each solver is timed at the first setting whose answer is certified to the gap.
TOLERANCES: dict[str, list[dict[str, Any]]] = {
    "SCS": [{"eps": eps} for eps in (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)],
    "CLARABEL": [{"tol_gap_rel": tol, "tol_gap_abs": tol, "tol_feas": tol / 10} for tol in (1e-2, 1e-3, 1e-4, 1e-6)],
}


@dataclass(frozen=True)
class Solve:
    """One factorization, its certificate checked, and the lower bound at ε = 1 from it."""

    workload: str
    objective: Objective
    seconds: float
    iterations: int
    gap: float
    bound_seconds: float


@dataclass(frozen=True)
class Comparison:
    """A cone solver and the first-order solver, both to the gap that the cone solver's answer certifies."""

    workload: str
    objective: Objective
    solver: str
    tolerance: float
    gap: float
    solver_seconds: float
    own_seconds: float
    ratio: float


def solves(workloads: list[tuple[str, int]]) -> Iterator[Solve]:
    """Factorize each workload for both objectives to a certified gap of 1 %."""
    for kind, size in workloads:
        matrix = builtin(kind, size).operator.dense()
        for objective in OBJECTIVES:
            seconds, found = _timed(lambda m=matrix, o=objective: factorize(m, o, GAP), 3 if size <= 256 else 1)
            check_certificate(matrix, found)
            bound_seconds, _ = _timed(lambda m=matrix, o=objective, f=found: trace_bound(m, 1.0, o, f), 1)
            yield Solve(f"{kind} {size}", objective, seconds, found.iterations, found.gap, bound_seconds)


def comparisons(size: int) -> Iterator[Comparison]:
    """Prefix of this size by SCS and Clarabel through cvxpy, and by the first-order solver at the same gap."""
    matrix = builtin("prefix", size).operator.dense()
    for objective in OBJECTIVES:
        for solver in TOLERANCES:
            seconds, solution, tolerance = _first_certified(matrix, objective, solver)
            gap = solution.upper / solution.lower - 1
            own, found = _timed(lambda o=objective, g=gap: factorize(matrix, o, g), 15)
            check_certificate(matrix, found)
            yield Comparison(f"prefix {size}", objective, solver, tolerance, gap, seconds, own, seconds / own)


def as_json(items: list[Solve] | list[Comparison]) -> list[dict[str, Any]]:
    """Rows as plain dictionaries."""
    return [asdict(item) for item in items]


def _first_certified(matrix: Any, objective: Objective, solver: str) -> tuple[float, SemidefiniteSolution, float]:
    for options in TOLERANCES[solver]:
        seconds, solution = _timed(lambda o=options: solve_semidefinite(matrix, objective, True, solver, **o), 1)
        if solution.upper <= (1 + GAP) * solution.lower:
            # The first call of a solver loads it: time it again, warm.
            warm, solution = _timed(lambda o=options: solve_semidefinite(matrix, objective, True, solver, **o), 1)
            return min(seconds, warm), solution, float(next(iter(options.values())))
    raise RuntimeError(f"{solver} reaches no certified gap of {GAP} at any of its tolerances")


def _timed(action: Callable[[], Any], times: int) -> tuple[float, Any]:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        result = action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken), result
