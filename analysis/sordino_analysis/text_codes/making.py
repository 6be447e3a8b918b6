"""From public texts to a code: byte pairs merged, then the shortest words of at most 32 bits for longest matches.

Never from answers: the code is part of a plan, which everybody reads.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from math import sqrt
from pathlib import Path

from sordino_analysis.text_codes.byte_pairs import merged_tokens
from sordino_analysis.text_codes.limited_lengths import limited_lengths
from sordino_analysis.text_codes.string_code import StringCode
from sordino_shared._checks import check_range
from sordino_shared.domains.text_code import MAX_TOKENS, MAX_WORD_BITS, TextCode
from sordino_shared.errors import InvalidValue

# The first bytes of a text; no code of 512 bits is as long.
TEXT_BYTES = 4096
# Where words and names stop gaining: the code has some 4 kB in a plan.
USUAL_TOKENS = 800
# What no text has still gets a word.
_UNSEEN = 0.5
# One word for each byte comes before those of tokens.
_BYTES = 256


def text_code(texts: Iterable[str | bytes], *, tokens: int = USUAL_TOKENS, source: str = "") -> StringCode:
    """The code for strings like these public `texts`; one that occurs several times counts several times.

    `tokens` is how many pieces of several bytes the code has at most, 0 to 4096; only those that longest matches of the
    texts use are kept. Texts are taken in NFC, up to 4 KiB of each; bytes that are no UTF-8 as they are.

    Raises InvalidValue for what is no text, for fewer than two different ones, and for another number of tokens.
    """
    check_range(tokens, 0, MAX_TOKENS, "number of tokens")
    if not isinstance(source, str):
        raise InvalidValue(f"source says where the texts are from, not {source!r}", source)
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise InvalidValue(f"give texts as a list or another iterable of them, not {texts!r}", texts)
    counts = Counter(filter(None, map(normalized, map(_checked, texts))))
    if len(counts) < 2:
        raise InvalidValue(
            f"a text code is made from at least 2 different texts, one on each line; there is {len(counts)}: give a "
            "list of public strings like those that devices hold",
            len(counts),
        )
    # A text that is everywhere must not take the code of all others.
    weights = {text: sqrt(count) for text, count in counts.items()}
    merged = merged_tokens(weights, tokens)
    used = [token for token, weight in zip(merged, _word_weights(merged, weights)[_BYTES:], strict=False) if weight]
    found = [weight or _UNSEEN for weight in _word_weights(used, weights)]
    code = TextCode(tuple(used), bytes(limited_lengths(found, MAX_WORD_BITS)))
    return StringCode.of_texts(code, counts, source)


def text_code_of_file(path: Path, *, tokens: int = USUAL_TOKENS, source: str = "") -> StringCode:
    """The code for strings like the lines of a file; raises OSError, and InvalidValue as `text_code`."""
    with path.open("rb") as lines:
        return text_code((line.rstrip(b"\r\n") for line in lines), tokens=tokens, source=source)


def _checked(text: object) -> str | bytes:
    if not isinstance(text, (str, bytes)):
        raise InvalidValue(f"a text is a str or bytes, not {text!r}", text)
    return text


def normalized(text: str | bytes) -> bytes:
    """The first bytes of a text in NFC; bytes that are no UTF-8, and lone surrogates, as they are."""
    try:
        characters = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        assert isinstance(text, bytes), "only bytes are decoded"
        return text[:TEXT_BYTES]
    return unicodedata.normalize("NFC", characters).encode("utf-8", "surrogatepass")[:TEXT_BYTES]


def _word_weights(tokens: list[bytes], texts: Mapping[bytes, float]) -> list[float]:
    """The weight of each word in longest matches: bytes, tokens, END and NONE."""
    # Any whole code splits a text in the same way.
    words = _BYTES + len(tokens) + 2
    code = TextCode(tuple(tokens), bytes(limited_lengths([1.0] * words, MAX_WORD_BITS)))
    weights = [0.0] * words
    for text, weight in texts.items():
        for place in code.places(text):
            weights[place] += weight
    return weights
