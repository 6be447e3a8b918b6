"""Two `coarsened` reports, bit by bit: part of `good/trace.json`, and a block of docs/implementing.md.

They are computed here with plain integers, and compared with what the SDK draws from the same words.
`python tests/vectors/worked_coarsened.py` writes the block anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from good_documents import meaning

from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_shared.protocol.schema import to_plain
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import Coarsened
from sordino_shared.randomizers.coarsened import FieldLabel, GridPartition, LinearLabel
from sordino_shared.randomizers.coarsened.level import Level, families_of
from sordino_shared.randomness import Randomness

PAGE = Path(__file__).parents[2] / "docs" / "implementing.md"
BEGIN, END = "<!-- coarsened: written by tests/vectors/worked_coarsened.py -->", "<!-- end of coarsened -->"
SIZE, WIDTH, VALUE = 1000, 8, 700
CHANCE = 1 << 31
LOW, HIGH = 1 << 40, math.floor(math.e * (1 << 40))
_LEVELS = (
    Level.of_first(CHANCE, GridPartition((WIDTH,)), LinearLabel(2), 1),
    Level.of_first(CHANCE, GridPartition((1,)), FieldLabel(3), 1),
)
RANDOMIZER = Coarsened((SIZE - 1,), LOW, HIGH, families_of(_LEVELS))
# The generator's words of 64 bits, in the order in which each report takes them.
WORDS = {
    0: ("20f0e0d0c0b0a090", "0000000000000d05", "5a00000000000000", "a600000000000000", "0000000fffffffff"),
    1: ("90f0e0d0c0b0a090", "2c40000000000000", "00000fffffffffff"),
}


@dataclass(frozen=True)
class Field:
    """One bit field of a payload."""

    name: str
    value: int
    bits: int


class Words(Randomness):
    """Words in order, as little-endian bytes."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._left = [int(word, 16).to_bytes(8, "little") for word in words]

    def bytes(self, count: int) -> bytes:
        assert count == 8
        return self._left.pop(0)


def top(word: str, bits: int) -> int:
    """The upper bits of a word."""
    return int(word, 16) >> (64 - bits)


def product(a: int, b: int, r: int, low: int) -> int:
    """a · b in GF(2^r), whose polynomial is x^r and the bits of `low`."""
    found = 0
    for place in range(r):
        found ^= (a << place) if b >> place & 1 else 0
    for place in reversed(range(r, 2 * r)):
        found ^= ((1 << r | low) << (place - r)) if found >> place & 1 else 0
    return found


def draw_z(word: str, labels: int) -> tuple[int, int]:
    """(u, z) of a level whose one member is 0: z = 0 below `high`, then each other label has `low`."""
    u = int(word, 16) % (HIGH + (labels - 1) * LOW)
    return u, 0 if u < HIGH else 1 + (u - HIGH) // LOW


def grid_report() -> tuple[list[Field], dict[str, Any]]:
    """Level 0: cells of eight members, a linear label of two bits."""
    _, of_offset, *of_rows, of_z = WORDS[0]
    offset = int(of_offset, 16) % WIDTH
    cell = (VALUE + offset) // WIDTH
    rows = [top(word, 7) for word in of_rows]
    t = sum(((row & cell).bit_count() % 2) << bit for bit, row in enumerate(rows))
    u, z = draw_z(of_z, 4)
    fields = [Field("level", 0, 1), Field("offset", offset, 3), Field("row 0", rows[0], 7), Field("row 1", rows[1], 7)]
    return [*fields, Field("y", t ^ z, 2)], {"cell": cell, "t": t, "u": u, "z": z}


def field_report() -> tuple[list[Field], dict[str, Any]]:
    """Level 1: every member is a cell, a label of three bits by a multiple in GF(2^10)."""
    _, of_multiplier, of_z = WORDS[1]
    multiplier = top(of_multiplier, 10)
    t = product(multiplier, VALUE, 10, 9) >> 7
    u, z = draw_z(of_z, 8)
    fields = [Field("level", 1, 1), Field("multiplier", multiplier, 10), Field("y", t ^ z, 3)]
    return fields, {"cell": VALUE, "product": product(multiplier, VALUE, 10, 9), "t": t, "u": u, "z": z}


def number_of(fields: list[Field]) -> int:
    """The integer of a payload: the first field in the lowest bits."""
    found = start = 0
    for field in fields:
        found |= field.value << start
        start += field.bits
    return found


def payload_of(level: int, fields: list[Field]) -> bytes:
    """The bytes of a payload, as the SDK draws them from the same words."""
    payload = number_of(fields).to_bytes(RANDOMIZER.payload_bytes, "little")
    codes = np.array([[VALUE]], dtype=np.uint64)
    assert randomize_codes(RANDOMIZER, codes, (SIZE,), Words(WORDS[level])).tobytes() == payload
    return payload


