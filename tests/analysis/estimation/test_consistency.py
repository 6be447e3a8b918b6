"""The nearest histogram: against a cone solver, and for what a projection promises."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_analysis.estimation import consistency
from sordino_analysis.estimation.consistency import NearestHistogram, nearest_histogram, project_onto_simplex
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.operators import Dense, Intervals


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_the_projection_onto_the_simplex_meets_its_optimality_conditions(entries):
    point = np.array(entries)
    found = project_onto_simplex(point)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0)
    # Where an entry is kept, point − found is one number; elsewhere it is no larger.
    shift = point - found
    assert shift.max() - shift[found > 0].min() <= 1e-9 * (1 + np.abs(point).max())


def nearest(operator, answers, tolerance):
    """The histogram, with its proof looked at: the gap is recomputed here."""
    found = nearest_histogram(operator, answers, tolerance)
    gradient = operator.rmatvec(operator.matvec(found.histogram) - answers)
    assert found.converged
    assert 2 * (gradient @ found.histogram - gradient.min()) <= found.tolerance
    assert found.histogram.min() >= 0
    assert found.histogram.sum() == pytest.approx(1.0)
    return found.histogram


def test_types_that_no_query_tells_apart_are_merged():
    """A few rectangles of 65,536 types: as near as over the blocks between their ends, and in a moment."""
    sides = [((0, 99), (0, 199)), ((50, 149), (20, 255)), ((0, 255), (100, 120))]
    boxes = Boxes([Box(str(number), side) for number, side in enumerate(sides)], (256, 256))
    merged = boxes.merged()
    assert merged is not None
    assert merged.operator.shape == (3, 4 * 5)
    shares = np.random.default_rng(1).dirichlet(np.ones(20))
    np.testing.assert_allclose(boxes.matvec(merged.spread(shares)), merged.operator.matvec(shares))
    found = nearest(boxes, np.array([0.9, -0.05, 0.3]), 1e-8)
    cube = found.reshape(256, 256)
    assert np.ptp(cube[:50, 20:100]) == 0
    assert Boxes(boxes.boxes[:1], (100, 200)).merged().operator.shape == (1, 1)
    assert Boxes([Box("all", ((0, 0), (0, 0))), Box("b", ((1, 1), (1, 1)))], (2, 2)).merged() is None


def binary(attributes, kind, width):
    domain = [{"name": f"a{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(attributes)]
    queries = {"kind": kind, "width": width}
    return parse_specification({"name": "asked", "domain": domain, "queries": queries}).build()


def grid(kind, rows, columns):
    lines = [
        {"name": name, "kind": "ordinal", "edges": [float(edge) for edge in range(1, bins)]}
        for name, bins in (("down", rows), ("across", columns))
    ]
    return parse_specification({"name": "grid", "domain": lines, "queries": kind}).build()


def with_missing(kind, bins):
    line = {"name": "value", "kind": "ordinal", "edges": [float(e) for e in range(1, bins)], "missing": True}
    return parse_specification({"name": "asked", "domain": [line], "queries": kind}).build()


OPERATORS = {
    "histogram": builtin("histogram", 9).operator,
    "prefix": builtin("prefix", 9).operator,
    "prefix, some missing": with_missing("prefix", 8).operator,
    "ranges": builtin("ranges", 9).operator,
    "ranges, some missing": with_missing("ranges", 8).operator,
    "matrix": Dense(np.random.default_rng(7).normal(size=(4, 9))),
    "parities": binary(4, "parities", 2).operator,
    "marginals": binary(4, "marginals", 2).operator,
    "grid": grid("prefix", 3, 4).operator,
}


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("kind", OPERATORS)
def test_it_is_the_least_squares_solution_of_a_cone_solver(monkeypatch, kind, noise, dense):
    import cvxpy as cp

    if not dense:
        monkeypatch.setattr(consistency, "_DENSE_GRAM_TYPES", 0)
    rng, operator = np.random.default_rng(11), OPERATORS[kind]
    size, matrix = operator.shape[1], operator.dense()
    answers = operator.matvec(rng.dirichlet(np.ones(size))) + noise * rng.normal(size=operator.shape[0])
    histogram = cp.Variable(size, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(matrix @ histogram - answers)), [cp.sum(histogram) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    found = nearest(operator, answers, 1e-10)
    assert ((operator.matvec(found) - answers) ** 2).sum() <= problem.value + 2e-10
    np.testing.assert_allclose(operator.matvec(found), matrix @ histogram.value, atol=3e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.001, 10), st.sampled_from(sorted(OPERATORS)))
def test_it_is_never_farther_from_the_truth_than_the_answers_were(seed, noise, kind):
    rng, operator = np.random.default_rng(seed), OPERATORS[kind]
    truth = operator.matvec(rng.dirichlet(np.ones(operator.shape[1])))
    answers = truth + noise * rng.normal(size=len(truth))
    tolerance = consistency.RELATIVE_GAP * noise**2 * len(truth)
    projected = operator.matvec(nearest(operator, answers, tolerance))
    # A point within δ of the least squared error is within √δ of the projection.
    assert np.linalg.norm(projected - truth) <= np.linalg.norm(answers - truth) + np.sqrt(tolerance)


@pytest.mark.parametrize("kind", ["prefix", "prefix, some missing"])
@pytest.mark.parametrize("noise", [0.05, 1.0])
def test_a_cdf_comes_out_monotone_between_zero_and_one(kind, noise):
    operator = builtin("prefix", 200).operator if kind == "prefix" else with_missing("prefix", 200).operator
    queries = operator.shape[0]
    answers = np.linspace(0, 1, queries) + noise * np.random.default_rng(2).normal(size=queries)
    found = operator.matvec(nearest(operator, answers, 1e-9))
    assert (np.diff(found) >= -1e-15).all()
    assert found[0] >= 0
    assert found[-1] <= 1 + 1e-12


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("kind", OPERATORS)
def test_answers_that_a_histogram_has_are_left_alone(monkeypatch, kind, dense):
    if not dense:
        monkeypatch.setattr(consistency, "_DENSE_GRAM_TYPES", 0)
    operator = OPERATORS[kind]
    answers = operator.matvec(np.random.default_rng(3).dirichlet(np.ones(operator.shape[1])))
    np.testing.assert_allclose(operator.matvec(nearest(operator, answers, 1e-12)), answers, atol=2e-6)


@pytest.mark.parametrize("seed", [1, 2, 7, 8])
def test_types_that_were_dropped_too_early_come_back(seed):
    """Queries of any sign, where the first guess of the support leaves out types that the solution holds."""
    operator = Dense(np.random.default_rng(20).normal(size=(40, 20)) * np.linspace(0.1, 1, 20))
    rng = np.random.default_rng(seed)
    noise = 0.1 * rng.normal(size=40)
    answers = noise + operator.matvec(rng.dirichlet(np.ones(20)))
    gram = operator.matrix.T @ operator.matrix
    assert consistency._by_active_sets(gram, operator.rmatvec(answers), 1e-6) is not None


@pytest.mark.parametrize("noise", [0.02, 0.5])
@pytest.mark.parametrize("workload", [builtin("prefix", 60), builtin("ranges", 20), grid("prefix", 8, 9)])
def test_taking_types_in_a_few_at_a_time_finds_the_same_answers(monkeypatch, workload, noise):
    operator, rng = workload.operator, np.random.default_rng(3)
    answers = operator.matvec(rng.dirichlet(np.full(workload.size, 0.3)))
    answers += noise * rng.standard_normal(len(answers))
    expected = operator.matvec(nearest(operator, answers, 1e-9))
    monkeypatch.setattr(consistency, "_closed_form", lambda operator, answers: None)
    monkeypatch.setattr(consistency, "_DENSE_GRAM_TYPES", 0)
    assert operator.matvec(nearest(operator, answers, 1e-9)) == pytest.approx(expected, abs=1e-4)


def test_mixtures_that_active_sets_do_not_settle_are_solved_too(monkeypatch):
    operator = OPERATORS["marginals"]
    answers = operator.matvec(np.full(16, 1 / 16)) + 0.2 * np.random.default_rng(4).normal(size=operator.shape[0])
    expected = operator.matvec(nearest(operator, answers, 1e-10))
    monkeypatch.setattr(consistency, "_by_active_sets", lambda matrix, pulled, tolerance: None)
    assert operator.matvec(nearest(operator, answers, 1e-10)) == pytest.approx(expected, abs=1e-5)


def test_what_is_not_finished_is_a_histogram_with_the_excess_that_is_proved(monkeypatch):
    operator = grid("prefix", 12, 12).operator
    rng = np.random.default_rng(6)
    answers = operator.matvec(rng.dirichlet(np.ones(144))) + 0.01 * rng.normal(size=operator.shape[0])
    monkeypatch.setattr(consistency, "_DENSE_GRAM_TYPES", 0)
    least = ((operator.matvec(nearest(operator, answers, 1e-9)) - answers) ** 2).sum()
    monkeypatch.setattr(consistency, "_MOST_VERTEX_STEPS", 3)
    found = nearest_histogram(operator, answers, 1e-9)
    assert not found.converged
    assert found.histogram.sum() == pytest.approx(1)
    assert found.histogram.min() >= 0
    assert ((operator.matvec(found.histogram) - answers) ** 2).sum() - least <= found.excess + 1e-9


def test_the_excess_allows_for_rounding_where_answers_have_next_to_no_noise():
    found = nearest_histogram(OPERATORS["marginals"], OPERATORS["marginals"].matvec(np.full(16, 1 / 16)), 0.0)
    assert isinstance(found, NearestHistogram)
    assert found.converged


@pytest.mark.parametrize(
    ("workload", "noise", "seconds"),
    [
        (builtin("histogram", 65_536), 0.01, 5),
        (builtin("prefix", 500_000), 0.5, 5),
        (grid("prefix", 64, 64), 0.02, 20),
        (binary(14, "marginals", 3), 0.05, 20),
        (binary(11, "parities", 3), 0.3, 20),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else str(value),
)
def test_large_domains_take_seconds(workload, noise, seconds):
    operator, rng = workload.operator, np.random.default_rng(9)
    truth = operator.matvec(rng.dirichlet(np.full(workload.size, 10 / workload.size)))
    answers = truth + noise * rng.standard_normal(len(truth))
    start = time.process_time()
    found = nearest(operator, answers, consistency.RELATIVE_GAP * noise**2 * len(truth))
    assert time.process_time() - start < seconds
    assert np.linalg.norm(operator.matvec(found) - truth) < 0.8 * np.linalg.norm(answers - truth)


def test_a_hundred_thousand_types_take_a_second_where_answers_have_few_dimensions():
    asked = binary(17, "marginals", 1)
    answers = 0.5 + 0.7 * np.random.default_rng(1).standard_normal(34)
    start = time.process_time()
    found = nearest(asked.operator, answers, 1e-6)
    assert time.process_time() - start < 20
    # Marginals of one attribute are independent: each is projected onto its own simplex.
    pairs = [project_onto_simplex(pair) for pair in answers.reshape(17, 2)]
    assert asked.operator.matvec(found) == pytest.approx(np.concatenate(pairs), abs=2e-3)


@pytest.mark.parametrize("prefixes", [True, False])
def test_a_few_intervals_of_many_types_are_projected_as_all_types_are(prefixes: bool) -> None:
    random = np.random.default_rng(11)
    stops = np.sort(random.choice(np.arange(1, 60), 9, replace=False))
    starts = np.zeros_like(stops) if prefixes else np.array([int(random.integers(0, stop)) for stop in stops])
    answers = stops / 60 - starts / 60 + 0.3 * random.standard_normal(9)
    found = nearest_histogram(Intervals(starts, stops, 60), answers, 1e-12)
    dense = nearest_histogram(Dense(Intervals(starts, stops, 60).dense()), answers, 1e-12)
    assert found.converged
    operator = Intervals(starts, stops, 60)
    np.testing.assert_allclose(operator.matvec(found.histogram), operator.matvec(dense.histogram), atol=1e-6)


def test_257_prefix_sums_of_65536_types_are_projected_at_once() -> None:
    stops = np.unique(np.linspace(1, 65535, 257).round().astype(int))
    operator = Intervals(np.zeros_like(stops), stops, 1 << 16)
    truth = np.sqrt(stops / 65536)
    found = nearest_histogram(operator, truth + 0.05 * np.random.default_rng(12).standard_normal(257), 1e-9)
    assert found.converged
    assert np.abs(operator.matvec(found.histogram) - truth).mean() < 0.02
