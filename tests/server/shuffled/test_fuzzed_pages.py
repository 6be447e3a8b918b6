"""Pages and statements that are broken in every way: refused in words, never with a 500, and nothing is lost.

The shuffler's key is right, so nothing but what the collector reads of a document keeps it out.
"""

from __future__ import annotations

import http.client
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from starlette.responses import Response

from sordino_server.keys import service as keys
from sordino_server.keys.operator_route import OperatorRequest
from sordino_server.kit.arriving_body import ArrivingBody
from sordino_server.shuffled import endpoints
from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE
from sordino_shared.protocol.codec import decode_value, encode_value
from sordino_shared.protocol.sealed import ShuffledPage
from tests.patience import PATIENCE_S
from tests.server.shuffled.collected import USERS, Shuffled

Broken = Callable[[random.Random, bytes], bytes]
# Values that no field, or another field, has.
_WILD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**32, 2**63, 2**64 - 1, -(2**63), 1.5, "", "time", b"", bytes(16), bytes(32), bytes(64),
    [], {}, [0], {"a": 1}, "\U0001f9e8" * 9,
)  # fmt: skip


def _flipped(chosen: random.Random, content: bytes) -> bytes:
    found = bytearray(content)
    for _ in range(chosen.choice((1, 1, 1, 2, 8, 64))):
        found[chosen.randrange(len(found))] ^= 1 << chosen.randrange(8)
    return bytes(found)


def _cut(chosen: random.Random, content: bytes) -> bytes:
    start, end = sorted(chosen.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:]


def _longer(chosen: random.Random, content: bytes) -> bytes:
    at = chosen.randrange(len(content) + 1)
    return content[:at] + chosen.randbytes(chosen.choice((1, 2, 16, 81, 300))) + content[at:]


def _spliced(chosen: random.Random, content: bytes) -> bytes:
    at, other = chosen.randrange(len(content)), chosen.randrange(len(content))
    return content[:at] + content[other:]


def _noise(chosen: random.Random, _: bytes) -> bytes:
    return chosen.randbytes(chosen.randrange(200))


def _other_field(chosen: random.Random, content: bytes) -> bytes:
    fields = dict(decode_value(content, 4 << 20))
    name = chosen.choice(sorted(fields))
    match chosen.randrange(4):
        case 0:
            del fields[name]
        case 1:
            fields[chosen.choice((name.upper(), "arm", "x" * 300))] = fields.pop(name)
        case _:
            fields[name] = chosen.choice(_WILD)
    return encode_value(fields)


def _other_number(chosen: random.Random, content: bytes) -> bytes:
    fields = dict(decode_value(content, 4 << 20))
    numbers = [name for name, value in fields.items() if isinstance(value, int)]
    name = chosen.choice(sorted(numbers))
    fields[name] = max(0, fields[name] + chosen.choice((-1, 1, 2, 255, 2**31, 2**32)))
    return encode_value(fields)


def _other_reports(chosen: random.Random, content: bytes) -> bytes:
    """Two reports of a page change places, one is there twice, one is missing, or all are a byte wider."""
    fields = dict(decode_value(content, 4 << 20))
    if "sealed" not in fields:
        return _flipped(chosen, content)
    count = fields["count"]
    width = len(fields["sealed"]) // count
    reports = [fields["sealed"][start : start + width] for start in range(0, width * count, width)]
    one, other = chosen.sample(range(count), 2)
    match chosen.randrange(5):
        case 0:
            reports[one], reports[other] = reports[other], reports[one]
        case 1:
            reports[one] = reports[other]
        case 2:
            del reports[one]
        case 3:
            reports = [report + b"\0" for report in reports]
        case _:
            reports = [report[:-1] for report in reports]
    fields["sealed"] = b"".join(reports)
    fields["count"] = chosen.choice((count, len(reports)))
    return encode_value(fields)


# Half of them are documents that can be read.
BREAKS: tuple[Broken, ...] = (
    _flipped, _cut, _longer, _spliced, _noise, _other_field, _other_number, _other_number, _other_reports,
    _other_reports,
)  # fmt: skip


_PUSHED = re.compile(r"/v1/campaigns/([0-9a-f]{64})/rounds/([0-9]{1,9})/batch(?:/([0-9]{1,9}))?")
# (method, path, body, headers) → (status, media type, body) of the answer.
Ask = Callable[[str, str, bytes, dict[str, str]], tuple[int, str, bytes]]


def over_a_socket(shuffled: Shuffled) -> Ask:
    """One connection for all requests, as a shuffler has it."""
    connection = http.client.HTTPConnection(urlsplit(shuffled.home.address).netloc, timeout=PATIENCE_S)

    def ask(method: str, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, str, bytes]:
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()

    return ask


