"""Plans of concept classes: the closed form's variances from the shipped integers, equal to the certificate."""

import json

import numpy as np
import pytest

from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification


def plan_of(indicators, width, epsilon="1", **queries):
    names = [*(f"a{number}" for number in range(indicators)), "crashed"]
    domain = [{"name": name, "kind": "categorical", "labels": ["0", "1"]} for name in names]
    asked = {"class": "conjunctions", "width": width, "label": {"attribute": "crashed", "positive": "1"}} | queries
    document = json.loads(json.dumps({"name": "x", "domain": domain, "queries": asked}))
    workload = parse_specification(document).build()
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, effort="quick")))


@pytest.mark.parametrize(
    ("indicators", "width", "variance"), [(4, 2, 45.139), (8, 2, 122.992), (8, 3, 176.754), (32, 3, 4340.80)]
)
def test_conjunctions_have_the_variance_of_the_closed_form_which_is_the_certificate(indicators, width, variance):
    """Variances of y·c(x); the loss has a quarter of them. At ε = 1, nothing of size 2^32 is formed."""
    plan = plan_of(indicators, width)
    figures, certificate = plan.analyst.figures, plan.analyst.certificate
    assert 4 * figures.max_variance == pytest.approx(variance, rel=1e-4)
    assert certificate.max.kind == "odd_characters"
    assert figures.max_variance <= 1.0001 * certificate.max.value
    assert figures.bias_bound < 1e-9
    assert plan.device.randomizer.payload_bytes <= 8
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


@pytest.mark.parametrize(
    ("family", "width"),
    [("clauses", {"width": 2}), ("juntas", {"width": 2}), ("lists", {"length": 2}), ("parities", {"width": 2})],
)
@pytest.mark.parametrize("epsilon", ["0.3", "1.098"])
def test_every_class_of_indicators_attains_its_certificate_up_to_ln_3(family, width, epsilon):
    plan = plan_of(4, width.get("width"), epsilon, **{"class": family}, **({"length": 2} if "length" in width else {}))
    assert plan.analyst.figures.max_variance <= 1.001 * plan.analyst.certificate.max.value


def test_up_to_ln_3_every_type_has_the_same_variance_but_for_the_square_of_its_loss():
    plan = plan_of(4, 2)
    workload = plan.request.workload
    law = answer_moments(plan.device.randomizer, plan.analyst.decoder, workload)
    second = law.type_variances() + (workload.operator.dense() - 0.5) ** 2
    assert np.allclose(second, second[:, :1])
    assert law.profile().figures().max_variance == pytest.approx(law.type_variances().max())
    assert law.profile().figures().mean_variance == pytest.approx(law.type_variances().mean(axis=0).max())


def test_above_ln_3_rows_on_the_label_and_a_few_attributes_come_near_the_certificate():
    """Target of the design: within 1.05 at ε = 2 for eight attributes and w ≤ 2."""
    plan = plan_of(8, 2, "2")
    assert plan.analyst.figures.max_variance <= 1.05 * plan.analyst.certificate.max.value
    law = answer_moments(plan.device.randomizer, plan.analyst.decoder, plan.request.workload)
    assert law.type_variances().mean(axis=0).max() == pytest.approx(plan.analyst.figures.mean_variance)


def test_costs_need_the_characters_without_the_label_and_no_shift_makes_them_odd():
    plan = plan_of(3, 2, cost={"miss": 5.0, "false_alarm": 1.0})
    figures, bound = plan.analyst.figures, plan.analyst.certificate.max
    assert bound.kind == "listed_rows"
    assert bound.value <= figures.max_variance <= 1.5 * bound.value
    law = answer_moments(plan.device.randomizer, plan.analyst.decoder, plan.request.workload)
    assert law.profile().figures().max_variance == pytest.approx(law.type_variances().max())
