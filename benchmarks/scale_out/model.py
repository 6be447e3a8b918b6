"""How long adding up takes: start + (reports · b + parts · e)/cores, with b and e fitted to what was measured."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.scale_out.archives import direction, random_archive, response
from sordino_analysis.archive.archive import Archive
from sordino_shared.randomizers import AnyRandomizer

# Parts, and reports in each: many small parts tell a part's own cost from that of its reports.
POINTS = ((1, 1_000_000), (4, 1_000_000), (10, 1_000_000), (100, 1_000), (100, 20_000))
MORE_OF_A_BYTE = 16
# The least of them: other processes make a run longer, never shorter.
REPEATS = 3
EXPONENTS = {10**9: "10⁹", 10**10: "10¹⁰"}


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Processor seconds of a report and of a part; `residual` is the largest error over a measured value."""

    report: float
    part: float
    residual: float

    def seconds(self, reports: int, parts: int, cores: int) -> float:
        """The time of so many reports on cores that share them evenly, without the start of their processes."""
        return (self.report * reports + self.part * parts) / cores


def fitted(reports: Sequence[int], parts: Sequence[int], seconds: Sequence[float]) -> Cost:
    """Least squares of relative errors; raises ValueError for fewer than two measurements."""
    if len(seconds) < 2:
        raise ValueError("two numbers are fitted to two measurements or more")
    measured = np.array(seconds)
    terms = np.column_stack([reports, parts]) / measured[:, None]
    scale = np.abs(terms).max(axis=0)
    found = np.linalg.lstsq(terms / scale, np.ones(len(measured)), rcond=None)[0] / scale
    residual = float(np.abs(terms @ found - 1).max())
    return Cost(report=float(found[0]), part=float(found[1]), residual=residual)


def measured_cost(randomizer: AnyRandomizer, share: int, more: int) -> Cost:
    """Fitted to one process' sums of archives with `more` times the reports of POINTS, over `share`."""
    reports, parts, seconds = [], [], []
    for number, in_part in POINTS:
        with tempfile.TemporaryDirectory() as folder:
            archive = random_archive(os.path.join(folder, "archive"), randomizer, number, in_part * more // share)
            seconds.append(min(_processor_seconds(archive) for _ in range(REPEATS)))
        reports.append(number * (in_part * more // share))
        parts.append(number)
    return fitted(reports, parts, seconds)


def _processor_seconds(archive: Archive) -> float:
    began = time.process_time()
    archive.sums(archive.chosen())
    return time.process_time() - began


def model_figures(share: int) -> Iterator[tuple[str, float, str]]:
    """The fit of both kinds, and what it says of 10⁹ and 10¹⁰ reports in parts of the export's size."""
    yield "model: start of a process", _start(), "CPU-s"
    kinds = (("1 byte", response(), MORE_OF_A_BYTE, 16_000_000), ("17 bytes", direction(), 1, 1_000_000))
    for name, randomizer, more, in_part in kinds:
        cost = measured_cost(randomizer, share, more)
        yield f"model, {name}: a report", cost.report * 1e9, "ns"
        yield f"model, {name}: a part", cost.part * 1e3, "ms"
        yield f"model, {name}: largest residual", cost.residual * 100, "%"
        for reports in EXPONENTS:
            for cores in (1, 16, 64):
                took = cost.seconds(reports, -(-reports // in_part), cores)
                yield f"model, {name}: {EXPONENTS[reports]} reports on {cores} core{'s' * (cores > 1)}", took, "s"


def _start() -> float:
    """Processor seconds of a process until it could open a part."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "import sordino_analysis.archive.parts, pyarrow.parquet, pyarrow.fs"], check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
