"""Batches of shuffled rounds at the collector: taken once and in order, opened once, refused in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.keys import service as keys
from sordino_server.models import Role
from sordino_server.shuffled import opened_pages
from sordino_server.shuffled.opened_pages import OpenedPage
from sordino_shared import ed25519
from sordino_shared.protocol import Digest, Problem, Task
from sordino_shared.protocol.sealed import BatchEnd, ShuffledPage
from tests.server.conftest import RunningServer
from tests.server.shuffled.collected import HOUR, USERS, Shuffled, create


def test_a_round_is_estimated_with_the_random_reports_subtracted(shuffled: Shuffled) -> None:
    reports = [*shuffled.sealed([0] * USERS), *shuffled.blanket()]
    shuffled.end()
    assert shuffled.status()["rounds"][0]["waiting_for"] == ["mix"]
    shuffled.release(reports)
    shuffled.home.work()
    status = shuffled.status()
    (row,) = status["rounds"]
    assert (row["state"], row["reports"], row["batch"]["state"]) == ("estimated", len(reports), "counted")
    assert (row["batch"]["received"], row["batch"]["blanket"]) == (USERS, shuffled.route.blanket)
    assert row["waiting_for"] == []
    estimate = shuffled.home.api.get(f"{shuffled.path}/rounds/0/estimates").raise_for_status().json()
    assert estimate["terms"]["users"] == USERS
    assert estimate["extras"]["blanket"] == shuffled.route.blanket
    # All hold the first bin: its prefix is all of them.
    assert estimate["table"]["band_lower"][0] <= 1 <= estimate["table"]["band_upper"][0] + 1e-9
    # What opens the reports is gone, what signs tasks is not.
    assert [file.name for file in (shuffled.folder / shuffled.campaign["id"]).iterdir()] == ["task.key"]
    # A shuffler that lost its answers sends all of it again.
    assert {shuffled.push(page).status_code for page in shuffled.pages(reports)} == {200}
    assert shuffled.state(shuffled.statement(reports)).status_code == 200
    assert shuffled.status() == status


@pytest.mark.parametrize("shuffled", ["sqlite"], indirect=True)
def test_the_answers_are_those_of_the_same_reports_sent_directly_and_the_noise_of_the_random_ones(
    shuffled: Shuffled,
) -> None:
    """Random reports are those of a uniform type: their own answers are off by their noise, m/n times."""
    cells = [cell % 4 for cell in range(USERS)]
    shuffled.release([*shuffled.sealed(cells), *shuffled.blanket()])
    shuffled.end()
    table = shuffled.home.api.get(f"{shuffled.path}/estimates").raise_for_status().json()["table"]
    device = shuffled.home.device_part(shuffled.campaign)
    plan = shuffled.manifest.rounds[0].plan
    assert plan is not None
    analyst = AnalystPart.read(shuffled.home.anonymous.get(f"/v1/plans/{plan.analyst}").raise_for_status().content)
    sent = randomize_many(device.randomizer, np.array(cells), SeededRandomness(5))
    random = draw_blanket(device.randomizer, shuffled.route.blanket, SeededRandomness(6))
    estimator = LinearEstimator.of(device, analyst)
    of_users, of_random = (
        estimator.unbiased(Aggregate(len(payloads), accumulate(device.randomizer, payloads)))
        for payloads in (sent, random)
    )
    size = device.domain.size
    uniform = build_workload(device.domain, analyst.queries, "w").operator.matvec(np.full(size, 1 / size))
    noise = len(random) / USERS * (of_random - uniform)
    assert np.abs(noise).max() > 0.01
    assert table["uncut"] == pytest.approx(of_users + noise, abs=1e-9)


def test_questions_and_comparisons_subtract_the_random_reports_as_the_estimate_does(shuffled: Shuffled) -> None:
    """Of 300 users, not of them and the random reports; what the workload lists has the answer of the estimate."""
    shuffled.release([*shuffled.sealed([1] * USERS), *shuffled.blanket()])
    shuffled.end()
    get = shuffled.home.api.get
    table = get(f"{shuffled.path}/estimates").raise_for_status().json()["table"]
    asked = get(f"{shuffled.path}/answers", params={"range": "..15"}).raise_for_status().json()
    assert asked["terms"]["users"] == USERS
    for name in ("uncut", "standard_error"):
        assert asked["table"][name][0] == pytest.approx(table[name][1], rel=1e-9)
    plain = shuffled.home.campaign("open", name="before", epsilon=4)
    assert shuffled.home.report(plain, [0] * USERS).status_code == 200
    shuffled.home.api.post(f"/v1/campaigns/{plain['id']}/close").raise_for_status()
    shuffled.home.work()
    sides = {"left": plain["id"], "right": shuffled.campaign["id"]}
    compared = get("/v1/comparisons", params=sides).raise_for_status().json()
    assert compared["terms"]["users"] == 2 * USERS
    assert compared["table"]["right_value"] == pytest.approx(table["uncut"], rel=1e-9)


def test_a_batch_before_the_end_waits_for_it(shuffled: Shuffled) -> None:
    """The two clocks differ."""
    shuffled.release([*shuffled.sealed([1] * USERS), *shuffled.blanket()])
    shuffled.home.work()
    assert shuffled.status()["rounds"][0]["batch"]["state"] == "stated"
    shuffled.end()
    assert shuffled.status()["rounds"][0]["state"] == "estimated"


def test_reports_that_open_to_nothing_are_refused_and_counted(shuffled: Shuffled) -> None:
    part = shuffled.home.device_part(shuffled.campaign)
    width = len(shuffled.sealed([0])[0])
    garbage = [bytes([number]) * width for number in range(3)]
    outside = [shuffled.seal(b"\xff" * part.randomizer.payload_bytes, part.digest)]
    reports = [*shuffled.sealed([2] * USERS), *garbage, *outside, *shuffled.blanket()]
    shuffled.release(reports)
    shuffled.end()
    status = shuffled.status()
    assert status["refusals"] == {"payload-outside-alphabet": 1, "unopenable": 3}
    assert status["rounds"][0]["reports"] == len(reports) - 4
    estimate = shuffled.home.api.get(f"{shuffled.path}/rounds/0/estimates").raise_for_status().json()
    assert estimate["terms"]["users"] == USERS


def test_workers_that_die_between_pages_count_each_report_once(
    shuffled: Shuffled, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = [*shuffled.sealed([0, 1, 2] * 100), *shuffled.blanket()]
    shuffled.release(reports)
    pages, opened = len(shuffled.pages(reports)), opened_pages.opened_page
    assert pages >= 3
    alive = 1

    def dying(*given: Any) -> OpenedPage | None:
        nonlocal alive
        alive -= 1
        if alive < 0:
            raise KeyboardInterrupt
        return opened(*given)

    monkeypatch.setattr(opened_pages, "opened_page", dying)
    shuffled.home.clock.advance(HOUR)
    for _ in range(2):
        alive = 1
        with pytest.raises(KeyboardInterrupt):
            shuffled.home.work()
        # Its lease runs out.
        shuffled.home.clock.advance(HOUR)
    alive = pages
    shuffled.home.work()
    assert shuffled.status()["rounds"][0]["reports"] == len(reports)
    estimate = shuffled.home.api.get(f"{shuffled.path}/rounds/0/estimates").raise_for_status().json()
    assert estimate["terms"]["users"] == USERS


def test_a_lost_key_is_said_and_a_restored_one_opens(shuffled: Shuffled, check_problem: Callable[..., Any]) -> None:
    shuffled.release([*shuffled.sealed([0] * USERS), *shuffled.blanket()])
    file = shuffled.folder / shuffled.campaign["id"] / "round-0.key"
    kept = file.read_text()
    file.unlink()
    shuffled.end()
    (row,) = shuffled.status()["rounds"]
    assert (row["state"], row["batch"]["state"]) == ("closed", "unreadable")
    assert "restore the folder" in row["error"]
    file.write_text(kept)
    shuffled.home.api.post(f"{shuffled.path}/rounds/0/retry").raise_for_status()
    shuffled.home.work()
    assert shuffled.status()["rounds"][0]["state"] == "estimated"


def test_a_missed_round_says_why_nothing_came_of_it(shuffled: Shuffled) -> None:
    reports = [*shuffled.sealed([0] * 9), *shuffled.blanket()]
    assert shuffled.push(shuffled.pages(reports)[0]).status_code == 201
    assert shuffled.state(shuffled.statement([], BatchEnd.MISSED)).status_code == 201
    shuffled.end()
    (row,) = shuffled.status()["rounds"]
    assert (row["batch"]["state"], row["reports"]) == ("withheld", 0)
    assert "too few devices took part" in row["error"]
    assert not (shuffled.folder / shuffled.campaign["id"] / "round-0.key").exists()


def test_what_does_not_fit_is_refused_and_changes_nothing(
    shuffled: Shuffled, check_problem: Callable[..., Any]
) -> None:
    reports = [*shuffled.sealed([0] * USERS), *shuffled.blanket()]
    first, second, *rest = shuffled.pages(reports)
    check_problem(shuffled.push(second), Problem.BATCH_CONFLICT, "page 0 is next")
    assert shuffled.push(first).status_code == 201
    assert shuffled.push(first).status_code == 200
    check_problem(shuffled.push(replace(second, page=0)), Problem.BATCH_CONFLICT, "other reports")
    check_problem(shuffled.push(replace(first, page=1)), Problem.BATCH_CONFLICT, "above those of the page before")
    check_problem(shuffled.push(replace(second, round=1, page=1)), Problem.INVALID_REQUEST, "round 1")
    wide = ShuffledPage(campaign=first.campaign, round=0, page=1, count=1, sealed=b"\xff" * 60)
    check_problem(shuffled.push(wide), Problem.INVALID_REQUEST, "have")
    with shuffled.home.database.write("test key") as session:
        uploader = keys.create(session, "u", Role.UPLOADER, shuffled.home.clock.now()).text
    check_problem(shuffled.push(second, uploader), Problem.FORBIDDEN, "role")
    for page in (second, *rest):
        assert shuffled.push(page).status_code == 201
    fewer = shuffled.statement(reports, received=USERS - 1, reports=len(reports) - 1)
    check_problem(shuffled.state(fewer), Problem.BATCH_CONFLICT, "the pages have")
    root = shuffled.statement(reports, root=Digest(bytes(32)))
    check_problem(shuffled.state(root), Problem.BATCH_CONFLICT, "root")
    blanket = shuffled.route.blanket
    small = shuffled.statement(reports, blanket=blanket - 1, received=USERS + 1)
    check_problem(shuffled.state(small), Problem.BATCH_CONFLICT, "random reports")
    forged = replace(shuffled.statement(reports), signature=bytes(64))
    check_problem(shuffled.state(forged), Problem.INVALID_REQUEST, "not signed by mix")
    assert shuffled.state(shuffled.statement(reports)).status_code == 201
    check_problem(shuffled.state(shuffled.statement([], BatchEnd.MISSED)), Problem.BATCH_CONFLICT, "released once")


def test_devices_report_to_the_shuffler_alone(unchanged: Shuffled, check_problem: Callable[..., Any]) -> None:
    check_problem(unchanged.home.report(unchanged.campaign, [0]), Problem.WRONG_ROUTE, "shuffler")


def test_tasks_are_signed_and_their_number_grows(shuffled: Shuffled) -> None:
    task = Task.read(shuffled.home.anonymous.get(f"{shuffled.path}/task").raise_for_status().content)
    assert (task.number, task.epoch, task.accept_until, task.round) == (1, 0, shuffled.route.end, 0)
    assert task.signature is not None
    assert ed25519.verify(shuffled.route.task_key, task.signature, task.signed_message)
    again = shuffled.home.anonymous.get(f"{shuffled.path}/task").content
    assert Task.read(again) == task
    shuffled.home.api.post(f"{shuffled.path}/close").raise_for_status()
    closed = Task.read(shuffled.home.anonymous.get(f"{shuffled.path}/task").content)
    assert (closed.number, closed.round) == (2, None)
    assert ed25519.verify(shuffled.route.task_key, closed.signature or b"", closed.signed_message)


def test_what_no_shuffled_campaign_can_have_is_refused(unchanged: Shuffled, check_problem: Callable[..., Any]) -> None:
    home, key = unchanged.home, "ab" * 32
    direct = {"epsilon": 1, "mechanism": "randomized_response"}
    check_problem(create(home, key, direct), Problem.INVALID_REQUEST, "plan with collector")
    check_problem(create(home, key, end=1), Problem.INVALID_REQUEST, "it is past")
    check_problem(create(home, key, floor=0), Problem.INVALID_REQUEST, "floor")
    check_problem(create(home, "no key"), Problem.INVALID_REQUEST, "key")


def test_without_a_folder_for_keys_there_is_no_shuffled_campaign(
    running: RunningServer, check_problem: Callable[..., Any]
) -> None:
    check_problem(create(running, "ab" * 32), Problem.INVALID_REQUEST, "SORDINO_ROUND_KEYS")
