"""What is shared between browsers: texts made once a while, sessions seen, and the rate of reports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from itertools import count

import pytest

from sordino_server.console.known_sessions import AliveSessions
from sordino_server.console.running_campaign import ReportRates
from sordino_server.console.shared_texts import SharedTexts


def test_a_text_is_made_once_a_second_for_all_who_ask() -> None:
    now, made = 0.0, count()
    texts = SharedTexts(1.0, tick=lambda: now)

    def make() -> bytes:
        time.sleep(0.02)
        return str(next(made)).encode()

    async def ask() -> None:
        nonlocal now
        assert set(await asyncio.gather(*(texts.get("a", make) for _ in range(200)))) == {b"0"}
        assert await texts.get("b", make) == b"1"
        now = 1.0
        assert [await texts.get("a", make), await texts.get("a", make)] == [b"2", b"2"]

    asyncio.run(ask())


def test_a_browser_that_leaves_takes_nothing_from_the_others() -> None:
    texts = SharedTexts()

    def make() -> bytes:
        time.sleep(0.05)
        return b"made"

    async def ask() -> None:
        first, second = (asyncio.create_task(texts.get("a", make)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await second == b"made"

    asyncio.run(ask())


def test_what_raises_is_not_kept_and_few_are_remembered() -> None:
    texts = SharedTexts(10.0, most=2, tick=lambda: 0.0)

    def fail() -> bytes:
        raise ValueError("no such campaign")

    async def ask() -> None:
        with pytest.raises(ValueError, match="no such"):
            await texts.get("a", fail)
        assert await texts.get("a", lambda: b"first") == b"first"
        assert [await texts.get(key, lambda: b"other") for key in ("b", "c")] == [b"other"] * 2
        assert await texts.get("a", lambda: b"second") == b"second"

    asyncio.run(ask())


def test_one_query_a_second_tells_which_sessions_are_alive() -> None:
    now, living, queries = 0.0, {"a", "b", "c"}, []

    def find(wanted: Collection[str]) -> set[str]:
        time.sleep(0.01)
        queries.append(set(wanted))
        return living & set(wanted)

    sessions = AliveSessions(find, 1.0, most=3, tick=lambda: now)

    async def ask() -> None:
        nonlocal now
        assert await sessions.has("a")
        assert not await sessions.has("x")
        assert queries == [{"a"}, {"a", "x"}]
        asked = await asyncio.gather(*(sessions.has(each) for each in "axaxax"))
        assert (asked, len(queries)) == ([True, False] * 3, 2)
        now, _ = 1.0, living.discard("a")
        assert await asyncio.gather(*(sessions.has(each) for each in "axax")) == [False] * 4
        assert queries[2:] == [{"a", "x"}]
        # One that asked while the others were looked up, and one that is forgotten.
        now = 12.0
        assert await asyncio.gather(sessions.has("b"), sessions.has("c")) == [True, True]
        assert queries[3:] == [{"b", "c"}]
        assert [await sessions.has(each) for each in "de"] == [False, False]
        assert queries[-1] == {"c", "d", "e"}

    asyncio.run(ask())


def test_the_rate_is_that_of_the_last_minute() -> None:
    now = 0.0
    rates = ReportRates(tick=lambda: now)
    assert rates.note("a", 100) is None
    now = 10.0
    assert rates.note("a", 150) == 5.0
    now = 65.0
    # The first count is older than a minute.
    assert rates.note("a", 205) == 1.0
    assert rates.note("b", 205) is None
