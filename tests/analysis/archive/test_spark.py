"""Spark adds up to the bytes of one process, whoever is killed, and executors that differ read no part."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino_shared
from benchmarks.scale_out.archives import archive_of
from sordino_analysis.archive import spark
from sordino_analysis.archive.archive import Archive
from sordino_analysis.archive.engines import Engine, PartSums
from sordino_analysis.archive.errors import ArchiveError, BadPart
from sordino_analysis.archive.spark import SparkEngine, spark_session
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue, SordinoError
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.randomizers import direction

ROOT = Path(__file__).parents[3]
WITH_SPARK = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("pyspark") is None, reason="no pyspark: pip install -r requirements/spark.txt, half a gigabyte"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java: apt-get install openjdk-17-jre-headless"),
]
PLANE = direction((10, 0), (0, 10), (-6, 8))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Ten parts of 2,000 random directions."""
    payloads = randomize_many(PLANE, np.arange(20_000) % 3, SeededRandomness(5))
    return archive_of(str(tmp_path / "archive"), PLANE, np.split(payloads, 10))


def dying(sums_of: PartSums, folder: Path, deaths: int, ancestors: int) -> Any:
    """The same work, but the first `deaths` tasks kill a process: their own, or an ancestor of it."""

    class Dying:
        """A local class is sent to executors whole: they cannot import this test."""

        @property
        def empty(self) -> Aggregate:
            return sums_of.empty

        def __call__(self, part: Any) -> Aggregate:
            found = sums_of(part)
            for death in range(deaths):
                try:
                    (folder / f"killed-{death}").mkdir()
                except FileExistsError:
                    continue
                victim = os.getpid()
                for _ in range(ancestors):
                    victim = int(Path(f"/proc/{victim}/stat").read_text().rpartition(")")[2].split()[1])
                os.kill(victim, signal.SIGKILL)
                time.sleep(PATIENCE_S)
            return found

    return Dying()


def dying_engine(session: Any, folder: Path, *, deaths: int, ancestors: int) -> Engine:
    """Spark's engine, some of whose processes are killed in the middle."""
    return lambda sums_of, parts: SparkEngine(session)(dying(sums_of, folder, deaths, ancestors), parts)


@pytest.mark.parametrize("name", ["pyspark", "pandas"])
def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for other in ("pyspark", "pandas"):
        monkeypatch.setitem(sys.modules, other, None if other == name else sys)
    with pytest.raises(SordinoError, match=f"Spark needs {name}, .* extra `spark` of sordino-analysis"):
        spark_session("local[1]").__enter__()


def test_java_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("pyspark", "pandas"):
        monkeypatch.setitem(sys.modules, name, sys)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SordinoError, match="Java 17 or 21"):
        spark_session("local[1]").__enter__()


def test_spark_s_errors_in_one_line() -> None:
    crashed = (
        "An error occurred while calling o50.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to "
        "stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0: the worker crashed\n"
        "\tat py4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\nCaused by: java.io.EOFException: x\n"
    )
    assert spark._reason(Exception(crashed)) == "Lost task 0.0: the worker crashed"
    raised = "\n  An exception\nTraceback (most recent call last):\n  File x\nModuleNotFoundError: No module 'a'\n\n"
    assert spark._reason(Exception(raised)) == "ModuleNotFoundError: No module 'a'"
    stopped = "An error occurred while calling None.X.\n: java.lang.IllegalStateException: stopped\n\tat X.scala:1\n"
    assert spark._reason(Exception(stopped)) == "java.lang.IllegalStateException: stopped"
    assert spark._reason(Exception("[CODE] Text\nmore")) == "[CODE] Text"


@pytest.mark.parametrize("master", ["host:7077", "spark://", "local[]", "yarn-client", ""])
def test_an_address_that_is_no_master(master: str) -> None:
    with pytest.raises(InvalidValue, match="no Spark master: give spark://host:7077"):
        spark_session(master).__enter__()


def test_an_archive_without_reports_needs_no_cluster(tmp_path: Path) -> None:
    archive = archive_of(str(tmp_path), PLANE, [])
    assert archive.sums(archive.chosen(), SparkEngine(None)) == archive.sums(archive.chosen())
    assert archive.sums(archive.chosen()).count == 0


