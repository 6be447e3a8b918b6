"""Bits back to text: whole codes give the text again, cut ones its beginning; the rest no device sends."""

from __future__ import annotations

import random

import pytest

from sordino_analysis.text_codes.reading import CodeReader, End
from sordino_analysis.text_codes.shipped_codes import NAMES, shipped_code
from sordino_analysis.text_codes.string_code import bits_of


@pytest.mark.parametrize("name", NAMES)
def test_text_code_text(name: str) -> None:
    code = shipped_code(name).code
    reader, draws = CodeReader(code), random.Random(name)
    for _ in range(80):
        text = "".join(draws.choices("abehtps:/.é\u20ac 0", k=draws.randrange(12))).encode()
        bits = bits_of(code, text)
        read = reader.read(code.first_bits(text, bits + 5), bits + 5)
        assert (read.text, read.end) == (text, End.ENDED)
        for depth in range(bits):
            cut = reader.read(code.first_bits(text, depth), depth)
            assert cut.end is End.OPEN
            assert text.startswith(cut.text)
            assert text.decode().startswith(cut.shown)


def test_what_follows_the_end_is_zeros() -> None:
    code = shipped_code("bytes").code
    reader = CodeReader(code)
    ended, none = code.first_bits(b"", 24), code.first_bits(None, 24)
    assert reader.read(ended, 24).end is End.ENDED
    assert reader.read(none, 24).end is End.NO_TEXT
    assert reader.read(ended | 1, 24).end is End.IMPOSSIBLE
    assert reader.read(none | 1, 24).end is End.IMPOSSIBLE
    # NONE stands alone.
    assert reader.read(ord("a") << 16 | none >> 8, 24).end is End.IMPOSSIBLE


def test_bytes_that_are_no_text_are_escaped() -> None:
    code = shipped_code("bytes").code
    reader = CodeReader(code)
    assert reader.read(code.first_bits(b"a\xff", 40), 40).shown == "a\\xff"
    assert reader.read(code.first_bits(b"ab\xe2\x82\xac", 32), 32).shown == "ab"
    assert reader.read(code.first_bits(b"ab\xe2\x82\xac", 40), 40).shown == "ab\u20ac"
    assert reader.read(0, 0).shown == ""
