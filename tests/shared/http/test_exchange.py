"""One request to a server that says anything: bounded in bytes, memory and time, and one sentence when it fails."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from tempfile import SpooledTemporaryFile

import pytest

from sordino_shared.errors import InvalidValue, NoAnswer, OversizedDocument, UnreadableBody
from sordino_shared.http.address import Address
from sordino_shared.http.connection import Proxy
from sordino_shared.http.environment import proxy_for
from sordino_shared.http.exchange import MOST_PROBLEM, HttpRequest, HttpServer
from tests.hostile_http import Script, answers, drips, endless, hostile_servers, nested

LIMIT = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def serve() -> Iterator[Callable[[Script], str]]:
    with hostile_servers() as start:
        yield start


def ask(address: str, path: str = "/v1/x", within_s: float = 60.0, **terms: object):
    request = HttpRequest(method="GET", path=path, limit=LIMIT, within_s=within_s, **terms)
    return HttpServer(address=Address.parse(address)).exchange(request)


def test_a_whole_answer_is_read_plain_packed_and_in_chunks(serve) -> None:
    document = bytes(range(256)) * (LIMIT // 256)
    assert ask(serve(answers(document))).content() == document
    assert ask(serve(answers(gzip.compress(document), "GZip"))).content() == document
    assert ask(serve(endless_chunks(3))).content() == b"abc" * 3
    until_close = serve(lambda connection, _: connection.sendall(HEAD + b"\r\nuntil the end"))
    assert ask(until_close).content() == b"until the end"
    answer = ask(serve(answers(b"", status="404 Not Found\r\nX-A: 1\r\nX-a: 2")))
    assert (answer.status, answer.content(), answer.headers["x-a"]) == (404, b"", "2")


def endless_chunks(pieces: int) -> Script:
    body = b"3\r\nabc\r\n" * pieces + b"0\r\n\r\n"
    return lambda connection, _: connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body)


REFUSED = {
    "one gzip of zeros": (answers(nested(1, 8 << 20), "gzip"), OversizedDocument, "at most 1048576"),
    "three codings": (answers(nested(3, 8 << 20), "gzip, gzip, gzip"), UnreadableBody, "at most one gzip"),
    "two headers": (answers(nested(2, 8 << 20), "gzip\r\nContent-Encoding: gzip"), UnreadableBody, "one gzip"),
    "another coding": (answers(b"x", "br"), UnreadableBody, "'br'"),
    "plain": (answers(bytes(LIMIT + 1)), OversizedDocument, "at most"),
    "flood": (endless(HEAD + b"\r\n", b" " * 65536), OversizedDocument, "at most"),
    "cut": (answers(b"abc", status="200 OK\r\nContent-Length: 9\r\nX: "), NoAnswer, "ends 6 bytes before"),
    "cut chunks": (answers(b"", status="200 OK\r\nTransfer-Encoding: chunked\r\nX: "), NoAnswer, "IncompleteRead"),
    "cut gzip": (answers(gzip.compress(b"hello")[:-3], "gzip"), UnreadableBody, "ends before its end"),
    "a head without end": (endless(HEAD, b"X: y\r\n" * 1000), NoAnswer, "head"),
    "a line without end": (endless(HEAD + b"X: ", b"y" * 65536), NoAnswer, "head"),
    "more tries": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), NoAnswer, "head"),
    "no HTTP": (endless(b"", b"SSH-2.0-x\r\n"), NoAnswer, "SSH"),
    "nothing": (lambda connection, _: None, NoAnswer, "without response"),
    "a large problem": (answers(bytes(MOST_PROBLEM + 1), status="500 X"), OversizedDocument, "at most"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_answer_is_refused(serve, case: str) -> None:
    script, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask(serve(script))


DRIPS = {
    "head": drips(b"HTTP/1.1 200 OK\r\nX: ", b"a", b"\r\nContent-Length: 0\r\n\r\n"),
    "body": drips(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n", b"a", b""),
    "chunks": drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", b"0\r\n\r\n"),
    "status lines": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("what", DRIPS)
def test_the_whole_request_has_a_deadline(serve, what: str) -> None:
    """The server would send a whole answer after 10 s, never pausing for as long as a wait may take."""
    with pytest.raises(NoAnswer, match=r"took longer than 0\.5 s"):
        ask(serve(DRIPS[what]), within_s=0.5)


@pytest.mark.parametrize("stuck", ["name", "handshake", "request"])
def test_a_deadline_holds_before_the_answer_too(serve, stuck: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that hangs, a server that takes connections and says nothing, one that does not read a body."""
    over = threading.Event()
    silent = serve(lambda connection, _: over.wait(60) and None)
    if stuck == "name":
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60) and [])
    address = silent.replace("http:", "https:") if stuck == "handshake" else silent
    content = bytes(64 << 20) if stuck == "request" else None
    try:
        with pytest.raises(NoAnswer, match=r"took longer than 0\.5 s"):
            ask(address, within_s=0.5, content=content)
    finally:
        over.set()


