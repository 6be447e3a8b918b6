"""A part's weight counts its variances: in the plan, its figures and its bounds, against brute force."""

import numpy as np
import pytest

from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.evaluation.variance import counts_as_unbiased, type_variances
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import WorkloadError, parse_specification
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import ndarray

LINE = [{"name": "v", "kind": "ordinal", "edges": [0, 1, 2]}]
BITS = [{"name": name, "kind": "categorical", "labels": ["no", "yes"]} for name in "abc"]
PARITIES, MARGINALS = {"kind": "parities", "width": 1}, {"kind": "marginals", "width": 2, "exactly": True}
ROWS = {"matrix": [[3, 3, 3, 3], [0, 1, 4, 9]]}
WEIGHTS = (0.001, 1, 1000)


def stacked(weight, domain=LINE, first="prefix", second="histogram"):
    stack = [{"queries": first, "weight": weight}, {"queries": second}]
    return parse_specification({"name": "s", "domain": domain, "queries": {"stack": stack}}).build()


def plan_of(workload, objective, epsilon="1", **options):
    return compile_plan(
        PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective, effort=Effort.QUICK, **options))
    )


def documented(workload, counts):
    """w_q of the page: the parts' weights over their mean over all queries that vary; `counts` of (weight, queries)."""
    written = np.concatenate([np.full(queries, float(weight)) for weight, queries in counts])
    varying = np.ptp(workload.operator.dense(), axis=1) > 0
    return written / written[varying].mean(), varying


def of_objective(figures, objective):
    return figures.max_variance if objective == "max" else figures.mean_variance


def by_hand(variances, weights, varying, objective):
    counted = (weights[:, None] * variances)[varying]
    return counted.max() if objective == "max" else counted.mean(axis=0).max()


@pytest.mark.parametrize(
    ("objective", "second", "queries"),
    [
        ("max", "histogram", 4),
        ("mean", ROWS, 2),
        pytest.param("mean", "histogram", 4, marks=pytest.mark.slow),
        pytest.param("max", ROWS, 2, marks=pytest.mark.slow),
    ],
)
def test_figures_are_those_of_the_formula_and_between_the_bound_and_the_optimum(
    exact_optimum, objective, second, queries
):
    devices, raw = set(), []
    for weight in WEIGHTS:
        workload = stacked(weight, second=second)
        plan = plan_of(workload, objective)
        weights, varying = documented(workload, [(weight, 3), (1, queries)])
        variances = type_variances(plan.device, plan.analyst.decoder, workload)
        for each in ("max", "mean"):
            figure = of_objective(plan.analyst.figures, each)
            assert figure == pytest.approx(by_hand(variances, weights, varying, each), rel=1e-9)
            exact = exact_optimum((np.sqrt(weights)[:, None] * workload.operator.dense())[varying], 1.0, each)
            assert getattr(plan.analyst.certificate, each).value <= exact * (1 + 1e-6)
            assert figure >= exact * (1 - 1e-4)
        assert of_objective(plan.analyst.figures, objective) <= exact_optimum(
            (np.sqrt(weights)[:, None] * workload.operator.dense())[varying], 1.0, objective
        ) * (1 + 5e-3)
        assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
        devices.add(plan.device.digest)
        raw.append([variances[:3].max(), variances[3:].max()])
    assert len(devices) == len(WEIGHTS)
    first, last = np.array(raw).T
    # The more the first part counts, the better it is answered, and the worse the other; rows of a larger scale have
    # the maximum to themselves from the start.
    assert first[0] > first[1] > first[2]
    assert last[0] <= last[1] * (1 + 1e-6)
    assert last[1] < last[2]


@pytest.mark.parametrize("mechanism", [None, "factorization", "optimised_kernel", "column_generation", "haar"])
def test_every_dense_mechanism_is_above_the_bound_and_unbiased(mechanism):
    """Its law by the table of the shipped integers, where it has one."""
    workload = stacked(1000)
    plan = plan_of(workload, "mean", mechanism=mechanism)
    weights, varying = documented(workload, [(1000, 3), (1, 4)])
    figures = plan.analyst.figures
    assert figures.mean_variance >= plan.analyst.certificate.mean.value * (1 - 1e-9)
    assert counts_as_unbiased(figures)
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    if mechanism in (None, "column_generation"):
        table = probabilities(plan.device.randomizer)
        matrix, decoder = workload.operator.dense(), plan.analyst.decoder
        sent = ndarray(decoder.matrix) + ndarray(decoder.offset)[:, None]
        sent = sent if decoder.kind == "answers" else matrix @ sent
        assert np.abs(sent @ table - matrix).max() < 1e-9
        brute = by_hand(sent**2 @ table - (sent @ table) ** 2, weights, varying, "mean")
        assert figures.mean_variance == pytest.approx(brute, rel=1e-9)


@pytest.mark.parametrize("objective", [pytest.param("max", marks=pytest.mark.slow), "mean"])
def test_parities_and_marginals_have_weights_too(exact_optimum, objective):
    devices = set()
    for weight in WEIGHTS:
        workload = stacked(weight, BITS, PARITIES, MARGINALS)
        weights, varying = documented(workload, [(weight, 3), (1, 12)])
        exact = exact_optimum(np.sqrt(weights)[:, None] * workload.operator.dense(), 1.0, objective)
        for mechanism in (None, "orbit_kernel", "fourier"):
            plan = plan_of(workload, objective, mechanism=mechanism)
            variances = type_variances(plan.device, plan.analyst.decoder, workload)
            figure = of_objective(plan.analyst.figures, objective)
            assert figure == pytest.approx(by_hand(variances, weights, varying, objective), rel=1e-9)
            assert getattr(plan.analyst.certificate, objective).value <= exact * (1 + 1e-6)
            assert figure >= exact * (1 - 1e-4)
            assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
            if mechanism != "fourier":
                devices.add((mechanism, plan.device.digest))
                assert figure <= exact * (1.002 if objective == "mean" or mechanism is None else 1.1)
    assert len(devices) == 2 * len(WEIGHTS)


def test_only_ratios_of_weights_matter_and_equal_ones_change_nothing():
    plain = [{"queries": "prefix"}, {"queries": "histogram"}]
    plans = []
    for factor in (None, 7.0, 1e-6):
        stack = plain if factor is None else [part | {"weight": factor} for part in plain]
        asked = parse_specification({"name": "s", "domain": LINE, "queries": {"stack": stack}}).build()
        plans.append(plan_of(asked, "max"))
    assert len({plan.device.digest for plan in plans}) == 1
    assert len({plan.analyst.figures for plan in plans}) == 1


def test_predicted_errors_and_the_users_needed_are_without_weights():
    workload = stacked(1000)
    plan = plan_of(workload, "max", users=100)
    worst = type_variances(plan.device, plan.analyst.decoder, workload).max(axis=1)
    predicted = [told.rmse for told in plan.summary.predicted_errors]
    np.testing.assert_allclose(predicted, np.sqrt(worst / 100), rtol=1e-9)
    needed = plan.finished().users_needed(0.01)
    assert needed == pytest.approx(worst.max() / 1e-4, abs=1)
    assert abs(needed - plan.analyst.figures.max_variance / 1e-4) > 0.1 * needed


def test_weights_that_are_too_far_apart_are_refused():
    with pytest.raises(WorkloadError, match="from 1 to 1e\\+10"):
        stacked(1e10)
    assert stacked(1e9).query_weights[3] > 0
