"""`python -m sordino_client.send`: a process of its own sends what waits, once, while the tool ends."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sordino_client import Caps, Client, Request
from sordino_client.send import main, origins
from sordino_client.testing import Categorical, Domain, FakeServer
from tests.patience import PATIENCE_S

OS = Domain((Categorical("os", ("linux", "macos"), other=True),))
CAPS = Caps.of(1, days=28, lifetime=12)


@contextmanager
def served(fake: FakeServer) -> Iterator[tuple[str, list[str]]]:
    """The fake server behind real HTTP: its address, and the tokens that came."""
    tokens: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            if body is not None:
                tokens.append(self.headers.get("Authorization", ""))
            answer = fake.send(Request(method=self.command, path=self.path, limit=1 << 22, body=body))
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(answer.content))}.items():
                if name != "date":
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = _answer

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", tokens
    server.shutdown()
    server.server_close()


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer(OS, now=int(time.time()))


def answered(address: str, fake: FakeServer, ledger: Path | str, **given: str) -> Client:
    client = Client(address, ledger=ledger, caps=CAPS, allow_http=True, **given)
    client.answer(client.join(fake.campaign), "linux")
    return client


def test_a_detached_process_sends_after_the_tool_has_ended(fake, tmp_path, monkeypatch) -> None:
    # `-m` alone would import a package of this name from the current folder.
    (tmp_path / "sordino_client").mkdir()
    (tmp_path / "sordino_client" / "__init__.py").write_text("raise SystemExit('the folder of somebody else')")
    monkeypatch.chdir(tmp_path)
    with served(fake) as (address, tokens):
        with answered(address, fake, tmp_path / "ledger", upload_token="sdo_secret") as client:
            assert client.send_detached()
        until = time.monotonic() + PATIENCE_S
        while not fake.received and time.monotonic() < until:
            time.sleep(0.05)
        assert len(fake.received) == 1
        assert tokens == ["Bearer sdo_secret"]
        with Client(address, ledger=tmp_path / "ledger", caps=CAPS, allow_http=True) as client:
            while (left := client.flush(patience_s=0)).waiting and time.monotonic() < until:
                time.sleep(0.05)
            # Sent once: the other process has written that down.
            assert not left.waiting
            assert not client.send_detached()
        assert len(fake.received) == 1


def test_no_process_is_started_where_none_can_send(fake, tmp_path, monkeypatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **more: started.append(given))
    with fake.client(ledger=tmp_path / "own") as client:
        client.answer(client.join(fake.campaign), "linux")
        assert not client.send_detached()
    with served(fake) as (address, _):
        with answered(address, fake, ":memory:") as client:
            assert not client.send_detached()
        with answered(address, fake, tmp_path / "ledger") as client:
            monkeypatch.setattr(sys, "frozen", True, raising=False)
            assert not client.send_detached()
            monkeypatch.setattr(sys, "frozen", False)
            monkeypatch.setattr(sys, "executable", "")
            assert not client.send_detached()
    assert started == []


def test_a_process_that_ends_at_once_is_no_error_of_the_tool(fake, tmp_path, monkeypatch) -> None:
    """A program that brings its own interpreter may have another `sys.executable`, which reads no token."""

    class Ended:
        stdin = None

        def __init__(self, *given: object, **more: object) -> None:
            reading, writing = os.pipe()
            os.close(reading)
            self.stdin = os.fdopen(writing, "wb")

    with (
        served(fake) as (address, _),
        answered(address, fake, tmp_path / "ledger", upload_token="sdo_secret") as client,
    ):
        monkeypatch.setattr(subprocess, "Popen", Ended)
        assert not client.send_detached()


def test_a_token_goes_to_one_server_alone(fake, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("sdo_secret"))
    with served(fake) as (address, tokens):
        answered(address, fake, tmp_path / "ledger").close()
        with pytest.raises(SystemExit) as ended:
            main([str(tmp_path / "ledger"), "--allow-http", "--token"])
        assert ended.value.code == 2
        assert "--token goes with --address" in capsys.readouterr().err
        assert tokens == []
        assert main([str(tmp_path / "ledger"), "--allow-http", "--address", address, "--token"]) == 0
    assert tokens == ["Bearer sdo_secret"]


def test_the_command_sends_for_every_server_of_a_ledger(fake, tmp_path, capsys) -> None:
    other = FakeServer(OS, name="another", now=int(time.time()))
    ledger = tmp_path / "ledger"
    caps = Caps.of(2, days=28, lifetime=12)
    with served(fake) as (first, _), served(other) as (second, _):
        for address, server in ((first, fake), (second, other)):
            with Client(address, ledger=ledger, caps=caps, allow_http=True) as client:
                client.answer(client.join(server.campaign), "linux")
        assert origins(ledger) == sorted([first, second])
        assert main([str(ledger), "--allow-http"]) == 0
        assert capsys.readouterr().out.count("1 report delivered") == 2
    assert (len(fake.received), len(other.received)) == (1, 1)


def test_the_command_says_what_waits_and_what_is_no_ledger(fake, tmp_path, capsys) -> None:
    with served(fake) as (address, _):
        answered(address, fake, tmp_path / "ledger").close()
        fake.fail(503, times=9)
        assert main([str(tmp_path / "ledger"), "--allow-http"]) == 1
        assert "1 waiting; the last try, at" in capsys.readouterr().out
    assert main([str(tmp_path / "absent")]) == 2
    assert "there is no ledger" in capsys.readouterr().err
    assert not (tmp_path / "absent").exists()
    (tmp_path / "text").write_text("no ledger" * 100)
    assert main([str(tmp_path / "text")]) == 2
    assert os.path.getsize(tmp_path / "text") == 900
