"""Tokens at the server: one report for each, whichever way reports come and processes die; gates, and their end."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from sqlalchemy import func, select

from sordino_client import AnswerStatus, Caps, Client, PlanRefused, PlanUnavailable
from sordino_server import aggregates, models
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.models import Role
from sordino_server.reports import Upload
from sordino_server.reports.ingest import Ingest
from sordino_server.reports.shards import ShardAccumulators
from sordino_server.tokens import issuing
from sordino_server.tokens.ends import forget_ended
from sordino_server.tokens.issuer import issuer_key
from sordino_server.tokens.redemption import Redemption, ReportTokens
from sordino_shared.http.address_quota import AddressQuota
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    MAX_REPORTS,
    Digest,
    Manifest,
    Problem,
    ReportBatch,
    Task,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.protocol.tokens import token_of
from sordino_shared.randomness import ShakeRandomness
from sordino_shared.tokens import blind, finalize
from tests.killed_before import killed_before
from tests.server.conftest import RunningServer, served

CAPS = Caps.of(1, days=28, lifetime=12)
TERMS = {"name": "delays", "purpose": "How late were you?", "population": "travellers"}
ADDRESS = {"kind": "address", "per_day": 3}
BOTH = pytest.mark.parametrize("engine", ["sqlite", "postgres"])


def created(home: RunningServer, gate: dict[str, Any], **terms: Any) -> dict[str, Any]:
    """An open campaign with this gate."""
    order = TERMS | {"plan_request": home.ready_plan()["id"], "gate": gate} | terms
    status: dict[str, Any] = home.api.post("/v1/campaigns", json=order).raise_for_status().json()
    return home.api.post(f"/v1/campaigns/{status['id']}/open").raise_for_status().json()  # type: ignore[no-any-return]


def task_of(home: RunningServer, campaign: dict[str, Any]) -> Task:
    return Task.read(home.anonymous.get(f"/v1/campaigns/{campaign['id']}/task").raise_for_status().content)


def key_of(home: RunningServer, campaign: dict[str, Any]) -> bytes:
    """The public key of round 0, by the manifest."""
    issuer = Manifest.read(home.anonymous.get(f"/v1/campaigns/{campaign['id']}").raise_for_status().content).issuer
    assert issuer is not None
    return issuer.keys[0]


def ask(
    home: RunningServer, campaign: dict[str, Any], element: bytes, credential: bytes = b"", **headers: str
) -> httpx.Response:
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/tokens"
    content = TokenRequest(element, credential).content
    return home.anonymous.post(path, content=content, headers={"Content-Type": CBOR_MEDIA_TYPE} | headers)


def token(home: RunningServer, campaign: dict[str, Any], number: int, credential: bytes = b"", **headers: str) -> bytes:
    """A token as a device gets it, by the secret of a number."""
    secret = number.to_bytes(16, "big")
    scalar, element = blind(secret, ShakeRandomness(number))
    answer = TokenEvaluations.read(ask(home, campaign, element, credential, **headers).raise_for_status().content)
    key = key_of(home, campaign)
    [output] = finalize([secret], [scalar], answer.elements(), answer.proof, key)
    return token_of(secret, output)


def report(home: RunningServer, campaign: dict[str, Any], *rows: tuple[int, int, bytes]) -> httpx.Response:
    """Reports of (number of the id, payload, token) in one batch."""
    task = task_of(home, campaign)
    ids = b"".join(task.epoch.to_bytes(2, "big") + number.to_bytes(14, "big") for number, _, _ in rows)
    payloads = b"".join(bytes([payload]) + shown for _, payload, shown in rows)
    batch = ReportBatch(task.device_parts[0], ids, payloads)
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/reports"
    return home.anonymous.post(path, content=batch.content, headers={"Content-Type": CBOR_MEDIA_TYPE})


def outcomes(response: httpx.Response) -> tuple[int, int, list[tuple[int, str]]]:
    from sordino_shared.protocol import ReportOutcomes

    found = ReportOutcomes.read(response.raise_for_status().content)
    return found.accepted, found.replayed, [(each.index, each.reason.value) for each in found.refused]


@pytest.fixture
def home(request: pytest.FixtureRequest, engine: str) -> Iterator[RunningServer]:
    with served(request.getfixturevalue(f"migrated_{engine}_url")) as home:
        yield home


@BOTH
def test_one_report_counts_for_a_token(home: RunningServer) -> None:
    campaign = created(home, ADDRESS)
    first, second = token(home, campaign, 1), token(home, campaign, 2)
    assert outcomes(report(home, campaign, (1, 0, first))) == (1, 0, [])
    # The same report again is a replay; the token with another report is spent.
    assert outcomes(report(home, campaign, (1, 0, first))) == (0, 1, [])
    assert outcomes(report(home, campaign, (2, 1, first))) == (0, 0, [(0, "token-spent")])
    forged = first[:-1] + bytes([first[-1] ^ 1])
    rows = (3, 1, forged), (4, 1, bytes(32)), (5, 2, second), (5, 2, second), (6, 0, second)
    assert outcomes(report(home, campaign, *rows)) == (
        1, 1, [(0, "token-invalid"), (1, "token-invalid"), (4, "token-spent")],
    )  # fmt: skip
    # A refused report used up neither its id nor, being refused for its payload, its token.
    third = token(home, campaign, 3)
    assert outcomes(report(home, campaign, (7, 9, third))) == (0, 0, [(0, "payload-outside-alphabet")])
    assert outcomes(report(home, campaign, (2, 1, third))) == (1, 0, [])
    task = task_of(home, campaign)
    bare = ReportBatch(task.device_parts[0], task.epoch.to_bytes(2, "big") + bytes(14), b"\0")
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/reports"
    told = home.anonymous.post(path, content=bare.content, headers={"Content-Type": CBOR_MEDIA_TYPE})
    assert outcomes(told) == (0, 0, [(0, "token-invalid")])
    status = home.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert status["rounds"][0]["reports"] == 3
    assert status["gate"] == ADDRESS
    assert status["refusals"] == {"payload-outside-alphabet": 1, "token-invalid": 3, "token-spent": 2}


@BOTH
def test_tokens_end_with_the_round_and_its_estimate_stays(home: RunningServer) -> None:
    campaign = created(home, ADDRESS)
    for number in range(3):
        report(home, campaign, (number, number, token(home, campaign, number))).raise_for_status()
    home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    assert forget_ended(home.database) == []
    assert home.worker().step()
    with home.database.read() as session:
        left = [
            session.scalar(select(func.count()).select_from(each)) for each in (models.SpentToken, models.IssuerSeed)
        ]
    assert left == [0, 0]
    status = home.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert (status["rounds"][0]["state"], status["rounds"][0]["reports"]) == ("estimated", 3)


@BOTH
def test_a_token_counts_once_for_two_processes(home: RunningServer) -> None:
    """Two writers on one database, each with its own connection, race with every token: one report counts for each."""
    campaign, count = created(home, {"kind": "address", "per_day": 100}), 8
    shown = [token(home, campaign, number) for number in range(count)]
    with served(home.database.url.render_as_string(hide_password=False)) as other:

        def send(which: int) -> list[tuple[int, int, list[tuple[int, str]]]]:
            server = (home, other)[which]
            return [outcomes(report(server, campaign, (1000 * which + n, which, shown[n]))) for n in range(count)]

        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(send, range(2)))
    for ours, theirs in zip(*both, strict=True):
        assert sorted([ours[0], theirs[0]]) == [0, 1]
        assert [(0, "token-spent")] in (ours[2], theirs[2])
    assert home.api.get(f"/v1/campaigns/{campaign['id']}/status").json()["rounds"][0]["reports"] == count


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_transaction_that_fails_spends_no_token(home: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = created(home, ADDRESS)
    shown = token(home, campaign, 1)
    with monkeypatch.context() as broken:
        broken.setattr(aggregates, "add_chunk", lambda *given: 1 / 0)
        assert report(home, campaign, (1, 0, shown)).status_code == 500
    assert outcomes(report(home, campaign, (1, 0, shown))) == (1, 0, [])


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_server_that_is_killed_counts_a_token_once(home: RunningServer) -> None:
    """Killed before each statement and commit of the transaction that counts a report, then sent the report again."""
    campaign = created(home, ADDRESS)
    shown, task = token(home, campaign, 1), task_of(home, campaign)
    url, context = home.database.url.render_as_string(hide_password=False), multiprocessing.get_context("fork")
    batch = ReportBatch(task.device_parts[0], task.epoch.to_bytes(2, "big") + bytes(14), b"\1")
    upload, ends = Upload(campaign["id"], 0, batch, ReportTokens((shown[:16],), (True,))), list[int]()
    for point in range(40):
        process = context.Process(target=_count_until_killed, args=(url, upload, point))
        process.start()
        process.join()
        ends.append(process.exitcode or 0)
        if not ends[-1]:
            break
    assert set(ends[:-1]) == {-signal.SIGKILL}
    assert (len(ends) > 5, ends[-1]) == (True, 0)
    # The last process was not killed, and counted it; what is sent again is a replay, with another id it is spent.
    row = (task.epoch.to_bytes(2, "big") + bytes(14), b"\1" + shown)
    path, headers = f"/v1/campaigns/{campaign['id']}/rounds/0/reports", {"Content-Type": CBOR_MEDIA_TYPE}
    again = ReportBatch(task.device_parts[0], *row)
    assert outcomes(home.anonymous.post(path, content=again.content, headers=headers)) == (0, 1, [])
    assert outcomes(report(home, campaign, (9, 1, shown))) == (0, 0, [(0, "token-spent")])
    with home.database.read() as session:
        assert session.scalar(select(func.count()).select_from(models.SpentToken)) == 1


def _count_until_killed(url: str, upload: Upload, point: int) -> None:
    database = Database(url)
    with killed_before(point):
        recorded = database.run(
            "count", lambda session: Ingest(database, ShardAccumulators()).record(session, [upload], 1)
        )
    accepted = recorded.answers[upload]
    os._exit(0 if getattr(accepted, "accepted", 0) == 1 else 1)


def test_tokens_that_wait_stop_no_other_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """While two uploads as large as may be are redeemed, other routes have their threads, and a third is refused."""
    batch = ReportBatch(Digest(bytes(32)), bytes(16 * MAX_REPORTS), bytes(33 * MAX_REPORTS))
    redeemed, go = (batch, ReportTokens.none(MAX_REPORTS)), threading.Event()
    monkeypatch.setattr(Redemption, "_ask", lambda *given: True)
    monkeypatch.setattr(Redemption, "_redeem", lambda *given: redeemed if go.wait(60) else None)

    async def flooded() -> None:
        redemption = Redemption(None)  # type: ignore[arg-type]  # it is not asked
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1
        async with anyio.create_task_group() as uploads:
            for _ in range(2):
                uploads.start_soon(redemption.redeem, "", 0, batch)
            await anyio.wait_all_tasks_blocked()
            try:
                with pytest.raises(ServerError, match="waiting to be redeemed") as refused:
                    await redemption.redeem("", 0, batch)
                with anyio.fail_after(20):
                    assert await anyio.to_thread.run_sync(lambda: "a task") == "a task"
            finally:
                go.set()
        assert refused.value.problem is Problem.OVERLOADED
        assert await redemption.redeem("", 0, batch) == redeemed

    anyio.run(flooded)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_key_of_another_round_or_campaign_makes_no_token(home: RunningServer) -> None:
    campaign, other = created(home, ADDRESS), created(home, ADDRESS, name="others")
    with home.database.read() as session:
        own = issuer_key(session, campaign["id"], 0)
        assert own is not None
        assert issuer_key(session, campaign["id"], 1) is None
    assert key_of(home, campaign) == own.public != key_of(home, other)
    assert outcomes(report(home, campaign, (1, 0, token(home, other, 1)))) == (0, 0, [(0, "token-invalid")])


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_address_has_its_quota_and_a_lost_answer_costs_nothing(
    home: RunningServer, check_problem: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = created(home, ADDRESS)
    elements = [blind(bytes([n]) * 16, ShakeRandomness(n))[1] for n in range(4)]
    for element in (*elements[:3], *elements[:3]):
        ask(home, campaign, element).raise_for_status()
    with monkeypatch.context() as counted:
        # Who has none left does not make the server compute.
        counted.setattr(issuing, "evaluate", lambda *given: 1 / 0)
        refused = ask(home, campaign, elements[3])
    check_problem(refused, Problem.RATE_LIMITED, "3 tokens")
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    home.clock.advance(86_400)
    ask(home, campaign, elements[3]).raise_for_status()


@BOTH
def test_an_account_has_one_token_of_a_round(home: RunningServer, check_problem: Callable[..., Any]) -> None:
    campaign = created(home, {"kind": "account"})
    with home.database.write("keys") as session:
        made = keys.create(session, "backend", Role.ISSUER, home.clock.now(), campaign["id"]).text
        other = created_for_another(session, home)
    mine = {"Authorization": f"Bearer {made}"}
    first = token(home, campaign, 1, b"ada", **mine)
    # The answer was lost: the same request gives the same token. Another one gives none.
    assert token(home, campaign, 1, b"ada", **mine) == first
    _, element = blind(bytes(16), ShakeRandomness(9))
    check_problem(ask(home, campaign, element, b"ada", **mine), Problem.TOKEN_REFUSED, "already")
    assert token(home, campaign, 2, b"grace", **mine) != first
    check_problem(ask(home, campaign, element, b"eve"), Problem.UNAUTHORIZED, "sdo_issuer_")
    check_problem(
        ask(home, campaign, element, b"eve", Authorization=f"Bearer {home.key(Role.ANALYST)}"), Problem.FORBIDDEN
    )
    check_problem(ask(home, campaign, element, b"eve", Authorization=f"Bearer {other}"), Problem.FORBIDDEN, "another")
    check_problem(ask(home, campaign, element, b"", **mine), Problem.INVALID_REQUEST, "name of an account")
    with home.database.read() as session:
        kept = session.scalars(select(models.TokenAccount.account)).all()
    assert len(kept) == 2
    assert all(b"ada" not in bytes(each) for each in kept)


def created_for_another(session: Any, home: RunningServer) -> str:
    """An issuer's key of another campaign: of the row itself, since creating one takes a transaction of its own."""
    row = session.scalars(select(models.Campaign)).first()
    session.add(
        models.Campaign(
            id="f" * 64, name="x", population="x", manifest=row.manifest, state="ready", created_at=row.created_at
        )
    )
    session.flush()
    return keys.create(session, "x", Role.ISSUER, home.clock.now(), "f" * 64).text