class TestOneMachine:
    pytestmark = WITH_SPARK

    def test_same_bytes_although_every_python_worker_is_killed(self, archive: Archive, tmp_path: Path) -> None:
        expected = archive.sums(archive.chosen())
        with spark_session("local[2,4]") as session:
            assert archive.sums(archive.chosen(), SparkEngine(session)) == expected
            assert archive.sums(archive.chosen(3, 7), SparkEngine(session)) == archive.sums(archive.chosen(3, 7))
            survived = archive.sums(archive.chosen(), dying_engine(session, tmp_path, deaths=2, ancestors=0))
        assert len(list(tmp_path.glob("killed-*"))) == 2
        assert survived == expected

    def test_bad_parts_are_named_in_our_words(
        self, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Two tasks of five parts each: those behind the damaged one are not read.
        monkeypatch.setattr(spark, "_COLLECTED_BYTES", 2 * 8 * PLANE.accumulator_size)
        expected = archive.sums(archive.chosen())
        part = Path(archive.folder.path) / "part-00003.parquet"
        content = part.read_bytes()
        with spark_session("local[2,4]") as session:
            engine = SparkEngine(session)
            assert archive.sums(archive.chosen(), engine) == expected
            part.unlink()
            with pytest.raises(BadPart, match=r"^part-00003\.parquet is missing$"):
                archive.sums(archive.chosen(), engine)
            part.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            with pytest.raises(BadPart, match=r"^part-00003\.parquet is not the file that the manifest names$"):
                archive.sums(archive.chosen(), engine)

    def test_the_command(self, archive: Archive) -> None:
        command = [sys.executable, "-m", "sordino_server", "aggregate", "--from", archive.folder.url]
        done = subprocess.run(
            [*command, "--engine", "spark", "--processes", "2"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str(archive.sums(archive.chosen()).digest)


@contextmanager
def _started(name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process of Spark from the pip package, with our packages on its path."""
    import pyspark

    home = Path(pyspark.__file__).parent
    ours = [str(ROOT / package) for package in ("shared", "analysis")]
    path = os.pathsep.join([*ours, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"SPARK_HOME": str(home), "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen(
        [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def _wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read what the process says until it says `text`."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if re.search(text, line):
            return
    raise AssertionError("".join(said))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A master and two workers of one core each, so that there are two executors; the master's address."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    places = "--host", "127.0.0.1", "--webui-port", "0"
    with _started("master.Master", *places, "--port", str(port)) as master:
        _wait_for(master, "New state: ALIVE")
        worker = "--cores", "1", "--memory", "1g", *places, "--work-dir", str(tmp_path / "work"), address
        with _started("worker.Worker", *worker) as first, _started("worker.Worker", *worker) as second:
            for each in (first, second):
                _wait_for(each, "Successfully registered with master")
            yield address


class TestCluster:
    pytestmark = WITH_SPARK

    def test_same_bytes_although_an_executor_is_killed(
        self, archive: Archive, cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        with spark_session(cluster) as session:
            # A task's parent is the daemon of its executor, whose parent is the executor.
            survived = archive.sums(archive.chosen(), dying_engine(session, tmp_path, deaths=1, ancestors=2))
        assert len(list(tmp_path.glob("killed-*"))) == 1
        assert survived == archive.sums(archive.chosen())

    def test_a_wrong_interpreter_is_named_before_the_first_part_is_read(
        self, archive: Archive, cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for part in Path(archive.folder.path).glob("part-*"):
            part.unlink()
        bare = tmp_path / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
        monkeypatch.setenv("PYSPARK_PYTHON", str(bare / "bin" / "python"))
        with spark_session(cluster) as session, pytest.raises(ArchiveError, match=r"No module named .*--no-deps"):
            archive.sums(archive.chosen(), SparkEngine(session))
        monkeypatch.setenv("PYSPARK_PYTHON", str(_with_another_version(tmp_path)))
        with (
            spark_session(cluster) as session,
            pytest.raises(ArchiveError, match=rf"sordino_shared 99\.0\.0 instead of {sordino_shared.__version__};"),
        ):
            archive.sums(archive.chosen(), SparkEngine(session))


def _with_another_version(folder: Path) -> Path:
    """An interpreter that finds a sordino_shared of another version first."""
    copy = folder / "other"
    shutil.copytree(ROOT / "shared" / "sordino_shared", copy / "sordino_shared")
    init = copy / "sordino_shared" / "__init__.py"
    init.write_text(init.read_text().replace(f'"{sordino_shared.__version__}"', '"99.0.0"'))
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{copy}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program
