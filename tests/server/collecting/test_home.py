"""Answers of a home, or of what was taken for one: bounded in bytes and in time."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from sordino_server.collecting import home
from sordino_server.collecting.home import Home, HomeRefused, HomeUnreachable


class Drip(httpx.SyncByteStream):
    """An answer that never ends; `came` is how much of it was read."""

    def __init__(self, chunk: bytes) -> None:
        self.chunk, self.came = chunk, 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.came += len(self.chunk)
            yield self.chunk


def home_of(status: int, body: httpx.SyncByteStream | bytes, media_type: str = "application/json") -> Home:
    content = {"stream": body} if isinstance(body, httpx.SyncByteStream) else {"content": body}
    headers = {"content-type": media_type}
    transport = httpx.MockTransport(lambda request: httpx.Response(status, headers=headers, **content))
    return Home("https://home.example", transport)


def test_an_answer_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    flood = Drip(b" " * 65_536)
    with pytest.raises(HomeUnreachable, match="more than 1,048,576 bytes"):
        home_of(200, flood).mirror("sdo_x")
    assert flood.came == (1 << 20) + 65_536
    with pytest.raises(HomeUnreachable, match="more than 5 bytes"):
        home_of(200, Drip(b"xyz")).document("/v1/plans/0", 5)
    seconds = iter(range(1000))
    monkeypatch.setattr(home, "monotonic", lambda: next(seconds))
    drops = Drip(b" ")
    with pytest.raises(HomeUnreachable, match="too slowly"):
        home_of(200, drops).mirror("sdo_x")
    assert drops.came == 16


def test_what_is_no_answer_of_a_home_is_told_apart() -> None:
    problem = b'{"detail": "round 0 is estimated"}'
    for status, body, media_type, error, words in (
        (409, problem, "application/problem+json", HomeRefused, "round 0 is estimated"),
        (503, problem, "application/problem+json", HomeUnreachable, "answers 503: round 0"),
        (401, problem, "application/problem+json", HomeUnreachable, "answers 401: round 0"),
        (404, b"<html>", "text/html", HomeUnreachable, "answers 404: no problem document"),
        (409, b"[", "application/problem+json", HomeUnreachable, "answers 409: no problem document"),
        (200, b"{}", "application/json", HomeUnreachable, "no mirror"),
    ):
        with pytest.raises(error, match=words):
            home_of(status, body, media_type).mirror("sdo_x")
