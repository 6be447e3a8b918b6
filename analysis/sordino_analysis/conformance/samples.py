"""Lines `VALUE PAYLOAD` as arrays: the number of a cell, and the payload that was drawn for it in hexadecimal."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

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


def read_samples(lines: Iterable[bytes], part: DevicePart) -> dict[int, Samples]:
    """Samples by value; blank lines are skipped. Raises `InvalidValue` with the number of the first line at fault."""
    found: dict[int, Samples] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        try:
            cell, payload = _parsed(words, part)
        except InvalidValue as error:
            shown = line[:_SHOWN].decode("utf-8", "replace").strip()
            raise InvalidValue(f"line {number} ({shown!r}): {error}", line) from error
        samples = found.setdefault(cell, Samples(part.randomizer.payload_bytes))
        samples.content += payload
        samples.lines.append(number)
    if not found:
        raise InvalidValue("there are no lines to test: give `VALUE PAYLOAD`, one report a line, on standard input")
    return found


def _parsed(words: list[bytes], part: DevicePart) -> tuple[int, bytes]:
    if len(words) != 2:
        raise InvalidValue(f"a line has two words, VALUE and PAYLOAD, not {len(words)}", words)
    value, payload = words
    size, width = part.domain.size, part.randomizer.payload_bytes
    # A number with more digits than any cell's would take its time.
    if not value.isdigit() or len(value) > len(str(size)) or int(value) >= size:
        raise InvalidValue(f"VALUE must be the number of a cell, 0 to {size - 1}", value)
    try:
        content = bytes.fromhex(payload.decode("ascii"))
    except ValueError as error:
        raise InvalidValue("PAYLOAD must be written in hexadecimal digits, two a byte", payload) from error
    if len(content) != width:
        raise InvalidValue(
            f"PAYLOAD has {quantity(len(content), 'byte')}, those of this device part have {width}",
            payload,
        )
    return int(value), content
