"""Series behind a shuffler: a batch a period, m subtracted in each, keys that end with their span."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from sordino_analysis.estimation.linear import LinearEstimator
from sordino_client._shuffled import mixed_guarantee
from sordino_server.cli.campaign_results import summary_lines
from sordino_server.keys import service as keys
from sordino_server.models import Role, SeriesPause, SeriesRow
from sordino_server.plans import service as plans
from sordino_server.rounds.periods import missing_batch
from sordino_server.shuffled.key_ends import BATCHES_COME_S
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem, ReportBatch, Task
from sordino_shared.shuffling.composition import composed_epsilon
from tests.server.shuffled.collected_series import LATE, PERIOD, PLAN, ShuffledSeries, create, shuffled_series

USERS = [0] * 120 + [1] * 60 + [2] * 20


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def series(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ShuffledSeries]:
    with shuffled_series(request.getfixturevalue(f"migrated_{request.param}_url"), tmp_path / "keys") as found:
        yield found


@pytest.fixture
def quick(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[ShuffledSeries]:
    with shuffled_series(migrated_sqlite_url, tmp_path / "keys") as found:
        yield found


@pytest.fixture(scope="module")
def unchanged(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShuffledSeries]:
    """One series for all tests that are refused."""
    folder = tmp_path_factory.mktemp("unchanged")
    shutil.copy(sqlite_template, folder / "collector.sqlite3")
    with shuffled_series(f"sqlite:///{folder}/collector.sqlite3", folder / "keys") as found:
        yield found


def test_each_period_is_estimated_from_its_batch_and_the_keys_end_with_their_span(series: ShuffledSeries) -> None:
    route = series.route
    assert [each.from_round for each in route.keys] == series.kept_keys() == [0, 2, 4]
    assert route.end is None
    for number in range(3):
        series.to_end_of(number)
        series.home.work()
        series.release(number, USERS)
        series.home.work()
        # The key of periods 0 and 1 goes with period 1.
        assert series.kept_keys() == ([2, 4] if number else [0, 2, 4])
    found = series.estimates(window=3)
    assert series.states()[:3] == ["estimated"] * 3
    assert found["extras"]["blanket"] == route.blanket
    assert [each["reports"] for each in found["extras"]["periods"]][:3] == [len(USERS)] * 3
    truth = estimator_of(series).workload.operator.matvec(np.array([0.6, 0.3, 0.1, 0.0]))
    for part, begins, users in (*(("period", number, len(USERS)) for number in range(3)), ("window", 0, 600)):
        counted, values, errors = answers(found, part, begins)
        assert counted == users
        # False alarms: below 10⁻⁶ each, twelve of them.
        assert (np.abs(values - truth) < 5 * errors).all()


def estimator_of(series: ShuffledSeries) -> LinearEstimator:
    plan = series.manifest.rounds[0].plan
    assert plan is not None
    with series.home.database.read("plan") as session:
        return LinearEstimator.of(
            plans.device_part(session, str(plan.device)), plans.analyst_part(session, str(plan.analyst))
        )


def answers(found: Any, part: str, begins: int) -> tuple[int, Any, Any]:
    """Users, answers (Q,) and their errors (Q,) of a period, or of the window that begins with one."""
    table = found["table"]
    rows = [place for place, name in enumerate(table["part"]) if (name, table["period"][place]) == (part, begins)]
    [users] = {table["users"][place] for place in rows}
    values, errors = (np.array([table[name][place] for place in rows]) for name in ("value", "standard_error"))
    return users, values, errors


def test_errors_have_the_exact_variance_of_the_random_reports(quick: ShuffledSeries) -> None:
    """(Σ v + m s)/n² of one period, and with p·m random reports in a window of p periods."""
    for number in range(2):
        quick.to_end_of(number)
        quick.release(number, USERS)
        quick.home.work()
    found, blanket, n = quick.estimates(window=2), quick.route.blanket, len(USERS)
    law = estimator_of(quick).law
    own, random = law.type_variances(), law.blanket().variance
    for part, users, reports in (("period", n, blanket), ("window", 2 * n, 2 * blanket)):
        counted, _, errors = answers(found, part, 0)
        assert counted == users
        least, most = (np.sqrt((users * edge(own, axis=1) + reports * random) / users**2) for edge in (np.min, np.max))
        assert (errors >= least * (1 - 1e-9)).all()
        assert (errors <= most * (1 + 1e-9)).all()
        # Without the random reports they would be smaller than all of these.
        assert (np.sqrt(np.max(own, axis=1) / users) < least).all()


def test_a_lost_key_is_unreadable_for_its_periods_alone_until_it_is_restored(quick: ShuffledSeries) -> None:
    secret = quick.folder / quick.id / "round-0.key"
    kept = secret.read_text()
    secret.unlink()
    for number in range(3):
        quick.to_end_of(number)
        quick.release(number, USERS)
        quick.home.work()
    assert quick.states()[:3] == ["unreadable", "unreadable", "estimated"]
    shown = quick.home.api.get(f"{quick.path}/rounds/1/batch").json()
    assert shown["state"] == "unreadable"
    assert "restore the folder" in shown["message"]
    assert {each["period"] for each in quick.estimates()["extras"]["periods"] if each["reports"]} == {2}
    secret.write_text(kept)
    for number in (0, 1):
        quick.home.api.post(f"{quick.path}/rounds/{number}/retry").raise_for_status()
    quick.home.work()
    assert quick.states()[:3] == ["estimated"] * 3
    assert quick.kept_keys() == [2, 4]


def test_a_period_with_too_few_devices_is_withheld_and_the_next_one_is_not(quick: ShuffledSeries) -> None:
    for number, cells in enumerate((USERS, [], USERS)):
        quick.to_end_of(number)
        quick.release(number, cells)
        quick.home.work()
    assert quick.states()[:3] == ["estimated", "withheld", "estimated"]
    assert answers(quick.estimates(window=3), "window", 0)[0] == 2 * len(USERS)
    assert quick.kept_keys() == [2, 4]


def test_a_period_is_waited_for_and_nothing_is_shown_while_its_batch_is_half_here(quick: ShuffledSeries) -> None:
    quick.to_end_of(0)
    quick.release(0, USERS)
    quick.to_end_of(1)
    quick.home.work()
    status = quick.home.api.get(f"{quick.path}/status").json()
    assert [(each["index"], each["state"], each["waiting_for"]) for each in status["rounds"]] == [
        (0, "estimated", []),
        (1, "closed", ["mix"]),
    ]
    assert status["shuffler"] == "mix"
    batch = quick.batch(1, USERS)
    assert quick.push(quick.page(1, batch)).status_code == 201
    quick.home.work()
    assert quick.states()[:2] == ["estimated", "closed"]
    assert quick.estimates()["extras"]["periods"][1]["reports"] == 0
    assert quick.state(quick.statement(1, batch)).status_code == 201
    quick.home.work()
    assert quick.states()[:2] == ["estimated", "estimated"]


def test_no_batch_is_waited_for_of_a_period_that_was_paused_throughout(quick: ShuffledSeries) -> None:
    quick.to_end_of(0)
    quick.release(0, USERS)
    quick.home.work()
    # Period 1 has begun, period 2 begins and ends within the pause.
    quick.home.api.post(f"{quick.path}/pause").raise_for_status()
    quick.to_end_of(2)
    quick.home.work()
    quick.home.api.post(f"{quick.path}/resume").raise_for_status()
    quick.to_end_of(3)
    quick.home.work()
    rounds = quick.home.api.get(f"{quick.path}/status").json()["rounds"]
    assert [each["index"] for each in rounds if each["waiting_for"] == ["mix"]] == [1, 3]
    assert quick.states()[:4] == ["estimated", "closed", "paused", "closed"]
    # A shuffler that says so of all periods may say that this one was missed.
    quick.release(2, [])
    quick.home.work()
    assert quick.states()[2] == "withheld"


def test_the_task_is_signed_and_says_no_end(quick: ShuffledSeries) -> None:
    from sordino_shared.ed25519 import verify

    task = Task.read(quick.home.anonymous.get(f"{quick.path}/task").raise_for_status().content)
    assert (task.round, task.accept_until, task.epoch, task.number) == (0, None, 0, 1)
    assert task.signature is not None
    assert verify(quick.route.task_key, task.signature, task.signed_message)
    quick.home.api.post(f"{quick.path}/pause").raise_for_status()
    paused = Task.read(quick.home.anonymous.get(f"{quick.path}/task").raise_for_status().content)
    assert (paused.round, paused.number) == (None, 2)


def test_a_series_that_ended_takes_the_batches_of_its_periods(quick: ShuffledSeries) -> None:
    quick.to_end_of(0)
    quick.release(0, USERS)
    quick.home.work()
    quick.home.clock.advance(PERIOD)
    quick.home.api.post(f"{quick.path}/close").raise_for_status()
    quick.release(1, USERS)
    quick.home.work()
    assert quick.states()[:2] == ["estimated", "estimated"]
    quick.release(2, [])
    quick.home.work()
    assert quick.kept_keys() == []


def test_a_closed_series_takes_no_batch_of_a_period_that_never_began(
    hourly: ShuffledSeries, check_problem: Any
) -> None:
    hourly.to_end_of(0)
    hourly.release(0, USERS)
    hourly.home.work()
    # Period 1 runs, and its reports are taken until late.
    hourly.home.api.post(f"{hourly.path}/close").raise_for_status()
    hourly.to_end_of(3)
    for number in (2, 3):
        batch = hourly.batch(number, USERS)
        for refused in (hourly.push(hourly.page(number, batch)), hourly.state(hourly.statement(number, []))):
            check_problem(refused, Problem.ILLEGAL_TRANSITION, f"closed after 2 periods, before period {number} began")
    hourly.release(1, USERS)
    hourly.home.work()
    assert [each["index"] for each in hourly.home.api.get(f"{hourly.path}/status").json()["rounds"]] == [0, 1]
    assert hourly.states()[:2] == ["estimated", "estimated"]


def test_the_first_batch_is_waited_for_once_it_is_due(quick: ShuffledSeries) -> None:
    def waiting() -> list[str]:
        found: list[str] = quick.home.api.get(f"{quick.path}/status").json()["series"]["waiting_for"]
        return found

    quick.home.clock.advance(quick.law.accepted_until(0) - quick.home.clock.now() - 1)
    assert waiting() == []
    quick.home.clock.advance(1)
    quick.home.work()
    assert waiting() == ["mix"]
    page = quick.home.api.get(f"/v1/campaigns/{quick.id}/status").json()
    assert "waiting for the first batch of mix, which is due" in list(summary_lines(page))
    quick.release(0, USERS)
    assert waiting() == []
    # A series that was opened late owes no batch of the periods before.
    law = quick.law
    with quick.home.database.read("series") as session:
        row = session.get_one(SeriesRow, quick.id)
        begins = law.accepted_from(3)
        assert not missing_batch(quick.manifest, row, begins, law.accepted_until(3) - 1)
        assert missing_batch(quick.manifest, row, begins, law.accepted_until(3))
        assert not missing_batch(quick.manifest, row, None, law.accepted_until(3))
        # It owes none of a period that was paused throughout, and the next one once that is over.
        breaks = [SeriesPause(paused_at=begins, resumed_at=law.accepted_until(3))]
        assert not missing_batch(quick.manifest, row, begins, law.accepted_until(4) - 1, breaks)
        assert missing_batch(quick.manifest, row, begins, law.accepted_until(4), breaks)
        # One that ended a second too soon let devices answer; one that goes on owes nothing at all.
        breaks[0].resumed_at = law.accepted_until(3) - 1
        assert missing_batch(quick.manifest, row, begins, law.accepted_until(3), breaks)
        breaks[0].resumed_at = None
        assert not missing_batch(quick.manifest, row, begins, law.accepted_until(9), breaks)


def test_a_series_that_is_closed_before_its_start_waits_for_nothing(quick: ShuffledSeries, check_problem: Any) -> None:
    terms = {"period_s": PERIOD, "slots": 4, "answers_max": 10, "late_s": LATE}
    start = quick.home.clock.now() + PERIOD
    key = quick.signing.public_key().public_bytes_raw().hex()
    made = create(quick.home, key, name="another", series=terms | {"start": start}).raise_for_status().json()["id"]
    with quick.home.database.write("test key") as session:
        own = keys.create(session, "mix", Role.SHUFFLER, quick.home.clock.now(), made).text
    never = replace(quick, id=made, key=own)
    for action in ("open", "close"):
        never.home.api.post(f"{never.path}/{action}").raise_for_status()
    never.to_end_of(0)
    never.home.work()
    assert never.home.api.get(f"{never.path}/status").json()["series"]["waiting_for"] == []
    refused = never.state(never.statement(0, []))
    check_problem(refused, Problem.ILLEGAL_TRANSITION, "closed after 0 periods, before period 0 began")


def test_what_all_answers_give_the_server_is_less_than_their_sum(quick: ShuffledSeries) -> None:
    """ε of ten answers at the sum of their δ, by the curve of the claims; and the same as the device's account says."""
    shown, route = quick.home.api.get(f"{quick.path}/status").json()["series"]["collector"], quick.route
    headline = route.claims[route.headline]
    assert shown["answers"] == quick.law.answers_max == 10
    assert shown["delta"] == pytest.approx(10 * headline.atto_delta / 1e18)
    expected = composed_epsilon(route.claims, 10, shown["delta"])
    assert expected is not None
    assert expected <= shown["epsilon"] <= expected + 0.001
    assert shown["epsilon"] < 10 * headline.nano_epsilon / 1e9
    mixed = mixed_guarantee(quick.manifest)
    assert mixed is not None
    assert mixed.of_answers(10) == f"(ε {shown['epsilon']:g}, δ {shown['delta']:.3g})"


