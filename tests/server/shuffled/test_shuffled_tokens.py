"""Tokens behind a shuffler: given to it in batches, redeemed as a batch is opened, each once, whoever dies."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import func, select

from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server import models
from sordino_server.keys import service as keys
from sordino_server.kit.db import Database
from sordino_server.models import Role
from sordino_server.rounds import find
from sordino_server.shuffled.opening import open_batch
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_server.tokens.ends import forget_ended
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem, TokenEvaluations, TokenRequest
from sordino_shared.protocol.sealed import BatchEnd
from sordino_shared.protocol.tokens import token_of
from sordino_shared.randomness import ShakeRandomness
from sordino_shared.tokens import IssuerKey, blind, finalize, redeem
from tests.killed_before import killed_before
from tests.server.shuffled.collected import HOUR, Shuffled, shuffled_campaign

GATE = {"gate": {"kind": "address", "per_day": 3}}
BOTH = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
DEVICES = 60


@pytest.fixture
def shuffled(request: pytest.FixtureRequest, engine: str, tmp_path: Path) -> Iterator[Shuffled]:
    url = request.getfixturevalue(f"migrated_{engine}_url")
    with shuffled_campaign(url, tmp_path / "keys", changes=GATE) as found:
        yield found


@pytest.fixture(scope="module")
def kept(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shuffled]:
    """One campaign for all tests that only ask."""
    folder = tmp_path_factory.mktemp("tokens")
    shutil.copy(sqlite_template, folder / "collector.sqlite3")
    with shuffled_campaign(f"sqlite:///{folder}/collector.sqlite3", folder / "keys", changes=GATE) as found:
        yield found


def ask(shuffled: Shuffled, elements: list[bytes], credential: bytes = b"", key: str | None = "") -> httpx.Response:
    """With the shuffler's key, another, or none."""
    headers = {"Content-Type": CBOR_MEDIA_TYPE}
    if key is not None:
        headers["Authorization"] = f"Bearer {key or shuffled.key}"
    content = TokenRequest(b"".join(elements), credential).content
    path = f"{shuffled.path}/rounds/0/tokens"
    return shuffled.home.anonymous.post(path, content=content, headers=headers)


def tokens(shuffled: Shuffled, count: int, seed: int = 1) -> list[bytes]:
    """As a shuffler gets them: one proof for up to 200, checked against the manifest's key."""
    randomness, found, issuer = ShakeRandomness(seed), list[bytes](), shuffled.manifest.issuer
    assert issuer is not None
    while len(found) < count:
        secrets = [randomness.bytes(16) for _ in range(min(200, count - len(found)))]
        drawn = [blind(secret, randomness) for secret in secrets]
        answer = ask(shuffled, [element for _, element in drawn]).raise_for_status()
        given = TokenEvaluations.read(answer.content)
        outputs = finalize(secrets, [scalar for scalar, _ in drawn], given.elements(), given.proof, issuer.keys[0])
        found += map(token_of, secrets, outputs)
    return found


def made(shuffled: Shuffled, count: int) -> list[bytes]:
    """Tokens of the round by its key itself, for tests in which asking is not the point: in a fifth of the time."""
    from sordino_server.tokens.issuer import issuer_key

    with shuffled.home.database.read() as session:
        key = issuer_key(session, shuffled.campaign["id"], 0)
    assert key is not None
    secrets = [number.to_bytes(16, "big") for number in range(count)]
    return [token_of(secret, redeem(key, secret)) for secret in secrets]


def sealed(shuffled: Shuffled, payloads: Any, shown: list[bytes]) -> list[bytes]:
    part = shuffled.home.device_part(shuffled.campaign)
    rows = [payload.tobytes() for payload in payloads]
    return [shuffled.seal(row + token, part.digest) for row, token in zip(rows, shown, strict=True)]


def batch(shuffled: Shuffled, shown: list[bytes], seed: int = 5) -> list[bytes]:
    """Reports of devices with these tokens, of which the last m are for the blanket."""
    part, blanket = shuffled.home.device_part(shuffled.campaign), shuffled.route.blanket
    devices = randomize_many(part.randomizer, np.zeros(len(shown) - blanket, dtype=int), SeededRandomness(seed))
    random = draw_blanket(part.randomizer, blanket, SeededRandomness(seed + 1))
    return sealed(shuffled, devices, shown[:-blanket]) + sealed(shuffled, random, shown[-blanket:])


