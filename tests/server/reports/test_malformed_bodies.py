"""Whatever bytes come as a body, the door reads them as the protocol does, refuses with a problem, and never fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import cbor2
import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sordino_shared.errors import ProtocolError
from sordino_shared.protocol import PROBLEM_MEDIA_TYPE, Digest, ReportBatch
from sordino_shared.protocol.documents import Document

# Bodies that come at once share a commit, which is most of their time.
AT_ONCE = 20
BODIES, MANY_BODIES = 2_000, 10_000
_VALID = ReportBatch(Digest.of(b"other"), bytes(range(48)), b"abc").content
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = ("document", "version", "device_digest", "ids", "payloads")


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A valid batch with a piece replaced."""
    start = draw(st.integers(0, len(_VALID)))
    stop = draw(st.integers(start, min(len(_VALID), start + 8)))
    return _VALID[:start] + draw(st.binary(max_size=8)) + _VALID[stop:]


@st.composite
def _altered(draw: st.DrawFn) -> bytes:
    """A valid batch with fields of other values, left out or added."""
    plain = cbor2.loads(_VALID)
    for name in draw(st.lists(st.sampled_from(_FIELDS), min_size=1, max_size=3)):
        plain[name] = draw(_VALUES)
    if draw(st.booleans()):
        del plain[draw(st.sampled_from(_FIELDS))]
    return cbor2.dumps(plain, canonical=draw(st.booleans()))


_ANY = st.binary(max_size=200) | _damaged() | _altered() | _VALUES.map(cbor2.dumps)


def _fuzz(bodies: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
        # What fails names its body, a short one; to shrink twenty of them would take minutes.
        phases = [Phase.reuse, Phase.generate]
        bounded = settings(max_examples=bodies // AT_ONCE, deadline=None, phases=phases, suppress_health_check=quiet)
        return bounded(given(bodies=st.lists(_ANY, min_size=AT_ONCE, max_size=AT_ONCE))(test))

    return decorate


async def _answers(door: Any, bodies: list[bytes]) -> list[httpx.Response]:
    return await asyncio.gather(*map(door.send, bodies))


def _check(door: Any, bodies: list[bytes]) -> None:
    for body, response in zip(bodies, asyncio.run(_answers(door, bodies)), strict=True):
        # The round is of another plan, so that what is well formed is refused too and nothing piles up.
        expected = 409 if _is_batch(body) else 400
        assert response.status_code == expected, (body, response.text)
        assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE
        assert response.json()["status"] == expected


def _is_batch(body: bytes) -> bool:
    """As the reader of every document sees it, which does not know what a batch usually looks like."""
    try:
        Document.read.__func__(ReportBatch, body)  # type: ignore[attr-defined]  # the method under the batch's own
    except ProtocolError:
        return False
    return True


@_fuzz(BODIES)
def test_bodies_that_are_no_batch_are_refused(door: Any, bodies: list[bytes]) -> None:
    _check(door, bodies)


@pytest.mark.slow
@_fuzz(MANY_BODIES)
def test_many_bodies_that_are_no_batch_are_refused(door: Any, bodies: list[bytes]) -> None:
    _check(door, bodies)
