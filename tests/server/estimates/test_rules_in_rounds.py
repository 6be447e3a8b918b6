"""A class of rules in three rounds over REST: what the manifest says, and what is left where rounds are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.documents.elimination_plan import EliminationPlan
from sordino_analysis.documents.protocol_plans import read_protocol_plan
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DrawOneRound, Manifest, Problem

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
    assert (document["rounds"], document["users_by_round"]) == ([0], [len(CELLS)])
    assert (document["interval"], document["certified_by_round"]) == (None, None)
    assert document["band"][0] < document["loss"] < document["band"][1]
    # Half of the users answer the first round; the status predicts errors for all of them.
    summary = running.api.get(f"/v1/plan-requests/{question['plan_request']}").json()["summary"]
    assert question["variance"] == pytest.approx(2 * summary["largest_variance"])
    assert (summary["shares"], summary["top"]) == ([0.5, 0.25, 0.25], 5)


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
