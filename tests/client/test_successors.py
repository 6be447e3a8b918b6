"""A series that replaces another: only with fewer questions, only once, and never with an answer in between."""

from __future__ import annotations

import dataclasses
import sqlite3
from pathlib import Path

import pytest

from sordino_client import AnswerStatus, NotASuccessor, PlanUnavailable, PureEpsilon
from sordino_client._series_rows import SeriesState, first_state
from sordino_client._storage import SCHEMA_VERSION
from sordino_shared.protocol import Problem, RoundTerms, ValueOf
from tests.client.conftest import DAY_S, SERIES_CAPS, SERIES_START, WEEKLY

DAY, START = DAY_S, SERIES_START
LEDGERS = Path(__file__).parent / "ledgers"


def succeed(make_series, old, **changes):
    return make_series(created_at=1, replaces=old.campaign, **changes)


@pytest.fixture
def answered(make_series, start, clock):
    """A device of phase 3 that answered period 3, late on its day."""
    old = make_series()
    client, campaign = start(old, 3)
    clock.time = START + 4 * DAY - 1
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED
    return old, client, campaign


def test_a_successor_goes_on_where_the_old_series_was(answered, make_series, start, clock) -> None:
    old, client, campaign = answered
    new = succeed(make_series, old)
    second, joined = start(new, phase=5)
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
    assert client.due(campaign) is None
    found = []
    for day in range(4, 60):
        clock.time = START + day * DAY
        answer = second.answer(joined, "red")
        if answer.status is AnswerStatus.RECORDED:
            found.append(answer.round)
    assert found == [10, 17, 24, 31], "phase 3 as before; four answers and the old one are answers_max"
    assert second.account().lifetime_nano == 5 * 10**9
    assert [each.series.over for each in second.account().campaigns] == [True, True]


def test_more_slots_draw_a_new_phase_and_keep_the_pause(answered, make_series, start, clock) -> None:
    old, _, _ = answered
    new = succeed(make_series, old, slots=8)
    second, joined = start(new, phase=2)
    found = []
    for day in range(4, 40):
        clock.time = START + day * DAY
        if second.answer(joined, "red").status is AnswerStatus.RECORDED:
            found.append(day)
    assert found == [10, 18, 26, 34], "2 mod 8, not before period 3 + 7"


def test_the_pause_of_the_old_series_is_kept_to_the_second() -> None:
    """last_at + (T − 1)·period_s of the old one, without the late time that one series gives itself."""
    law = dataclasses.replace(WEEKLY, value_of=ValueOf.PREVIOUS)
    answered_at = START + 6 * DAY + 5
    fresh = SeriesState(phase=3, answers=0, next_period=0, next_at=0, ended=False, replaced_by=None)
    old = fresh.after(law, law.period(3), answered_at)
    assert old.next_at == answered_at + 6 * DAY - 2 * DAY
    assert first_state(law, 5, (law, old)).next_at == answered_at + 6 * DAY
    assert first_state(law, 5, (law, fresh)) == fresh
    assert first_state(dataclasses.replace(law, slots=9), 5, (law, fresh)).phase == 5


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start": START + 1}, "its start is"),
        ({"period_s": DAY + 1}, "its period_s is"),
        ({"value_of": ValueOf.PREVIOUS}, "its value_of is previous, not current"),
        ({"slots": 6}, "it asks once in 6 periods, not in 7 or more"),
        ({"answers_max": 6}, "it asks 6 times for life, above 5"),
    ],
)
def test_a_successor_that_asks_more_is_refused(answered, make_series, start, changes, reason) -> None:
    old, client, _ = answered
    before = client.account()
    with pytest.raises(NotASuccessor, match=reason):
        start(succeed(make_series, old, **changes))
    assert client.account() == before
    assert client.account().campaigns[0].series.over is False


