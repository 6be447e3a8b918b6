"""Answers of a home, or of what was taken for one: bounded in bytes and in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sordino_server.collecting import home
from sordino_server.collecting.home import Home, HomeRefused, HomeUnreachable
from sordino_shared.protocol import Digest
from tests.hostile_http import Script, answers, drips, endless, hostile_servers, nested

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.fixture
def serve() -> Iterator[Callable[[Script], str]]:
    with hostile_servers() as start:
        yield start


def test_an_answer_without_an_end_is_left(serve: Callable[[Script], str], monkeypatch: pytest.MonkeyPatch) -> None:
    flood = serve(endless(HEAD, b" " * 65_536))
    with pytest.raises(HomeUnreachable, match="more than 1,048,576 bytes"):
        Home(flood).mirror("sdo_x")
    with pytest.raises(HomeUnreachable, match="more than 5 bytes"):
        Home(flood).document("/v1/plans/0", 5, Digest.of(b""))
    monkeypatch.setattr(home, "_LARGE_S", 0.5)
    with pytest.raises(HomeUnreachable, match=r"took longer than 0\.5 s"):
        Home(serve(drips(HEAD, b" ", b""))).document("/v1/plans/0", 1000, Digest.of(b""))


@pytest.mark.parametrize("codings", ["gzip", "gzip, gzip", "br"])
def test_a_packed_answer_is_bounded_too(serve: Callable[[Script], str], codings: str) -> None:
    bomb = serve(answers(nested(codings.count("gzip"), 4 << 20), codings))
    with pytest.raises(HomeUnreachable, match=r"more than 1,048,576 bytes|at most one gzip"):
        Home(bomb).mirror("sdo_x")


def test_what_is_no_answer_of_a_home_is_told_apart(serve: Callable[[Script], str]) -> None:
    problem = b'{"detail": "round 0 is estimated"}'
    for status, body, media_type, error, words in (
        ("409 Conflict", problem, "application/problem+json", HomeRefused, "round 0 is estimated"),
        ("503 Full", problem, "application/problem+json", HomeUnreachable, "answers 503: round 0"),
        ("401 Who", problem, "application/problem+json", HomeUnreachable, "answers 401: round 0"),
        ("404 None", b"<html>", "text/html", HomeUnreachable, "answers 404: no problem document"),
        ("409 Conflict", b"[", "application/problem+json", HomeUnreachable, "answers 409: no problem document"),
        ("302 Found\r\nLocation: /", b"", "text/html", HomeUnreachable, "answers 302: no problem document"),
        ("200 OK", b"{}", "application/json", HomeUnreachable, "no mirror"),
    ):
        script = answers(body, status=f"{status}\r\nContent-Type: {media_type}")
        with pytest.raises(error, match=words):
            Home(serve(script)).mirror("sdo_x")


def test_a_home_that_nobody_is_at() -> None:
    with pytest.raises(HomeUnreachable, match=r"gives no answer: .*refused"):
        Home("http://127.0.0.1:9").mirror("sdo_x")