def program(folder: Path, body: str) -> Path:
    """The operator's program."""
    path = folder / "hook"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_operators_program_decides(
    migrated_sqlite_url: str, tmp_path: Path, check_problem: Callable[..., Any]
) -> None:
    seen, began = tmp_path / "seen", tmp_path / "began"
    slow = f"sleep 600 & echo $! > {began}; wait"
    body = f'echo "$1 $2 $3" > {seen}\ncase "$(cat)" in good) exit 0;; bad) exit 1;; slow) {slow};; *) exit 3;; esac'
    hook = program(tmp_path, body)
    with served(migrated_sqlite_url, token_hook=hook, token_hook_timeout_s=0.5) as home:
        campaign = created(home, {"kind": "hook"})
        _, element = blind(bytes(16), ShakeRandomness(1))
        check_problem(ask(home, campaign, element, b"bad"), Problem.TOKEN_REFUSED)
        for undecided in (b"broken", b"slow"):
            check_problem(ask(home, campaign, element, undecided), Problem.UNAVAILABLE, "could not decide")
        # What it began is ended with it: nothing is left, or what nobody has asked about.
        for _ in range(300):
            left = subprocess.run(["ps", "-o", "stat=", "-p", began.read_text()], capture_output=True, text=True)
            if not left.stdout.strip() or left.stdout.startswith("Z"):
                break
            time.sleep(0.1)
        else:
            pytest.fail("the program's child goes on")
        ask(home, campaign, element, b"good").raise_for_status()
        assert seen.read_text().split() == [campaign["id"], "0", element.hex()]
        hook.unlink()
        check_problem(ask(home, campaign, element, b"good"), Problem.UNAVAILABLE, "could not decide")


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_has_no_tokens_says_so(home: RunningServer, check_problem: Callable[..., Any]) -> None:
    _, element = blind(bytes(16), ShakeRandomness(1))
    check_problem(ask(home, home.campaign("open"), element), Problem.WRONG_ROUTE, "no tokens")
    check_problem(ask(home, {"id": "0" * 64}, element), Problem.NOT_FOUND)
    campaign = created(home, ADDRESS)
    check_problem(ask(home, campaign, element + element), Problem.INVALID_REQUEST, "one token")
    check_problem(ask(home, campaign, bytes(32)), Problem.INVALID_REQUEST, "not the identity")
    check_problem(ask(home, campaign, element, b"x"), Problem.INVALID_REQUEST, "asks for none")
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/tokens"
    check_problem(home.anonymous.post(path, content=b"x"), Problem.UNSUPPORTED_MEDIA_TYPE)
    broken = home.anonymous.post(path, content=b"x", headers={"Content-Type": CBOR_MEDIA_TYPE})
    check_problem(broken, Problem.MALFORMED_BODY)
    home.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    check_problem(ask(home, campaign, element), Problem.ROUND_NOT_OPEN)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_orders_that_cannot_be_kept_are_refused(home: RunningServer, check_problem: Callable[..., Any]) -> None:
    plan = home.ready_plan()["id"]
    for wrong, mentioned in (
        ({"gate": {"kind": "hook"}}, "SORDINO_TOKEN_HOOK"),
        ({"gate": {"kind": "address"}}, "per_day"),
        ({"gate": {"kind": "account", "per_day": 3}}, "per_day"),
        ({"gate": {"kind": "friend"}}, "gate"),
    ):
        refused = home.api.post("/v1/campaigns", json=TERMS | {"plan_request": plan} | wrong)
        assert refused.status_code == 422, refused.text
        assert mentioned in refused.text
    campaign = created(home, ADDRESS)
    order = {"name": "eu", "role": "aggregator", "campaign": campaign["id"], "source": "eu", "max_reports": 7}
    check_problem(home.api.post("/v1/keys", json=order), Problem.INVALID_REQUEST, "no sums from elsewhere")