def test_a_successor_of_more_epsilon_is_refused(answered, make_world, make_part, start) -> None:
    old, _, _ = answered
    part = make_part(1.5)
    reference = dataclasses.replace(old.manifest.rounds[0].plan, device=part.digest)
    new = make_world(
        part,
        assignment=dataclasses.replace(WEEKLY, replaces=old.campaign),
        rounds=(RoundTerms(part.guarantee, reference),),
        device_guarantee=PureEpsilon.of(7.5),
    )
    with pytest.raises(NotASuccessor, match=r"an answer costs ε = 1\.5, above ε = 1"):
        start(new)


def test_only_one_series_takes_anothers_place_and_only_a_joined_one(answered, make_series, start, make_client) -> None:
    old, client, _ = answered
    start(succeed(make_series, old))
    with pytest.raises(NotASuccessor, match="has replaced that one"):
        start(make_series(created_at=2, replaces=old.campaign))
    stranger = make_client(succeed(make_series, old), ledger=":memory:", caps=SERIES_CAPS)
    with pytest.raises(NotASuccessor, match="never joined that one: join it first"):
        stranger.join(succeed(make_series, old).campaign)
    assert stranger.account().campaigns == ()
    # The series that was replaced may be named again, and stays closed.
    assert client.join(old.campaign).id == old.campaign
    assert client.due(old.campaign) is None


def test_a_successor_that_cannot_be_fetched_leaves_the_old_series_open(answered, make_series, start, clock) -> None:
    old, client, campaign = answered
    new = succeed(make_series, old)
    served = new.handle
    new.handle = lambda request: served(request) if request.url.path.endswith("/task") else lost(new, request, served)
    with pytest.raises(PlanUnavailable):
        start(new)
    clock.time = START + 10 * DAY
    assert client.due(campaign).number == 10


def lost(world, request, served):
    return world.problem(Problem.UNAVAILABLE) if "/plans/" in request.url.path else served(request)


def test_who_left_a_series_left_its_successor(answered, make_series, start, clock) -> None:
    old, client, campaign = answered
    client.opt_out(campaign)
    second, joined = start(succeed(make_series, old))
    clock.time = START + 10 * DAY
    assert joined.opted_out
    assert second.due(joined) is None
    assert second.answer(joined, "red").status is AnswerStatus.OPTED_OUT


def test_a_ledger_of_format_4_is_brought_up(make_client, world, ledger, clock) -> None:
    """`ledgers/format_4.sql` is a dump by the code before: delivered, expired, waiting, joined only."""
    with sqlite3.connect(ledger) as connection:
        connection.executescript((LEDGERS / "format_4.sql").read_text())
    clock.time += 300
    waiting = type(world)(created_at=1_700_000_002)
    client = make_client(waiting)
    states = [[entry.state for entry in each.entries] for each in client.account().campaigns]
    assert states == [["delivered"], ["expired"], ["spooled"], []]
    spooled = client.account().campaigns[2].campaign
    assert [each.series for each in client.account().campaigns] == [None] * 4
    assert client.flush().delivered == 1
    assert client.answer(spooled, "red").status is AnswerStatus.ALREADY_ANSWERED
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,) == (10,)


def test_a_brought_up_ledger_has_the_tables_of_a_new_one(make_client, ledger, tmp_path) -> None:
    schemas = []
    for number, dump in enumerate((*(f"format_{old}.sql" for old in range(3, 8)), None)):
        path = tmp_path / f"{number}.sqlite3"
        if dump is not None:
            with sqlite3.connect(path) as connection:
                connection.executescript((LEDGERS / dump).read_text())
        make_client(ledger=path).close()
        with sqlite3.connect(path) as connection:
            schemas.append(set(connection.execute("SELECT type, name, tbl_name FROM sqlite_master")))
    assert all(schema == schemas[-1] for schema in schemas)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE series SET phase = (phase + 1) % 7",
        "UPDATE series SET answers = 0",
        "UPDATE series SET next_period = 0",
        "UPDATE series SET next_at = 0",
        "DELETE FROM series",
    ],
)
def test_what_holds_a_device_back_never_goes_down(answered, ledger, statement) -> None:
    with sqlite3.connect(ledger) as connection, pytest.raises(sqlite3.IntegrityError, match="series"):
        connection.execute(statement)