def test_no_round_begins_before_its_period_and_no_report_comes_directly(
    unchanged: ShuffledSeries, check_problem: Any
) -> None:
    early = unchanged.batch(7, USERS)
    check_problem(unchanged.push(unchanged.page(7, early)), Problem.ROUND_NOT_OPEN, "period 7 has not begun")
    part = unchanged.home.device_part({"id": unchanged.id})
    content = ReportBatch(part.digest, bytes(16), bytes(part.randomizer.payload_bytes)).content
    url = f"{unchanged.home.address}{unchanged.path}/rounds/0/reports"
    sent = httpx.post(url, content=content, headers={"Content-Type": CBOR_MEDIA_TYPE})
    check_problem(sent, Problem.WRONG_ROUTE, "shuffler")
    assert unchanged.home.api.get(f"{unchanged.path}/status").json()["rounds"] == []


@pytest.fixture
def hourly(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[ShuffledSeries]:
    """A key for each period, as without `key_periods`."""
    with shuffled_series(migrated_sqlite_url, tmp_path / "keys", keys=4, key_periods=None) as found:
        yield found


@pytest.mark.parametrize("order", [pytest.param((0, 1, 2), marks=pytest.mark.slow), (2, 0, 1)])
def test_a_key_waits_for_batches_that_come_late(hourly: ShuffledSeries, order: tuple[int, ...]) -> None:
    """The first batch makes the first round; a shuffler that was away hands on its periods in any order."""
    hourly.to_end_of(2)
    hourly.home.work()
    hourly.home.worker().purge()
    assert hourly.kept_keys() == [0, 1, 2, 3]
    for number in order:
        hourly.release(number, USERS)
        hourly.home.work()
        hourly.home.worker().purge()
        assert number not in hourly.kept_keys()
    assert hourly.states()[:3] == ["estimated"] * 3
    assert hourly.kept_keys() == [3]


def test_a_series_that_is_closed_before_its_first_batch_keeps_the_key(hourly: ShuffledSeries) -> None:
    hourly.home.clock.advance(PERIOD // 2)
    hourly.home.api.post(f"{hourly.path}/close").raise_for_status()
    hourly.home.worker().purge()
    # Periods 1 to 3 never begin.
    assert hourly.kept_keys() == [0]
    hourly.to_end_of(0)
    hourly.release(0, USERS)
    hourly.home.work()
    assert hourly.states()[:1] == ["estimated"]
    assert hourly.kept_keys() == []


@pytest.mark.parametrize("end", ["later", "cancel"])
def test_a_key_of_which_nothing_came_ends(hourly: ShuffledSeries, end: str) -> None:
    hourly.to_end_of(0)
    hourly.home.work()
    if end == "cancel":
        hourly.home.api.post(f"{hourly.path}/cancel").raise_for_status()
    else:
        hourly.home.clock.advance(BATCHES_COME_S - 1)
        hourly.home.work()
        hourly.home.worker().purge()
        assert hourly.kept_keys() == [0, 1, 2, 3]
        hourly.home.clock.advance(1)
    hourly.home.worker().purge()
    assert hourly.kept_keys() == ([] if end == "cancel" else [1, 2, 3])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"route": {"end": 2_000_000_000}}, "/route/end"),
        ({"series": None, "route": {"end": None}}, "/route/keys"),
        ({"series": None, "route": {"end": None, "keys": None, "key_periods": None}}, "/route/end"),
        ({"route": {"keys": 401}}, "keys"),
        ({"route": {"key_periods": 0}}, "key_periods"),
        ({"upload_token": True}, "upload_token"),
    ],
)
def test_an_order_that_makes_no_series(
    unchanged: ShuffledSeries, check_problem: Any, changes: dict[str, Any], named: str
) -> None:
    refused = create(unchanged.home, "ab" * 32, PLAN, **changes)
    check_problem(refused, Problem.INVALID_REQUEST, named)