@BOTH
def test_a_device_from_joining_to_counting(home: RunningServer, tmp_path: Path) -> None:
    """A real client on a real server: it has its token from joining on, answers without the issuer, and counts once."""
    campaign = created(home, ADDRESS)
    with Client(home.address, ledger=tmp_path / "ledger", caps=CAPS, allow_http=True) as client:
        client.join(campaign["id"])
        with home.database.read() as session:
            before = session.scalar(select(func.count()).select_from(models.SpentToken))
        assert client.answer(campaign["id"], 7.0).status is AnswerStatus.RECORDED
        assert client.flush(now=True).delivered == 1
        assert client.flush(now=True).delivered == 0
    assert before == 0
    status = home.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert (status["rounds"][0]["reports"], status["refusals"]) == (1, {})


def page_of_tokens() -> list[str]:
    """The blocks of Python of docs/tokens.md: an app's, and a backend's."""
    text = (Path(__file__).parents[3] / "docs" / "tokens.md").read_text("utf-8")
    found: list[str] = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


def test_the_page_writes_a_request_as_it_is_read() -> None:
    """For backends in other languages."""
    text = (Path(__file__).parents[3] / "docs" / "tokens.md").read_text("utf-8")
    written = re.findall(r"^```text\n(a4 .*?)^```$", text, re.DOTALL | re.MULTILINE)[0].replace("…", "07" * 32)
    assert TokenRequest.read(bytes.fromhex(written)) == TokenRequest(b"\7" * 32, b"ada")


