"""A round changes its state along the table and no other way; a closed one is estimated by one worker or given up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from sordino_server import models, rounds
from sordino_server.kit.db import Database
from sordino_server.rounds.round_lifecycle import TRANSITIONS, Event
from sordino_shared.protocol import ROUND_TRANSITIONS, IllegalTransition, Problem, RoundState

CHANGES = {
    RoundState.OPEN: rounds.open_round,
    RoundState.CLOSED: rounds.close_round,
    RoundState.CANCELLED: rounds.cancel_round,
}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


def set_state(database: Database, number: int, state: str) -> None:
    with database.write("force") as session:
        session.get_one(models.Round, number).state = state


def test_only_the_listed_transitions_are_possible(database, store_round):
    stored = store_round(database)
    for current in RoundState:
        for wanted, change in CHANGES.items():
            set_state(database, stored.id, current)
            with database.write("change") as session:
                if wanted in ROUND_TRANSITIONS[current]:
                    assert change(database, session, stored.campaign, 0, 5).state == wanted
                else:
                    with pytest.raises(IllegalTransition):
                        change(database, session, stored.campaign, 0, 5)


def test_the_table_of_events_is_the_protocols_table():
    moves = {(source, target) for sources, target in TRANSITIONS.values() for source in sources}
    stays = {(RoundState.CLOSED, RoundState.CLOSED)}
    assert moves - stays == {(source, target) for source, targets in ROUND_TRANSITIONS.items() for target in targets}
    assert TRANSITIONS.keys() == set(Event)


def test_times_are_noted(database, store_round):
    stored = store_round(database, state="pending")
    with database.write("life") as session:
        assert rounds.open_round(database, session, stored.campaign, 0, 10).opened_at == 10
        assert rounds.close_round(database, session, stored.campaign, 0, 20).closed_at == 20
    with database.read() as session:
        row = rounds.find(session, stored.campaign, 0)
        assert (row.state, row.opened_at, row.closed_at) == ("closed", 10, 20)
        assert [other.id for other in rounds.of_campaign(session, stored.campaign)] == [stored.id]


def test_a_round_that_does_not_exist_is_not_found(database, store_round):
    stored = store_round(database)
    with pytest.raises(rounds.RoundNotFound) as caught, database.write("close") as session:
        rounds.close_round(database, session, stored.campaign, 1, 5)
    assert caught.value.problem is Problem.NOT_FOUND
    assert (caught.value.campaign, caught.value.index) == (stored.campaign, 1)


@pytest.mark.parametrize("state", ["pending", "open", "estimated", "cancelled"])
def test_only_closed_rounds_wait_for_an_estimate(database, store_round, state):
    set_state(database, store_round(database).id, state)
    with database.write("claim") as session:
        assert rounds.claim_closed_round(session, owner="me", now=1, seconds=30) is None


def test_a_failure_ends_the_attempts_and_says_why(database, store_round):
    stored = store_round(database)
    set_state(database, stored.id, "closed")
    with database.write("claim") as session:
        rounds.claim_closed_round(session, owner="me", now=1, seconds=30)
    with database.write("fail") as session:
        rounds.mark_failed(session, stored.id, "me", "no reports")
    with database.write("claim") as session:
        assert rounds.claim_closed_round(session, owner="me", now=99, seconds=30) is None
        row = session.get_one(models.Round, stored.id)
        assert (row.state, row.error, row.lease_owner) == ("closed", "no reports", None)


def test_a_round_whose_workers_keep_dying_is_given_up_with_a_reason(database, store_round):
    stored = store_round(database)
    set_state(database, stored.id, "closed")
    for attempt in range(rounds.MAX_ATTEMPTS):
        with database.write("claim") as session:
            assert rounds.claim_closed_round(session, owner="me", now=100 * attempt, seconds=30) is not None
    with database.write("claim") as session:
        assert rounds.claim_closed_round(session, owner="me", now=1000, seconds=30) is None
    with database.read() as session:
        assert "workers" in session.get_one(models.Round, stored.id).error


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rounds SET state = 'ajar'",
        "UPDATE rounds SET epoch = 65536",
        "UPDATE rounds SET campaign_id = 'nobody'",
        "UPDATE campaigns SET state = 'ajar'",
        "UPDATE plan_parts SET document = 'secret'",
        "INSERT INTO keys (id, name, role, secret_sha256, created_at) VALUES ('k', 'n', 'king', 's', 0)",
        "INSERT INTO accumulators (round_id, shard, count, sums) VALUES (999, 's', 0, '')",
    ],
)
def test_the_database_itself_refuses_what_cannot_be(database, store_round, statement):
    store_round(database)
    with pytest.raises(IntegrityError), database.write("break") as session:
        session.execute(text(statement))
