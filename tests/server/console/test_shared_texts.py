"""Texts that are shared: made once a while, by one thread, bounded in number."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from sordino_server.console.shared_texts import SharedTexts


def test_a_text_is_made_once_a_second_for_all_who_ask() -> None:
    now, made = 0.0, count()
    texts = SharedTexts(1.0, tick=lambda: now)

    def make() -> str:
        return str(next(made))

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: texts.get("a", make), range(200))) == {"0"}
    assert texts.get("b", make) == "1"
    now = 1.0
    assert [texts.get("a", make), texts.get("a", make)] == ["2", "2"]


def test_what_raises_is_not_kept_and_few_are_remembered() -> None:
    texts = SharedTexts(10.0, most=2, tick=lambda: 0.0)

    def fail() -> str:
        raise ValueError("no such campaign")

    with pytest.raises(ValueError, match="no such"):
        texts.get("a", fail)
    assert texts.get("a", lambda: "first") == "first"
    assert [texts.get(key, lambda: key) for key in ("b", "c")] == ["b", "c"]  # noqa: B023
    assert texts.get("a", lambda: "second") == "second"
