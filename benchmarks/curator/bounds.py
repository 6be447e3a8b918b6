"""γ of both relations, what the planner proves of its release, and the noise of the literature's mechanisms."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.curator.workloads import RHO, named
from sordino_analysis.curator.design import MAX_TYPES, asked_rows
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.optimisation.gaussian.ellipsoids import recursive_covariance
from sordino_analysis.request_terms import Neighbours

_NAMES = (
    *("prefix 128", "prefix 512", "ranges 32", "signs 64 128", "histogram 32"),
    *("marginals 2 6", "marginals 2 8", "parities 2 8", "marginals 3 100"),
)
_QUICK = ("prefix 128", "marginals 2 6", "marginals 3 100")


def table(*, quick: bool) -> Iterator[str]:
    """A line a workload and relation; standard errors are of counts at ρ = 1/2, where σ = 1 for Δ = 1.

    With add-remove neighbours the number of people is one of the queries.
    """
    yield "| workload | neighbours | γ, proved | release | over the bound at ε = 1 | recursion | equal noise | s |"
    yield "|---" * 8 + "|"
    for name in _QUICK if quick else _NAMES:
        for neighbours in ("add-remove", "replace"):
            yield _line(name, neighbours)


def _line(name: str, neighbours: Neighbours) -> str:
    workload = named(name)
    started = time.process_time()
    plan = plan_release(workload, RHO, "mean", neighbours=neighbours)
    seconds = time.process_time() - started
    summary, certificate = plan.summary(), plan.design.mean_certificate
    assert certificate is not None
    assert summary.ratio_mean is not None
    own = np.sqrt(summary.mean_variance * 2 * RHO.rho)
    recursion, equal = _others(name, neighbours)
    return (
        f"| {name} | {neighbours} | {certificate.norm:.4g} | {own:.4g} | {summary.ratio_mean**0.5:.4f} "
        f"| {recursion} | {equal} | {seconds:.2g} |"
    )


def _others(name: str, neighbours: Neighbours) -> tuple[str, str]:
    workload = named(name)
    if workload.size > MAX_TYPES:
        return "", ""
    matrix, _ = asked_rows(workload, neighbours)
    squares = (matrix**2).sum(axis=0)
    largest = squares
    if neighbours == "replace":
        largest = squares[:, None] + squares - 2 * matrix.T @ matrix
    return f"{recursive_covariance(matrix, neighbours).upper:.4g}", f"{np.sqrt(largest.max()):.4g}"