@pytest.mark.parametrize("engine", ["sqlite"])
def test_devices_behind_all_three_gates(home: RunningServer, tmp_path: Path) -> None:
    """At `account` the app's backend asks; without it, or when it fails, nothing is spent and the answer waits."""
    campaign = created(home, {"kind": "account"})
    with home.database.write("key") as session:
        key = keys.create(session, "backend", Role.ISSUER, home.clock.now(), campaign["id"]).text
    failures = [OSError("the backend is down")] * 2

    backend: Any = {}
    exec(page_of_tokens()[1].replace("https://telemetry.example", home.address).replace("sdo_issuer_…", key), backend)

    def issue(named: str, index: int, element: bytes) -> bytes:
        assert (named, index) == (campaign["id"], 0)
        if failures:
            raise failures.pop()
        answer: bytes = backend["token"]("ada", named, index, element)
        return answer

    with Client(home.address, ledger=tmp_path / "without", caps=CAPS, allow_http=True) as without:
        without.join(campaign["id"])
        with pytest.raises(PlanRefused, match="issue="):
            without.answer(campaign["id"], 7.0)
        assert without.account().lifetime_nano == 0
    with Client(home.address, ledger=tmp_path / "ledger", caps=CAPS, allow_http=True, issue=issue) as client:
        client.join(campaign["id"])
        with pytest.raises(PlanUnavailable, match="the backend is down"):
            client.answer(campaign["id"], 7.0)
        assert client.account().lifetime_nano == 0
        assert client.answer(campaign["id"], 7.0).status is AnswerStatus.RECORDED
        assert client.flush(now=True).delivered == 1
    assert home.api.get(f"/v1/campaigns/{campaign['id']}/status").json()["rounds"][0]["reports"] == 1