@BOTH
def test_one_report_counts_for_each_token(shuffled: Shuffled) -> None:
    """Cheats leave the count, and are counted: the estimate is of the honest devices, without the whole blanket."""
    blanket, part = shuffled.route.blanket, shuffled.home.device_part(shuffled.campaign)
    shown = tokens(shuffled, 2) + made(shuffled, DEVICES - 2 + blanket)
    reports = batch(shuffled, shown)
    of_another = IssuerKey.derived(bytes(32), b"another round")
    unused = b"\xff" * 16
    wrong = [
        unused[1:] + bytes(17),
        shown[0][:31] + bytes([shown[0][31] ^ 1]),
        token_of(unused, redeem(of_another, unused)),
    ]
    # Twice for a token of its own; of the two of one token that come last, either counts.
    twice = [shown[0], shown[1], shown[1]]
    cheats = randomize_many(part.randomizer, np.ones(len(wrong + twice), dtype=int), SeededRandomness(9))
    reports += sealed(shuffled, cheats, [*wrong, *twice])
    reports.append(shuffled.seal(bytes(part.randomizer.payload_bytes) + made(shuffled, 1)[0], part.digest))
    shuffled.release(reports)
    shuffled.end()
    status = shuffled.status()
    assert status["rounds"][0]["reports"] == DEVICES + blanket
    refusals = status["refusals"]
    assert refusals.pop("payload-outside-alphabet", 0) + refusals["token-spent"] == 4
    assert refusals["token-invalid"] == len(wrong)
    estimate = shuffled.home.api.get(f"{shuffled.path}/rounds/0/estimates").raise_for_status().json()
    assert (estimate["terms"]["users"], estimate["extras"]["blanket"]) == (DEVICES, blanket)
    shown_batch = shuffled.home.api.get(f"{shuffled.path}/rounds/0/batch").raise_for_status().json()
    assert shown_batch["refused"] == 7
    with shuffled.home.database.read() as session:
        for table in (models.SpentToken, models.IssuerSeed):
            assert session.scalar(select(func.count()).select_from(table)) == 0


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_counts_each_token_once(shuffled: Shuffled) -> None:
    """Killed before statements and commits of opening, at ever later points, until one comes to the end."""
    blanket = shuffled.route.blanket
    shown = made(shuffled, 50 + blanket)
    reports = batch(shuffled, shown) + batch(shuffled, shown, seed=8)[:3]
    shuffled.release(reports)
    shuffled.home.clock.advance(HOUR)
    url, context = shuffled.home.database.url.render_as_string(hide_password=False), multiprocessing.get_context("fork")
    shuffled.home.worker().step()
    ends = list[int]()
    for point in range(0, 400, 5):
        process = context.Process(
            target=_open_until_killed, args=(url, shuffled.folder, shuffled.campaign["id"], point)
        )
        process.start()
        process.join()
        ends.append(process.exitcode or 0)
        if not ends[-1]:
            break
    assert set(ends[:-1]) == {-signal.SIGKILL}
    assert (len(ends) > 5, ends[-1]) == (True, 0)
    with shuffled.home.database.read() as session:
        spent = session.scalar(select(func.count()).select_from(models.SpentToken))
    assert spent == 50 + blanket
    status = shuffled.status()
    assert (status["rounds"][0]["reports"], status["refusals"]) == (50 + blanket, {"token-spent": 3})


def _open_until_killed(url: str, folder: Path, campaign: str, point: int) -> None:
    database = Database(url)
    with database.read("find") as session:
        row = find(session, campaign, 0)
        assert row is not None
    with killed_before(point):
        open_batch(database, row, RoundKeys(folder), 1)
    os._exit(0)


def test_devices_and_backends_ask_whom_they_may(kept: Shuffled, check_problem: Callable[..., Any]) -> None:
    _, element = blind(bytes(16), ShakeRandomness(1))
    check_problem(ask(kept, [element], key=None), Problem.WRONG_ROUTE, "https://mix.example")
    with kept.home.database.write("keys") as session:
        issuer = keys.create(session, "backend", Role.ISSUER, kept.home.clock.now(), kept.campaign["id"]).text
    check_problem(ask(kept, [element], key=issuer), Problem.WRONG_ROUTE, "https://mix.example")
    check_problem(ask(kept, [element], key=kept.home.key(Role.ANALYST)), Problem.FORBIDDEN)
    check_problem(ask(kept, [element], key="sdo_shuffler_x_y"), Problem.UNAUTHORIZED)
    check_problem(ask(kept, [element, bytes(32)]), Problem.INVALID_REQUEST, "not the identity")
    # No quota holds a shuffler, which counts devices itself; but the same element is answered only so often.
    for _ in range(16):
        ask(kept, [element]).raise_for_status()
    check_problem(ask(kept, [element]), Problem.RATE_LIMITED, "too often")
    ask(kept, [blind(bytes(16), ShakeRandomness(2))[1]]).raise_for_status()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_tokens_of_random_reports_are_given_after_the_end_until_nothing_comes(
    shuffled: Shuffled, check_problem: Callable[..., Any]
) -> None:
    _, element = blind(bytes(16), ShakeRandomness(1))
    shuffled.home.clock.advance(HOUR)
    shuffled.home.worker().step()
    assert shuffled.status()["rounds"][0]["state"] == "closed"
    ask(shuffled, [element]).raise_for_status()
    # The shuffler released nothing: no token of the round counts any more.
    assert shuffled.state(shuffled.statement([], BatchEnd.MISSED)).status_code == 201
    said = shuffled.home.api.get(f"{shuffled.path}/rounds/0/batch").raise_for_status().json()
    assert "got no tokens" in str(said)
    assert forget_ended(shuffled.home.database) == [(shuffled.campaign["id"], 0)]
    check_problem(ask(shuffled, [element]), Problem.ROUND_NOT_OPEN)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_batch_whose_key_of_tokens_is_lost_waits_for_its_backup(shuffled: Shuffled) -> None:
    shuffled.release(batch(shuffled, made(shuffled, 50 + shuffled.route.blanket)))
    with shuffled.home.database.write("lose") as session:
        session.delete(session.scalars(select(models.IssuerSeed)).one())
    shuffled.end()
    assert "restore the database" in shuffled.status()["rounds"][0]["error"]


def test_a_series_has_no_tokens(kept: Shuffled) -> None:
    order = {"name": "x", "purpose": "We ask how late you were.", "population": "travellers", **GATE}
    order |= {"plan_request": "0" * 32, "series": {"slots": 1, "answers_max": 1}}
    refused = kept.home.api.post("/v1/campaigns", json=order)
    assert refused.status_code == 422
    assert "how many periods" in refused.text
