"""γ₂ and γ_F by a general cone solver: the reference for small matrices, with what its answer proves."""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.diag import diag

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.factorization.certificate import (
    FactorizationError,
    counted_rows,
    dual_value,
)
from sordino_analysis.request_terms import Objective


@dataclass(frozen=True, eq=False)
class SemidefiniteSolution:
    """What the solver answered, and what its point proves: lower ≤ γ ≤ upper whatever its tolerance was."""

    value: float
    lower: float
    upper: float
    centre: Floats


def solve_semidefinite(
    matrix: Floats,
    objective: Objective = "max",
    centred: bool = True,
    solver: str = "CLARABEL",
    **options: Any,
) -> SemidefiniteSolution:
    """min t with [[X, C], [Cᵀ, Y]] ⪰ 0, C = W − c1ᵀ, diag Y ≤ t and diag X ≤ t, or tr X ≤ Q·t for "mean".

    X and Y are the Gram matrices LᵀL and RᵀR. Constant rows do not count, as in `factorize`. It takes minutes
    beyond Q + k = 200. `options` go to the solver. Raises FactorizationError where the solver finds no point.
    `matrix` W (Q, k).
    """
    counted = counted_rows(matrix, centred)
    if not counted.any():
        raise FactorizationError("every query is constant: its answer is known and nothing is left to factorize")
    varying = matrix[counted]
    queries, size = varying.shape
    gram = cp.Variable((queries + size, queries + size), PSD=True)
    centre, bound = cp.Variable((queries, 1)), cp.Variable()
    rows, columns = diag(gram)[:queries], diag(gram)[queries:]
    averaging = np.eye(queries) if objective == "max" else np.full((1, queries), 1 / queries)
    row_limit, column_limit = cp.Constant(averaging) @ rows <= bound, columns <= bound
    constraints = [gram[:queries, queries:] == varying - centre @ np.ones((1, size)), row_limit, column_limit]
    if not centred:
        constraints.append(centre == 0)
    problem = cp.Problem(cp.Minimize(bound), constraints)
    problem.solve(solver=solver, **options)
    if gram.value is None or centre.value is None or bound.value is None:
        raise FactorizationError(f"{solver} found no point: {problem.status}", matrix)
    lower = dual_value(varying, _simplex(row_limit.dual_value @ averaging), _simplex(column_limit.dual_value), centred)
    upper = _feasible_value(gram.value, varying - centre.value * centred, objective)
    full = matrix[:, 0] * centred
    full[counted] = centre.value[:, 0] * centred
    return SemidefiniteSolution(float(bound.value.item()), lower, upper, full)


def _simplex(weights: Floats) -> Floats:
    positive = np.maximum(weights, 0.0)
    return np.asarray(positive / positive.sum())


def _feasible_value(gram: Floats, spread: Floats, objective: Objective) -> float:
    """The value of the solver's point once C is put in exactly and the diagonal lifted until it is PSD."""
    queries = len(spread)
    repaired = (gram + gram.T) / 2
    repaired[:queries, queries:], repaired[queries:, :queries] = spread, spread.T
    lift = max(0.0, -float(np.linalg.eigvalsh(repaired)[0]))
    diagonal = np.diag(repaired) + lift
    rows = diagonal[:queries].max() if objective == "max" else diagonal[:queries].mean()
    return float(np.sqrt(rows * diagonal[queries:].max()))
