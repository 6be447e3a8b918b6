"""Planning in a process: the same plan, told as it goes, and no death of it but its own."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import builtin
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.requests import StoredRequest
from sordino_server.jobs import planning_process
from sordino_server.jobs.planning_process import PlanningDied, PlanningProcess
from tests.patience import PATIENCE_S

SCRIPT = Path(__file__).with_name("planning_kill_script.py")
PROCESS = PlanningProcess(memory_mb=2048, time_limit_s=60)
SMALL = LinearRequest(builtin("prefix", 8), PlanningOptions.of(epsilon=1, objective="max", seed=3))
# Minutes of search, in steps of milliseconds.
LONG = LinearRequest(
    builtin("prefix", 96), PlanningOptions.of(epsilon=1, objective="max", mechanism="optimised_kernel")
)


def signal_children(number: signal.Signals) -> None:
    """What was told before a process died may come after it."""
    for child in children():
        os.kill(child, number)


class Enough(Exception):
    """Raised by somebody who is told progress and has lost interest."""


def children() -> list[int]:
    """Ids of the planning processes that run now; those of other tests have ended."""
    return [child.pid for child in mp.active_children() if child.pid is not None]


def test_the_plan_is_that_of_any_other_process() -> None:
    told: list[Progress] = []
    here, there = SMALL.compile(), PROCESS.compute(SMALL, told.append)
    assert (there.device.digest, there.analyst.digest) == (here.device.digest, here.analyst.digest)
    assert there.complete
    assert told[0] == Progress(0.0, "starting")
    assert (told[-1].fraction, told[-1].ratio) == (1.0, pytest.approx(here.summary.ratio_max))
    assert children() == []


def test_what_the_planner_refuses_is_told() -> None:
    impossible = LinearRequest(
        builtin("prefix", 9), PlanningOptions.of(epsilon=1, objective="max", mechanism="factorization", reduction=99)
    )
    with pytest.raises(PlanError, match="from 1 to the rank"):
        PROCESS.compute(impossible, lambda told: None)


def test_more_memory_than_there_may_be_is_said() -> None:
    large = LinearRequest(
        builtin("prefix", 2048), PlanningOptions.of(epsilon=1, objective="max", mechanism="factorization")
    )
    with pytest.raises(PlanError, match=r"needs more than 300 MiB \(SORDINO_PLANNING_MEMORY_MB\): ask for fewer"):
        PlanningProcess(300, 60).compute(large, lambda told: None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_death_of_the_process_is_an_error_that_says_what_to_do(number: signal.Signals) -> None:
    def kill(told: Progress) -> None:
        if told.fraction > 0:
            signal_children(number)

    with pytest.raises(PlanningDied, match=rf"died \({number.name}\).*repeat the request"):
        PROCESS.compute(LONG, kill)
    assert PROCESS.compute(SMALL, lambda told: None).complete


def test_whoever_loses_interest_ends_the_process() -> None:
    def stop(told: Progress) -> None:
        if told.fraction > 0:
            raise Enough

    with pytest.raises(Enough):
        PROCESS.compute(LONG, stop)
    assert children() == []


def test_the_limit_of_the_server_gives_the_best_so_far() -> None:
    plan = PlanningProcess(2048, 1).compute(LONG, lambda told: None)
    assert plan.summary.cut_short == "time limit"
    assert plan.analyst.mechanism == "optimised_kernel"


def test_a_process_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def freeze(told: Progress) -> None:
        if told.fraction > 0:
            signal_children(signal.SIGSTOP)

    monkeypatch.setattr(planning_process, "_GRACE_S", 1.0)
    with pytest.raises(PlanningDied, match=r"did not end at its time limit.*smaller workload"):
        PlanningProcess(2048, 2).compute(LONG, freeze)
    assert children() == []


def test_the_process_ends_with_the_worker() -> None:
    with subprocess.Popen([sys.executable, str(SCRIPT)], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        planning = int(worker.stdout.readline())
        assert alive(planning)
        worker.kill()
    deadline = time.monotonic() + PATIENCE_S
    while alive(planning) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(planning)


def alive(process: int) -> bool:
    """Whether the process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_worker_goes_on(running: Any) -> None:
    """One request whose process is killed fails and says so; the next one is computed."""
    long = running.workload(builtin_specification("prefix", 96).canonical())
    first = running.plan_request(workload=long, mechanism="optimised_kernel", seed=1)["id"]
    second = running.plan_request()["id"]

    def compute(request: StoredRequest, progress: ProgressCallback) -> Any:
        def kill(told: Progress) -> None:
            progress(told)
            if request.options.seed == 1 and told.fraction > 0:
                signal_children(signal.SIGKILL)

        return PROCESS.compute(request, kill)

    running.compute = compute
    running.work()
    failed, ready = (running.api.get(f"/v1/plan-requests/{each}").json() for each in (first, second))
    assert (failed["state"], ready["state"]) == ("failed", "ready")
    assert "died (SIGKILL)" in failed["error"]
    assert "repeat the request" in failed["error"]