@BOTH
def test_the_migration_goes_down_only_without_tokens(home: RunningServer) -> None:
    before = migrations_before_tokens()
    campaign = created(home, ADDRESS)
    with pytest.raises(Exception, match=campaign["id"][:12]):
        migrations.downgrade(home.database, before, lose={"issuer_seeds", "token_accounts", "spent"})


def migrations_before_tokens() -> str:
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(Path(migrations.__file__).parents[3] / "migrations" / "sordino_migrations"))
    found = script.get_revision("202611272330").down_revision
    assert isinstance(found, str)
    return found


def test_a_quota_forgets_addresses_beyond_its_room() -> None:
    quota = AddressQuota(most=2)
    assert [quota.take("c", str(n), 1, bytes([n]), 0) for n in range(3)] == [None] * 3
    assert quota.take("c", "2", 1, b"x", 0) == 86_400
    assert quota.take("c", "0", 1, b"x", 0) is None


def test_a_quota_forgets_addresses_with_many_tokens() -> None:
    """100,000 addresses of 10,000 tokens each would be 150 GB."""
    quota = AddressQuota(most_tokens=5)
    asked = [(str(address), bytes([token])) for address in range(3) for token in range(3)]
    assert [quota.take("c", address, 3, token, 0) for address, token in asked] == [None] * 9
    # The last address that asked has all of its tokens, and those before it were forgotten.
    assert quota.take("c", "2", 3, b"x", 0) == 86_400
    assert quota.take("c", "2", 3, b"\0", 0) is None
    assert [quota.take("c", "0", 3, bytes([token]), 0) for token in (7, 8)] == [None] * 2
    # One address is held to its quota, however large that is.
    assert [quota.take("c", "9", 9, bytes([token]), 0) for token in range(9)] == [None] * 9
    assert quota.take("c", "9", 9, b"x", 0) == 86_400
    assert quota.take("c", "9", 9, b"x", 86_400) is None
