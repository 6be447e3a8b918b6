"""A client that sends by itself: over real connections, in real threads and processes."""

from __future__ import annotations

import dataclasses
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from sordino_client import AnswerStatus, AsyncClient, AsyncHttpxTransport, Caps, Client, PureEpsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import RetryWindow
from tests.patience import PATIENCE_S

CAPS = Caps(PureEpsilon.of(100), 30, PureEpsilon.of(100))


class Server:
    """Worlds behind one address; knows which campaigns each connection carried reports of."""

    def __init__(self) -> None:
        self.worlds = {}
        self.uploads = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                campaign = self.path.split("/")[3]
                world = served.worlds.get(campaign) or next(iter(served.worlds.values()))
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.command == "POST":
                    served.uploads.append((self.client_address, campaign, body))
                response = world.handle(httpx.Request(self.command, f"http://a{self.path}", content=body))
                self.send_response(response.status_code)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(response.content)

            do_POST = do_GET

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def campaigns(self, make_world, count: int, retry: RetryWindow) -> list[str]:
        for number in range(count):
            world = make_world(created_at=number)
            world.task = dataclasses.replace(world.task, retry=retry)
            self.worlds[str(world.campaign)] = world
        return list(self.worlds)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def wait_for(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.05)


def states(client: Client) -> Counter[str]:
    return Counter(entry.state for campaign in client.account().campaigns for entry in campaign.entries)


def times(ledger) -> list[float]:
    """When the waiting reports are due."""
    with sqlite3.connect(ledger) as connection:
        rows = connection.execute("SELECT not_before FROM reports WHERE state = 'spooled' ORDER BY not_before")
        return [time for (time,) in rows]


def test_every_campaign_goes_by_itself_over_its_own_connection(server, make_world, ledger) -> None:
    campaigns = server.campaigns(make_world, 3, RetryWindow(0, 3))
    with Client(server.address, ledger=ledger, caps=CAPS, background=True) as client:
        for campaign in campaigns:
            assert client.answer(client.join(campaign), "red").status is AnswerStatus.RECORDED
        wait_for(lambda: states(client)["delivered"] == 3, "three settled reports")
    assert Counter(campaign for _, campaign, _ in server.uploads) == dict.fromkeys(campaigns, 1)
    assert len({peer for peer, _, _ in server.uploads}) == 3


def test_nothing_goes_before_its_time_and_nothing_at_exit(server, make_world, ledger) -> None:
    """A process that ends with a report in its window sends nothing; the report waits for the next start."""
    (campaign,) = server.campaigns(make_world, 1, RetryWindow(3600, 7200))
    code = f"""
from sordino_client import Caps, Client, PureEpsilon
caps = Caps(PureEpsilon.of(100), 30, PureEpsilon.of(100))
client = Client({server.address!r}, ledger={str(ledger)!r}, caps=caps, background=True)
print(client.answer(client.join({campaign!r}), "red").status.value)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (run.returncode, run.stdout, run.stderr) == (0, "recorded\n", "")
    assert server.uploads == []
    assert 3000 < times(ledger)[0] - time.time() <= 7200


def test_of_campaigns_that_are_due_at_once_one_goes_and_the_others_draw_new_times(server, make_world, ledger) -> None:
    """What waited while the app was closed does not go in one burst, and something goes at every start."""
    campaigns = server.campaigns(make_world, 3, RetryWindow(3600, 7200))
    with Client(server.address, ledger=ledger, caps=CAPS) as client:
        for campaign in campaigns:
            client.answer(client.join(campaign), "red")
    with Client(server.address, ledger=ledger, caps=CAPS, background=True) as client:
        wait_for(lambda: len(server.uploads) == 1, "one upload")
        wait_for(lambda: states(client)["delivered"] == 1, "one settled report")
        assert states(client)["spooled"] == 2
    first, second = times(ledger)
    assert 3000 < first - time.time() < second - time.time() <= 7200
    assert len(server.uploads) == 1


def test_a_forked_child_answers_and_its_parent_sends_once(server, make_world, ledger) -> None:
    """Several forks while the thread is at work: no child hangs on a lock, and no report goes twice."""
    *campaigns, last = server.campaigns(make_world, 5, RetryWindow(0, 0))
    code = f"""
import os, sys
from sordino_client import Caps, Client, PureEpsilon
caps = Caps(PureEpsilon.of(100), 30, PureEpsilon.of(100))
client = Client({server.address!r}, ledger={str(ledger)!r}, caps=caps, background=True)
for campaign in {[*campaigns, last]!r}:
    client.join(campaign)
for number, campaign in enumerate({campaigns!r}):
    child = os.fork()
    if child == 0:
        status = client.answer(campaign, "red").status.value
        client.close()
        sys.exit(0 if status == "recorded" else 1)
    assert os.waitpid(child, 0)[1] == 0
client.answer({last!r}, "red")  # The thread looks once a minute; this wakes it.
print("forked", flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "forked\n"
        wait_for(lambda: len(server.uploads) >= 5, "five uploads")
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
    assert Counter(campaign for _, campaign, _ in server.uploads) == dict.fromkeys([*campaigns, last], 1)


def test_leaving_everything_stops_the_thread_too(server, make_world, ledger) -> None:
    campaigns = server.campaigns(make_world, 2, RetryWindow(3, 4))
    with Client(server.address, ledger=ledger, caps=CAPS, background=True) as client:
        client.answer(client.join(campaigns[0]), "red")
        client.opt_out_all()
        time.sleep(4.5)
        assert server.uploads == []
        assert client.account().campaigns[0].entries[0].state == "deleted"


@pytest.mark.asyncio
async def test_the_twin_sends_by_itself_as_well(server, make_world, ledger) -> None:
    (campaign,) = server.campaigns(make_world, 1, RetryWindow(0, 0))
    async with AsyncClient(server.address, ledger=ledger, caps=CAPS, background=True) as client:
        await client.answer(await client.join(campaign), "red")
        wait_for(lambda: len(server.uploads) == 1, "one upload")


def test_a_ledger_in_memory_and_a_transport_of_its_own_are_refused(ledger) -> None:
    with pytest.raises(InvalidValue, match="ledger in a file"):
        Client("https://a.example", ledger=":memory:", caps=CAPS, background=True)
    transport = AsyncHttpxTransport("https://a.example")
    with pytest.raises(InvalidValue, match="own transport"):
        AsyncClient("https://a.example", ledger=ledger, caps=CAPS, background=True, transport=transport)


def test_importing_the_sdk_imports_neither_httpx_nor_asyncio() -> None:
    """They take longer than all the rest; the first request imports them."""
    slow = {"httpx", "httpcore", "asyncio", "ssl", "email"}
    code = f"import sys, sordino_client; print(*sorted(set(sys.modules) & {slow!r}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert run.stdout == "\n"
