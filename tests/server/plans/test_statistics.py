"""A plan request for a pairwise statistic: protocols compared, the best one published with its first round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.request_terms import Effort
from sordino_server.jobs.planning_process import PlanningProcess
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import DevicePart, Digest, Manifest, Problem

Check = Callable[..., dict[str, Any]]
COLOURS = {"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue"]}
GINI = {"name": "mixed colours", "domain": [COLOURS], "statistic": {"kind": "gini_diversity"}}
LINE = {"name": "x", "kind": "ordinal", "edges": {"low": 0, "high": 1, "bins": "auto"}}


def order(running: Any, specification: dict[str, Any] = GINI, **terms: Any) -> dict[str, Any]:
    asked = {"workload": running.workload(specification), "epsilon": 1, "users": 1000, "effort": "quick"}
    return asked | terms


def ready(running: Any, **terms: Any) -> dict[str, Any]:
    identifier = running.api.post("/v1/plan-requests", json=order(running, **terms)).raise_for_status().json()["id"]
    running.work()
    document: dict[str, Any] = running.api.get(f"/v1/plan-requests/{identifier}").json()
    assert document["state"] == "ready", document
    return document


def test_protocols_are_compared_and_the_best_is_published(running: Any) -> None:
    document = ready(running)
    summary = document["summary"]
    assert [each["name"] for each in summary["protocols"]] == [protocol.name for protocol in PROTOCOLS]
    predicted = {each["name"]: each["predicted_rmse"] for each in summary["protocols"] if each["applies"]}
    # A tie within a hundredth goes to the protocol of fewer rounds.
    assert predicted[summary["protocol"]] <= 1.01 * min(predicted.values())
    assert (document["variance"], document["ratio"], document["progress"]) == (None, None, 1.0)
    content = running.anonymous.get(f"/v1/protocol-plans/{document['protocol_digest']}").content
    plan = ProtocolPlan.read(content, Digest.parse(document["protocol_digest"]))
    assert (plan.protocol, plan.users, plan.target) == (summary["protocol"], 1000, "pairs")
    part = running.anonymous.get(f"/v1/plans/{document['device_digest']}").content
    assert DevicePart.read(part).guarantee.nano <= plan.rounds[0]


@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
def test_every_protocol_becomes_a_campaign(running: Any, protocol: str) -> None:
    document = ready(running, protocol=protocol, target="histogram")
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": document["id"]}
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{campaign['id']}").content)
    assert str(manifest.protocol) == document["protocol_digest"]
    assert len(manifest.rounds) == len(document["summary"]["rounds"])
    assert document["summary"]["target"] == "histogram"


def test_the_same_request_has_the_same_protocol_at_once(running: Any) -> None:
    first = ready(running, protocol="one_round")
    again = running.api.post("/v1/plan-requests", json=order(running, protocol="one_round", time_limit=100)).json()
    assert (again["state"], again["protocol_digest"]) == ("ready", first["protocol_digest"])
    other = running.api.post("/v1/plan-requests", json=order(running, protocol="one_round", users=1001)).json()
    assert other["state"] == "queued"


def test_open_bins_are_chosen_by_the_planner(running: Any) -> None:
    specification = {"name": "spread", "domain": [LINE], "statistic": {"kind": "gini_mean_difference"}}
    document = ready(running, specification=specification, users=500, protocol="one_round")
    content = running.anonymous.get(f"/v1/protocol-plans/{document['protocol_digest']}").content
    bins = ProtocolPlan.read(content).statistic["domain"][0]["edges"]["bins"]
    assert 2 <= bins == document["summary"]["k"] < 64


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"users": None}, "number to expect"),
        ({"users": 1}, "at least 2"),
        ({"mechanism": "subset_selection"}, "choose a protocol"),
        ({"protocol": "four_round"}, "there is no protocol 'four_round'"),
        ({"target": "triples"}, "target"),
    ],
)
def test_what_does_not_fit_is_refused(running: Any, check_problem: Check, terms: dict[str, Any], told: str) -> None:
    response = running.api.post("/v1/plan-requests", json=order(running, **terms))
    check_problem(response, Problem.INVALID_REQUEST, told)


def test_linear_queries_have_no_protocol(running: Any, check_problem: Check) -> None:
    asked = {"workload": running.workload(), "epsilon": 1}
    for terms in ({"protocol": "one_round"}, {"target": "pairs"}):
        response = running.api.post("/v1/plan-requests", json=asked | terms)
        check_problem(response, Problem.INVALID_REQUEST, "linear queries")


def test_the_process_finds_the_same_protocol() -> None:
    request = PairwiseRequest(
        parse_statistic(GINI), PlanningOptions.of(epsilon=1, users=1000, protocol="one_round", effort=Effort.QUICK)
    )
    here = request.compile(lambda told: None)
    there = PlanningProcess(1024, 100.0).compute(request, lambda told: None)
    assert isinstance(there, FinishedPlan)
    assert (there.protocol.digest, there.device.digest) == (here.protocol.digest, here.device.digest)
    assert there.complete


def test_a_finished_protocol_with_one_byte_changed_is_refused() -> None:
    content = bytearray(
        PairwiseRequest(parse_statistic(GINI), PlanningOptions.of(epsilon=1, users=9, protocol="one_round_split"))
        .compile(print)
        .content
    )
    assert FinishedPlan.read(bytes(content)).content == content
    for place in (0, 33, 50, len(content) - 1):
        content[place] ^= 1
        with pytest.raises(SordinoError):
            FinishedPlan.read(bytes(content))
        content[place] ^= 1


def test_a_search_that_ran_out_of_time_says_so() -> None:
    request = PairwiseRequest(
        parse_statistic(GINI), PlanningOptions.of(epsilon=1, users=9, protocol="one_round_split", time_limit=1e-9)
    )
    finished = request.compile(lambda told: None)
    assert not finished.complete
    assert finished.summary.cut_short == "time limit"
