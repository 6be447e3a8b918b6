"""Bounds on what one report adds, against reports drawn; and which estimates are doubted."""

import numpy as np
import pytest

from sordino_server.design.planner import PlanRequest, compile_plan
from sordino_server.design.workloads import parse_specification
from sordino_server.estimation.linear import estimate
from sordino_server.estimation.normality import RARE_EVENTS, largest_contributions, needed_users
from sordino_server.estimation.statistics import Aggregate, accumulate
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomness import SeededRandomness

MECHANISMS = ["randomized_response", "subset_selection", "subset_mixture", "hyperplane_codebook"]


def bound(plan, centre):
    return largest_contributions(plan.device.randomizer, plan.analyst.decoder, plan.request.workload, centre)


def furthest(plan, centre, reports=400):
    """The furthest from `centre` that single reports of every type put each answer."""
    randomizer, far = plan.device.randomizer, np.zeros(len(centre))
    cells = np.arange(reports, dtype=np.int64) % randomizer.size
    for payload in randomizer.randomize_many(cells, SeededRandomness(1)):
        one = estimate(plan.device, plan.analyst, Aggregate(1, accumulate(randomizer, payload[None])))
        far = np.maximum(far, np.abs(one.unbiased - centre))
    return far


def warned(plan, histogram, users):
    cells = np.random.default_rng(0).choice(len(histogram), size=users, p=histogram).astype(np.int64)
    sums = accumulate(plan.device.randomizer, plan.device.randomizer.randomize_many(cells, SeededRandomness(0)))
    return [t for t in estimate(plan.device, plan.analyst, Aggregate(users, sums)).warnings if "doubtful" in t]


CASES = [(mechanism, kind) for mechanism in MECHANISMS for kind in ("histogram", "prefix", "ranges")]


@pytest.mark.parametrize(
    # Mixtures of sizes are for histograms.
    ("mechanism", "kind"),
    [case for case in CASES if case[0] != "subset_mixture" or case[1] == "histogram"],
)
def test_the_bound_is_the_furthest_that_a_report_goes(plan_of, mechanism, kind):
    plan = plan_of(kind, 5, mechanism=mechanism)
    centre = plan.request.workload.operator.matvec(np.array([0.5, 0.2, 0.0, 0.2, 0.1]))
    varying = plan.request.workload.varying_rows
    np.testing.assert_allclose(bound(plan, centre)[varying], furthest(plan, centre)[varying], rtol=1e-9)


def test_rows_of_any_numbers_are_bounded_too(plan_of):
    plan = plan_of("matrix", 4, mechanism="subset_selection", rows=((1.0, 0.0, 3.0, -1.0), (0.5, -1.0, 0.0, 2.0)))
    centre = np.array([0.3, 0.1])
    np.testing.assert_allclose(bound(plan, centre), furthest(plan, centre), rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [pytest.param("marginals", "1", marks=pytest.mark.slow), ("marginals", "3"), ("parities", "1")],
)
def test_no_report_of_an_orbit_kernel_goes_further_than_the_bound(kind, epsilon):
    yes_or_no = [{"name": f"a{i}", "kind": "ordinal", "edges": [1.0]} for i in range(4)]
    document = {"name": "pairs", "domain": yes_or_no, "queries": {"kind": kind, "width": 2}}
    plan = compile_plan(
        PlanRequest(parse_specification(document).build(), PureEpsilon.of(epsilon), "max", "orbit_kernel")
    )
    centre = plan.request.workload.operator.matvec(np.full(16, 1 / 16))
    far = furthest(plan, centre)
    assert (far <= bound(plan, centre) + 1e-9).all()
    assert (bound(plan, centre) <= 3 * far).all()


def test_twenty_rare_events_are_asked_for():
    chance = np.array([0.1, 0.001])
    np.testing.assert_allclose(needed_users(np.ones(2), np.sqrt(chance)), RARE_EVENTS / chance)
    assert needed_users(np.ones(1), np.zeros(1)) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_histogram_of_two_thousand_users_at_epsilon_one_is_not_doubted(plan_of, mechanism):
    plan = plan_of("histogram", 16, mechanism=mechanism)
    for histogram in (np.full(16, 1 / 16), np.where(np.arange(16) == 3, 0.97, 0.002)):
        assert not warned(plan, histogram, 2000)


@pytest.mark.parametrize("mechanism", ["hyperplane_codebook", "factorization"])
def test_prefixes_of_fifty_thousand_users_at_epsilon_one_are_not_doubted(plan_of, mechanism):
    assert not warned(plan_of("prefix", 64, mechanism=mechanism), np.full(64, 1 / 64), 50_000)


def test_few_reports_of_noise_are_doubted_however_many_users_there_are(plan_of):
    plan = plan_of("histogram", 16, "12", mechanism="randomized_response")
    (text,) = warned(plan, np.full(16, 1 / 16), 5000)
    assert text.startswith(
        "only 5000 users reported: the intervals and bands of 16 of 16 answers (of 0 for the population)"
    )
    assert "reports would do" in text
