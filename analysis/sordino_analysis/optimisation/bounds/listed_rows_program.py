"""The best numbers of the bound over all extreme rows, by cone programs with more rows each.

With T_qv ≥ (A_qᵀv)²/(Λ_qᵀv) the condition Σ_q T_qv ≤ νᵀv is linear and each T a rotated cone, so the bound is the
optimum of a second-order cone program. Entries that are alike share their numbers, and pairs of a query and a row with
equal sums share their T. A program has some of the rows; those that its point violates most are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.listed_rows import ListedRows
from sordino_analysis.optimisation.bounds.row_orbits import RowOrbits
from sordino_analysis.optimisation.bounds.tuning import LISTED_ROWS
from sordino_analysis.optimisation.conic_program import Affine, ConicProgram
from sordino_analysis.questions.linear.operators import Indices


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedRowsProblem:
    """max 2⟨A, W⟩ − ⟨Λ, W∘W⟩ − 1ᵀν over A, ν and the shares λ ≥ 0 of Λ_qx = factors_qx · λ_c, c = groups_qx.

    `matrix` W, `factors`, `groups` (Q, m); ΣΛ = 1. `orbits` says which numbers are alike.
    """

    matrix: Floats
    epsilon: float
    factors: Floats
    groups: Indices
    orbits: RowOrbits


def solve_listed_rows(problem: ListedRowsProblem, should_stop: Callable[[], bool] = lambda: False) -> ListedRows | None:
    """The numbers of the best bound; None where the solver finds none, or stops before the first."""
    rows = _Rows(problem)
    chosen = rows.first()
    best, least = None, np.inf
    for _ in range(LISTED_ROWS.most_rounds):
        if should_stop():
            break
        found = _solved(problem, rows, chosen)
        if found is None:
            break
        violations = rows.violations(found)
        short = max(0.0, float(violations.max())) * problem.matrix.shape[1]
        if short < least:
            best, least = found, short
        worst = np.argsort(-violations)[: LISTED_ROWS.more_rows]
        added = np.setdiff1d(worst[violations[worst] > 0], chosen)
        if short <= LISTED_ROWS.settled * float(np.abs(found.multipliers).sum()) or not len(added):
            break
        chosen = np.union1d(chosen, added)
    return best


class _Rows:
    """One row (n, m) of each class, of mean one, and the patterns of pairs of a query and a row."""

    def __init__(self, problem: ListedRowsProblem) -> None:
        queries, types = problem.matrix.shape
        numbers = problem.orbits.rows
        levels = 1 + np.expm1(problem.epsilon) * ((numbers[:, None] >> np.arange(types)) & 1)
        self.members = (numbers[:, None] >> np.arange(types)) & 1
        self.rows = levels / levels.mean(axis=1, keepdims=True)
        random = np.random.Generator(np.random.PCG64(0))
        # Sums are equal where they are equal for random numbers of the classes.
        of_entries = random.uniform(1, 2, int(problem.orbits.entries.max()) + 1)[problem.orbits.entries]
        of_groups = random.uniform(1, 2, int(problem.groups.max()) + 1)[problem.groups] * problem.factors
        keys = np.stack([(self.rows @ of_entries.T).ravel(), (self.rows @ of_groups.T).ravel()], axis=1)
        rounded = np.round(keys / np.abs(keys).max(axis=0), 11)
        first, inverse = np.unique(rounded, axis=0, return_index=True, return_inverse=True)[1:]
        self.examples, self.patterns = first, inverse.reshape(len(numbers), queries)

    def first(self) -> Indices:
        """Those of the fewest high types, and some of all sizes."""
        few = np.argsort(self.members.sum(axis=1), kind="stable")[: LISTED_ROWS.first_rows // 2]
        spread = np.linspace(0, len(self.rows) - 1, LISTED_ROWS.first_rows - len(few))
        return np.union1d(few, spread.astype(np.intp))

    def violations(self, numbers: ListedRows) -> Floats:
        """(n,) g(v) − νᵀv of rows of mean one, over their sum."""
        used = numbers.weights.any(axis=1)
        values, shares = self.rows @ numbers.numerators[used].T, self.rows @ numbers.weights[used].T
        form = (values**2 / shares).sum(axis=1) - self.rows @ numbers.multipliers
        return np.asarray(form / self.rows.shape[1])


def _solved(problem: ListedRowsProblem, rows: _Rows, chosen: Indices) -> ListedRows | None:
    matrix, orbits, types = problem.matrix, problem.orbits, problem.matrix.shape[1]
    used, places = np.unique(rows.patterns[chosen], return_inverse=True)
    places = places.reshape(len(chosen), -1)
    row, query = np.divmod(rows.examples[used], len(matrix))
    levels = rows.rows[row]
    numerators = _sums(levels, orbits.entries[query])
    weights = _sums(levels * problem.factors[query], problem.groups[query], int(problem.groups.max()) + 1)
    sizes = {
        "numerators": int(orbits.entries.max()) + 1,
        "weights": int(problem.groups.max()) + 1,
        "multipliers": int(orbits.types.max()) + 1,
        "terms": len(used),
    }
    numerators.resize((len(used), sizes["numerators"]))
    gains = np.bincount(orbits.entries.ravel(), matrix.ravel(), sizes["numerators"]).astype(float)
    squares = (problem.factors * matrix**2).ravel()
    losses = np.bincount(problem.groups.ravel(), squares, sizes["weights"]).astype(float)
    whole = np.bincount(problem.groups.ravel(), problem.factors.ravel(), sizes["weights"])
    levels_of_types = np.bincount(orbits.types, minlength=sizes["multipliers"]).astype(float)
    program = ConicProgram(sizes, {"numerators": -2 * gains, "weights": losses, "multipliers": levels_of_types})
    program.zero(Affine({"weights": whole[None, :]}, -1.0))
    program.not_negative(Affine({"weights": sparse.eye_array(sizes["weights"])}))
    terms = sparse.eye_array(len(used))
    # x² ≤ T·d
    program.second_order(
        [
            Affine({"terms": terms, "weights": weights}),
            Affine({"numerators": 2 * numerators}),
            Affine({"terms": terms, "weights": -weights}),
        ]
    )
    counted = sparse.coo_array(
        (np.ones(places.size), (np.repeat(np.arange(len(chosen)), places.shape[1]), places.ravel())),
        shape=(len(chosen), len(used)),
    ).tocsr()
    allowed = _sums(rows.rows[chosen], np.broadcast_to(orbits.types, (len(chosen), types)), sizes["multipliers"])
    program.not_negative(Affine({"multipliers": allowed, "terms": -counted}))
    tolerance = LISTED_ROWS.tolerance
    solution = program.solve(tol_feas=tolerance, tol_gap_abs=tolerance, tol_gap_rel=tolerance)
    if not solution.values:
        return None
    shares = np.maximum(solution.values["weights"], 0.0)
    found = problem.factors * shares[problem.groups]
    total = float(found.sum())
    used_queries = found.any(axis=1, keepdims=True)
    return ListedRows(
        weights=found / total,
        numerators=solution.values["numerators"][orbits.entries] / total * used_queries,
        multipliers=solution.values["multipliers"][orbits.types] / total,
    )


def _sums(values: Floats, classes: Indices, count: int | None = None) -> sparse.csr_array:
    """(n, count) the sum of each row's values (n, m) in each of its classes (n, m)."""
    height, width = values.shape
    count = int(classes.max()) + 1 if count is None else count
    places = (np.repeat(np.arange(height), width), np.asarray(classes).ravel())
    return sparse.coo_array((values.ravel(), places), shape=(height, count)).tocsr()
