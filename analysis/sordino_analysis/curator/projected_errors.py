"""Errors of JL-Release, by simulation: it answers of the nearest histogram alone, so that no formula has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import NoiseLaw
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.projections import Projection, coarse_jl_release, jl_release
from sordino_analysis.curator.strategy import Integers
from sordino_analysis.curator.usefulness import zipf_shares
from sordino_analysis.documents.curator_summary import promise_of
from sordino_analysis.documents.projected_summary import ProjectedSummary, SimulatedErrors
from sordino_analysis.evaluation.whole_users import whole_users
from sordino_analysis.guarantees.approximate import DELTA
from sordino_analysis.questions.linear.operators import DENSE_LIMIT
from sordino_shared.errors import InvalidValue

PROJECTIONS = ("jl", "coarse_jl")
# The seed is part of the plan: the same T and the same data on every machine.
_SEED = 20_261_128
# Draws of the noise for each of two histograms: the ratios that are shown are of a factor of two and more.
_MOST_DRAWS = 3
# Types of a coarse release are moved by at most half of this in each answer, root mean squared.
_LARGEST_ALPHA = 0.5
# Dimensions beyond a ball's are never better in what was tried.
_LEAST_DIMENSION, _LARGEST_DIMENSION = 8, 1024


def projected_errors(name: str, best: CuratorPlan, users: int) -> ProjectedSummary:
    """Errors of `jl` or `coarse_jl` under the guarantee of `best`, beside those of its consistent answers.

    Nikolov (2022), Algorithms 1 and 2, with T of random signs in ℓ dimensions and the noise of a ball of ℓ∞ under ε, or
    of the Gaussian under ρ, in place of the paper's. ℓ is the best of nε/4, nε and 4nε. Root mean squared errors of
    shares over queries and draws, for people spread evenly and with shares 1/rank^1.2. Raises InvalidValue for another
    name, with add-remove neighbours, for queries of no whole numbers or too many of them, or fewer than one user.
    """
    _check(name, best, users)
    workload, generator = best.workload, np.random.default_rng(_SEED)
    matrix = workload.operator.dense()
    size = workload.size
    people = [
        whole_users(shares, users) for shares in (np.full(size, 1 / size), generator.permutation(zipf_shares(size)))
    ]

    def unbiased_nearest(counts: Integers) -> Floats:
        noisy = best.strategy.exact(counts) + best.law.simulated(generator, 1)[:, 0]
        found = np.array(matrix @ np.full(size, 1 / size))
        found[:] = best.strategy.nearest(workload, noisy, np.sqrt(best.law.variances()), users).answers
        return found

    found = {}
    promise = promise_of(best.guarantee, DELTA)
    for dimension in _dimensions(users * promise.epsilon):
        projection = _projection(name, matrix, dimension, generator)
        law = projection.law(best.guarantee)
        found[dimension] = _errors(matrix, people, partial(_projected, projection, law, generator))
    chosen = min(found, key=lambda each: found[each].uniform + found[each].zipf)
    return ProjectedSummary(
        workload=workload.name,
        mechanism=name,
        dimension=chosen,
        users=users,
        errors=found[chosen],
        best_mechanism=best.chosen.name,
        best_errors=_errors(matrix, people, unbiased_nearest),
        knowing_nothing=_errors(matrix, people, lambda counts: matrix.mean(axis=1)),
        **promise.model_dump(),
    )


def _projected(projection: Projection, law: NoiseLaw, generator: np.random.Generator, counts: Integers) -> Floats:
    """Answers of one release about people whose `counts` (k,) are known."""
    measured = projection.rows @ counts + law.simulated(generator, 1)[:, 0]
    return projection.nearest(measured, law, int(counts.sum()))


def _check(name: str, best: CuratorPlan, users: int) -> None:
    if name not in PROJECTIONS:
        raise InvalidValue(f"a projection is one of {', '.join(PROJECTIONS)}, got {name!r}", name)
    if best.neighbours != "replace":
        raise InvalidValue("JL-Release is for a known number of people: leave out add-remove neighbours")
    if users < 1:
        raise InvalidValue(f"a release is about at least one user, got {users}", users)
    queries, size = best.workload.queries, best.workload.size
    if queries * size > DENSE_LIMIT:
        raise InvalidValue(
            f"{name} is simulated with all types listed, and {queries} queries about {size} types are too many: "
            "ask about fewer attributes",
            best.workload,
        )


def _dimensions(scale: float) -> Sequence[int]:
    """ℓ = nε/4, nε and 4nε, within what a ball has."""
    asked = (scale / 4, scale, 4 * scale)
    return sorted({min(_LARGEST_DIMENSION, max(_LEAST_DIMENSION, round(each))) for each in asked})


def _projection(name: str, matrix: Floats, dimension: int, generator: np.random.Generator) -> Projection:
    if name == "jl":
        return jl_release(matrix, dimension, generator)
    return coarse_jl_release(matrix, _LARGEST_ALPHA, dimension, generator)


def _errors(matrix: Floats, people: Sequence[Integers], answers: Callable[[Integers], Floats]) -> SimulatedErrors:
    found = []
    for counts in people:
        truth = matrix @ counts / counts.sum()
        squares = [float(((answers(counts) - truth) ** 2).mean()) for _ in range(_MOST_DRAWS)]
        found.append(float(np.sqrt(np.mean(squares))))
    return SimulatedErrors(uniform=found[0], zipf=found[1])
