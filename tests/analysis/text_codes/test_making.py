"""Text codes from public texts: the words are the shortest, tokens are merged pairs, bad lists are refused."""

from __future__ import annotations

import heapq
import itertools
import random
from pathlib import Path

import pytest

import sordino_analysis as sa
from sordino_analysis.text_codes.byte_pairs import merged_tokens
from sordino_analysis.text_codes.limited_lengths import limited_lengths
from sordino_analysis.text_codes.making import text_code, text_code_of_file
from sordino_analysis.text_codes.shipped_codes import NAMES, shipped_code
from sordino_analysis.text_codes.string_code import StringCode, bits_of
from sordino_shared.domains.text_code import TextCode
from sordino_shared.errors import InvalidValue

WORDS = ["banana", "bandana", "ban", "panama", "banana", "canal"]


def cost(weights: list[float], lengths: list[int]) -> float:
    return sum(weight * length for weight, length in zip(weights, lengths, strict=True))


def least_cost(weights: list[float], longest: int) -> float:
    """Of all whole codes, one by one."""
    choices = itertools.product(range(1, longest + 1), repeat=len(weights))
    return min(cost(weights, list(each)) for each in choices if sum(2.0**-length for length in each) == 1)


def huffman_cost(weights: list[float]) -> float:
    heap, total = sorted(weights), 0.0
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_words_are_the_shortest_of_limited_length(seed: int) -> None:
    weights = [random.Random(seed).uniform(0.1, 9) ** 3 for _ in range(5)]
    for longest in (3, 4):
        lengths = limited_lengths(weights, longest)
        assert max(lengths) <= longest
        assert cost(weights, lengths) == pytest.approx(least_cost(weights, longest))
    free = [2.0**-place for place in range(40)]
    assert cost(free, limited_lengths(free, 60)) == pytest.approx(huffman_cost(free))
    assert max(limited_lengths(free, 60)) > 32
    short = limited_lengths(free, 32)
    assert max(short) == 32
    assert sum(1 << (32 - length) for length in short) == 1 << 32


def test_tokens_are_merged_by_weight_and_ties_go_to_the_lesser() -> None:
    # an: 1+2+1+1+2+1 by text; the heaviest pair first.
    assert merged_tokens({b"abab": 2.0, b"cdcd": 1.0, b"abx": 1.0, b"cdx": 1.0}, 1) == [b"ab"]
    assert merged_tokens({b"ab1": 1.0, b"ab2": 1.0, b"cd1": 1.0, b"cd2": 1.0}, 1) == [b"ab"]
    assert merged_tokens({b"abc": 1.0, b"abcd": 1.0}, 2) == [b"ab", b"abc"]
    # A pair of one text is no token, however often it occurs there.
    assert merged_tokens({b"xyxyxyxy": 9.0, b"ab": 1.0, b"abc": 1.0}, 3) == [b"ab"]


def test_a_code_of_texts_is_shorter_for_them_and_takes_any_text() -> None:
    made = text_code(WORDS, tokens=20)
    plain = text_code(WORDS, tokens=0)
    assert plain.code.tokens == ()
    assert bits_of(made.code, b"banana") < bits_of(plain.code, b"banana") < 8 * 6
    for text in (b"", b"\x00\xff", "é".encode(), b"banana"):
        assert bits_of(made.code, text) >= 1
    assert text_code(reversed(WORDS), tokens=20).json == made.json
    assert StringCode.read(made.json) == made
    assert sa.text_code(WORDS, tokens=20) == made


def test_quantiles_count_texts_as_often_as_they_occur() -> None:
    rare = text_code(["a"] * 8 + ["zebra crossings"] * 2, tokens=0)
    assert rare.bits[0] == rare.bits[1] == bits_of(rare.code, b"a")
    assert rare.bits[2] == bits_of(rare.code, b"zebra crossings")
    assert (rare.depth, shipped_code("urls").depth) == (max(8, rare.bits[1]), 96)


def test_texts_are_taken_in_nfc_and_bytes_as_they_are(tmp_path: Path) -> None:
    composed, decomposed = text_code(["é", "xy"]), text_code(["e\u0301", "xy"])
    assert composed == decomposed
    path = tmp_path / "texts"
    path.write_bytes(b"\xff\xfe\r\n" + b"a" * 1_000_000 + b"\n\n\xff\xfe")
    made = text_code_of_file(path, tokens=5)
    assert made.bits[0] == bits_of(made.code, b"\xff\xfe")
    assert made.bits[2] == bits_of(made.code, b"a" * 4096)


@pytest.mark.parametrize(
    ("texts", "tokens", "said"),
    [
        ([], 8, "at least 2 different texts.*there is 0"),
        (["a", "a", ""], 8, "at least 2 different texts.*there is 1"),
        (["a", "b"], 4097, "number of tokens"),
        (["a", "b"], -1, "number of tokens"),
    ],
)
def test_what_makes_no_code_is_refused(texts: list[str], tokens: int, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        text_code(texts, tokens=tokens)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("sordino-text-code-1", "sordino-text-code-2"), "format"),
        (('"bits":', '"bit":'), "there is no such field"),
        (('"lengths":"', '"lengths":"z'), "digits from 1 to w"),
        (('"lengths":"', '"lengths":"5'), "words and"),
        (('"tokens":[', '"tokens":["\\u0100x",'), "for each byte"),
        (('"tokens":[', '"tokens":["a",'), "bytes of a token"),
        (("{", "["), "not a text code"),
    ],
)
def test_files_that_hold_no_code_are_refused(change: tuple[str, str], said: str) -> None:
    text = text_code(WORDS, tokens=20).json
    with pytest.raises(InvalidValue, match=said):
        StringCode.read(text.replace(*change, 1))


def test_a_file_whose_words_are_no_whole_code_is_refused() -> None:
    text = shipped_code("words").json
    longer = text.rindex('"', 0, -3) + 1
    digit = "c" if text[longer] != "c" else "d"
    with pytest.raises(InvalidValue, match="no whole code"):
        StringCode.read(text[:longer] + digit + text[longer + 1 :])


@pytest.mark.parametrize("name", NAMES)
def test_codes_ship_and_say_where_they_come_from(name: str) -> None:
    code = shipped_code(name)
    assert code.source
    assert len(code.json) <= 8 << 10
    assert TextCode(code.code.tokens, code.code.lengths) == code.code
    with pytest.raises(InvalidValue, match="there are urls, apps, words, bytes"):
        shipped_code("none")


def test_common_strings_are_short_in_shipped_codes() -> None:
    assert bits_of(shipped_code("words").code, b"function") <= 16
    assert bits_of(shipped_code("apps").code, b"python3-requests") <= 60
    assert bits_of(shipped_code("urls").code, b"https://en.wikipedia.org/wiki/Entropy") <= 110
    for name, text in (("words", b"function"), ("urls", b"https://example.org/")):
        assert bits_of(shipped_code(name).code, text) < bits_of(shipped_code("bytes").code, text) / 2
