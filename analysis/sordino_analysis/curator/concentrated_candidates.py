"""Releases under ρ: the covariance of least variance, and two of the literature, which are asked for by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sordino_analysis.curator.candidate import Candidate
from sordino_analysis.curator.decoding import decoded_strategy
from sordino_analysis.curator.design import asked_rows, check_listed
from sordino_analysis.curator.rounding import as_integers, integer_strategy
from sordino_analysis.curator.strategy import Strategy
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.ellipsoids import recursive_covariance
from sordino_analysis.questions.linear.workload import Workload


def concentrated_candidates(
    workload: Workload, guarantee: Zcdp, gaussian: Strategy, families: Sequence[str]
) -> Iterator[Candidate]:
    """Unbiased releases under ρ that answer the workload; `gaussian` is the strategy of least variance.

    `isotropic` is the same noise on every query (Nikolov, Talwar and Zhang 2013, Section 3, whose projection are the
    projected answers), `ntz` their recursion on minimum ellipsoids (Theorem 1). Raises InvalidValue where a named one
    needs the list of all types and the workload has too many.
    """
    if "gaussian" in families:
        yield Candidate("discrete gaussian", guarantee, gaussian, gaussian.gaussian(guarantee))
    if not {"isotropic", "ntz"} & set(families):
        return
    check_listed(workload)
    matrix, weights = asked_rows(workload, gaussian.neighbours)
    if "isotropic" in families:
        rows = as_integers(matrix)[0].astype(np.int64)
        isotropic = decoded_strategy(rows, matrix, gaussian.neighbours)
        yield Candidate("isotropic gaussian", guarantee, isotropic, isotropic.gaussian(guarantee))
    if "ntz" in families:
        optimum = recursive_covariance(np.sqrt(weights)[:, None] * matrix, gaussian.neighbours)
        halved = integer_strategy(matrix, optimum, weights)
        yield Candidate("gaussian on halved ellipsoids", guarantee, halved, halved.gaussian(guarantee))
