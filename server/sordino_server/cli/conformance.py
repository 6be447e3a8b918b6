"""`sordino conformance`: test whether a sampler draws from the distribution of a device part."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_analysis.conformance.samples import Samples, read_samples
from sordino_analysis.conformance.verdict import FALSE_ALARM, ConformanceResult, judge, reports_needed
from sordino_analysis.figures import figure
from sordino_analysis.planning.plan_folder import DEVICE_FILE
from sordino_server.cli.output import JsonOption, console, fail, print_json, reports_errors
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import InvalidValue, ProtocolError
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity
from sordino_shared.randomizers.base import MAX_DEVICE_TYPES


@reports_errors
def conformance(
    device_part: Annotated[
        Path, typer.Argument(metavar="DEVICE_PART", help=f"{DEVICE_FILE} from `sordino plan --output`.")
    ],
    sampler: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SAMPLER]...", help="With --fresh: the command that draws one report.", show_default=False
        ),
    ] = None,
    fresh: Annotated[
        int | None,
        typer.Option(min=2, max=100_000, metavar="N", help="Start the sampler N times for one report each."),
    ] = None,
    false_alarm: Annotated[
        float,
        typer.Option(
            "--false-alarm", min=1e-12, max=0.1, metavar="P", help="Largest probability of rejecting a correct sampler."
        ),
    ] = FALSE_ALARM,
    needed: Annotated[
        bool, typer.Option("--needed", help="Print how many reports per value a test needs; read nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Test a sampler in any language against the exact distribution of a device part.

    Example, after `sordino plan --output delays`:

        sordino conformance delays/device.cbor < lines

    Standard input has one report per line: VALUE PAYLOAD. VALUE is the index of the value's cell, from 0. PAYLOAD is
    the sampler's output in hexadecimal, without the report's id. Draw every value, with fresh randomness per report.

    The test compares every count (payloads, reports in favour of the value, uniform parts, reports equal to the one
    before) with its exact distribution. p is the probability that a correct sampler gives a result this unlikely. The
    sampler is rejected if p is at most the false-alarm rate.

    A test needs enough reports: `--needed` prints how many per value detect an ε that is 10 % too large in 99 of 100
    runs. A sampler that begins with the same randomness at every start passes this test in one process. So test it too
    with a start for each report, where the value is its last argument:

        sordino conformance delays/device.cbor --fresh 200 -- my-sampler delays/device.cbor

    Exit codes: 0 the sampler conforms, 1 it differs or there are too few reports, 2 bad input.
    """
    part = _read_part(device_part)
    if needed:
        _print_needed(part, false_alarm, as_json)
        return
    verdict = _judged(part, sampler or [], fresh, false_alarm)
    unseen = part.domain.size - verdict.values
    if as_json:
        print_json(_summary(verdict) | {"values_without_reports": unseen})
    else:
        _print(verdict, unseen)
    _fail_unless_it_conforms(verdict, fresh)


def _judged(part: DevicePart, sampler: list[str], fresh: int | None, false_alarm: float) -> ConformanceResult:
    if (fresh is None) != (not sampler):
        raise InvalidValue("a command after `--` and --fresh N belong together: the sampler is started N times")
    if fresh is None:
        return judge(part, read_samples(sys.stdin.buffer, part), false_alarm)
    samples = started_samples(sampler, part, fresh)
    needed = starts_needed(part, samples, false_alarm)
    return replace(judge(part, samples, false_alarm), needed=needed)


def _fail_unless_it_conforms(verdict: ConformanceResult, fresh: int | None) -> None:
    if verdict.outcome == "differs":
        fail(f"the sampler does not draw from the distribution of the device part; do not ship it ({verdict.seen})")
    if verdict.outcome == "too_few":
        missed = "an ε that is 10 % too large" if fresh is None else "a sampler that starts with the same randomness"
        found = f"a value has {verdict.fewest}, {verdict.needed} are needed"
        fail(f"too few reports to detect {missed}: {found}; draw more")


def _read_part(path: Path) -> DevicePart:
    try:
        part = DevicePart.read(path.read_bytes())
    except ProtocolError as error:
        raise InvalidValue(f"{path} is not a device part: {error}", path) from error
    check_guarantee(part)
    return part


def _print_needed(part: DevicePart, false_alarm: float, as_json: bool) -> None:
    # Nobody draws every value of a larger domain: the false alarms are shared by as many as one may draw.
    values = min(part.domain.size, MAX_DEVICE_TYPES)
    most = max(reports_needed(part, cell, values, false_alarm) for cell in range(min(values, 64)))
    if as_json:
        print_json({"reports_a_value": most, "values": values, "false_alarm": false_alarm})
    else:
        which = f"each of the {values}" if values == part.domain.size else f"each of up to {values}"
        _say(f"{most} reports of {which} values detect an ε 10 % too large in 99 of 100 runs")


def _summary(verdict: ConformanceResult) -> dict[str, Any]:
    return {
        "verdict": verdict.outcome,
        "p": verdict.p,
        "least_likely": verdict.seen,
        "false_alarm": verdict.false_alarm,
        "reports": verdict.reports,
        "values": verdict.values,
        "fewest_reports_of_a_value": verdict.fewest,
        "reports_of_a_value_needed": verdict.needed,
    }


def _print(verdict: ConformanceResult, unseen: int) -> None:
    _say(f"{quantity(verdict.reports, 'report')} of {quantity(verdict.values, 'value')}: p = {figure(verdict.p, 3)}")
    _say(f"least likely: {verdict.seen}")
    if unseen:
        _say(f"{unseen} of {unseen + verdict.values} values have no report and are not tested")


def _say(line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)


# Of one start, which draws one report.
_WITHIN_S = 60
_SHOWN = 300
_MOST_STARTS = 1 << 20


def started_samples(command: Sequence[str], part: DevicePart, starts: int) -> dict[int, Samples]:
    """One report of each start, of the first value and of the last in turn; raises InvalidValue for another output."""
    values = (0, part.domain.size - 1)
    lines = [_line(command, values[number % 2], number + 1) for number in range(starts)]
    return read_samples(lines, part)


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
