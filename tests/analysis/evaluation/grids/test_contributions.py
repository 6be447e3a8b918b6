"""What a report of grids adds to an answer: the law that is drawn, against reports of devices decoded one by one."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.kept_plans import compiled_once

BINS = 64
# Each that differs is decoded alone; one on a plane is a system of equations.
FEW, MANY = 1000, 6000


@cache
def estimator(epsilon: str, sides: int = 1) -> LinearEstimator:
    lines = [{"name": f"n{side}", "kind": "integers", "low": 0, "high": BINS // sides**2 - 1} for side in range(sides)]
    workload = parse_specification({"name": "asked", "domain": lines, "queries": "prefix"}).build()
    # Levels for the mean: those for the maximum are few at ε = 8, and a single report then tells almost all.
    mechanism = "shifted_grids" if sides == 1 else "plane_grids"
    options = PlanningOptions.of(epsilon=epsilon, mechanism=mechanism, objective="mean", effort=Effort.QUICK)
    plan = compiled_once(PlanRequest(workload, options))
    return LinearEstimator.of(plan.device, plan.analyst)


def users_of(epsilon: str, sides: int, reports: int) -> tuple[np.ndarray, np.ndarray]:
    """The types of the users (n,), and their histogram (k,)."""
    generator = np.random.default_rng(20_261_130)
    types = estimator(epsilon, sides).workload.size
    cells = generator.choice(types, size=reports, p=generator.dirichlet(np.full(types, 0.1)))
    return cells, np.bincount(cells, minlength=types) / reports


@cache
def contributions(epsilon: str, sides: int, reports: int) -> tuple[np.ndarray, np.ndarray]:
    """The histogram of the users, and (n, Q) what each of their reports adds to the answers."""
    found, (cells, histogram) = estimator(epsilon, sides), users_of(epsilon, sides, reports)
    payloads = randomize_many(found.device.randomizer, cells, SeededRandomness(5))
    different, places = np.unique(payloads, axis=0, return_inverse=True)
    answers = [found.law.decode(accumulate(found.device.randomizer, one[None]).astype(float)) for one in different]
    return histogram, np.array(answers)[places.ravel()]


def of_all(law) -> np.ndarray:
    """Chances of the values for users of both classes together."""
    return law.chances @ law.shares


@pytest.mark.parametrize(
    ("epsilon", "sides", "reports"),
    [
        *(pytest.param(epsilon, 1, MANY, marks=pytest.mark.slow) for epsilon in ("1", "4", "8")),
        pytest.param("2", 2, 800, marks=pytest.mark.slow),
        ("8", 1, FEW),
        ("2", 2, 400),
    ],
)
def test_the_drawn_law_is_that_of_real_reports(epsilon: str, sides: int, reports: int) -> None:
    """Shares of reports within .25 to 4 standard errors of the mean differ by chance, and by what labels of four cells
    depend on each other: five standard errors of the former, which one seed in a thousand exceeds, and .012."""
    histogram, added = contributions(epsilon, sides, reports)
    some = estimator(epsilon, sides).law.drawn_laws(histogram)
    apart = []
    for row, law in zip(some.rows, some.laws, strict=True):
        chances = of_all(law)
        centre, spread = added[:, row].mean(), law.moments.of_population.variance**0.5
        for reach in (0.25, 0.5, 1.0, 2.0, 3.0, 4.0):
            of_law = float(chances[np.abs(law.values - law.truth @ law.shares) <= reach * spread].sum())
            of_reports = float((np.abs(added[:, row] - centre) <= reach * spread).mean())
            apart.append(abs(of_law - of_reports) - 5 * (max(0.0, of_law * (1 - of_law)) / reports) ** 0.5)
    # At a step of either law they may differ by it: one comparison in ten.
    assert np.quantile(apart, 0.9) < 0.012


def test_the_law_of_other_devices_is_told_apart() -> None:
    """With a normal law of the same variance in its place the shares differ by more, at ε = 8."""
    histogram, added = contributions("8", 1, FEW)
    some = estimator("8").law.drawn_laws(histogram)
    apart = []
    for row in some.rows:
        deviations = np.abs(added[:, row] - added[:, row].mean()) / added[:, row].std()
        apart += [abs((deviations <= reach).mean() - (2 * norm.cdf(reach) - 1)) for reach in (0.25, 0.5, 1.0)]
    assert np.quantile(apart, 0.9) > 0.1


@pytest.mark.parametrize(("epsilon", "sides"), [pytest.param("1", 1, marks=pytest.mark.slow), ("8", 1), ("2", 2)])
def test_means_and_variances_are_exact_and_every_query_has_a_law_near_it(epsilon: str, sides: int) -> None:
    _, histogram = users_of(epsilon, sides, FEW)
    law = estimator(epsilon, sides).law
    some, exact = law.drawn_laws(histogram), law.mixed_variances(histogram)
    assert len(some.rows) == min(16, law.workload.queries)
    for row, one in zip(some.rows, some.laws, strict=True):
        np.testing.assert_allclose(one.chances.sum(axis=0), 1)
        np.testing.assert_allclose(one.values @ one.chances, one.truth, atol=1e-9)
        assert one.moments.of_reporters.variance == pytest.approx(exact[row], rel=1e-2)
        assert some.nearest[row] == list(some.rows).index(row)
    assert set(some.nearest) == set(range(len(some.rows)))


def test_rows_of_any_entries_have_laws_of_their_means_and_variances() -> None:
    """The mean of a number and a difference, asked on demand: entries below 0 and above 1 are no shares of users."""
    places = np.arange(BINS)
    rows = np.stack([10.0 * places - 200, np.where(places < 20, -1.0, 1.0 * (places >= 50)), np.full(BINS, 3.0)])
    law = estimator("8").law.for_rows(Dense(rows), str)
    for _, histogram in (users_of("8", 1, FEW), (None, np.eye(BINS)[7])):
        some, exact = law.drawn_laws(histogram), law.mixed_variances(histogram)
        for row, one in zip(some.rows, some.laws, strict=True):
            assert (one.shares >= 0).all()
            assert (one.chances >= 0).all()
            np.testing.assert_allclose(one.chances.sum(axis=0), 1)
            assert one.truth @ one.shares == pytest.approx(rows[row] @ histogram)
            assert one.moments.of_reporters.variance == pytest.approx(exact[row], rel=1e-2, abs=1e-12)


def test_few_reports_of_grids_are_warned_of_and_many_are_not() -> None:
    """20 users who hold one value at ε = 8 see less than one report of a kind that moves an answer by much."""
    found = estimator("8")
    randomizer = found.device.randomizer
    for users, warned in ((1, True), (20, True), (20_000, False)):
        payloads = randomize_many(randomizer, np.full(users, BINS // 3), SeededRandomness(users))
        answers = found.estimate(Aggregate(users, accumulate(randomizer, payloads)))
        assert any("reported" in warning for warning in answers.warnings) is warned, users
        if warned:
            assert max(one.enough_reports or 0 for one in answers.normality) > users
        assert min(one.coverage for one in answers.normality) > (0.9375 if not warned else 0)


def test_what_is_drawn_is_the_same_for_everyone_who_has_the_plan() -> None:
    """The seed is a constant and all else is the plan's, so that a statement can be made again byte by byte."""
    _, histogram = users_of("8", 1, FEW)
    law = estimator("8").law
    once, again = ([one.values.tobytes() for one in law.drawn_laws(histogram).laws] for _ in range(2))
    assert once == again
