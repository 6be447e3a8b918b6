"""A campaign from round to round: what closes one, what opens the next, what is refused, and what is told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx
import numpy as np
import pytest

from sordino_analysis.answers.columns import in_order
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_server.populations.service import identifier_of
from sordino_server.rounds.sealing import NextRound, check_next_round
from sordino_shared.errors import SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    Digest,
    DrawOneRound,
    Manifest,
    Problem,
    Refusal,
    ReportBatch,
    ReportOutcomes,
    Task,
)
from tests.estimates import answers_of, ends_of, facts_of

Check = Callable[..., dict[str, Any]]
POPULATION = f"/v1/populations/{identifier_of('all')}"
FIRST, SECOND = [0] * 3 + [1] * 2, [2] * 4 + [1]


@dataclass
class Life:
    """A campaign over HTTP, whose devices say a cell without noise."""

    running: Any
    strategy: Any
    id: str

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.running.api.get(f"/v1/campaigns/{self.id}/status").raise_for_status().json()
        return found

    @property
    def states(self) -> tuple[str, list[str]]:
        status = self.status
        return status["state"], [each["state"] for each in status["rounds"]]

    def act(self, action: str) -> httpx.Response:
        response: httpx.Response = self.running.api.post(f"/v1/campaigns/{self.id}/{action}")
        return response

    def close(self, index: int) -> None:
        self.act(f"rounds/{index}/close").raise_for_status()
        self.running.work()

    def report(self, index: int, cells: list[int], plan: int | None = None, first_id: int = 0) -> httpx.Response:
        """Reports for round `index`, made with the device part of round `plan`."""
        path = f"/v1/campaigns/{self.id}"
        task = Task.read(self.running.anonymous.get(f"{path}/task").content)
        ids = b"".join(task.epoch.to_bytes(2, "big") + (first_id + i).to_bytes(14, "big") for i in range(len(cells)))
        digest = task.device_parts[index if plan is None else plan]
        content = ReportBatch(digest, ids, bytes(cells)).content
        headers = {"Content-Type": CBOR_MEDIA_TYPE}
        response: httpx.Response = self.running.anonymous.post(
            f"{path}/rounds/{index}/reports", content=content, headers=headers
        )
        return response

    def estimates(self, **query: str) -> httpx.Response:
        response: httpx.Response = self.running.api.get(f"/v1/campaigns/{self.id}/estimates", params=query)
        return response


@pytest.fixture
def start(running: Any, two_rounds: Any) -> Callable[..., Life]:
    """An open campaign of two rounds."""

    def create(plan: dict[str, Any] | None = None, **order: Any) -> Life:
        terms = {"name": "two", "purpose": "Two questions.", "population": "all"} | order
        terms["plan_request"] = two_rounds.ready_request(running.database, **(plan or {}))
        made = running.api.post("/v1/campaigns", json=terms)
        assert made.status_code == 201, made.text
        life = Life(running, two_rounds, made.json()["id"])
        life.act("open").raise_for_status()
        return life

    return create


def test_the_manifest_pins_rounds_and_protocol(running: Any, start: Callable[..., Life]) -> None:
    life = start({"first_weight": 2**31, "guarantee": 500_000_000})
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{life.id}").content)
    assert [(terms.guarantee.nano, terms.plan is None) for terms in manifest.rounds] == [
        (5 * 10**8, False),
        (5 * 10**8, True),
    ]
    assert (manifest.assignment, manifest.device_guarantee) == (DrawOneRound((2**31, 2**31)), PureEpsilon(5 * 10**8))
    content = running.anonymous.get(f"/v1/protocol-plans/{manifest.protocol}")
    assert content.headers["cache-control"].endswith("immutable")
    assert ProtocolPlan.read(content.content, manifest.protocol).protocol == "made_of_two_rounds"
    assert (life.status["protocol"], life.status["planned_rounds"]) == (str(manifest.protocol), 2)


@pytest.mark.parametrize(
    ("plan", "order", "asked"),
    [
        ({}, {}, 1.0),
        ({"first_weight": 2**31, "guarantee": 500_000_000}, {}, 0.5),
        ({}, {"device_epsilon": "1.25"}, 1.25),
    ],
    ids=["every round", "one of the rounds", "more than the rounds need"],
)
def test_a_population_is_asked_for_all_rounds_that_a_device_may_answer(
    running: Any,
    start: Callable[..., Life],
    two_rounds: Any,
    check_problem: Check,
    plan: dict[str, Any],
    order: dict[str, Any],
    asked: float,
) -> None:
    """Whole and when the campaign opens, though its second round has no plan yet."""
    life = start(plan, **order)
    (entry,) = running.api.get(f"{POPULATION}/ledger").raise_for_status().json()["entries"]
    assert (entry["campaign"], entry["epsilon"]) == (life.id, asked)
    cap = {"epsilon_lifetime": f"{2 * asked - 1e-9:.9f}"}
    etag = running.api.get(POPULATION).headers["etag"]
    running.api.patch(POPULATION, json=cap, headers={"If-Match": etag}).raise_for_status()
    terms = {"name": "next", "purpose": "Again.", "population": "all"} | order
    terms["plan_request"] = two_rounds.ready_request(running.database, **plan)
    path = running.api.post("/v1/campaigns", json=terms).headers["location"]
    refused = check_problem(running.api.post(f"{path}/open"), Problem.BUDGET_EXCEEDED)
    assert (refused["asks"], refused["asked"]) == (asked, asked)


def test_two_rounds_lead_to_one_answer(
    running: Any, start: Callable[..., Life], two_rounds: Any, check_problem: Check
) -> None:
    life = start()
    assert life.report(0, FIRST).status_code == 200
    check_problem(life.estimates(), Problem.ESTIMATE_NOT_READY, "round 0 of 2 is open; close it first")
    life.close(0)
    assert life.states == ("open", ["estimated", "open"])
    sums = np.bincount(FIRST, minlength=3)
    assert life.status["rounds"][1]["device_digest"] == str(two_rounds.second(sums).device.digest)
    check_problem(
        running.api.get(f"/v1/campaigns/{life.id}/rounds/0/estimates"),
        Problem.ESTIMATE_NOT_READY,
        f"/v1/campaigns/{life.id}/estimates",
    )
    assert life.report(1, SECOND).status_code == 200
    life.close(1)
    assert life.states == ("closed", ["estimated", "estimated"])
    document = life.estimates().raise_for_status().json()
    (answer,) = answers_of(document)
    assert answer["value"] == 3 + 2 * 100 + 4 * 10_000 + 100
    assert [(each["index"], each["users"], each["expected_users"]) for each in document["extras"]["rounds"]] == [
        (0, 5, 40),
        (1, 5, 40),
    ]
    facts = facts_of(document)
    assert (facts["mechanism"], facts["protocol_digest"]) == ("made_of_two_rounds", life.status["protocol"])
    assert facts["campaign_id"] == life.id
    assert [each["plan_device"] for each in facts["rounds"]] == [
        each["device_digest"] for each in life.status["rounds"]
    ]
    assert (facts["epsilon"], facts["level"], facts["bias_bound"]) == (1.0, 0.95, 0.0)
    assert facts["warnings"] == ["made up for tests"]
    assert running.api.get(f"/v1/campaigns/{life.id}/rounds/1/estimates").content == life.estimates().content


def test_the_answer_as_a_table(start: Callable[..., Life]) -> None:
    life = start()
    for index, cells in enumerate((FIRST, SECOND)):
        life.report(index, cells)
        life.close(index)
    (row,) = csv.DictReader(io.StringIO(life.estimates(format="csv").text))
    document = life.estimates().json()
    (answer,), facts = answers_of(document), facts_of(document)
    assert list(row) == in_order(row)
    assert (float(row["value"]), row["users_by_round"]) == (answer["value"], "5 5")
    assert row["bias_bound"] == ("" if facts["bias_bound"] is None else str(facts["bias_bound"]))
    assert [float(row["lower"]), float(row["upper"])] == ends_of(answer)
    assert row["protocol_digest"] == facts["protocol_digest"]


def test_reports_for_another_round_are_refused_by_reason(start: Callable[..., Life], check_problem: Check) -> None:
    life = start()
    check_problem(life.report(1, [0], plan=0), Problem.NOT_FOUND, "no round 1")
    assert life.report(0, FIRST).status_code == 200
    life.close(0)
    check_problem(life.report(0, [0, 1], first_id=50), Problem.ROUND_NOT_OPEN, "round 0 is estimated")
    check_problem(life.report(1, [0, 1, 2], plan=0), Problem.PLAN_MISMATCH)
    assert life.report(1, SECOND).status_code == 200
    life.close(1)
    check_problem(life.report(1, [0], first_id=50), Problem.ROUND_NOT_OPEN)
    counted = {Problem.NOT_FOUND: 1, Problem.ROUND_NOT_OPEN: 3, Problem.PLAN_MISMATCH: 3}
    assert life.status["refusals"] == {problem.slug: count for problem, count in counted.items()}
    assert [each["reports"] for each in life.status["rounds"]] == [5, 5]


def test_the_same_id_may_come_in_both_rounds(start: Callable[..., Life]) -> None:
    """Ids are unique within a round: a device draws new ones, but nothing is to hang on that."""
    life = start()
    life.report(0, FIRST)
    life.close(0)
    outcomes = ReportOutcomes.read(life.report(1, SECOND).content)
    assert (outcomes.accepted, outcomes.refused) == (5, ())
    altered = ReportOutcomes.read(life.report(1, [0]).content)
    assert [each.reason for each in altered.refused] == [Refusal.ID_CONFLICT]


def test_a_round_closes_by_count(running: Any, start: Callable[..., Life]) -> None:
    life = start(close_after_reports=[5, None])
    life.report(0, FIRST[:4])
    running.work()
    assert life.states == ("open", ["open"])
    life.report(0, [2], first_id=50)
    running.work()
    assert life.states == ("open", ["estimated", "open"])
    shown = [(each["close_after_reports"], each["close_after_s"]) for each in life.status["rounds"]]
    assert shown == [(5, None), (None, None)]


def test_a_round_closes_by_time_since_it_opened(running: Any, start: Callable[..., Life]) -> None:
    life = start(close_after_s=100)
    for index in range(2):
        life.report(index, FIRST)
        running.clock.advance(99)
        running.work()
        assert life.states[1][index] == "open"
        running.clock.advance(1)
        running.work()
        assert life.states[1][index] == "estimated"
    assert life.states[0] == "closed"


def test_a_campaign_of_one_round_closes_by_its_rule_too(running: Any) -> None:
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": running.ready_plan()["id"]}
    campaign = running.api.post("/v1/campaigns", json=terms | {"close_after_reports": 3}).json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open")
    running.report(campaign, [0, 1, 2])
    running.work()
    assert running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()["state"] == "closed"
    by_round = running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates").content
    assert running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").content == by_round


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"close_after_reports": [5]}, "lists 1 round, the campaign has 2"),
        ({"close_after_s": [5, 6, 7]}, "lists 3 rounds, the campaign has 2"),
        ({"close_after_reports": 0}, "close_after_reports"),
        ({"close_after_s": True}, "close_after_s"),
    ],
)
def test_rules_that_cannot_be(
    running: Any, two_rounds: Any, check_problem: Check, rules: dict[str, Any], told: str
) -> None:
    terms = {
        "name": "x",
        "purpose": "x",
        "population": "x",
        "plan_request": two_rounds.ready_request(running.database),
    }
    check_problem(running.api.post("/v1/campaigns", json=terms | rules), Problem.INVALID_REQUEST, told)


def test_a_round_without_reports_stops_the_campaign_and_says_what_to_do(
    start: Callable[..., Life], check_problem: Check
) -> None:
    life = start(close_after_s=[10, None])
    life.running.clock.advance(10)
    life.running.work()
    assert life.states == ("open", ["closed"])
    assert "no report was counted in round 0" in life.status["rounds"][0]["error"]
    check_problem(life.estimates(), Problem.ESTIMATE_NOT_READY, "cancel the campaign")
    check_problem(life.act("rounds/0/close"), Problem.ILLEGAL_TRANSITION)
    life.act("cancel").raise_for_status()
    assert life.states == ("cancelled", ["cancelled"])


def test_a_failed_round_is_tried_again_when_asked(
    start: Callable[..., Life], check_problem: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = start()
    life.report(0, FIRST)
    check_problem(life.act("rounds/0/retry"), Problem.ILLEGAL_TRANSITION, "did not fail")

    def fail(*_: object) -> None:
        raise RuntimeError("the password is s3cret")

    with monkeypatch.context() as patched:
        patched.setattr("sordino_analysis.kinds.pairwise_document.step_protocol", fail)
        life.close(0)
    assert life.states == ("open", ["closed"])
    assert "RuntimeError" in life.status["rounds"][0]["error"]
    life.act("rounds/0/retry").raise_for_status()
    life.running.work()
    assert life.states == ("open", ["estimated", "open"])
    check_problem(life.act("rounds/0/retry"), Problem.ILLEGAL_TRANSITION)


def test_a_campaign_closed_early_says_what_its_rounds_allow(start: Callable[..., Life]) -> None:
    life = start()
    life.report(0, FIRST)
    life.act("close").raise_for_status()
    life.running.work()
    assert life.states == ("closed", ["estimated"])
    document = life.estimates().raise_for_status().json()
    (answer,), extras = answers_of(document), document["extras"]
    assert (answer["value"], extras["unbiased"], len(extras["rounds"])) == (203, False, 1)


def test_a_campaign_closed_too_early_says_why(start: Callable[..., Life], check_problem: Check) -> None:
    life = start()
    life.report(0, FIRST[:2])
    life.act("close").raise_for_status()
    life.running.work()
    check_problem(life.estimates(), Problem.ESTIMATE_NOT_READY, "round 1 is missing")


@pytest.mark.parametrize(
    ("action", "states"), [("close", ("closed", ["estimated"])), ("cancel", ("cancelled", ["cancelled"]))]
)
def test_a_campaign_that_ends_while_its_next_round_is_computed_opens_none(
    start: Callable[..., Life], two_rounds: Any, monkeypatch: pytest.MonkeyPatch, action: str, states: Any
) -> None:
    life = start()
    life.report(0, FIRST)
    life.act("rounds/0/close").raise_for_status()

    def end_meanwhile(*arguments: Any) -> Any:
        life.act(action).raise_for_status()
        return two_rounds.step(*arguments)

    monkeypatch.setattr("sordino_analysis.kinds.pairwise_document.step_protocol", end_meanwhile)
    life.running.work()
    assert life.states == states


def test_participation_is_recorded_and_warned_of(start: Callable[..., Life]) -> None:
    life = start()
    life.report(0, FIRST)
    life.close(0)
    life.report(1, SECOND[:4])
    life.close(1)
    document = life.estimates().json()
    assert [each["users"] for each in document["extras"]["rounds"]] == [5, 4]
    note, warning = document["extras"]["warnings"]
    assert note == "made up for tests"
    assert "round 1 has 1 report fewer" in warning
    assert "20.0 %" in warning


def test_the_server_publishes_no_plan_that_devices_would_refuse(
    two_rounds: Any, running: Any, start: Callable[..., Life]
) -> None:
    life = start()
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{life.id}").content)
    good = two_rounds.second(np.array([1, 1, 1]))
    check_next_round(manifest, 1, NextRound(good.device, good.analyst))
    too_dear = replace(good.device, guarantee=PureEpsilon(500_000_001))
    dishonest = replace(good.device, guarantee=PureEpsilon(1_000_000))
    for device, told in ((too_dear, "spends more"), (dishonest, "prove")):
        analyst = replace(good.analyst, device_digest=device.digest)
        with pytest.raises(SordinoError, match=told):
            check_next_round(manifest, 1, NextRound(device, analyst))
    with pytest.raises(SordinoError, match="different plans"):
        check_next_round(manifest, 1, NextRound(good.device, replace(good.analyst, device_digest=Digest(bytes(32)))))
    with pytest.raises(SordinoError, match="the manifest has 2"):
        check_next_round(manifest, 2, NextRound(good.device, good.analyst))


def test_the_document_is_canonical(start: Callable[..., Life]) -> None:
    life = start()
    for index in range(2):
        life.report(index, FIRST)
        life.close(index)
    content = life.estimates().content
    again = json.dumps(json.loads(content), separators=(",", ":"), ensure_ascii=False).encode()
    assert content == again


def test_a_last_round_that_nobody_answers_is_left_to_the_protocol(start: Callable[..., Life]) -> None:
    life = start()
    life.report(0, FIRST)
    life.close(0)
    life.close(1)
    document = life.estimates().raise_for_status().json()
    assert [each["users"] for each in document["extras"]["rounds"]] == [5, 0]
    assert "round 1 has 5 reports fewer" in document["extras"]["warnings"][1]
