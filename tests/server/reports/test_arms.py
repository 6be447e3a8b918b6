"""Arms on the server: sums of each, ids that are no other arm's, and what is refused, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import Caps, Client, PureEpsilon
from sordino_server import aggregates, models, rounds
from sordino_server.errors import ServerError
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter, Upload
from sordino_server.simulation import DeviceFleet
from sordino_shared.protocol import Problem, Refusal, ReportBatch

TERMS = {"name": "x", "purpose": "x", "population": "x"}
ARMS = [{"name": "A", "weight": 32768}, {"name": "B", "weight": 32768}]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


@pytest.fixture
def writer(database: Database) -> Iterator[ReportWriter]:
    writer = ReportWriter(database, ManualClock()).start()
    yield writer
    writer.close()


@pytest.fixture
def stored(database: Database, store_round: Any) -> Any:
    stored = store_round(database)
    with database.write("arms") as session:
        session.get_one(models.Round, stored.id).arms = 3
    return stored


def upload(stored: Any, reports: dict[int, int], arm: int) -> Upload:
    plain = stored.upload([stored.report_id(number) for number in reports], stored.payloads(*reports.values()))
    batch = plain.batch
    return Upload(plain.campaign, plain.round, ReportBatch(batch.device_digest, batch.ids, batch.payloads, arm))


def cells(total: Any) -> dict[int, int]:
    return {int(cell): int(total.sums[cell]) for cell in np.flatnonzero(total.sums)}


def test_each_arm_has_its_sums_and_keeps_them_when_the_reports_go(database: Any, writer: Any, stored: Any) -> None:
    for arm, reports in enumerate(({1: 10, 2: 10}, {3: 10, 4: 11}, {})):
        if reports:
            assert writer.submit(upload(stored, reports, arm)).result().accepted == 2
    with database.write("close") as session:
        rounds.close_round(database, session, stored.campaign, 0, 1)
        assert aggregates.counts_by_arm(session, [stored.id]) == {stored.id: {0: 2, 1: 2}}
    randomizer = stored.part.randomizer
    for purged in (False, True):
        found = [cells(each) for each in aggregates.arms_of(database, stored.id, randomizer)]
        assert found == [{10: 2}, {10: 1, 11: 1}, {}]
        assert cells(aggregates.aggregate(database, stored.id, randomizer)) == {10: 3, 11: 1}
        if not purged:
            for arm in (0, 1):
                own = aggregates.re_aggregate(database, stored.id, randomizer, 2, arm=arm)
                assert cells(own) == found[arm]
            aggregates.purge(database, stored.id, randomizer, 2)


def test_sums_from_the_log_are_those_of_the_arm(database: Any, stored: Any) -> None:
    """A server that adds up the log at the end, as it does for long sums."""
    with database.write("log") as session:
        for arm, cell in ((0, 5), (1, 6), (1, 7)):
            aggregates.add_chunk(session, stored.id, 1, bytes([cell]), 0, arm)
        for arm, count in ((0, 1), (1, 2)):
            aggregates.put_shard(session, stored.id, "0" * 32, count, b"", arm)
    found = [cells(each) for each in aggregates.arms_of(database, stored.id, stored.part.randomizer)]
    assert found == [{5: 1}, {6: 1, 7: 1}, {}]


def test_an_id_is_of_one_arm(database: Any, writer: Any, stored: Any) -> None:
    """Also within one transaction: the first that is written counts."""
    assert writer.submit(upload(stored, {1: 10}, 1)).result().accepted == 1
    assert writer.submit(upload(stored, {1: 10}, 1)).result().replayed == 1
    for arm in (0, 2):
        (refused,) = writer.submit(upload(stored, {1: 10}, arm)).result().refused
        assert refused.reason is Refusal.ID_CONFLICT
    both = [writer.submit(upload(stored, {7: 10}, arm)) for arm in (0, 1)]
    assert sorted(each.result().accepted for each in both) == [0, 1]


@pytest.mark.parametrize("arm", [3, 15])
def test_an_arm_that_is_not_there_is_refused(writer: Any, stored: Any, arm: int) -> None:
    with pytest.raises(ServerError, match=f"no arm {arm}; its arms are 0 to 2") as refused:
        writer.submit(upload(stored, {1: 10}, arm)).result()
    assert refused.value.problem is Problem.INVALID_REQUEST


BAD = [
    ([{"name": "A", "weight": 0}, {"name": "B", "weight": 65536}], "weight of arm"),
    ([{"name": f"v{i}", "weight": 3855} for i in range(17)], "16"),
    ([{"name": "A", "weight": 32768}, {"name": "B", "weight": 32767}], "sum to 2"),
    ([{"name": "A", "weight": 65536}], "one arm compares nothing"),
    ([{"name": "A", "weight": 32768}, {"name": "a", "weight": 32768}], "without regard to case"),
    ([{"name": "late by", "weight": 32768}, {"name": "B", "weight": 32768}], "letters of ASCII"),
    ([{"name": "A", "weight": 32768.5}, {"name": "B", "weight": 32768}], "weight"),
]


@pytest.mark.parametrize(("arms", "mentioned"), BAD)
def test_arms_that_nobody_can_draw_are_refused(running: Any, check_problem: Any, arms: Any, mentioned: str) -> None:
    order = TERMS | {"plan_request": running.ready_plan()["id"], "arms": arms}
    check_problem(running.api.post("/v1/campaigns", json=order), Problem.INVALID_REQUEST, mentioned)


def test_arms_do_not_go_with_a_series_or_an_attribute_of_their_name(running: Any, check_problem: Any) -> None:
    plan = running.ready_plan()["id"]
    series = {"series": {"period_s": 86400, "slots": 3, "answers_max": 2, "value_of": "current", "late_s": 0}}
    order = TERMS | {"plan_request": plan, "arms": ARMS}
    check_problem(running.api.post("/v1/campaigns", json=order | series), Problem.INVALID_REQUEST)
    (attribute,) = running.device_part(
        running.api.post("/v1/campaigns", json=TERMS | {"plan_request": plan}).json()
    ).domain.attributes
    named = [{"name": attribute.name, "weight": 32768}, ARMS[1]]
    check_problem(running.api.post("/v1/campaigns", json=order | {"arms": named}), Problem.INVALID_REQUEST, "attribute")


def test_an_experiment_from_its_order_to_the_counts_of_its_arms(running: Any) -> None:
    order = TERMS | {"plan_request": running.ready_plan()["id"], "arms": ARMS}
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    assert campaign["arms"] == [each | {"reports": 0, "users": 0} for each in ARMS]
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    caps = Caps(per_period=PureEpsilon.of(2), lifetime=PureEpsilon.of(2), period_days=1)
    names = []
    for seed in range(5):
        with Client(
            running.address, ledger=":memory:", caps=caps, allow_http=True, randomness=SeededRandomness(seed)
        ) as client:
            client.join(campaign["id"])
            names.append(client.arm(campaign["id"]))
            client.answer(campaign["id"], 7.0)
            assert client.flush().delivered == 1
    with Client(running.address, ledger=":memory:", caps=caps, allow_http=True) as client:
        client.join(campaign["id"])
        fleet = DeviceFleet(client, campaign["id"])
        fleet.answer_many([7.0] * 1000, SeededRandomness(5))
        assert fleet.flush().delivered == 1000
    status = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    counted = {each["name"]: each["reports"] for each in status["arms"]}
    assert sum(counted.values()) == 1005
    # Half of 1,000: four standard errors are 63.
    assert all(abs(counted[name] - names.count(name) - 500) < 64 for name in ("A", "B"))
