"""Lines `VALUE PAYLOAD` as arrays: the number of a cell, and the payload that was drawn for it in hexadecimal."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import Randomizer

# Reports that a failed test prints at most.
_SHOWN = 40


@dataclass
class Samples:
    """The payloads of one value in the order of their lines, and the numbers of the lines."""

    width: int
    content: bytearray = field(default_factory=bytearray)
    lines: array[int] = field(default_factory=lambda: array("Q"))

    @property
    def payloads(self) -> NDArray[np.uint8]:
        """(n, width) bytes."""
        return np.frombuffer(bytes(self.content), dtype=np.uint8).reshape(-1, self.width)


def read_samples(lines: Iterable[bytes], randomizer: Randomizer) -> dict[int, Samples]:
    """Samples by value; blank lines are skipped. Raises `InvalidValue` with the number of the first line at fault."""
    found: dict[int, Samples] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        try:
            cell, payload = _parsed(words, randomizer)
        except InvalidValue as error:
            shown = line[:_SHOWN].decode("utf-8", "replace").strip()
            raise InvalidValue(f"line {number} ({shown!r}): {error}", line) from error
        samples = found.setdefault(cell, Samples(randomizer.payload_bytes))
        samples.content += payload
        samples.lines.append(number)
    if not found:
        raise InvalidValue("there are no lines to test: give `VALUE PAYLOAD`, one report a line, on standard input")
    return found


def _parsed(words: list[bytes], randomizer: Randomizer) -> tuple[int, bytes]:
    if len(words) != 2:
        raise InvalidValue(f"a line has two words, VALUE and PAYLOAD, not {len(words)}", words)
    value, payload = words
    # A number with more digits than any cell's would take its time.
    if not value.isdigit() or len(value) > len(str(randomizer.size)) or int(value) >= randomizer.size:
        raise InvalidValue(f"VALUE must be the number of a cell, 0 to {randomizer.size - 1}", value)
    try:
        content = bytes.fromhex(payload.decode("ascii"))
    except ValueError as error:
        raise InvalidValue("PAYLOAD must be written in hexadecimal digits, two a byte", payload) from error
    if len(content) != randomizer.payload_bytes:
        raise InvalidValue(
            f"PAYLOAD has {quantity(len(content), 'byte')}, those of this device part have {randomizer.payload_bytes}",
            payload,
        )
    return int(value), content
