"""What people and programs see of a batch in each of its states: the API and the metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sordino_server.kit.clock import iso_8601
from sordino_shared.protocol import Problem
from sordino_shared.protocol.sealed import BatchEnd
from tests.server.shuffled.collected import HOUR, USERS, Shuffled
from tests.server.test_metrics import shown


def batch_of(shuffled: Shuffled) -> dict[str, Any]:
    """By the status of the campaign, which the address of the batch repeats."""
    (row,) = shuffled.status()["rounds"]
    found: dict[str, Any] = row["batch"]
    assert shuffled.home.api.get(f"{shuffled.path}/rounds/0/batch").raise_for_status().json() == found
    return found


def test_a_batch_says_in_a_sentence_what_its_round_waits_for(shuffled: Shuffled) -> None:
    end = iso_8601(shuffled.campaign["created_at"] + HOUR)
    batch = batch_of(shuffled)
    assert (batch["shuffler"], batch["ends"], batch["refused"]) == ("mix", end, 0)
    assert batch["message"] == f"mix takes reports until {end}, and hands on its batch then"
    shuffled.end()
    assert batch_of(shuffled)["message"] == f"waiting for the batch of mix, whose last report was due at {end}"
    garbage = [bytes([number]) * len(shuffled.sealed([0])[0]) for number in range(3)]
    reports = [*shuffled.sealed([0] * USERS), *garbage, *shuffled.blanket()]
    assert shuffled.push(shuffled.pages(reports)[0]).status_code == 201
    assert batch_of(shuffled)["message"] == "the batch of mix is on its way: 1 page with 128 reports so far"
    shuffled.release_rest(reports)
    assert shuffled.state(shuffled.statement(reports)).status_code == 201
    random = shuffled.route.blanket
    parts = f"{USERS + 3} reports of devices and {random} random ones"
    assert batch_of(shuffled)["message"] == f"the batch of mix with {parts} is here and waits for a worker to open it"
    shuffled.home.work()
    assert batch_of(shuffled)["message"] == f"counted {parts} of mix, less 3 reports refused"
    (row,) = shuffled.status()["rounds"]
    assert (row["reports"], row["users"], row["batch"]["refused"]) == (USERS + random, USERS, 3)


def test_the_error_of_the_status_is_that_of_the_estimate(shuffled: Shuffled) -> None:
    """Random reports are no users, and add noise of their own."""
    shuffled.release([*shuffled.sealed([0] * USERS), *shuffled.blanket()])
    shuffled.end()
    status = shuffled.status()
    question, predicted = status["question"], status["predicted"]
    blanket = question["blanket"]
    assert predicted["users_now"] == USERS
    # As the formula of docs/shuffling.md has it.
    variance = (USERS * question["variance"] + blanket["reports"] * blanket["variance"]) / USERS**2
    assert abs(predicted["rmse_now"] - variance**0.5) <= 1e-9 * variance**0.5
    assert predicted["rmse_now"] > 1.05 * (question["variance"] / USERS) ** 0.5


def test_a_withheld_batch_says_why_as_its_round_does(shuffled: Shuffled) -> None:
    assert shuffled.state(shuffled.statement([], BatchEnd.ABANDONED)).status_code == 201
    assert batch_of(shuffled)["message"] == "mix gave the round up and released nothing: no report was opened"
    shuffled.end()
    (row,) = shuffled.status()["rounds"]
    assert row["error"] == row["batch"]["message"]


def test_metrics_count_batches_reports_and_what_is_missing(shuffled: Shuffled) -> None:
    age = ("sordino_oldest_missing_batch_age_seconds", ())
    assert shown(shuffled.home)[age] == 0
    shuffled.end()
    shuffled.home.clock.advance(77)
    assert shown(shuffled.home)[age] == 77
    reports = [*shuffled.sealed([0] * USERS), bytes(len(shuffled.sealed([0])[0])), *shuffled.blanket()]
    shuffled.push(shuffled.pages(reports)[0])
    found = shown(shuffled.home)
    assert found[age] == 77
    assert found["sordino_batches", (("state", "receiving"),)] == 1
    shuffled.release_rest(reports)
    assert shuffled.state(shuffled.statement(reports)).status_code == 201
    found = shown(shuffled.home)
    assert found[age] == 0
    assert found["sordino_batch_reports", (("kind", "devices"),)] == 0
    shuffled.home.work()
    found = shown(shuffled.home)
    assert found["sordino_batches", (("state", "counted"),)] == 1
    kinds = {"devices": USERS + 1, "random": shuffled.route.blanket, "refused": 1}
    assert {kind: found["sordino_batch_reports", (("kind", kind),)] for kind in kinds} == kinds


def test_a_campaign_without_a_shuffler_has_no_batch(shuffled: Shuffled, check_problem: Callable[..., Any]) -> None:
    direct = shuffled.home.campaign("open")
    answer = shuffled.home.api.get(f"/v1/campaigns/{direct['id']}/rounds/0/batch")
    check_problem(answer, Problem.WRONG_ROUTE, "report to the server")
    check_problem(shuffled.home.api.get(f"{shuffled.path}/rounds/1/batch"), Problem.NOT_FOUND)
