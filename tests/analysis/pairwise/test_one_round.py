"""One round of full reports, and the comparison of all protocols."""

import json

import numpy as np
import pytest

from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.pairwise.forms import form_queries, planned_statistic
from sordino_analysis.pairwise.one_round import OneRound
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolRequest
from sordino_analysis.pairwise.protocol_planner import compile_protocol
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS, step_protocol
from sordino_analysis.pairwise.references import reference_histograms
from sordino_analysis.planning.rounds import ClosedRound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.kernels import kernel_table

LINES = [{"name": n, "kind": "ordinal", "edges": {"low": 0.0, "high": 1.0, "bins": 3}} for n in ("x", "y")]
TAU = parse_statistic(
    {"name": "tau", "domain": LINES, "statistic": {"kind": "kendall", "attributes": ["x", "y"], "variant": "b"}}
).build()
DIVERSITY = parse_statistic(
    {
        "name": "diversity",
        "domain": [{"name": "item", "kind": "categorical", "labels": ["a", "b", "c", "d"]}],
        "statistic": {"kind": "gini_diversity"},
    }
).build()


def request(statistic, protocol=None, users=4000, epsilon=2.0):
    return ProtocolRequest(
        statistic, PlanningOptions.of(epsilon=epsilon, users=users, protocol=protocol, effort=Effort.QUICK)
    )


@pytest.fixture(scope="module")
def compiled():
    return compile_protocol(request(DIVERSITY, "one_round"))


def test_its_estimate_is_near_and_its_error_the_predicted_one(compiled):
    counts = np.array([1800, 1200, 700, 300])
    kernel, generator = compiled.design.first.device.randomizer, np.random.default_rng(0)
    table = kernel_table(kernel) / 2.0**kernel.bits
    sums = sum(generator.multinomial(n, table[:, x]) for x, n in enumerate(counts))
    plan = ProtocolPlan.read(compiled.design.plan.content, compiled.design.plan.digest)
    estimate = step_protocol(plan, (ClosedRound(compiled.design.first, Aggregate(4000, np.asarray(sums))),))
    assert abs(estimate.value - DIVERSITY.of_pairs(counts.astype(float))) < 5 * estimate.standard_error
    assert estimate.standard_error == pytest.approx(OneRound().predict(compiled.design, counts / 4000), rel=0.2)
    assert estimate.users == (4000,)


def test_nobody_is_an_error(compiled):
    empty = Aggregate.empty(compiled.design.first.device.randomizer)
    with pytest.raises(PairwiseError, match="0 reports"):
        step_protocol(compiled.design.plan, (ClosedRound(compiled.design.first, empty),))


def test_the_same_request_gives_the_same_plans(compiled):
    again = compile_protocol(request(DIVERSITY, "one_round"))
    assert again.design.plan.digest == compiled.design.plan.digest
    assert again.design.first.analyst.digest == compiled.design.first.analyst.digest


def test_the_prediction_is_the_mean_square_over_the_references(compiled):
    errors = [OneRound().predict(compiled.design, h) ** 2 for h in reference_histograms(DIVERSITY.domain)]
    assert compiled.design.plan.predicted_rmse == pytest.approx(np.sqrt(np.mean(errors)), rel=1e-9)


def test_all_protocols_are_compared_and_the_least_error_is_taken():
    compiled = compile_protocol(request(DIVERSITY))
    summary = json.loads(compiled.summary.text())
    assert [report["name"] for report in summary["protocols"]] == [protocol.name for protocol in PROTOCOLS]
    known = [r["predicted_rmse"] for r in summary["protocols"] if r["predicted_rmse"] is not None]
    assert len(known) >= 3
    assert summary["predicted_rmse"] <= 1.01 * min(known)


def test_a_protocol_that_does_not_apply_or_exist_is_said_so():
    with pytest.raises(PairwiseError, match="one quadratic form"):
        compile_protocol(request(TAU, "one_round_split"))
    with pytest.raises(PairwiseError, match="there is no protocol 'telepathy'"):
        compile_protocol(request(TAU, "telepathy"))


def test_forms_of_more_rows_than_types_are_published_as_combinations():
    queries = form_queries(TAU)
    stacked = np.vstack([form.matrix for form in TAU.forms])
    assert len(queries.matrix) <= TAU.size < len(stacked)
    assert queries.matrix.T @ queries.matrix == pytest.approx(stacked.T @ stacked)
    assert len(form_queries(DIVERSITY).matrix) == DIVERSITY.size


def test_the_statistic_is_made_again_of_the_plan(compiled):
    assert np.array_equal(planned_statistic(compiled.design.plan).forms[0].matrix, DIVERSITY.forms[0].matrix)


def test_references_are_histograms_and_do_not_change():
    found = reference_histograms(TAU.domain)
    assert all(h.shape == (9,) and h.min() >= 0 and abs(h.sum() - 1) < 1e-12 for h in found)
    assert all(np.array_equal(a, b) for a, b in zip(found, reference_histograms(TAU.domain), strict=True))
    assert len({h.tobytes() for h in found}) == len(found)
