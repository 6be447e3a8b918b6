"""Designs by orbits: those of the dense ascent, with sensitivities by brute force, for domains beyond any list."""

from __future__ import annotations

import time
from functools import cache
from itertools import product

import numpy as np
import pytest

from sordino_analysis.curator.character_strategy import CharacterStrategy, squared_sensitivity_of_scales
from sordino_analysis.curator.design import dense_design
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.orbit_design import cover_of_distances, orbit_design
from sordino_analysis.curator.plan import CuratorPlan, plan_release
from sordino_analysis.curator.release import measure, released_estimate
from sordino_analysis.curator.released_counts import released_counts
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

RHO = Zcdp.of("0.024356")


def of_bits(bits: int, kind: str, width: int, *, exactly: bool = True, labels: int = 2) -> Workload:
    members = [str(label) for label in range(labels)]
    domain = [{"name": f"a{number}", "kind": "categorical", "labels": members} for number in range(bits)]
    queries = {"kind": kind, "width": width, "exactly": exactly}
    return parse_specification({"name": kind, "domain": domain, "queries": queries}).build()


@cache
def planned(kind: str, neighbours: Neighbours) -> CuratorPlan:
    """Of 2,048 types, which no strategy lists."""
    return plan_release(of_bits(11, kind, 2), RHO, "mean", neighbours=neighbours)


def seeded(seed: int) -> CuratorNoise:
    return CuratorNoise(SeededRandomness(seed), seeded_for_tests=True)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(("kind", "exactly"), [("marginals", True), ("marginals", False), ("parities", False)])
@pytest.mark.parametrize("objective", ["mean", "max"])
def test_orbits_find_what_the_ascent_over_pairs_finds(kind, exactly, objective, neighbours) -> None:
    workload = of_bits(5, kind, 2, exactly=exactly)
    orbits, dense = (
        orbit_design(workload, objective, neighbours, None),
        dense_design(workload, objective, neighbours, None),
    )
    assert orbits is not None
    for design in (orbits, dense):
        design.strategy.check_decodes(_rows(workload, neighbours))
    assert orbits.mean_certificate.norm == pytest.approx(dense.mean_certificate.norm, rel=0.006)
    assert orbits.uniform_error == pytest.approx(dense.uniform_error, rel=1e-9)
    here, there = (each.strategy.variances(RHO) for each in (orbits, dense))
    if objective == "mean":
        assert (here * orbits.weights).mean() == pytest.approx((there * dense.weights).mean(), rel=0.015)
    else:
        assert here.max() == pytest.approx(there.max(), rel=0.03)
        assert here.max() <= (1.025**2) * orbits.max_certificate.norm**2 / (2 * RHO.rho)


def _rows(workload: Workload, neighbours: Neighbours) -> np.ndarray:
    rows = workload.operator.dense()
    return rows if neighbours == "replace" else np.vstack([rows, np.ones(workload.size)])


@pytest.mark.parametrize("scales", [(0, 5, 3), (0, 0, 7, 2), (4, 3, 1)])
def test_the_sensitivity_of_scales_is_that_of_all_types(scales: tuple[int, ...]) -> None:
    cells = np.array(list(product((0, 1), repeat=5)))
    signs = [
        (scales[sum(chosen)] * (-1) ** (cells @ np.array(chosen)))
        for chosen in product((0, 1), repeat=5)
        if sum(chosen) < len(scales)
    ]
    columns = np.array(signs).T
    if scales[0]:
        assert squared_sensitivity_of_scales(5, scales) == (columns**2).sum(axis=1).max()
    else:
        found = ((columns[:, None] - columns) ** 2).sum(axis=2).max()
        assert squared_sensitivity_of_scales(5, scales) == found


