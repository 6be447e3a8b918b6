"""The ways of examples/scale-out give the bytes of one process: those that need a cluster's library where it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from benchmarks.scale_out.archives import archive_of
from sordino_analysis.archive.aggregate_document import AggregateDocument, added
from sordino_analysis.archive.archive import Archive
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.patience import PATIENCE_S
from tests.randomizers import RESPONSE

FOLDER = Path(__file__).parents[2] / "examples" / "scale-out"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Five parts of ten reports."""
    payloads = randomize_many(RESPONSE, np.arange(50) % 5, SeededRandomness(5))
    return archive_of(str(tmp_path / "archive"), RESPONSE, np.split(payloads, 5))


@pytest.fixture
def shell(tmp_path: Path) -> Any:
    """Runs a command of the shell in an empty folder, in which `sordino` is ours."""
    program = tmp_path / "bin" / "sordino"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sordino_server "$@"\n')
    program.chmod(0o755)
    (tmp_path / "sums").mkdir()

    def run(*command: str, **variables: str) -> None:
        environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"} | variables
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr

    return run


def code(number: int, **places: str) -> str:
    """The page's block of Python, with paths of this machine."""
    text = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)[number]
    for shown, here in places.items():
        assert shown in text
        text = text.replace(shown, here)
    return str(text)


@pytest.mark.slow
def test_every_pod_of_the_job_adds_up_its_parts(archive: Archive, shell: Any, tmp_path: Path) -> None:
    job = yaml.safe_load((FOLDER / "job.yaml").read_text(encoding="utf-8"))["spec"]
    assert job["completionMode"] == "Indexed"
    (container,) = job["template"]["spec"]["containers"]
    stated = {each["name"]: each["value"] for each in container["env"]}
    assert (int(stated["PARTS"]) - 1) // int(stated["EACH"]) + 1 == job["completions"]
    command, option, script = container["command"]
    script = script.replace("/sums/", f"{tmp_path}/sums/")
    here = {"ARCHIVE": archive.folder.url, "PARTS": "5", "EACH": "3"}
    # The second pod is started again.
    for index in ("0", "1", "1"):
        shell(command, option, script, JOB_COMPLETION_INDEX=index, **here)
    found = [AggregateDocument.read(path.read_bytes()) for path in sorted((tmp_path / "sums").iterdir())]
    assert [each.parts for each in found] == [(0, 1, 2), (3, 4)]
    assert added(found) == archive.sums(archive.chosen())


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pyspark") is None, reason="no pyspark: pip install -r requirements/spark.txt")
@pytest.mark.skipif(shutil.which("java") is None, reason="no Java: apt-get install openjdk-17-jre-headless")
def test_the_notebook_of_databricks(archive: Archive, tmp_path: Path) -> None:
    from sordino_analysis.archive.spark import spark_session

    with spark_session("local[2,4]") as spark:
        exec(code(0, **{"/Volumes/main/telemetry": str(tmp_path)}), {"spark": spark})
    assert (tmp_path / "sums.cbor").read_bytes() == archive.sums(archive.chosen()).content


@pytest.mark.slow
@pytest.mark.parametrize(("number", "library"), [(1, "ray"), (2, "distributed")])
def test_the_engines_of_ray_and_dask(archive: Archive, number: int, library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"no {library}: pip install {library}")
    # Processes that Dask starts import the program anew, which needs a guard.
    names: dict[str, Any] = {}
    exec(code(number, **{"/lake/archive": archive.folder.url}), names)
    assert names["sums"] == archive.sums(archive.chosen())