def at_the_endpoint(shuffled: Shuffled) -> Ask:
    """What follows routing, key and body of a request, the same for all; paths that name no round go over a socket.

    An error is answered by the handler that the application has for it; one without a handler is a 500 there.
    """
    app, context = shuffled.home.app, shuffled.home.app.state.context
    handlers = app.exception_handlers
    with context.database.read("key of the test") as session:
        key = keys.authenticate(session, shuffled.key, context.clock.now())

    elsewhere = over_a_socket(shuffled)

    def taken(path: re.Match[str], request: OperatorRequest) -> Response:
        campaign, number = path[1], int(path[2])
        if path[3] is None:
            return endpoints.put_statement(context, key, request, campaign, number)
        return endpoints.push_page(context, key, request, campaign, number, int(path[3]))

    def ask(method: str, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, str, bytes]:
        if (pushed := _PUSHED.fullmatch(path)) is None:
            return elsewhere(method, path, content, headers)
        lines = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
        request = OperatorRequest({"type": "http", "method": method, "path": path, "headers": lines, "app": app})
        request.arrived = cast(ArrivingBody, SimpleNamespace(content=content))
        try:
            answer = taken(pushed, request)
        except tuple(kind for kind in handlers if isinstance(kind, type) and kind is not Exception) as error:
            handler = next(handlers[kind] for kind in type(error).__mro__ if kind in handlers)
            try:
                handler(request, error).send(None)
            except StopIteration as done:
                answer = done.value
        return answer.status_code, answer.headers["content-type"], bytes(answer.body)

    return ask


@dataclass
class Fuzzer:
    """Sends broken documents, and counts what is answered."""

    shuffled: Shuffled
    chosen: random.Random
    ask: Ask
    answers: dict[int, int] = field(default_factory=dict)

    def send(self, method: str, path: str, content: bytes, known: frozenset[bytes], media_type: str) -> None:
        headers = {"Authorization": f"Bearer {self.shuffled.key}", "Content-Type": media_type}
        status, answered, body = self.ask(method, path, content, headers)
        self.answers[status] = self.answers.get(status, 0) + 1
        if status == 200:
            # A break may undo itself.
            assert content in known, (path, content)
            return
        assert 400 <= status < 500, (status, path, content.hex(), body)
        assert answered == PROBLEM_MEDIA_TYPE
        assert json.loads(body)["detail"], (path, content)

    def run(self, cases: int, pages: list[ShuffledPage], statement: bytes) -> None:
        """Break pages that are here, also under the number of the next one, and the statement."""
        base = f"{self.shuffled.path}/rounds/0/batch"
        known = frozenset([*(page.content for page in pages), statement])
        following = [(len(pages), replace(page, page=len(pages)).content) for page in pages]
        sent = [*((page.page, page.content) for page in pages), *following] or [(0, statement)]
        for _ in range(cases):
            number, content = self.chosen.choice(sent)
            method, path = "POST", f"{base}/{number}"
            if self.chosen.random() < 0.2:
                method, path, content = "PUT", base, statement
            if self.chosen.random() < 0.03:
                path = path.replace("/0/", self.chosen.choice(("/1/", "/-1/", "/x/", f"/{2**70}/")))
            media_type = CBOR_MEDIA_TYPE if self.chosen.random() < 0.98 else "text/plain"
            self.send(method, path, self.chosen.choice(BREAKS)(self.chosen, content), known, media_type)


def check_fuzzed(shuffled: Shuffled, cases: int, ask: Ask, seed: int) -> None:
    """Half of the cases while pages come, half after the statement; then the round is estimated as it was sent."""
    reports = [*shuffled.sealed([0, 1, 2] * (USERS // 3)), *shuffled.blanket()]
    pages, statement = shuffled.pages(reports), shuffled.statement(reports)
    fuzzer = Fuzzer(shuffled, random.Random(seed), ask)
    for number, page in enumerate(pages):
        before = shuffled.status()
        fuzzer.run(cases // (2 * len(pages)), pages[:number], statement.content)
        assert shuffled.status() == before
        assert shuffled.push(page).status_code == 201
    assert shuffled.state(statement).status_code == 201
    stated = shuffled.status()
    fuzzer.run(cases - cases // (2 * len(pages)) * len(pages), pages, statement.content)
    assert shuffled.status() == stated
    shuffled.end()
    (row,) = shuffled.status()["rounds"]
    assert (row["state"], row["users"], row["batch"]["refused"]) == ("estimated", USERS, 0)
    # Every kind of refusal was met.
    assert {400, 409, 415, 422} <= set(fuzzer.answers), fuzzer.answers
    print(f"{sum(fuzzer.answers.values())} answers: {fuzzer.answers}")


@pytest.mark.parametrize("cases", [300, pytest.param(1000, marks=pytest.mark.slow)])
def test_broken_documents_are_refused_and_nothing_is_lost(shuffled: Shuffled, cases: int) -> None:
    check_fuzzed(shuffled, cases, over_a_socket(shuffled), cases)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
@pytest.mark.parametrize("shuffled", ["sqlite"], indirect=True)
def test_a_million_broken_documents(shuffled: Shuffled, tenth: int) -> None:
    check_fuzzed(shuffled, 100_000, at_the_endpoint(shuffled), 1_000_000 + tenth)
