"""`sordino audit --empirical`: a lower bound on ε from reports of the installed sampler, or of any program."""

from __future__ import annotations

import shlex
import subprocess
import threading
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from sordino_analysis.conformance.empirical import EmpiricalBound, Sampler, empirical_bound
from sordino_analysis.conformance.samples import read_samples
from sordino_analysis.figures import figure
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity
from sordino_shared.randomizers.base import cell_codes
from sordino_shared.randomness import SystemRandomness

EmpiricalOption = Annotated[
    bool, typer.Option("--empirical", help="Bound ε from below by reports of the installed sampler, too.")
]
DrawsOption = Annotated[
    int | None, typer.Option(min=400, max=10**8, metavar="N", help="With --empirical: reports; default: by kind.")
]
SamplerOption = Annotated[
    str | None,
    typer.Option(metavar="COMMAND", help="With --empirical: a program; COMMAND VALUE COUNT prints VALUE PAYLOAD."),
]
Payloads = NDArray[np.uint8]
# A sampler that prints nothing for so long has stopped.
_WITHIN_S = 600
# Beside a value and a payload in hexadecimal digits a line has a blank and its end, of two letters on some systems.
_BESIDE_BYTES = 3
_MOST_SAID = 300


def audited_sampler(part: DevicePart, command: str | None, draws: int | None) -> EmpiricalBound:
    """The bound for the device's own sampler, or for a program; raises InvalidValue where that fails."""
    return empirical_bound(part, installed_sampler(part) if command is None else program(part, command), draws)


def installed_sampler(part: DevicePart) -> Sampler:
    """Reports as a device of this installation draws them."""
    randomness = SystemRandomness()

    def draw(cell: int, count: int) -> Payloads:
        codes = cell_codes(cell, part.domain.shape)
        content = b"".join(part.randomize(codes, randomness) for _ in range(count))
        return np.frombuffer(content, dtype=np.uint8).reshape(count, -1)

    return draw


def program(part: DevicePart, command: str) -> Sampler:
    """Reports of `COMMAND VALUE COUNT`, which prints COUNT lines `VALUE PAYLOAD`, as for `sordino conformance`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidValue(f"--sampler: {command} cannot be split into words: {error}", command) from error
    if not words:
        raise InvalidValue("--sampler: name a program", command)

    def draw(cell: int, count: int) -> Payloads:
        width, digits = part.randomizer.payload_bytes, len(str(part.domain.size))
        printed = _printed([*words, str(cell), str(count)], count * (2 * width + digits + _BESIDE_BYTES))
        found = read_samples(printed.splitlines(keepends=True), part).get(cell) if printed else None
        content = b"" if found is None else bytes(found.payloads)
        if len(content) != count * width:
            raise InvalidValue(
                f"--sampler: {command} {cell} {count} printed {len(content) // width} reports of value {cell}", command
            )
        return np.frombuffer(content, dtype=np.uint8).reshape(count, width)

    return draw


def _printed(command: list[str], most: int) -> bytes:
    """What the operator's own program prints; raises InvalidValue for more than `most` bytes, and where it fails."""
    shown = f"--sampler: {shlex.join(command)}"
    with TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise InvalidValue(f"{shown} does not run: {error}", shown) from error
        timer = threading.Timer(_WITHIN_S, process.kill)
        timer.start()
        with process:
            assert process.stdout is not None
            printed = process.stdout.read(most + 1)
            if len(printed) > most:
                process.kill()
        timer.cancel()
        if len(printed) > most:
            raise InvalidValue(f"{shown} prints more than the reports that it was asked for", shown)
        if process.returncode:
            errors.seek(0)
            told = errors.read(_MOST_SAID).decode(errors="replace").strip()
            raise InvalidValue(f"{shown} ended with {process.returncode}: {told}", shown)
    return printed


def lines(found: EmpiricalBound) -> Iterator[str]:
    """The bound in words, with what a perfect sampler gives."""
    draws = quantity(found.draws, "report")
    yield f"empirical: ε ≥ {figure(found.bound, 3)} from {draws} of the sampler; {figure(found.claimed, 3)} is claimed"
    yield f"a perfect sampler gives ≥ {figure(found.perfect, 3)} with as many; finds samplers of ε above about " + (
        f"{figure(found.finds_above, 3)}, and none that leaks more rarely than once in these reports"
    )
    yield f"by values {found.values[0]} and {found.values[1]}: {found.event}"
