"""An audit finds what a plan claims and its integers do not hold."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.certificate import Certificate
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.planning.audit import audit_device, audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.guarantees import PureEpsilon

pytestmark = pytest.mark.usefixtures("bounds_proved_once")
MECHANISMS = ["randomized_response", "subset_selection", "hyperplane_codebook", "factorization"]


def failing(device, analyst):
    return [check.name for check in audit_plan(device, analyst) if not check.holds]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", ["histogram", "prefix", "ranges"])
def test_a_plan_holds_what_it_publishes(plan_of, kind, mechanism):
    plan = plan_of(kind, 6, mechanism=mechanism)
    names = [check.name for check in audit_plan(plan.device, plan.analyst)]
    assert failing(plan.device, plan.analyst) == []
    assert {"ε", "max variance", "mean variance", "bias bound", "lower bound, max", "lower bound, mean"} <= set(names)
    assert ("factors" in names) == (mechanism == "factorization")


def test_a_reduced_plan_and_one_without_a_bound_hold_too(plan_of):
    reduced = plan_of("prefix", 33, "1", "max", "factorization", users=500, reduction=20, seed=3)
    assert failing(reduced.device, reduced.analyst) == []
    large = compile_plan(PlanRequest(builtin("prefix", 1100), PlanningOptions.of(epsilon=1, objective="max")))
    assert failing(large.device, large.analyst) == []


def test_a_device_part_that_spends_more_than_it_says_is_found(plan_of):
    plan = plan_of("prefix", 6, mechanism="hyperplane_codebook")
    modest = replace(plan.device, guarantee=PureEpsilon.of("0.999"))
    assert [check.holds for check in audit_device(plan.device)] == [True]
    assert [check.name for check in audit_device(modest) if not check.holds] == ["ε"]
    assert failing(modest, plan.analyst)[:2] == ["device part", "ε"]


def scaled(decoder, factor):
    matrix = array_of(ndarray(decoder.matrix) * factor, "<f8")
    return AnswerDecoder(matrix, decoder.offset)


def other_weights(bound):
    """The same form of certificate with an order of types that proves less."""
    return replace(bound, order=array_of(np.roll(ndarray(bound.order), 1), "<i4"))


def test_every_claim_is_recomputed(plan_of):
    plan = plan_of("prefix", 6, mechanism="factorization")
    device, analyst = plan.device, plan.analyst
    figures, certificate, factors = analyst.figures, analyst.certificate, analyst.factors
    uneven = np.arange(1.0, 6.0)
    tampered = {
        "max variance": replace(analyst, figures=replace(figures, max_variance=figures.max_variance * (1 - 1e-6))),
        "mean variance": replace(analyst, figures=replace(figures, mean_variance=figures.mean_variance * (1 - 1e-6))),
        "bias bound": replace(analyst, figures=replace(figures, bias_bound=figures.bias_bound / 2)),
        "factors": replace(analyst, factors=replace(factors, left=array_of(ndarray(factors.left) * 1.0001, "<f8"))),
        "lower bound, max": replace(
            analyst, certificate=replace(certificate, max=replace(certificate.max, value=certificate.max.value * 1.001))
        ),
        "lower bound, mean": replace(
            analyst,
            certificate=replace(
                certificate, mean=replace(certificate.mean, query_weights=array_of(uneven / uneven.sum(), "<f8"))
            ),
        ),
    }
    for name, part in tampered.items():
        assert failing(device, part) == [name]
    moved = Certificate(other_weights(certificate.max), certificate.mean)
    assert failing(device, replace(analyst, certificate=moved)) == ["lower bound, max"]
    decoder = scaled(analyst.decoder, 1.001)
    assert failing(device, replace(analyst, decoder=decoder)) == ["max variance", "mean variance", "bias bound"]


def test_a_bound_for_another_workload_proves_nothing(plan_of):
    plan, other = plan_of("prefix", 6, mechanism="factorization"), plan_of("prefix", 7, mechanism="factorization")
    swapped = replace(plan.analyst, certificate=other.analyst.certificate)
    assert failing(plan.device, swapped) == ["lower bound, max", "lower bound, mean"]
