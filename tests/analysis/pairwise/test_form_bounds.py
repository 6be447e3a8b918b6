"""The bounds that plans of protocols publish: for every protocol, rechecked, refused where they are off by one unit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sordino_analysis.documents.protocol_plan import FormBound, ProtocolPlan
from sordino_analysis.pairwise import form_bounds
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.form_bounds import audit_form_bounds
from sordino_analysis.pairwise.forms import planned_statistic
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.protocol import ProtocolDesign
from sordino_analysis.pairwise.protocol_planner import CompiledProtocol
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS, find_protocol
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.request_terms import Target

LABELS = ["a", "b", "c", "d"]
DIVERSITY = {
    "name": "diversity",
    "domain": [{"name": "v", "kind": "categorical", "labels": LABELS}],
    "statistic": {"kind": "gini_diversity", "attribute": "v"},
}
TAU = {
    "name": "tau",
    "domain": [{"name": name, "kind": "ordinal", "edges": [1.0, 2.0]} for name in ("x", "y")],
    "statistic": {"kind": "kendall", "attributes": ["x", "y"], "variant": "b"},
}


def compiled(document: dict[str, object], **options: object) -> CompiledProtocol:
    chosen = {"epsilon": 1, "users": 2000, "effort": "quick"} | options
    return PairwiseRequest(parse_statistic(document), PlanningOptions.of(**chosen)).compare()


def refused(design: ProtocolDesign, **changes: object) -> list[str]:
    bound = replace(design.plan.bounds[0], **changes)
    changed = replace(design, plan=replace(design.plan, bounds=(bound, *design.plan.bounds[1:])))
    checks = audit_form_bounds(changed, find_protocol(design.plan.protocol))
    return [check.name for check in checks if not check.holds]


@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
@pytest.mark.parametrize("epsilon", [1, 4])
def test_every_protocol_has_a_bound_that_its_audit_makes_again(protocol: str, epsilon: int) -> None:
    design = compiled(DIVERSITY, protocol=protocol, epsilon=epsilon).design
    (bound,) = design.plan.bounds
    assert bound.value > 0
    assert bound.of_any_rounds or len(design.plan.rounds) == 1
    assert refused(design) == []
    if bound.variance is not None:
        assert bound.standard_error is not None
        assert bound.variance + 4 * bound.standard_error >= bound.value
    assert (bound.standard_error == 0) == (protocol == "one_round")
    assert ProtocolPlan.read(design.plan.content, design.plan.digest).bounds == design.plan.bounds


def test_a_bound_whose_time_was_over_has_no_predicted_variance() -> None:
    design = compiled(DIVERSITY, protocol="two_round").design
    asked: list[bool] = []

    def goes_on() -> bool:
        asked.append(True)
        return len(asked) < 3

    protocol, whole = find_protocol("two_round"), np.full((1, len(LABELS)), 1 / len(LABELS))
    [form] = planned_statistic(design.plan).forms
    assert protocol.worst_variance(design, form, whole, goes_on) is None
    assert len(asked) == 3
    assert refused(design, variance=None, standard_error=None) == []


def test_a_certificate_that_is_off_by_one_unit_is_refused() -> None:
    design = compiled(DIVERSITY, protocol="one_round").design
    bound = design.plan.bounds[0]
    unit = 1e-8
    assert bound.value == round(bound.value, 8)
    for value in (bound.value + unit, bound.value - unit):
        assert refused(design, value=value) == [f"lower bound of {bound.form}"]
    assert refused(design, types=(0, 1, 2, 2))
    assert refused(design, types=(0, 1, 2, 4))
    assert refused(design, weights=(*bound.weights[:-1], bound.weights[-1] + 1e-3))
    assert refused(design, multipliers=(0.99 * bound.multipliers[0], *bound.multipliers[1:]))
    assert refused(design, variance=bound.variance * (1 + 1e-6))
    assert refused(design, variance=None)
    assert refused(design, form="another")


def test_several_rounds_are_not_bounded_by_a_game_of_one() -> None:
    one, two = compiled(DIVERSITY, protocol="one_round").design, compiled(DIVERSITY, protocol="two_round").design
    stolen = replace(two, plan=replace(two.plan, bounds=one.plan.bounds))
    wrong = [check for check in audit_form_bounds(stolen, find_protocol("two_round")) if not check.holds]
    assert "one population" in wrong[0].recomputed


def test_a_plan_without_bounds_keeps_its_bytes() -> None:
    plan = compiled(DIVERSITY, protocol="one_round").design.plan
    before = replace(plan, bounds=())
    assert b"bounds" not in before.content
    assert ProtocolPlan.read(before.content, before.digest).bounds == ()
    assert ProtocolPlan.read(before.content).content == before.content


def test_every_form_of_a_ratio_has_its_own() -> None:
    design = compiled(TAU, protocol="one_round", users=5000).design
    assert len(design.plan.bounds) > 1
    assert all(bound.ratio is not None and bound.ratio >= 1 for bound in design.plan.bounds)
    assert refused(design) == []
    shared = compiled(TAU, protocol="two_round", users=5000).design
    assert {bound.variance for bound in shared.plan.bounds} == {None}
    assert refused(shared) == []


@pytest.mark.parametrize("target", ["pairs", "histogram"])
def test_the_published_variance_is_that_of_all_reports_enumerated(target: Target) -> None:
    """Three users, every report that they may send: the estimate's variance, and the formula for any histogram."""
    design = compiled(DIVERSITY, protocol="one_round", users=3, target=target, epsilon=2).design
    bound = design.plan.bounds[0]
    law = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder)
    kernel, sent, matrix, users = law.kernel, law.decoder, 1 - np.eye(4), 3
    worst = 0.0
    for population in bound.populations:
        held = int(np.argmax(population))
        if max(population) < 1:
            continue
        first = second = 0.0
        for outputs in product(range(len(kernel)), repeat=users):
            likely = float(np.prod(kernel[list(outputs), bound.types[held]]))
            reports = sent[:, outputs]
            pairs = reports.T @ matrix @ reports
            estimate = (pairs.sum() - np.trace(pairs)) / (users * (users - 1))
            if target == "histogram":
                estimate = (users - 1) / users * estimate + float((np.diag(matrix) @ reports).mean()) / users
            first, second = first + likely * estimate, second + likely * estimate**2
        worst = max(worst, users * (second - first**2))
    assert bound.variance == pytest.approx(worst, rel=1e-6)
    assert bound.variance >= bound.value


def test_many_types_are_bounded_by_some() -> None:
    labels = [f"v{number}" for number in range(20)]
    document = DIVERSITY | {"domain": [{"name": "v", "kind": "categorical", "labels": labels}]}
    bound: FormBound = compiled(document, protocol="one_round").design.plan.bounds[0]
    assert len(bound.types) == 8
    assert bound.value == pytest.approx(11.278, rel=1e-3)


def test_a_plan_at_the_least_epsilon_is_made_with_or_without_a_bound() -> None:
    """The solver finds none for Gini's diversity at ε = .001: its numbers differ by more than it takes."""
    design = compiled(DIVERSITY, protocol="one_round", epsilon=0.001).design
    assert all(0 < bound.value <= bound.variance for bound in design.plan.bounds)
    assert all(check.holds for check in audit_form_bounds(design, find_protocol("one_round")))


@pytest.mark.parametrize("epsilon", [1, 4])
def test_a_plan_for_which_no_bound_is_found_has_none(epsilon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form_bounds, "best_pair_game", lambda *_: None)
    design = compiled(DIVERSITY, protocol="one_round", epsilon=epsilon).design
    assert design.plan.bounds == ()
    assert b"bounds" not in design.plan.content
