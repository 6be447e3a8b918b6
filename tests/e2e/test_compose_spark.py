"""The profile `spark` of docker-compose.yml: what it states, and its commands as plain processes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scale_out.archives import archive_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.e2e.compose import ROOT, services, started
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.randomizers import RESPONSE

MASTER = "spark://spark-master:7077"


def test_the_cluster_publishes_nothing_and_knows_no_password() -> None:
    profile = started("spark")
    assert set(profile) == {"spark-master", "spark-worker", "archive"}
    assert not any("ports" in service for service in profile.values()), "who reaches the master runs programs on it"
    assert not any("environment" in profile[name] for name in ("spark-master", "spark-worker"))
    assert profile["spark-worker"]["volumes"] == ["archives:/archives:ro"]
    assert profile["archive"]["volumes"] == ["archives:/archives"]
    assert profile["archive"]["depends_on"]["spark-worker"] == {"condition": "service_healthy"}
    assert profile["spark-worker"]["depends_on"]["spark-master"] == {"condition": "service_healthy"}
    for name in ("spark-master", "spark-worker"):
        assert profile[name]["command"][0] == "spark-class"
        assert profile[name]["healthcheck"]["test"][:3] == ["CMD", "python", "-c"]
    master = profile["spark-master"]["command"]
    assert f"spark://{master[master.index('--host') + 1]}:{master[master.index('--port') + 1]}" == MASTER
    assert profile["spark-worker"]["command"][-1] == MASTER


def test_the_image_has_java_the_extra_and_a_folder_of_its_user() -> None:
    text = (ROOT / "Dockerfile").read_text()
    stage = text.partition("AS spark\n")[2]
    assert "default-jre-headless" in stage
    assert "--owner=10001 /archives" in text
    assert '"./server[spark]"' in text
    assert "HEALTHCHECK" not in text.partition("AS base\n")[2].partition("\nFROM")[0] + stage, "nothing here answers it"
    assert "PYSPARK_PYTHON=/opt/sordino/bin/python" in stage


def _here(command: list[str], ports: dict[str, str]) -> list[str]:
    """The same with this machine's addresses."""
    text = [word.replace("spark-master", "127.0.0.1") for word in command]
    return [re.sub("|".join(ports), lambda found: ports[found[0]], word) for word in text]


@contextmanager
def _process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / command[0]
    with log.open("w") as output:
        process = subprocess.Popen([program, *command[1:]], env=environment, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _wait_for(check: list[str], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while subprocess.run([sys.executable, *check[2:]], capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pyspark") is None, reason="no pyspark: pip install -r requirements/spark.txt")
@pytest.mark.skipif(shutil.which("java") is None, reason="no Java: apt-get install openjdk-17-jre-headless")
def test_the_stated_commands_add_up_an_archive(tmp_path: Path) -> None:
    payloads = randomize_many(RESPONSE, np.arange(1000) % 5, SeededRandomness(5))
    archive = archive_of(str(tmp_path / "archive"), RESPONSE, np.split(payloads, 4))
    ports = dict(zip(("7077", "8080", "8081"), map(str, free_ports(3)), strict=True))
    path = os.pathsep.join([str(ROOT / name) for name in ("shared", "client", "analysis", "migrations", "server")])
    environment: dict[str, Any] = os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    with ExitStack() as stack:
        for name in ("spark-master", "spark-worker"):
            service, log = services()[name], tmp_path / name
            command = [word.replace("/tmp/work", str(tmp_path / "work")) for word in service["command"]]
            stack.enter_context(_process(_here(command, ports), environment, log))
            _wait_for(_here(service["healthcheck"]["test"], ports), log)
        given = ["--from", archive.folder.url, "--engine", "spark", "--master", *_here([MASTER], ports)]
        done = subprocess.run(
            [sys.executable, "-m", "sordino_server", "aggregate", *given],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(archive.sums(archive.chosen()).digest)
