"""Domains of numbers and of strings: their vectors, and what is one past their ranges."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from sordino_shared.domains import Categorical, Domain, Number, Text, TextCode, TextPrefix

TOKENS = (b"ab", b"abc", b"http", b"the ", "\u00fc".encode())


def lengths_of(tokens: int) -> bytes:
    """Two bits for `a` and END, four for each token, and for all others the two lengths that fill the code."""
    bits = 4 if tokens < 8 else 14
    short = {ord("a"): 2, 256 + tokens: 2} | {256 + place: bits for place in range(tokens)}
    rest = [place for place in range(258 + tokens) if place not in short]
    left = 1 - sum(Fraction(1, 1 << length) for length in short.values())
    long = next(length for length in range(1, 33) if len(rest) <= left * (1 << length))
    shorter = int(left * (1 << long)) - len(rest)
    lengths = short | {place: long - (number < shorter) for number, place in enumerate(rest)}
    return bytes(lengths[place] for place in range(258 + tokens))


TEXT = Text(name="page", normal="nfc", depth=24, salt=bytes(range(16)), tokens=TOKENS, lengths=lengths_of(len(TOKENS)))
STRINGS = Domain((TEXT, TextPrefix("a", 0, 13), TextPrefix("b", 13, 24)))
NUMBERS = Domain((Number("load", -0.5, 60_000.0, unit="ms", missing=True), Categorical("answer", ("no", "yes"))))


def _plain_text(name: str, depth: int) -> Text:
    """Without tokens: the word of each byte, END and NONE."""
    return Text(name=name, normal="none", depth=depth, salt=bytes(16), tokens=(), lengths=lengths_of(0))


def _longest() -> Domain:
    """The longest names, the deepest code and the most prefixes, of one bit and of twenty."""
    cuts = [*range(40), *(39 + 20 * step for step in range(1, 24)), 512]
    names = (f"{first}".ljust(200, "\N{COMET}") for first in cuts)
    prefixes = tuple(TextPrefix(name, *ends) for name, ends in zip(names, pairwise(cuts), strict=False))
    return Domain((_plain_text("x" * 200, 512), *prefixes))


WIDE_DOMAINS = {
    "numbers": NUMBERS,
    "number_at_limits": Domain((Number("x" * 200, -8.9e307, 8.9e307, unit="u" * 200),)),
    "strings": STRINGS,
    "strings_at_limits": _longest(),
}


def text_codes() -> list[dict[str, Any]]:
    """Codes of texts: bits of the whole depth and of less, longest matches, ends within a word, and no text."""
    texts = ["", "a", "ab", "abc", "abcd", "aab", "the ", "the", "then", "http://a", "\u00fc", "u\u0308", "a" * 300]
    found = []
    for name, text in (("tokens", TEXT), ("bytes", _plain_text("plain", 100))):
        code: TextCode = text.code
        cases = [
            {
                "text": each,
                "bits": f"{text.bits_of(each):0{text.depth}b}",
                "first_nine": f"{code.first_bits(text.utf_8(each), 9):09b}",
            }
            for each in (*texts, None)
        ]
        found.append(
            {
                "name": name,
                "normal": text.normal,
                "depth": text.depth,
                "tokens": [token.hex() for token in text.tokens],
                "lengths": text.lengths.hex(),
                "vectors": cases,
            }
        )
    return found


def number_values() -> list[Any]:
    """Around the ends and the steps of the range, of every form of a number, and no number."""
    step = 60_000.5 / 2**32
    near = [-0.5, -0.49999999999999994, -0.5000000000000001, -0.5 + step, -0.5 + step * 1.0000001, 59_999.999999]
    forms = [0, 1, 30_000, 2**70, -(2**70), 1e300, -1e300, "5", " 1e3\n", "1e999", "-1e999", "x", "nan", None, True]
    return [*near, 60_000, 60_000.00000000001, *forms, {"load": 5}, [1, "yes"], [None, "no"], {"answer": "yes"}]


_FIRST = ("domain", "attributes", 0)
_LONG = "x" * 201


def changes_of_domains() -> list[tuple[str, tuple[str | int, ...], list[Any], str]]:
    """(example, place, wrong values, why) of the fields of numbers, texts and prefixes."""
    return [*_changes_of_numbers(), *_changes_of_texts(), *_changes_of_prefixes()]


def _changes_of_numbers() -> list[tuple[str, tuple[str | int, ...], list[Any], str]]:
    number = {"kind": "number", "name": "n", "low": 0.0, "high": 1.0, "unit": ""}
    return [
        ("numbers", (*_FIRST, "name"), ["", _LONG, " a"], "1 to 200 characters, no blank ends"),
        ("numbers", (*_FIRST, "unit"), [_LONG, "a "], "0 to 200 characters, no blank ends"),
        ("numbers", (*_FIRST, "low"), [60_000.0, 60_001.0, 0, "0"], "a float below high"),
        ("numbers", (*_FIRST, "high"), [-0.5, -1.0, 1, None], "a float above low"),
        (
            "numbers",
            _FIRST,
            [
                number | {"low": -1.7e308, "high": 1.7e308},
                number | {"other": True},
                number | {"steps": 2**32},
                number | {"missing": False},
            ],
            "a finite difference, no member for other values, and no field for steps",
        ),
    ]


def _text() -> dict[str, Any]:
    return {
        "kind": "text",
        "name": "t",
        "normal": "nfc",
        "depth": 24,
        "salt": bytes(16),
        "tokens": [],
        "lengths": lengths_of(0),
    }


def _changes_of_texts() -> list[tuple[str, tuple[str | int, ...], list[Any], str]]:
    text = _text()
    return [
        ("strings", (*_FIRST, "name"), ["", _LONG], "1 to 200 characters"),
        ("strings", (*_FIRST, "normal"), ["nfd", "", "NFC"], "nfc or none"),
        ("strings", (*_FIRST, "depth"), [7, 513, 23, 25], "8 to 512, where the last prefix ends"),
        ("strings", (*_FIRST, "salt"), [b"", bytes(15), bytes(17)], "a salt has 16 bytes"),
        (
            "strings",
            _FIRST,
            [text | {"missing": True}, text | {"other": True}, *(text | each for each in _wrong_codes())],
            "ascending tokens of 2 to 64 bytes, at most 4096 and 48 KiB, whose words are a whole code",
        ),
    ]


def _wrong_codes() -> list[dict[str, Any]]:
    """Tokens and lengths of words that are no code, or are more than one may be."""
    two = {"lengths": lengths_of(2)}
    tokens = [bytes([65 + place // 64, 65 + place % 64]) for place in range(4096)]
    heavy = [each.ljust(64, b"x") for each in tokens[:769]]
    short, more = bytearray(lengths_of(0)), bytearray(lengths_of(0))
    short[0] += 1
    more[0] -= 1
    return [
        {"tokens": [b"abc", b"ab"]} | two,
        {"tokens": [b"ab", b"ab"]} | two,
        {"tokens": [b"a", b"ab"]} | two,
        {"tokens": [b"ab", b"x" * 65]} | two,
        {"tokens": [b"ab"]},
        {"lengths": bytes(258)},
        {"lengths": bytes(short)},
        {"lengths": bytes(more)},
        {"lengths": lengths_of(0) + b"\x01"},
        {"lengths": b"\x21" * 258},
        {"tokens": [*tokens, b"zzz"], "lengths": lengths_of(4097)},
        {"tokens": heavy, "lengths": lengths_of(769)},
    ]


def _changes_of_prefixes() -> list[tuple[str, tuple[str | int, ...], list[Any], str]]:
    text = _text()
    one: dict[str, Any] = {"kind": "prefix", "name": "a", "first": 0, "last": 13}
    two: dict[str, Any] = {"kind": "prefix", "name": "b", "first": 13, "last": 24}
    label = {"kind": "categorical", "name": "c", "categories": ["x", "y"]}
    many = [two | {"name": f"p{place}", "first": place, "last": place + 1} for place in range(64)]
    return [
        (
            "strings",
            ("domain", "attributes"),
            [
                [text, one],
                [text, two, one],
                [text, one, two, label],
                [label, text, one, two],
                [text, text | {"name": "u"}, one, two],
                [one, two],
                [text],
                [text | {"depth": 64}, *many],
            ],
            "one text, then 1 to 63 prefixes that follow each other to its depth, and nothing else",
        ),
        ("strings", ("domain", "attributes", 1, "first"), [-1, 1, 512], "0, where the last one ended"),
        ("strings", ("domain", "attributes", 1, "last"), [0, 12, 21], "first + 1 to first + 20"),
        ("strings", ("domain", "attributes", 2, "last"), [13, 34, 513], "at most the depth"),
        (
            "strings",
            ("domain", "attributes", 1),
            [one | {"missing": True}, one | {"other": True}],
            "no further members",
        ),
    ]
