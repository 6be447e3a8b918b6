"""A sampler of one's own, started again for every report: what a process begins with must not be what it draws with."""

from __future__ import annotations

import subprocess
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

from sordino_analysis.conformance.samples import Samples, read_samples
from sordino_analysis.conformance.verdict import judge
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Randomizer

# Of one start, which draws one report.
_WITHIN_S = 60
_SHOWN = 300
_MOST_STARTS = 1 << 20


def started_samples(command: Sequence[str], randomizer: Randomizer, starts: int) -> dict[int, Samples]:
    """One report of each start, of the first value and of the last in turn; raises InvalidValue for another output."""
    values = (0, randomizer.size - 1)
    lines = [_line(command, values[number % 2], number + 1) for number in range(starts)]
    return read_samples(lines, randomizer)


def starts_needed(part: DevicePart, samples: Mapping[int, Samples], false_alarm: float) -> int:
    """Starts of a value that would show a sampler which begins with one state, by the likeliest payload of each value.

    The verdict on a process that always sends this payload is worked out for more and more starts.
    """
    return max(_needed_of(part, value, taken, false_alarm) for value, taken in samples.items())


def _needed_of(part: DevicePart, value: int, samples: Samples, false_alarm: float) -> int:
    (stuck, _), *_ = Counter(row.tobytes() for row in samples.payloads).most_common(1)
    starts = 2
    while starts < _MOST_STARTS:
        alike = Samples(samples.width, bytearray(stuck * starts), array("Q", range(starts)))
        if judge(part, {value: alike}, false_alarm).outcome == "differs":
            break
        starts += max(1, starts // 4)
    return starts


def _line(command: Sequence[str], value: int, number: int) -> bytes:
    """What the sampler prints when it is started for one report of a value."""
    asked = f"start {number}: {' '.join(command)} {value}"
    try:
        done = subprocess.run(
            [*command, str(value)], stdin=subprocess.DEVNULL, capture_output=True, timeout=_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidValue(f"{asked} takes longer than {_WITHIN_S} s", command) from error
    except OSError as error:
        raise InvalidValue(f"{asked} cannot be started: {error.strerror or error}", command) from error
    if done.returncode:
        said = done.stderr[-_SHOWN:].decode("utf-8", "replace").strip()
        raise InvalidValue(f"{asked} ends with code {done.returncode}: {said}", command)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if len(lines) != 1 or lines[0].split()[0] != str(value).encode():
        raise InvalidValue(f"{asked} prints {len(lines)} lines, not the one line `{value} PAYLOAD`", command)
    return lines[0]
