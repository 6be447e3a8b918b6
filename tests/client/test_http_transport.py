"""The standard library's transport over real connections: kept, cut, lied to, cancelled, forked, behind a proxy."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from sordino_client import AsyncHttpTransport, HttpTransport, Request, TransportFailed, WrongArgument
from sordino_client import _http_transport as trust
from sordino_shared.errors import OversizedDocument

ASK = Request(method="GET", path="/v1/x", limit=1000)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Answer = bytes | Callable[[socket.socket], None]


class Server:
    """Answers the requests of a connection one after the other, by a script for each connection."""

    def __init__(self, *scripts: list[Answer]) -> None:
        self.scripts = list(scripts)
        self.heads: list[list[bytes]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        for script in self.scripts:
            with suppress(OSError):
                connection, _ = self._listener.accept()
                heads: list[bytes] = []
                self.heads.append(heads)
                threading.Thread(target=self._answer, args=(connection, script, heads), daemon=True).start()

    def _answer(self, connection: socket.socket, script: list[Answer], heads: list[bytes]) -> None:
        with connection, suppress(OSError):
            for answer in script:
                received = b""
                while b"\r\n\r\n" not in received:
                    if not (piece := connection.recv(65536)):
                        return
                    received += piece
                heads.append(received)
                if callable(answer):
                    answer(connection)
                else:
                    connection.sendall(answer)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(*scripts: list[Answer]) -> Server:
        started.append(Server(*scripts))
        return started[-1]

    yield start
    for server in started:
        server.close()


def test_one_connection_is_kept(serve) -> None:
    server = serve([OK, OK, OK])
    transport = HttpTransport(server.address)
    assert [transport.send(ASK).content for _ in range(3)] == [b"ok"] * 3
    transport.close()
    assert [len(heads) for heads in server.heads] == [3]


def test_the_headers_are_these_and_no_others(serve) -> None:
    server = serve([OK, OK])
    transport = HttpTransport(server.address)
    transport.send(ASK)
    transport.send(Request(method="POST", path="/v1/y?a=b", limit=9, body=b"abc", authorization="Bearer t"))
    host = server.address.removeprefix("http://")
    fixed = f"Host: {host}\r\nUser-Agent: sordino/1\r\nAccept: application/cbor\r\nAccept-Encoding: gzip\r\n"
    assert server.heads[0][0].decode() == f"GET /v1/x HTTP/1.1\r\n{fixed}\r\n"
    sent = f"POST /v1/y?a=b HTTP/1.1\r\n{fixed}Content-Type: application/cbor\r\nAuthorization: Bearer t\r\n"
    assert server.heads[0][1].decode().removesuffix("abc") == f"{sent}Content-Length: 3\r\n\r\n"


def test_a_kept_connection_that_the_server_closed_costs_one_more_try(serve) -> None:
    server = serve([OK, lambda connection: connection.close()], [OK])
    transport = HttpTransport(server.address)
    assert transport.send(ASK).content == transport.send(ASK).content == b"ok"
    assert len(server.heads) == 2


def test_a_new_connection_that_is_closed_is_not_tried_again(serve) -> None:
    server = serve([lambda connection: connection.close()], [OK])
    with pytest.raises(TransportFailed, match="did not answer"):
        HttpTransport(server.address).send(ASK)
    assert len(server.heads) == 1


def test_a_connection_that_waited_for_long_is_not_used(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve([OK, OK], [OK])
    transport = HttpTransport(server.address)
    transport.send(ASK)
    late = time.monotonic() + 60
    monkeypatch.setattr("sordino_client._http_transport.time.monotonic", lambda: late)
    assert transport.send(ASK).content == b"ok"
    assert [len(heads) for heads in server.heads] == [1, 1]


LIES = {
    "shorter than it says": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
    "no number": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nok",
    "a negative number": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nok",
    "a chunk that ends early": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
    "a chunk of no length": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nok",
    "no head": b"\r\n\r\n",
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "an endless head": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
}


# Without a length an answer ends with its connection.
UNTOLD = ("no number", "a negative number")


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_lengths_is_no_answer_and_leaves_no_connection(serve, lie: str) -> None:
    """The rest of such an answer is never read as the next one."""

    lying = False

    def say(connection: socket.socket) -> None:
        connection.sendall(LIES[lie] if lying else OK)
        if lying:
            connection.shutdown(socket.SHUT_WR)

    server = serve(*([say] * 3 for _ in range(4)))
    transport = HttpTransport(server.address)
    transport.send(ASK)
    lying = True
    if lie in UNTOLD:
        assert transport.send(ASK).content == b"ok"
    else:
        with pytest.raises(TransportFailed):
            transport.send(ASK)
    lying = False
    assert transport.send(ASK).content == b"ok"
    assert len(server.heads[0]) == 2


TOO_LONG = {
    "by its length": b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n" + bytes(5_000_000),
    "in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + bytes(1024) + b"\r\n0\r\n\r\n",
    "to its end": b"HTTP/1.1 200 OK\r\n\r\n" + bytes(3000),
}


@pytest.mark.parametrize("form", TOO_LONG)
def test_after_an_answer_that_is_too_long_the_next_one_is_the_next_one(serve, form: str) -> None:
    server = serve([TOO_LONG[form], OK], [OK])
    transport = HttpTransport(server.address)
    with pytest.raises(OversizedDocument):
        transport.send(ASK)
    assert transport.send(ASK).content == b"ok"
    assert [len(heads) for heads in server.heads] == [1, 1]


def test_a_server_that_closes_is_not_kept(serve) -> None:
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    server = serve([closing], [closing])
    transport = HttpTransport(server.address)
    assert transport.send(ASK).content == transport.send(ASK).content == b"ok"


def test_a_redirect_is_an_answer_and_cookies_are_dropped(serve) -> None:
    moved = b"HTTP/1.1 307 X\r\nLocation: http://a.example/\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    server = serve([moved, OK])
    transport = HttpTransport(server.address)
    assert transport.send(ASK).status == 307
    transport.send(ASK)
    assert b"ookie" not in server.heads[0][1]


def test_threads_that_send_at_once_have_a_connection_each(serve) -> None:
    def slow(connection: socket.socket) -> None:
        time.sleep(0.2)
        connection.sendall(OK)

    server = serve([slow, OK], [slow, OK], [slow, OK])
    transport, found = HttpTransport(server.address), []
    threads = [threading.Thread(target=lambda: found.append(transport.send(ASK).content)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"ok"] * 3
    assert transport.send(ASK).content == b"ok"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a machine that forks")
def test_a_forked_child_has_a_connection_of_its_own(serve) -> None:
    server = serve([OK, OK], [OK])
    transport = HttpTransport(server.address)
    transport.send(ASK)
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            os._exit(0 if transport.send(ASK).content == b"ok" else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert transport.send(ASK).content == b"ok"
    assert [len(heads) for heads in server.heads] == [2, 1]


def test_a_cancelled_task_cuts_its_connection(serve) -> None:
    """The thread that waits is let go at once, and the server sees the end."""
    asked, ended = threading.Event(), threading.Event()

    def wait(connection: socket.socket) -> None:
        asked.set()
        connection.settimeout(30)
        if connection.recv(1) == b"":
            ended.set()

    server = serve([wait], [OK])

    async def run() -> bytes:
        transport = AsyncHttpTransport(server.address)
        task = asyncio.create_task(transport.send(ASK))
        await asyncio.to_thread(asked.wait, 30)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return (await transport.send(ASK)).content

    assert asyncio.run(run()) == b"ok"
    assert ended.wait(30)


def test_a_proxy_is_asked_for_the_whole_address(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve([OK], [OK])
    HttpTransport("http://a.example", allow_http=True, proxy=server.address).send(ASK)
    monkeypatch.setenv("http_proxy", server.address.replace("//", "//me:secret@"))
    monkeypatch.delenv("no_proxy", raising=False)
    HttpTransport("http://a.example", allow_http=True, proxy="environment").send(ASK)
    assert [heads[0].split(b"\r\n")[0] for heads in server.heads] == [b"GET http://a.example/v1/x HTTP/1.1"] * 2
    assert b"Proxy-Authorization" not in server.heads[0][0]
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in server.heads[1][0]


def test_a_proxy_leads_on_to_https_or_says_why_not(serve) -> None:
    refused = b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
    server = serve([refused])
    with pytest.raises(TransportFailed, match=r"answers 403 when it shall lead to a\.example:443"):
        HttpTransport("https://a.example", proxy=server.address).send(ASK)
    assert server.heads[0][0].startswith(b"CONNECT a.example:443 HTTP/1.1\r\n")


@pytest.mark.parametrize("proxy", ["https://a.example", "socks5://a.example", "http://", "http://a:b:c"])
def test_other_proxies_are_refused(proxy: str) -> None:
    with pytest.raises(WrongArgument, match="proxy is http://host:port"):
        HttpTransport("https://a.example", proxy=proxy)


def test_the_environment_is_not_looked_at_by_itself(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve([OK])
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert HttpTransport(server.address).send(ASK).content == b"ok"


def test_a_machine_without_authorities_says_which_packages_have_some(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(trust.ssl, "create_default_context", lambda cafile=None: cafile or bare)
    nowhere = ssl.DefaultVerifyPaths(None, None, "", "", "", "")
    monkeypatch.setattr(trust.ssl, "get_default_verify_paths", lambda: nowhere)

    def import_nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(trust, "import_module", import_nothing)
    with pytest.raises(TransportFailed, match="truststore, or certifi"):
        HttpTransport("https://127.0.0.1:9").send(ASK)
    certifi = type("certifi", (), {"where": staticmethod(lambda: "of certifi")})
    monkeypatch.setattr(trust, "import_module", lambda name: import_nothing(name) if name == "truststore" else certifi)
    assert trust.trusted_authorities() == "of certifi"


def test_hosts_are_written_in_ascii() -> None:
    with pytest.raises(WrongArgument, match=r"for bücher\.example write xn--bcher-kva\.example"):
        HttpTransport("https://bücher.example")
    assert HttpTransport("HTTPS://A.Example:443/")._text == "https://a.example"
    assert HttpTransport("https://a.example:8443/x/")._text == "https://a.example:8443/x"


def test_a_flush_with_a_deadline_bounds_all_of_its_requests(world, make_client) -> None:
    """A request to a silent server may take two minutes; the deadline of the whole is shorter."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        client = make_client()
        client.answer(client.join(world.campaign), "red")
        client._transport = HttpTransport(address)
        begun = time.monotonic()
        flushed = client.flush(deadline_s=0.3)
        assert flushed.waiting == 1
        assert "longer than" in str(flushed.trouble)
        assert time.monotonic() - begun < 20