def reports() -> list[tuple[list[Field], dict[str, Any]]]:
    """Both reports, by level."""
    return [grid_report(), field_report()]


def coarsened() -> dict[str, Any]:
    """What `good/trace.json` has of them."""
    return {
        "randomizer": meaning(to_plain(RANDOMIZER)),
        "value": VALUE,
        "reports": [
            {
                "words": list(WORDS[level]),
                "fields": [{"name": each.name, "value": each.value, "bits": each.bits} for each in fields],
                "steps": steps,
                "payload": payload_of(level, fields).hex(),
            }
            for level, (fields, steps) in enumerate(reports())
        ],
    }


def table(fields: list[Field]) -> str:
    """A line a field, then the whole integer, the last field first."""
    lines, start = [], 0
    for each in fields:
        end = start + each.bits - 1
        place = f"bit {start}" if each.bits == 1 else f"bits {start} to {end}"
        lines.append(f"{each.name:<16}{each.value:>5} = {each.value:0{each.bits}b}".ljust(40) + place)
        start += each.bits
    unused = 8 * RANDOMIZER.payload_bytes - start
    parts = [f"{each.value:0{each.bits}b}" for each in reversed(fields)]
    return "\n".join([*lines, "integer".ljust(16) + " ".join(["0" * unused, *parts])])


def shown(level: int) -> str:
    """The bits and the bytes of a report."""
    fields, _ = reports()[level]
    payload = payload_of(level, fields)
    return f"{table(fields)}\n{'in hexadecimal':<16}{number_of(fields):06x}\n{'payload':<16}{payload.hex()}"


def rendered() -> str:
    """The block of the page."""
    return f"""{BEGIN}
One attribute of {SIZE} members, `low` {LOW}, `high` {HIGH}, members `01`: z = 0 alone has the weight `high`.
Level 0 is a grid of width {WIDTH} with a `linear` label of 2 bits, level 1 a grid of width 1 with a `field` label of 3
bits, each of chance 2³¹. The device's member is {VALUE}. It takes words of 64 bits from its generator: where it needs
bits the upper ones, and for a number below n the remainder of a word below the last multiple of n. Another way
to draw from the same law is as good.

{grid_shown()}

{field_shown()}
{END}"""


def grid_shown() -> str:
    """The report of level 0."""
    fields, steps = grid_report()
    of_level, of_offset, of_row_0, of_row_1, of_z = WORDS[0]
    cell, t, z = steps["cell"], steps["t"], steps["z"]
    row_0, row_1 = (parity_shown(field.value, cell) for field in fields[2:4])
    return f"""**Level 0.** The upper 32 bits of `{of_level}` are {top(of_level, 32)}, below 2³¹. A grid of
width {WIDTH} has ⌊({SIZE} + {WIDTH} − 2)/{WIDTH}⌋ + 1 = 126 cells, so r = 7.

```text
offset          {of_offset} mod {WIDTH} = {fields[1].value}
cell            ⌊({VALUE} + {fields[1].value})/{WIDTH}⌋ = {cell} = {cell:07b}
row 0           upper 7 bits of {of_row_0}: {row_0}: bit 0 of t is {t & 1}
row 1           upper 7 bits of {of_row_1}: {row_1}: bit 1 of t is {t >> 1}
z               {of_z} mod (high + 3 · low) = {steps["u"]}, below high: z = {z}
y               {t} XOR {z} = {t ^ z}
```

Field by field, the first in the lowest bits; four bits are unused:

```text
{shown(0)}
```"""


def field_shown() -> str:
    """The report of level 1."""
    fields, steps = field_report()
    of_level, of_multiplier, of_z = WORDS[1]
    multiplier, found, t, z = fields[1].value, steps["product"], steps["t"], steps["z"]
    return f"""**Level 1.** The upper 32 bits of `{of_level}` are {top(of_level, 32)}, not below 2³¹. There are {SIZE}
cells, so r = 10, and p_r is 9.

```text
multiplier      upper 10 bits of {of_multiplier}: {multiplier} = {multiplier:010b}
cell            {VALUE} = {VALUE:010b}
product         {found} = {found:010b} in GF(2^10); its upper 3 bits are t = {t}
z               {of_z} mod (high + 7 · low) = {steps["u"]}; 1 + ⌊(that − high)/low⌋: z = {z}
y               {t} XOR {z} = {t ^ z}
```

```text
{shown(1)}
```"""


def parity_shown(row: int, cell: int) -> str:
    """A row, what of the cell it looks at, and how many ones that has."""
    both = row & cell
    return f"{row:07b} AND {cell:07b} = {both:07b}, {quantity(both.bit_count(), 'one')}"


def main() -> None:
    """Write the block of the page anew."""
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + rendered() + after, "utf-8")


if __name__ == "__main__":
    main()
