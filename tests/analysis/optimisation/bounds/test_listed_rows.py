"""The bound over all extreme rows: the least variance of a kernel, from its own numbers alone, whatever they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.listed_rows import ListedRows, centred_rows, listed_rows, recheck_listed_rows
from sordino_analysis.optimisation.bounds.listed_rows_program import ListedRowsProblem, solve_listed_rows
from sordino_analysis.optimisation.bounds.row_orbits import row_orbits
from sordino_analysis.optimisation.search.cone_program import all_sets, solve_cone_program
from sordino_analysis.optimisation.search.objectives import variances
from sordino_shared.errors import InvalidValue


def marginals(bits: int) -> Floats:
    cells = np.array(list(product((0, 1), repeat=bits)))
    pairs = combinations(range(bits), 2)
    rows = [(cells[:, pair] == cell).all(axis=1) for pair in pairs for cell in product((0, 1), repeat=2)]
    return np.array(rows, dtype=float)


def best(matrix: Floats, epsilon: float, shape: tuple[int, ...], objective: str = "max") -> ListedRows:
    factors = np.ones_like(matrix) if objective == "max" else np.full(matrix.shape, 1 / len(matrix))
    orbits = row_orbits(matrix, factors, shape)
    groups = orbits.entries if objective == "max" else np.broadcast_to(orbits.types, matrix.shape)
    found = solve_listed_rows(
        ListedRowsProblem(matrix=matrix, epsilon=epsilon, factors=factors, groups=groups, orbits=orbits)
    )
    assert found is not None
    return found


def least(matrix: Floats, epsilon: float, objective: str) -> float:
    """The least variance of all kernels, by the program for rows, weights and decoders."""
    design = solve_cone_program(matrix, all_sets(matrix.shape[1]), epsilon, objective)  # type: ignore[arg-type]
    kernel = design.low[:, None] * np.where(design.members, np.exp(epsilon), 1.0)
    found = variances(kernel, design.decoder, matrix)
    return float(found.max() if objective == "max" else found.mean(axis=0).max())


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_least_variance_of_all_kernels(objective: str, epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = centred_rows(rng.normal(size=(int(rng.integers(2, 6)), int(rng.integers(2, 6)))))
    proved = recheck_listed_rows(matrix, epsilon, best(matrix, epsilon, (matrix.shape[1],), objective))
    exact = least(matrix, epsilon, objective)
    assert exact * (1 - 1e-4) <= proved <= exact * (1 + 1e-5)


@pytest.mark.parametrize(
    ("bits", "epsilon", "expected"),
    [(3, 1.0, 4.2214), (3, 2.0, 0.8299), (3, 4.0, 0.10839), (4, 1.0, 6.6816), (4, 4.0, 0.19728)],
)
def test_marginals_are_solved_by_a_few_numbers_of_their_symmetry(bits: int, epsilon: float, expected: float) -> None:
    matrix = centred_rows(marginals(bits))
    orbits = row_orbits(matrix, np.ones_like(matrix), (2,) * bits)
    # By the disagreements with the queried cell, and 402 kinds of rows of 4 bits with the one left out.
    assert orbits.entries.max() == 2
    assert len(orbits.rows) == {3: 21, 4: 401}[bits]
    assert recheck_listed_rows(matrix, epsilon, best(matrix, epsilon, (2,) * bits)) == pytest.approx(expected, rel=1e-4)


def test_changed_numbers_never_prove_more() -> None:
    rng, matrix = np.random.default_rng(1), centred_rows(marginals(3))
    numbers = best(matrix, 2.0, (2, 2, 2))
    exact = recheck_listed_rows(matrix, 2.0, numbers)
    for name in ("weights", "numerators", "multipliers") * 15:
        changed = getattr(numbers, name).copy()
        changed.flat[rng.integers(changed.size)] *= rng.uniform(0.8, 1.2)
        if name == "weights":
            changed /= changed.sum()
        assert recheck_listed_rows(matrix, 2.0, replace(numbers, **{name: changed})) <= exact * (1 + 1e-6)
    lower = replace(numbers, multipliers=0 * numbers.multipliers)
    assert 0 < recheck_listed_rows(matrix, 2.0, lower) <= exact * (1 + 1e-6)


def test_all_rows_are_listed_once() -> None:
    rows = np.vstack(list(listed_rows(13, 1.0)))
    assert len(np.unique(rows, axis=0)) == 2**13 - 1


def test_what_is_no_certificate_is_refused() -> None:
    matrix = np.array([[0.5, -0.5]])
    numbers = ListedRows(weights=np.full((1, 2), 0.5), numerators=np.array([[1.0, -1.0]]), multipliers=np.ones(2))
    assert recheck_listed_rows(matrix, 1.0, numbers) > 0
    for change, said in (
        ({"weights": np.array([[1.5, -0.5]])}, "not negative"),
        ({"numerators": np.array([[np.nan, 1]])}, "finite"),
        ({"multipliers": np.ones(3)}, "every query and type"),
        ({"weights": np.zeros((1, 2))}, "no numerators"),
    ):
        with pytest.raises(InvalidValue, match=said):
            recheck_listed_rows(matrix, 1.0, replace(numbers, **change))
    with pytest.raises(InvalidValue, match="ε"):
        recheck_listed_rows(matrix, 17.0, numbers)
    with pytest.raises(InvalidValue, match="2 to 16 types"):
        recheck_listed_rows(np.ones((1, 17)), 1.0, numbers)