def test_what_is_refused_leaves_no_file_open(serve) -> None:
    rooms: list[SpooledTemporaryFile[bytes]] = []

    def room() -> SpooledTemporaryFile[bytes]:
        rooms.append(SpooledTemporaryFile(max_size=1000))  # noqa: SIM115
        return rooms[-1]

    server = HttpServer(address=Address.parse(serve(answers(bytes(LIMIT + 1)))), room=room)
    with pytest.raises(OversizedDocument):
        server.exchange(HttpRequest(method="GET", path="/", limit=LIMIT, within_s=60.0))
    assert [each.closed for each in rooms] == [True]


def test_the_request_is_these_lines(serve) -> None:
    heads: list[bytes] = []

    def keep(connection: socket.socket, head: bytes) -> None:
        # A body may come in a piece of its own.
        while b"Content-Length: 3" in head and not head.endswith(b"\r\n\r\nabc") and (more := connection.recv(1 << 16)):
            head += more
        heads.append(head)
        answers(b"")(connection, head)

    address = serve(keep)
    ask(f"{address}/base/", "/v1/é?q=a%2Fb&p=ü+x y")
    host = address.removeprefix("http://")
    assert heads[0].decode().split("\r\n")[:4] == [
        "GET /base/v1/%C3%A9?q=a%2Fb&p=%C3%BC+x%20y HTTP/1.1", f"Host: {host}", "Connection: close",
        "Accept-Encoding: gzip",
    ]  # fmt: skip
    ask(address, content=b"abc", headers={"Content-Type": "x/y"})
    assert heads[1].endswith(b"\r\nContent-Type: x/y\r\nContent-Length: 3\r\n\r\nabc")
    with pytest.raises(ValueError, match="Invalid header"):
        ask(address, headers={"X": "a\r\nY: b"})


def test_a_server_that_refuses_a_body_before_it_read_it_is_heard(serve) -> None:
    said = answers(b"too large", status="413 Too Large")

    def refuse(connection: socket.socket, head: bytes) -> None:
        said(connection, head)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass

    answer = ask(serve(refuse), content=bytes(8 << 20))
    assert (answer.status, answer.content()) == (413, b"too large")


def test_a_certificate_that_nobody_vouches_for_is_refused(serve) -> None:
    plain = serve(answers(b"no TLS"))
    with pytest.raises(NoAnswer, match=r"SSL|wrong version|record layer"):
        ask(plain.replace("http:", "https:"))


@pytest.mark.parametrize(
    ("text", "host", "authority", "path"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", "127.0.0.1:8000", ""),
        ("https://A.example/", "a.example", "a.example", ""),
        ("https://a.example:443/x/", "a.example", "a.example", "/x"),
        ("http://[::1]:80", "::1", "[::1]", ""),
        ("http://bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example", ""),
    ],
)
def test_addresses(text: str, host: str, authority: str, path: str) -> None:
    parsed = Address.parse(text)
    assert (parsed.host, parsed.authority, parsed.path) == (host, authority, path)


@pytest.mark.parametrize(
    "text",
    ["telemetry.example", "ftp://a.example", "https://", "http://\x07", "http://a b", "http://a:x", "http://a:0",
     "http://a:99999", "https://me:x@a.example", "https://a.example?x", "http://[::1", "http://" + "é" * 80, ""],
)  # fmt: skip
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidValue, match="address"):
        Address.parse(text)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_of_the_environment_is_used(serve, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    heads: list[str] = []

    def keep(connection: socket.socket, head: bytes) -> None:
        heads.append(head.decode())
        answers(b"ok", status="200 OK" if scheme == "http" else "403 No")(connection, head)

    monkeypatch.setenv(f"{scheme}_proxy", serve(keep).replace("://", "://me:s%40id@"))
    address = Address.parse(f"{scheme}://far.example/base")
    server = HttpServer(address=address, proxy=proxy_for(address), trust=ssl.create_default_context)
    request = HttpRequest(method="GET", path="/x", limit=9, within_s=60.0, headers={"Authorization": "Bearer k"})
    if scheme == "http":
        assert server.exchange(request).content() == b"ok"
        assert heads[0].startswith("GET http://far.example/base/x HTTP/1.1\r\nHost: far.example\r\n")
    else:
        with pytest.raises(NoAnswer, match=r"answers 403 when it shall lead to far\.example:443"):
            server.exchange(request)
        assert heads[0].startswith("CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n")
        assert "Bearer" not in heads[0]
    assert "Proxy-Authorization: Basic bWU6c0BpZA==\r\n" in heads[0]
    monkeypatch.setenv("no_proxy", "far.example")
    assert proxy_for(address) is None


def test_another_kind_of_proxy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(InvalidValue, match="no other kind is used"):
        proxy_for(Address.parse("https://a.example"))
    monkeypatch.setenv("https_proxy", "127.0.0.1:3128")
    assert proxy_for(Address.parse("https://a.example")) == Proxy("127.0.0.1", 3128, None)


def test_a_body_goes_where_it_is_told(serve) -> None:
    into = BytesIO()
    server = HttpServer(address=Address.parse(serve(answers(b"abc"))), room=lambda: into)
    assert server.exchange(HttpRequest(method="GET", path="/", limit=3, within_s=60.0)).body is into