def test_one_more_in_a_scale_is_refused() -> None:
    strategy = planned("marginals", "replace").strategy
    assert isinstance(strategy, CharacterStrategy)
    with pytest.raises(InvalidValue, match="do not run it"):
        CharacterStrategy(
            neighbours="replace",
            operator=strategy.operator,
            scales=(0, strategy.scales[1] + 1, strategy.scales[2]),
            squared_sensitivity=strategy.squared_sensitivity,
        )


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", ["marginals", "parities"])
def test_releases_about_types_beyond_a_list_have_the_stated_errors(kind: str, neighbours: Neighbours) -> None:
    """12 releases of over 55 measured numbers: each mean of z² is within 5 of its standard errors of 1."""
    plan = planned(kind, neighbours)
    counts = np.random.default_rng(1).multinomial(3000, np.random.default_rng(2).dirichlet(np.ones(2048)))
    truth = plan.workload.operator.matvec(counts.astype(float))
    squares = []
    for seed in range(12):
        measured = measure(plan, counts, seeded(seed))
        if neighbours == "replace":
            found = released_estimate(plan, measured, 3000)
            squares.append(((found.unbiased * 3000 - truth) / (found.standard_error * 3000)) ** 2)
        else:
            released = released_counts(plan, measured)
            squares.append(((released.unbiased - truth) / released.standard_error) ** 2)
            assert abs(released.people - 3000) < 6 * released.people_standard_error
    each = np.mean(squares, axis=1)
    assert abs(each.mean() - 1) < 5 * each.std() / 12**0.5 < 0.8
    exact = plan.strategy.exact(counts)
    unbiased = plan.strategy.decode(exact.astype(float)) + 3000 * plan.strategy.known_part()
    assert unbiased[: len(truth)] == pytest.approx(truth, abs=1e-6)


def test_marginals_of_a_hundred_bits_are_planned_in_a_blink() -> None:
    """γ = 109.24 and 67.7876, at σ = 4.5309 of ρ = .024356."""
    workload = of_bits(100, "marginals", 3)
    started = time.process_time()
    plan = plan_release(workload, RHO, "mean")
    assert time.process_time() - started < 1
    deviation = 1 / np.sqrt(2 * RHO.rho)
    summary = plan.summary()
    assert np.sqrt(summary.mean_variance) == pytest.approx(109.24 * deviation, rel=1e-3)
    assert summary.ratio_mean is not None
    assert summary.ratio_mean < 1.02**2
    secret = plan_release(workload, RHO, "mean", neighbours="add-remove").summary()
    assert np.sqrt(secret.mean_variance) == pytest.approx(67.7876 * deviation, rel=1e-3)
    assert plan_release(workload, RHO, "mean", users=10**9).summary().ratio_mean is None
    with pytest.raises(InvalidValue, match="at most 20 attributes"):
        plan.strategy.exact(np.ones(4, dtype=np.int64))


def test_few_users_get_a_bound_of_their_own_where_types_can_be_listed() -> None:
    workload = of_bits(4, "marginals", 2)
    few, many = (plan_release(workload, RHO, "mean", users=users).summary() for users in (3, 100))
    assert few.lower_bound_mean is not None
    assert many.lower_bound_mean is not None
    assert 0 < few.lower_bound_mean < many.lower_bound_mean
    assert few.holds_from_n == 3


@pytest.mark.parametrize("distances", [[1], [3], [1, 3], [2], [4], [2, 3], [3, 4]])
def test_the_cover_of_distances_is_one_and_is_least_where_all_are_odd(distances: list[int]) -> None:
    """Some independent set is as large as what the cover leaves out."""
    cells = np.array(list(product((0, 1), repeat=4)))
    apart = (cells[:, None] != cells).sum(axis=2)
    left = 16 - cover_of_distances(4, distances)
    cube = [cell for cell in range(16) if cell < 2 ** (min(distances) - 1)]
    even = [cell for cell in range(16) if cells[cell].sum() % 2 == 0]
    assert any(len(free) == left and not np.isin(apart[np.ix_(free, free)], distances).any() for free in (cube, even))


def test_other_queries_have_no_orbits_of_bits() -> None:
    assert orbit_design(builtin_specification("prefix", 8).build(), "mean", "replace", None) is None
    assert orbit_design(of_bits(3, "marginals", 2, labels=3), "mean", "replace", None) is None
