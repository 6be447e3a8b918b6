"""Page tokens read back to what they were made of, and nothing else is one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sordino_server.kit.pagination import Position
from sordino_shared.errors import InvalidValue


@given(st.integers(0, 2**62 - 1), st.text())
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
