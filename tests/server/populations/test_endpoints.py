"""Caps of ε over all campaigns of a population, and the ledger of what they asked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from sordino_server.kit.clock import iso_8601
from sordino_server.models import Role
from sordino_server.populations.service import identifier_of
from sordino_shared.protocol import Problem

Check = Callable[..., dict[str, Any]]
DAY_S = 86400
PATH = f"/v1/populations/{identifier_of('travellers')}"


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    """Both engines: a cap holds by a lock, and the ledger by a trigger."""
    return request.getfixturevalue(request.param)


def made(server: Any, **caps: Any) -> dict[str, Any]:
    document: dict[str, Any] = (
        server.api.post("/v1/populations", json={"name": "travellers", "epsilon_lifetime": None} | caps)
        .raise_for_status()
        .json()
    )
    return document


def campaigns(server: Any, count: int) -> list[str]:
    """Ids of campaigns that are ready and ask ε = 1 of every device."""
    terms = {"purpose": "x", "population": "travellers", "plan_request": server.ready_plan()["id"]}
    orders = [terms | {"name": f"campaign {number}"} for number in range(count)]
    return [server.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"] for order in orders]


def opened(server: Any, campaign: str) -> Any:
    return server.api.post(f"/v1/campaigns/{campaign}/open")


def test_a_campaign_that_would_exceed_the_cap_for_life_does_not_open(server: Any, check_problem: Check) -> None:
    made(server, epsilon_lifetime="2.5")
    first, second, third = campaigns(server, 3)
    assert opened(server, first).status_code == opened(server, second).status_code == 200
    document = check_problem(opened(server, third), Problem.BUDGET_EXCEEDED, "ε = 2.5", "'travellers'", "for life")
    assert (document["asks"], document["asked"], document["cap"]) == (1, 2, 2.5)
    status = server.api.get(f"/v1/campaigns/{third}/status").json()
    assert (status["state"], status["rounds"][0]["state"]) == ("ready", "pending")
    server.clock.advance(1000 * DAY_S)
    check_problem(opened(server, third), Problem.BUDGET_EXCEEDED)
    assert server.api.get(PATH).json()["asked"] == 2


@pytest.mark.parametrize("cap", ["epsilon_lifetime", "epsilon_per_period"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_cap_holds_to_the_nano_epsilon(running: Any, check_problem: Check, cap: str, count: int) -> None:
    """A cap that is just what campaigns ask in sum lets all of them open, one that is a nano-ε less not the last."""
    period = {"period_days": 7} if cap == "epsilon_per_period" else {}
    made(running, **{cap: f"{count - 1}.999999999"}, **period)
    *before, last = campaigns(running, count)
    assert [opened(running, campaign).status_code for campaign in before] == [200] * (count - 1)
    check_problem(opened(running, last), Problem.BUDGET_EXCEEDED)
    etag = running.api.get(PATH).headers["etag"]
    running.api.patch(PATH, json={cap: str(count)}, headers={"If-Match": etag}).raise_for_status()
    assert opened(running, last).status_code == 200
    assert running.api.get(PATH).json()["asked"] == count


@pytest.mark.parametrize(("cap", "shown"), [("1.9999999999", 1.999999999), ("1.0000000009", 1), (0.3, 0.3)])
def test_a_cap_is_never_more_than_was_asked_for(running: Any, cap: Any, shown: float) -> None:
    assert made(running, epsilon_lifetime=cap)["epsilon_lifetime"] == shown


def test_what_was_asked_is_forgotten_by_the_period_and_not_by_life(server: Any, check_problem: Check) -> None:
    made(server, epsilon_per_period=1, period_days=7)
    first, second, third = campaigns(server, 3)
    assert opened(server, first).status_code == 200
    server.clock.advance(7 * DAY_S - 1)
    check_problem(opened(server, second), Problem.BUDGET_EXCEEDED, "in 7 days")
    server.clock.advance(1)
    assert opened(server, second).status_code == 200
    server.clock.advance(-30 * DAY_S)
    check_problem(opened(server, third), Problem.BUDGET_EXCEEDED)
    shown = server.api.get(PATH).json()
    assert (shown["asked_in_period"], shown["asked"]) == (2, 2)


def test_a_cancelled_campaign_has_asked_all_the_same(server: Any, check_problem: Check) -> None:
    made(server, epsilon_lifetime=1)
    first, second = campaigns(server, 2)
    opened(server, first)
    server.api.post(f"/v1/campaigns/{first}/cancel").raise_for_status()
    check_problem(opened(server, second), Problem.BUDGET_EXCEEDED)


def test_of_two_that_open_at_once_one_takes_what_is_left(server: Any) -> None:
    made(server, epsilon_lifetime=1)
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda campaign: opened(server, campaign).status_code, campaigns(server, 4)))
    assert sorted(statuses) == [200, 409, 409, 409]


def test_a_population_that_nobody_made_has_no_cap_and_a_ledger(server: Any, check_problem: Check) -> None:
    check_problem(server.api.get(PATH), Problem.NOT_FOUND)
    known = campaigns(server, 2)
    for campaign in known:
        server.clock.advance(1)
        assert opened(server, campaign).status_code == 200
    shown = server.api.get(PATH).json()
    assert (shown["name"], shown["asked"], shown["epsilon_lifetime"]) == ("travellers", 2, None)
    page = server.api.get(f"{PATH}/ledger", params={"page_size": 1}).json()
    rest = server.api.get(f"{PATH}/ledger", params={"page_token": page["next_page_token"]}).json()
    now = server.clock.now()
    alike = {"guarantee": "pure_epsilon", "epsilon": 1, "answers_max": None, "counts_until": None}
    times = [{"opened_at": at, "opened": iso_8601(at)} for at in (now, now - 1)]
    named = [{"campaign": known[number], "name": f"campaign {number}"} for number in (1, 0)]
    expected = [each | alike | at for each, at in zip(named, times, strict=True)]
    assert page["entries"] + rest["entries"] == expected
    assert rest["next_page_token"] is None
    assert [each["name"] for each in server.api.get("/v1/populations").json()["populations"]] == ["travellers"]


def test_caps_change_for_whoever_read_the_last_ones(server: Any, check_problem: Check) -> None:
    created = made(server, epsilon_lifetime=1)
    etag = server.api.get(PATH).headers["etag"]
    changed = server.api.patch(PATH, json={"epsilon_lifetime": 2}, headers={"If-Match": etag})
    assert (changed.json()["epsilon_lifetime"], changed.json()["version"]) == (2, created["version"] + 1)
    assert changed.headers["etag"] != etag
    stale = server.api.patch(PATH, json={"epsilon_lifetime": 3}, headers={"If-Match": etag})
    check_problem(stale, Problem.PRECONDITION_FAILED)
    check_problem(server.api.patch(PATH, json={}), Problem.INVALID_REQUEST, "if-match")
    etag = changed.headers["etag"]
    freed = server.api.patch(PATH, json={"epsilon_lifetime": None}, headers={"If-Match": etag}).json()
    assert freed["epsilon_lifetime"] is None


_COLUMNS = "campaign_id, population_id, nano, created_at"
_CHEAPER = "SELECT campaign_id, population_id, 0, created_at FROM population_ledger WHERE true"
TAMPERING = (
    "UPDATE population_ledger SET nano = 0",
    "DELETE FROM population_ledger",
    f"INSERT INTO population_ledger ({_COLUMNS}) {_CHEAPER} ON CONFLICT (campaign_id) DO UPDATE SET nano = 0",
)
SQLITE_TAMPERING = (
    f"INSERT OR REPLACE INTO population_ledger ({_COLUMNS}) {_CHEAPER}",
    "UPDATE OR REPLACE population_ledger SET nano = 0",
    # The entry of the one that opened makes room for one of the other.
    f"INSERT OR REPLACE INTO population_ledger (rowid, {_COLUMNS}) SELECT rowid,"
    " (SELECT id FROM campaigns WHERE opened_at IS NULL), population_id, 0, created_at FROM population_ledger",
)
POSTGRES_TAMPERING = ("TRUNCATE population_ledger", "TRUNCATE populations CASCADE")


def test_the_database_itself_refuses_to_change_the_ledger(server: Any) -> None:
    first, _ = campaigns(server, 2)
    opened(server, first)
    more = SQLITE_TAMPERING if server.database.is_sqlite else POSTGRES_TAMPERING
    for statement in TAMPERING + more:
        with pytest.raises(Exception, match="append-only"), server.database.write("tamper") as session:
            session.execute(text(statement))
    assert [entry["epsilon"] for entry in server.api.get(f"{PATH}/ledger").json()["entries"]] == [1]


@pytest.mark.parametrize(
    ("caps", "mentioned"),
    [
        ({"epsilon_per_period": 1}, "together"),
        ({"period_days": 7}, "together"),
        ({"epsilon_per_period": 2, "period_days": 7, "epsilon_lifetime": 1}, "never be reached"),
        ({"epsilon_lifetime": 0}, "above 0"),
        ({"epsilon_lifetime": 10_000}, "1000"),
        ({"epsilon_lifetime": "much"}, "number"),
        *(({"epsilon_lifetime": written}, "number") for written in ("1_000", "٣", "1e9999999999999999999")),
        *(({"epsilon_lifetime": tiny}, "at least 1e-9") for tiny in ("1e-400", "9e-10", 9e-10)),
        ({"name": "a\tb"}, "population"),
    ],
)
def test_caps_that_are_refused(running: Any, check_problem: Check, caps: dict[str, Any], mentioned: str) -> None:
    response = running.api.post("/v1/populations", json={"name": "travellers"} | caps)
    check_problem(response, Problem.INVALID_REQUEST, mentioned)
    assert running.api.get("/v1/populations").json()["populations"] == []


def test_a_population_without_a_word_of_caps_is_refused(running: Any, check_problem: Check) -> None:
    response = running.api.post("/v1/populations", json={"name": "travellers"})
    check_problem(response, Problem.INVALID_REQUEST, '"epsilon_lifetime": null')
    assert running.api.get("/v1/populations").json()["populations"] == []


def test_a_name_is_taken_once(running: Any, check_problem: Check) -> None:
    created = made(running)
    again = running.api.post("/v1/populations", json={"name": "travellers"})
    assert check_problem(again, Problem.ALREADY_EXISTS)["id"] == created["id"]


def test_analysts_read_and_admins_change(running: Any, check_problem: Check) -> None:
    made(running)
    with running.client(running.key(Role.ANALYST)) as analyst:
        assert analyst.get(PATH).status_code == analyst.get(f"{PATH}/ledger").status_code == 200
        check_problem(analyst.post("/v1/populations", json={"name": "x"}), Problem.FORBIDDEN)
        check_problem(analyst.patch(PATH, json={}, headers={"If-Match": '"1"'}), Problem.FORBIDDEN)
    for path in ("/v1/populations", PATH, f"{PATH}/ledger"):
        check_problem(running.anonymous.get(path), Problem.UNAUTHORIZED)
