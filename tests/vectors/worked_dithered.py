"""A `dithered` report, word by word: part of `good/trace.json`, and a block of docs/implementing.md.

It is computed here with plain integers, and compared with what the SDK draws from the same words.
`python tests/vectors/worked_dithered.py` writes the block anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dithering import LEVELS, LOAD, Number64, numbers
from good_documents import meaning

from sordino_shared.protocol.schema import to_plain

PAGE = Path(__file__).parents[2] / "docs" / "implementing.md"
BEGIN, END = "<!-- dithered: written by tests/vectors/worked_dithered.py -->", "<!-- end of dithered -->"
VALUE = 20812.4
WORDS = ("00f0e0d0c30a0b0c", "ab12cd34ef56ab70")


def steps() -> dict[str, Any]:
    """Every number between the value and the payload."""
    inner = numbers()[2].inner
    member = int((VALUE - LOAD.low) / (LOAD.high - LOAD.low) * 2**32)
    place = member // LEVELS[1]
    span = LEVELS[place + 1] - LEVELS[place]
    of_dither, of_inner = (int(word, 16) for word in WORDS)
    drawn = of_dither % span
    cell = place + (drawn < member - LEVELS[place])
    u = of_inner >> 4
    own = (1 << 60) - 17 * inner.other_weight
    other = (u - own) // inner.other_weight
    sent = cell if u < own else other + (other >= cell)
    found = {"member": member, "place": place, "above": member - LEVELS[place], "span": span, "drawn": drawn}
    return found | {"type": cell, "u": u, "other": other, "sent": sent, "payload": bytes((sent,)).hex()}


def dithered_report() -> dict[str, Any]:
    """What `good/trace.json` has of it."""
    domain, _, randomizer = numbers()
    found, source = steps(), Number64(*(int(word, 16) for word in WORDS))
    codes = domain.codes(VALUE)
    assert codes == [found["member"]]
    assert randomizer.randomize_codes(codes, domain.shape, source).hex() == found["payload"]
    assert source.taken == 2
    return {
        "domain": meaning(to_plain(domain)),
        "randomizer": meaning(to_plain(randomizer)),
        "value": VALUE,
        "words": list(WORDS),
        "steps": {name: meaning(value) for name, value in found.items()},
    }


def rendered() -> str:
    """The block of the page."""
    of, inner = steps(), numbers()[2].inner
    is_below, place = of["drawn"] < of["above"], of["place"]
    return f"""{BEGIN}
A `number` from 0 to 60000 ms with `missing`, on 17 knots 2²⁸ = 268435456 apart; inside, randomised response among 18
types with `bits` 60 and `other_weight` {inner.other_weight}. The value is {VALUE}. A number below n is the remainder of
a word of 64 bits below the last multiple of n; 60 bits are the upper ones of a word.

```text
member          U = ⌊({VALUE} − 0)/(60000 − 0) · 2^32⌋ = {of["member"]}
knots           the last one at or below U is number {place}: {LEVELS[place]}; the next is {LEVELS[place + 1]}
word            {WORDS[0]} mod {of["span"]} = {of["drawn"]}
type            {of["drawn"]} {"<" if is_below else "≥"} U − {LEVELS[place]} = {of["above"]}: type {of["type"]}
word            {WORDS[1]}, without the low 4 bits {of["u"]}
its number      {of["other"]} = ⌊(that − own weight)/other weight⌋, without the own one: cell {of["sent"]}
payload         {of["payload"]}
```

Where the remainder of the first word is {of["above"]} or more, the type is {place}. A value of 60000 or more is member
2³², the last knot: it takes no such word and has type 16. What is no number is `missing`, member 2³² + 1: no such word
either, and type 17.
{END}"""


def main() -> None:
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + rendered() + after, "utf-8")


if __name__ == "__main__":
    main()
