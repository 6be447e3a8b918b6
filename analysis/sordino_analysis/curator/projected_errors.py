"""Errors of JL-Release and of the best unbiased release with its answers projected, both by simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.projected_plan import ProjectedPlan, example_people, simulated_errors
from sordino_analysis.documents.projected_summary import ProjectedSummary
from sordino_analysis.guarantees.approximate import DELTA


def projected_summary(plan: ProjectedPlan, best: CuratorPlan | None, delta: Fraction = DELTA) -> ProjectedSummary:
    """The plan in numbers, and the errors of the projected answers of `best`, where there is such a plan."""
    workload, users = plan.workload, plan.users
    matrix, people = workload.operator.dense(), example_people(workload, users)

    def nearest(counts: Integers, generator: np.random.Generator) -> Floats:
        assert best is not None
        noisy = best.strategy.exact(counts) + best.law.simulated(generator, 1)[:, 0]
        return best.strategy.nearest(workload, noisy, np.sqrt(best.law.variances()), users).answers

    return ProjectedSummary(
        workload=workload.name,
        mechanism=plan.name,
        sums=plan.published.sums,
        users=users,
        noise=plan.law.published().shown(),
        errors=plan.errors,
        best_mechanism=None if best is None else best.chosen.name,
        best_errors=None if best is None else simulated_errors(matrix, people, nearest),
        knowing_nothing=simulated_errors(matrix, people, lambda *_: matrix.mean(axis=1)),
        **plan.promise(delta).model_dump(),
    )
