"""Errors of shares with few people and many queries: with and without the projection, beside named mechanisms."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.curator.workloads import RHO, named, zipf_people
from benchmarks.references.multiplicative_weights import multiplicative_weights
from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import CuratorPlan, plan_release
from sordino_analysis.curator.projections import Projection, isotropic
from sordino_analysis.curator.release import measure
from sordino_analysis.curator.signed_sums import projection_of
from sordino_analysis.documents.curator_part import SignedSums

Counts = NDArray[np.int64]

_NAMES = ("prefix 256", "marginals 3 10", "signs 2048 256", "signs 128 1024")
_DRAWS = 3
_ROUNDS = (4, 8, 16, 32, 60)
_ALPHA = 0.5


def table(*, quick: bool) -> Iterator[str]:
    """A line a workload and number of people: root mean squared errors of shares over queries and draws."""
    yield (
        "| workload | people | release | + projection | isotropic + projection | JL | coarse JL | MWEM, best | "
        "know nothing | useful from |"
    )
    yield "|---" * 10 + "|"
    for name in ("prefix 64",) if quick else _NAMES:
        plan = plan_release(named(name), RHO, "mean")
        for users in (100, 1000, 10_000):
            yield _line(name, plan, users)


def _line(name: str, plan: CuratorPlan, users: int) -> str:
    matrix, noise = plan.workload.operator.dense(), CuratorNoise()
    generator = np.random.default_rng(0)
    people = list(zipf_people(plan.workload.size, users, _DRAWS))
    noisy = [measure(plan, counts, noise).astype(float) for counts in people]
    deviation = np.sqrt(plan.law.variances())

    def measured(counts: Counts) -> Floats:
        """With and without the projection: the same noise."""
        return next(found for known, found in zip(people, noisy, strict=True) if known is counts)

    def signed(separation: float) -> Projection:
        """JL-Release, or Coarse JL-Release, with signs of its own for each release."""
        return projection_of(SignedSums(int(generator.integers(2**32)), sums, separation), matrix)

    sums = int(min(max(8, users * 0.25), 256, len(matrix)))
    ways: list[Callable[[Counts], Floats]] = [
        lambda counts: plan.strategy.decode(measured(counts)) / users + plan.strategy.known_part(),
        lambda counts: plan.strategy.nearest(plan.workload, measured(counts), deviation, users).answers,
        lambda counts: isotropic(matrix).release(counts, RHO, noise),
        lambda counts: signed(0.0).release(counts, RHO, noise),
        lambda counts: signed(_ALPHA).release(counts, RHO, noise),
    ]
    errors = [_error(matrix, people, way) for way in ways]
    learned = min(
        _error(matrix, people, lambda counts, rounds=rounds: multiplicative_weights(matrix, counts, rounds, RHO, noise))
        for rounds in _ROUNDS
    )
    nothing = _error(matrix, people, lambda counts: matrix.mean(axis=1))
    shown = " | ".join(f"{error:.3g}" for error in (*errors, learned, nothing))
    return f"| {name} | {users:,} | {shown} | {plan.summary().useful_from_n:,} |"


def _error(matrix: Floats, people: list[Counts], answer: Callable[[Counts], Floats]) -> float:
    squares = [((answer(counts) - matrix @ counts / counts.sum()) ** 2).mean() for counts in people]
    return float(np.sqrt(np.mean(squares)))
