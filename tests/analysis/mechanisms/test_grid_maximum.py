"""Grids for the largest variance: slopes of what is descended, the levels, and plans that ship their factors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.evaluation.grids.answers import GridAnswers
from sordino_analysis.evaluation.grids.families import LineFamily, PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.mechanisms.grid_levels import designed_levels
from sordino_analysis.mechanisms.grid_maximum import LargestVariance, with_terms
from sordino_analysis.mechanisms.grid_maximum_levels import _Asked, largest_variance, levels_for_maximum
from sordino_analysis.mechanisms.hash_response import HashResponse
from sordino_analysis.mechanisms.shifted_grids import shipped_proposal
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened
from tests.analysis.mechanisms.test_shifted_grids import many_bins

POWER = 30


def some_levels(epsilon: float) -> list[GridLevel]:
    forms = [(1, 1, 8, True), (2, 3, 8, True), (16, 1, 4, True), (5, 1, 16, False), (9, 2, 7, False)]
    return [HashResponse(hits, labels, epsilon).level(width, hashed=hashed) for width, hits, labels, hashed in forms]


def power_mean(levels: list[GridLevel], queries: Floats, weights: Floats, terms: Floats) -> float:
    """By the variances of the law alone, at chances and factors (2, L)."""
    moved = [replace(one, chance=p, counts=f) for one, p, f in zip(levels, *terms.tolist(), strict=True)]
    variances = weights[:, None] * GridLaw(moved, queries.shape[1]).variances(queries)
    return float((variances**POWER).mean() ** (1 / POWER))


@pytest.mark.parametrize("family", [PrefixFamily(58, 60), RangeFamily(48, 48)])
def test_slopes_by_chances_and_factors_are_those_of_the_variances(family: LineFamily) -> None:
    levels, queries = some_levels(3.0), family.rows(family.samples(7))
    weights = np.linspace(1, 2, len(queries))
    terms = np.array([[0.3, 0.2, 0.15, 0.2, 0.15], [0.9, 0.5, 0.6, 0.4, 0.7]])
    value, slopes = LargestVariance(levels, queries, weights, POWER).at(*terms)
    assert value == pytest.approx(power_mean(levels, queries, weights, terms), rel=1e-10)
    for row, found in enumerate((slopes.chances, slopes.factors)):
        for place in range(len(levels)):
            step = np.zeros_like(terms)
            step[row, place] = 1e-5
            ends = [power_mean(levels, queries, weights, terms + sign * step) for sign in (1, -1)]
            assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("types", "most"), [(127, 1.2), pytest.param(254, 1.65, marks=pytest.mark.slow)])
def test_levels_for_the_maximum_have_less_than_those_for_the_mean(types: int, most: float) -> None:
    """1.79 and 2.34 of the levels for the mean, at ε = 4."""
    family = PrefixFamily(types, types)
    levels = levels_for_maximum(family, 4.0)
    found = largest_variance(levels, family, 65)
    assert found <= most
    assert found < largest_variance(designed_levels(family, 4.0, "mean"), family, 65) / 1.3
    # With the factors of the mean the same chances have more.
    counted = np.array([replace(level, counts=None).factor(types) for level in levels])
    even = with_terms(levels, np.array([level.chance for level in levels]), counted)
    assert largest_variance(even, family, 65) > 1.1 * found


def test_at_any_epsilon_there_are_levels_to_choose_from() -> None:
    """Of 1,024 residues at most even sets of one are denser there than is best: it is randomised response."""
    family = PrefixFamily(300, 300)
    assert largest_variance(levels_for_maximum(family, 15.0), family, 65) < 4e-4


@cache
def proposed(types: int) -> tuple[Coarsened, Floats, float]:
    """What is shipped at ε = 4, with the largest variance that was designed."""
    family = PrefixFamily(types, types)
    levels = levels_for_maximum(family, 4.0)
    proposal = shipped_proposal(levels, family, PureEpsilon.of(4))
    assert isinstance(proposal.randomizer, Coarsened)
    assert isinstance(proposal.decoder, GridDecoder)
    assert proposal.decoder.factors is not None
    return proposal.randomizer, ndarray(proposal.decoder.factors), largest_variance(levels, family, types)


def test_a_plan_ships_what_the_reports_of_its_levels_count() -> None:
    randomizer, factors, designed = proposed(127)
    assert len(factors) == len(randomizer.levels)
    # Each factor belongs to its level: in another order the largest variance is another one.
    for moved, same in ((factors, True), (np.roll(factors, 1), False)):
        figures = GridAnswers.of(randomizer, builtin("prefix", 127), moved).profile().figures()
        assert (figures.max_variance == pytest.approx(designed, rel=1e-5)) is same
        assert figures.bias_bound < 1e-9


@pytest.mark.parametrize("wrong", [[1.0, 0.0], [1.0, -0.5]])
def test_factors_that_are_not_above_0_are_refused(wrong: list[float]) -> None:
    with pytest.raises(InvalidValue, match="above 0"):
        GridDecoder(array_of(np.array(wrong), "<f8"))


def test_factors_of_other_levels_are_refused() -> None:
    decoder = GridDecoder(array_of(np.ones(50), "<f8"))
    with pytest.raises(InvalidValue, match="levels have 50 factors"):
        for_randomizer(proposed(127)[0]).answer_moments(decoder, builtin("prefix", 127))
    lines = [{"name": name, "kind": "integers", "low": 0, "high": 15} for name in "ab"]
    plane = parse_specification({"name": "plane", "domain": lines, "queries": "prefix"}).build()
    with pytest.raises(InvalidValue, match="grids of one attribute"):
        for_randomizer(proposed(127)[0]).answer_moments(decoder, plane)


@pytest.mark.slow
@pytest.mark.parametrize(("types", "epsilon", "most"), [(1016, 4.0, 2.42), (2032, 4.0, 2.95), (4064, 4.0, 3.4)])
def test_plans_of_many_types_reach_their_targets(types: int, epsilon: float, most: float) -> None:
    """4.60, 5.4 and 6.49 with the levels for the mean."""
    options = PlanningOptions.of(epsilon=epsilon, objective="max", mechanism="shifted_grids")
    plan = compile_plan(PlanRequest(many_bins("prefix", types), options))
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    summary = plan.summary
    assert summary.max_variance <= most
    assert summary.device_bytes < 1000


def test_of_a_query_that_two_parts_ask_the_heavier_counts() -> None:
    same = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    light, heavy = _Asked(same, np.array([0.5, 2.0])), _Asked(same[::-1], np.array([0.25, 1.5]))
    for one, other in ((light, heavy), (heavy, light)):
        found = one.joined(other)
        weights = dict(zip(map(tuple, found.queries.tolist()), found.weights.tolist(), strict=True))
        assert weights == {(1.0, 0.0, 0.0): 1.5, (1.0, 1.0, 0.0): 2.0}
