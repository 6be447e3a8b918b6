"""Page tokens read back to what they were made of, and nothing else is one."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_server.kit.pagination import Position
from sordino_shared.errors import InvalidValue


@given(st.integers(0, 2**62 - 1), st.text("0123456789abcdef", min_size=1, max_size=64))
def test_tokens_read_back(created_at: int, identifier: str) -> None:
    position = Position(created_at, identifier)
    token = position.token()
    assert Position.parse(token) == position
    assert token.isascii()
    assert not set(token) & set("=+/&?# ")


@given(st.text(max_size=60))
def test_any_other_text_is_refused_or_a_position(token: str) -> None:
    try:
        position = Position.parse(token)
    except InvalidValue:
        return
    assert position.created_at >= 0


@pytest.mark.parametrize(
    "content",
    [
        *([1, identifier] for identifier in ("", "\ud800", "a\x00b", "A", "g", "a\n", "a" * 65, 1, None, ["a"])),
        *([moment, "a"] for moment in (-1, 2**62, True, 1.0, "1", None)),
        ["a"],
        {"1": "a"},
    ],
)
def test_what_no_row_is_called_is_refused(content: Any) -> None:
    token = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    with pytest.raises(InvalidValue, match="page_token"):
        Position.parse(token)
