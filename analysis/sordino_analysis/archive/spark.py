"""An archive added up by a Spark cluster: each task takes parts, which its executor opens with pyarrow itself."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sordino_analysis.archive.engines import PartSums
from sordino_analysis.archive.errors import ArchiveError, BadPart
from sordino_analysis.archive.manifest import ArchivedPart
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_shared.errors import InvalidValue, SordinoError

# The driver holds the sums of all tasks, and Spark refuses a gigabyte of them.
_COLLECTED_BYTES = 1 << 28
# Enough to reach every executor of most clusters; each task looks again before it reads a part.
_CHECKS = 64
_SAME_VERSIONS = ("sordino_shared", "sordino_analysis", "numpy", "pyarrow")
_NEEDS = (
    f"executors need Python {sys.version_info.major}.{sys.version_info.minor}, numpy, pyarrow, pandas and, "
    "installed with --no-deps, the wheels of sordino-shared and sordino-analysis, in the versions of this machine; "
    "PYSPARK_PYTHON names their interpreter"
)
_MASTER = re.compile(r"local(\[.+\])?|yarn|(spark|k8s)://.+")
Versions = dict[str, str]
Batches = Iterator[Any]


@dataclass(frozen=True)
class SparkEngine:
    """The executors of a pyspark.sql.SparkSession; where one dies, another one starts its parts again.

    Raises ArchiveError before the first part is read where executors have other versions than this machine.
    """

    session: Any

    def __call__(self, sums_of: PartSums, parts: Sequence[ArchivedPart]) -> Iterator[Aggregate]:
        if not parts:
            return
        versions_of = _version_reader(_SAME_VERSIONS)
        self._compare(versions_of, min(len(parts), _CHECKS))
        tasks = min(len(parts), max(1, _COLLECTED_BYTES // sums_of.empty.sums.nbytes))
        work = _adder(sums_of, parts, versions_of)
        with _explained("Spark did not add up"):
            rows = self._run(len(parts), tasks, work, "reports long, sums binary, part string, problem string")
        for row in rows:
            if row.problem is not None:
                raise BadPart(row.part, row.problem) if row.part else ArchiveError(row.problem)
            yield Aggregate.from_bytes(row.reports, row.sums)

    def _compare(self, versions_of: Callable[[], Versions], tasks: int) -> None:
        with _explained("Spark's executors cannot add up", f"; {_NEEDS}"):
            rows = self._run(tasks, tasks, _reporter(versions_of), "host string, name string, version string")
        found: dict[str, Versions] = {}
        for row in rows:
            found.setdefault(row.host, {})[row.name] = row.version
        for host, versions in found.items():
            if other := _differences(versions, versions_of()):
                raise ArchiveError(f"Spark's executor on {host} cannot add up: {other}; {_NEEDS}")

    def _run(self, numbers: int, tasks: int, work: Callable[[Batches], Batches], schema: str) -> list[Any]:
        """The rows that `work` makes of the numbers below `numbers`, which are shared among the tasks evenly."""
        rows: list[Any] = self.session.range(0, numbers, 1, tasks).mapInArrow(work, schema).collect()
        return rows


def _version_reader(names: Sequence[str]) -> Callable[[], Versions]:
    """A function that is sent to executors as it is: nothing of sordino needs to be installed there."""

    def read() -> Versions:
        from importlib import import_module

        found = {}
        for name in names:
            try:
                found[name] = str(import_module(name).__version__)
            except ImportError:
                found[name] = "missing"
        return found

    return read


def _reporter(versions_of: Callable[[], Versions]) -> Callable[[Batches], Batches]:
    def report(batches: Batches) -> Batches:
        import socket

        import pyarrow

        for _ in batches:
            rows = [{"host": socket.gethostname(), "name": n, "version": v} for n, v in versions_of().items()]
            yield pyarrow.RecordBatch.from_pylist(rows)

    return report


def _adder(
    sums_of: PartSums, parts: Sequence[ArchivedPart], versions_of: Callable[[], Versions]
) -> Callable[[Batches], Batches]:
    """From numbers of parts to one row: their sums, or what is wrong with one of them."""
    expected = versions_of()

    def row(**found: Any) -> Any:
        import pyarrow

        fields = [("reports", pyarrow.int64()), ("sums", pyarrow.binary())]
        texts = [("part", pyarrow.string()), ("problem", pyarrow.string())]
        return pyarrow.RecordBatch.from_pylist([found], schema=pyarrow.schema(fields + texts))

    def add_up(batches: Batches) -> Batches:
        if other := _differences(versions_of(), expected):
            yield row(problem=f"a Spark executor cannot add up: {other}; {_NEEDS}")
            return
        total = sums_of.empty
        try:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    total += sums_of(parts[number])
        except BadPart as bad:
            # As a row, since Spark would try an error four times and wrap it in Java's words.
            yield row(part=bad.name, problem=bad.problem)
            return
        yield row(reports=total.count, sums=total.to_bytes())

    return add_up


def _differences(found: Versions, expected: Versions) -> str:
    """`numpy 2.3.1 instead of 2.4.6, pyarrow is missing`; empty where all are the same."""
    lines = []
    for name, version in expected.items():
        if found[name] == "missing":
            lines.append(f"{name} is missing")
        elif found[name] != version:
            lines.append(f"{name} {found[name]} instead of {version}")
    return ", ".join(lines)


@contextmanager
def spark_session(master: str) -> Iterator[Any]:
    """A session of the cluster `master`, such as spark://host:7077 or local[2,4]: two threads, four tries of a task.

    Raises InvalidValue for another address, SordinoError without pyspark, pandas or Java, and ArchiveError where the
    cluster cannot be reached.
    """
    if not _MASTER.fullmatch(master):
        raise InvalidValue(f"{master} is no Spark master: give spark://host:7077, k8s://…, yarn or local[2,4]", master)
    _check_installed()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("sordino aggregate")
    for setting in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(setting, "false")
    if master.startswith("local"):
        # Executors take python3 from the path otherwise, which knows nothing of a virtual environment.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        for setting in ("spark.driver.host", "spark.driver.bindAddress"):
            builder = builder.config(setting, "127.0.0.1")
    with _explained(f"Spark did not start on {master}", "; is that where its master runs?"):
        session = builder.master(master).config("spark.log.level", "FATAL").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _check_installed() -> None:
    for name in ("pyspark", "pandas", "pyarrow"):
        try:
            import_module(name)
        except ImportError as error:
            raise SordinoError(
                f"Spark needs {name}, which is not installed: install the extra `spark` of sordino-analysis or "
                "sordino-server"
            ) from error
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=f"{home}/bin" if home else None):
        raise SordinoError("Spark needs Java 17 or 21, which is not on the path: install it, or set JAVA_HOME")


@contextmanager
def _explained(problem: str, advice: str = "") -> Iterator[None]:
    """Turn Spark's errors into an ArchiveError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise ArchiveError(f"{problem}: {_reason(error)}{advice}") from error


def _reason(error: Exception) -> str:
    """What went wrong in one line, without Java's stack traces."""
    text = str(error)
    if lost := re.search(r"most recent failure: (.*)", text):
        return lost[1]
    raised = re.findall(r"^(?:: )?([\w.]*(?:Error|Exception): .*)", text, re.MULTILINE)
    return raised[-1] if raised else text.strip().partition("\n")[0]
