"""A class of rules in three rounds over REST: what the manifest says, and what is left where rounds are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.elimination_plan import EliminationPlan, RoundShares
from sordino_analysis.documents.protocol_plans import read_protocol_plan
from sordino_analysis.elimination.three_rounds import CertifiedRule, ThreeRounds
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.kinds.concept_rounds import certified_document
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DrawOneRound, Manifest, Problem
from tests.estimates import facts_of
from tests.kept_plans import compiled_once

SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in ("dark", "beta", "wifi")]
CRASHED = {"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]}
# Those with dark and beta crash, nobody else does; cells count the label last.
CELLS = [0, 2, 4, 6, 8, 10, 13, 15] * 100


def asked(**protocol: Any) -> dict[str, Any]:
    label = {"attribute": "crashed", "positive": "yes"}
    queries = {"class": "conjunctions", "width": 2, "label": label, "protocol": protocol}
    return {"name": "what crashes", "domain": [*SWITCHES, CRASHED], "queries": queries}


def test_rounds_that_nobody_answers_leave_the_band_of_the_first(running: Any) -> None:
    """The second round opens about the best rules; the campaign is closed before anybody answers it."""
    campaign = running.campaign("open", workload=running.workload(asked(top=5, shares=[0.5, 0.25, 0.25])), epsilon=4)
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{campaign['id']}").content)
    assert manifest.assignment == DrawOneRound((2**31, 2**30, 2**30))
    assert {terms.guarantee for terms in manifest.rounds} == {manifest.device_guarantee}
    content = running.anonymous.get(f"/v1/protocol-plans/{manifest.protocol}").content
    plan = read_protocol_plan(content, manifest.protocol)
    assert isinstance(plan, EliminationPlan)
    assert (plan.top, plan.shares.shares) == (5, (0.5, 0.25, 0.25))
    with pytest.raises(InvalidValue):
        read_protocol_plan(content.replace(b'"top":5', b'"top":1'))
    question = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()["question"]
    assert running.report(campaign, CELLS).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/rounds/0/close").raise_for_status()
    running.work()
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert [each["state"] for each in status["rounds"]] == ["estimated", "open"]
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    document = running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").raise_for_status().json()
    facts = facts_of(document)
    assert facts["users_by_round"] == str(len(CELLS))
    assert (facts["interval"], facts["certified_by_round"]) == (None, None)
    assert facts["band"][0] < facts["loss"] < facts["band"][1]
    # Half of the users answer the first round; the status predicts errors for all of them.
    summary = running.api.get(f"/v1/plan-requests/{question['plan_request']}").json()["summary"]
    assert question["variance"] == pytest.approx(2 * summary["largest_variance"])
    assert (summary["shares"], summary["top"]) == ([0.5, 0.25, 0.25], 5)


def test_warnings_about_the_last_round_are_published() -> None:
    """Two reports in the last round, where an interval of so few is expected to hold less often than it says."""
    workload = parse_specification(asked(top=5, shares=[0.5, 0.25, 0.25])).build()
    compiled = compiled_once(PlanRequest(workload, PlanningOptions.of(epsilon=1, mechanism="fourier")))
    plan = first = RoundPlan(compiled.device, compiled.analyst)
    rounds: tuple[ClosedRound, ...] = ()
    for seed, users in enumerate((800, 400, 2)):
        held = np.array([[cell >> place & 1 for place in (3, 2, 1, 0)] for cell in CELLS[:users]], dtype=np.uint64)
        names = [attribute.name for attribute in first.device.domain.attributes]
        kept = held[:, [names.index(attribute.name) for attribute in plan.device.domain.attributes]]
        payloads = randomize_part(plan.device, kept, SeededRandomness(seed))
        rounds += (ClosedRound(plan, Aggregate(len(kept), accumulate(plan.device.randomizer, payloads))),)
        outcome = ThreeRounds(RoundShares(top=5)).step(rounds)
        if isinstance(outcome, RoundPlan):
            plan = outcome
    assert isinstance(outcome, CertifiedRule)
    warnings = certified_document("c", first, outcome).extras.warnings
    assert warnings == tuple(f"the last round: {warning}" for warning in outcome.warnings)
    assert "the last round: only 2 users reported" in warnings[0]


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ({"shares": [0.6, 0.3, 0.2], "top": 5}, "sum to 1"),
        ({"shares": [0.7, 0.3, 0.0], "top": 5}, "above 0"),
        ({"shares": [0.5, 0.5], "top": 5}, "each of 3 rounds"),
        ({"top": 1}, "two rules at least"),
        ({"top": 20}, "20 rules"),
        ({"top": 2.5}, "top"),
        ({"shares": "most"}, "shares"),
        ({"rounds": 3}, "rounds"),
    ],
)
def test_rounds_that_cannot_be_are_refused(
    running: Any, check_problem: Callable[..., Any], protocol: dict[str, Any], words: str
) -> None:
    check_problem(running.api.post("/v1/workloads", json=asked(**protocol)), Problem.INVALID_REQUEST, words)
