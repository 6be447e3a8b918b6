"""Threads and processes on one ledger file never randomise one round twice."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from sordino_client import AnswerStatus
from sordino_shared.protocol import ReportBatch

WORKERS = 8


def test_threads_that_share_a_client(world, client) -> None:
    campaign = client.join(world.campaign)
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(lambda value: client.answer(campaign, value), ["red", "blue"] * 20))
        list(pool.map(lambda _: client.flush(), range(WORKERS)))
    assert [answer.status for answer in answers].count(AnswerStatus.RECORDED) == 1
    assert len(set(world.bodies)) == 1


def test_threads_with_a_client_each(world, make_client) -> None:
    clients = [make_client() for _ in range(WORKERS)]
    clients[0].join(world.campaign)
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(lambda client: client.answer(world.campaign, "red"), clients))
        list(pool.map(lambda client: client.flush(), clients))
    assert [answer.status for answer in answers].count(AnswerStatus.RECORDED) == 1
    assert len(set(world.bodies)) == 1


def test_the_cap_holds_across_threads(world, make_client) -> None:
    """Twelve campaigns of ε = 1 at once under a cap of 4: exactly four are answered."""
    worlds = [type(world)(world.part, created_at=number) for number in range(12)]
    clients = [make_client(other) for other in worlds]

    def answer(number: int) -> str:
        try:
            return clients[number].answer(clients[number].join(worlds[number].campaign), "red").status.value
        except Exception as error:
            return type(error).__name__

    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes = list(pool.map(answer, range(12)))
    assert sorted(outcomes) == ["BudgetExceeded"] * 8 + ["recorded"] * 4


def test_processes_on_one_ledger(world, make_client, tmp_path) -> None:
    """Forked children race for one round; each writes the bytes it would send."""
    make_client().join(world.campaign)
    children = []
    for number in range(WORKERS):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client = make_client()
                client.answer(world.campaign, "red")
                client.flush()
                (tmp_path / f"sent-{number}").write_bytes(b"".join(world.bodies))
                code = 0
            finally:
                # Also after an error: the child must not go on with the other tests.
                os._exit(code)
        children.append(child)
    assert all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)
    sent = {file.read_bytes() for file in tmp_path.glob("sent-*")} - {b""}
    (body,) = sent
    assert ReportBatch.read(body).count == 1
    assert make_client().account().lifetime_nano == 10**9
