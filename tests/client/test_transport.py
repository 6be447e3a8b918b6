"""What is on the wire: fixed headers, no cookies, no redirects, nothing from the environment, bounded bodies."""

from __future__ import annotations

import asyncio
import gzip
import logging

import httpx
import pytest

from sordino_client import AsyncHttpxTransport, Caps, Client, HttpxTransport, PureEpsilon, Request, TransportFailed
from sordino_shared.errors import InvalidValue, OversizedDocument

ADDRESS = "https://telemetry.example"


def send(handler, request: Request = Request(method="GET", path="/v1/x", limit=100)):
    return HttpxTransport(ADDRESS, handler=httpx.MockTransport(handler)).send(request)


def test_the_headers_are_these_and_no_others() -> None:
    seen = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(dict(request.headers))
        return httpx.Response(200)

    send(handler)
    send(handler, Request(method="POST", path="/v1/x", limit=100, body=b"abc", authorization="Bearer t"))
    fixed = {
        "host": "telemetry.example",
        "user-agent": "sordino/1",
        "accept": "application/cbor",
        "accept-encoding": "gzip",
    }
    assert seen[0] == fixed
    assert seen[1] == fixed | {
        "content-type": "application/cbor",
        "content-length": "3",
        "authorization": "Bearer t",
    }


def test_cookies_and_validators_of_the_server_are_never_returned() -> None:
    seen = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200, headers={"Set-Cookie": "id=7; Path=/", "ETag": '"x"', "Last-Modified": "now"})

    transport = HttpxTransport(ADDRESS, handler=httpx.MockTransport(handler))
    transport.send(Request(method="GET", path="/v1/x", limit=100))
    transport.send(Request(method="GET", path="/v1/x", limit=100))
    assert not {"cookie", "if-none-match", "if-modified-since"} & set(seen[1])


def test_credentials_and_proxies_of_the_environment_are_not_used(monkeypatch, tmp_path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine telemetry.example login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:1")
    seen = []
    send(lambda request: seen.append(request.headers) or httpx.Response(200))
    assert "authorization" not in seen[0]
    assert not HttpxTransport(ADDRESS)._http()._mounts


def test_a_redirect_is_not_followed() -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(307, headers={"Location": "https://elsewhere.example/?device=7"})

    assert send(handler).status == 307
    assert len(asked) == 1


def test_a_body_past_the_limit_is_refused_even_when_it_is_packed() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    with pytest.raises(OversizedDocument):
        send(lambda request: httpx.Response(200, content=bytes(101)))
    with pytest.raises(OversizedDocument):
        send(lambda request: httpx.Response(200, content=bomb, headers={"Content-Encoding": "gzip"}))
    packed = gzip.compress(b"hello")
    reply = send(lambda request: httpx.Response(200, content=packed, headers={"Content-Encoding": "gzip"}))
    assert reply.content == b"hello"


def test_no_response_is_a_transport_failure_that_says_where() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("")

    with pytest.raises(TransportFailed, match=r"telemetry\.example did not answer.*ConnectTimeout"):
        send(handler)
    with pytest.raises(TransportFailed, match="did not answer"):
        send(lambda request: httpx.Response(200, content=b"no gzip", headers={"Content-Encoding": "gzip"}))


def test_nobody_listens() -> None:
    with pytest.raises(TransportFailed, match=r"127\.0\.0\.1"):
        HttpxTransport("http://127.0.0.1:9").send(Request(method="GET", path="/v1/x", limit=100))


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:80", "http://localhost:8080", "http://[::1]:1", "https://a.b/x/"]
)
def test_addresses_that_are_accepted(address) -> None:
    HttpxTransport(address).close()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("telemetry.example", "must look like"),
        ("ftp://a.example", "must look like"),
        ("https://", "must look like"),
        ("https://a.example/?device=7", "must not carry"),
        ("https://me:secret@a.example", "must not carry"),
        ("http://a.example", "not encrypted"),
        ("http://127.0.0.1.a.example", "not encrypted"),
    ],
)
def test_addresses_that_are_refused(address, reason, tmp_path) -> None:
    with pytest.raises(InvalidValue, match=reason):
        HttpxTransport(address)


def test_an_app_may_insist_on_http() -> None:
    HttpxTransport("http://collector.internal", allow_http=True).close()


def test_the_async_twin_sends_the_same_request() -> None:
    seen = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, str(request.url), sorted(request.headers.raw), request.content))
        return httpx.Response(200, content=b"ok", headers={"Set-Cookie": "a=b"})

    request = Request(method="POST", path="/v1/x", limit=100, body=b"abc", authorization="Bearer t")

    async def twice():
        transport = AsyncHttpxTransport(ADDRESS, handler=httpx.MockTransport(handler))
        await transport.send(request)
        reply = await transport.send(request)
        await transport.close()
        return reply

    reply = asyncio.run(twice())
    assert reply == send(handler, request)
    assert seen[0] == seen[1] == seen[2]


def test_a_refused_address_leaves_no_ledger_behind(tmp_path) -> None:
    with pytest.raises(InvalidValue):
        Client("http://a.example", ledger=tmp_path / "ledger", caps=Caps(PureEpsilon.of(1), 30, PureEpsilon.of(1)))
    assert not list(tmp_path.iterdir())


def test_the_logger_of_httpx_says_nothing_of_our_requests_and_goes_on_for_others(caplog) -> None:
    """Its line would name the campaign in the app's own log."""
    caplog.set_level(logging.DEBUG)
    send(lambda _: httpx.Response(200))
    assert [record for record in caplog.records if record.name.startswith("http")] == []
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200))) as others:
        others.get("https://elsewhere.example/")
    assert any("elsewhere.example" in record.getMessage() for record in caplog.records)
