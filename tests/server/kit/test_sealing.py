"""Sealed bytes: they open with their key beside their text alone, and tell nothing but their length."""

from __future__ import annotations

import pytest

from sordino_server.kit.sealing import CannotOpen, Sealer, check_key
from sordino_shared.errors import InvalidValue

KEY = bytes(range(32)).hex()
CONTENT = b"1234567" * 9


def test_what_is_sealed_opens_again_and_no_two_seals_are_alike() -> None:
    one, two = Sealer(KEY).seal(CONTENT, "beside"), Sealer(KEY).seal(CONTENT, "beside")
    assert one[1:] != two[1:]
    assert len(one) == len(two) == len(CONTENT) + 29
    assert CONTENT[:7] not in one
    assert Sealer(KEY).open(one, "beside") == Sealer(KEY).open(two, "beside") == CONTENT


def test_another_key_text_or_byte_opens_nothing() -> None:
    sealed = Sealer(KEY).seal(CONTENT, "beside")
    flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])
    other = Sealer(bytes(range(1, 33)).hex())
    for sealer, content, beside in (
        (other, sealed, "beside"),
        (Sealer(KEY), sealed, "besides"),
        (Sealer(KEY), flipped, "beside"),
        (Sealer(KEY), sealed[:20], "beside"),
        (Sealer(KEY), b"", "beside"),
    ):
        with pytest.raises(CannotOpen):
            sealer.open(content, beside)


@pytest.mark.parametrize("key", ["", "x" * 64, KEY[:-1], KEY + "00", "00" * 32, "0123456789abcdef" * 4, " " + KEY[1:]])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(InvalidValue, match="openssl rand -hex 32"):
        check_key(key)


def test_a_random_key_is_one() -> None:
    check_key(KEY)
    check_key(KEY.upper())
