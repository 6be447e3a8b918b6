"""Jobs of Spark on this machine, each session in a new process: a warm JVM would hide what the first job costs."""

from __future__ import annotations

import multiprocessing as mp
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.scale_out.archives import direction, random_archive
from sordino_analysis.archive.archive import Archive
from sordino_analysis.archive.spark import SparkEngine, spark_session

PARTS, IN_PART = 10, 1_000_000
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Job:
    """Seconds by the clock, and processor seconds of all Python processes and of the JVM."""

    clock: float
    python: float
    jvm: float

    @property
    def share(self) -> float:
        """Of the processor seconds, what the JVM takes."""
        return self.jvm / (self.jvm + self.python)


def spark_figures(share: int) -> Iterator[tuple[str, float, str]]:
    """Two jobs of a session of one thread and of two; raises ArchiveError where sums differ from one process'."""
    with tempfile.TemporaryDirectory() as folder:
        url = os.path.join(folder, "archive")
        archive = random_archive(url, direction(), PARTS, IN_PART // share)
        expected = str(archive.sums(archive.chosen()).digest)
        clocks = []
        for threads in (1, 2):
            name = f"local[{threads}]"
            start, jobs, digests = _in_new_process(f"local[{threads},4]", url)
            assert digests == {expected}, "Spark's sums are not those of one process"
            yield f"Spark {name}: start of the session", start, "s by the clock"
            for which, job in zip(("first", "second"), jobs, strict=True):
                yield f"Spark {name}, {which} job: by the clock", job.clock, "s"
                yield f"Spark {name}, {which} job: Python", job.python, "CPU-s"
                yield f"Spark {name}, {which} job: JVM", job.jvm, "CPU-s"
                yield f"Spark {name}, {which} job: the JVM's share", 100 * job.share, "%"
            clocks.append(jobs[-1].clock)
        yield "Spark local[2] beside local[1], second jobs", clocks[0] / clocks[1], "times as fast"


def _in_new_process(master: str, url: str) -> tuple[float, list[Job], set[str]]:
    with ProcessPoolExecutor(1, mp.get_context("spawn")) as one:
        return one.submit(_session, master, url).result()


def _session(master: str, url: str) -> tuple[float, list[Job], set[str]]:
    archive = Archive.open(url)
    began = time.perf_counter()
    with spark_session(master) as session:
        start = time.perf_counter() - began
        jobs, digests = [], set()
        for _ in range(2):
            clock, (python, jvm) = time.perf_counter(), _processor_seconds()
            digests.add(str(archive.sums(archive.chosen(), SparkEngine(session)).digest))
            after = _processor_seconds()
            jobs.append(Job(time.perf_counter() - clock, after[0] - python, after[1] - jvm))
    return start, jobs, digests


def _processor_seconds() -> tuple[float, float]:
    """Of this process and all below it: Python's, the JVM's; of ended ones too, which count with their parent."""
    parents, used, names = {}, {}, {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = status.read_text().rpartition(")")
        except OSError:
            continue
        fields = after.split()
        number, names_of = int(status.parent.name), before.partition("(")[2]
        parents[number], names[number] = int(fields[1]), names_of
        used[number] = tuple(int(ticks) / _TICK for ticks in fields[11:15])
    python = jvm = 0.0
    for number in used:
        if os.getpid() in _ancestors(number, parents):
            user, system, ended_user, ended_system = used[number]
            # What ended below the JVM was Python.
            python += ended_user + ended_system
            if names[number] == "java":
                jvm += user + system
            else:
                python += user + system
    return python, jvm


def _ancestors(number: int, parents: dict[int, int]) -> Iterator[int]:
    """The process itself and all above it."""
    while number in parents:
        yield number
        number = parents[number]
