"""Plans that tests of the server, of commands and of estimates share: computed once, for all processes of a run and for
later runs.

They lie in `build/plans`, in a folder that is named by the planner's version: a digest of every file that a plan
depends on (`tests/analysis/planning/test_version.py`), so that a plan of other code is never found. Tests of the
planner itself compute theirs, and a new clone has none.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning.plan_cache import PlanCache
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning.planning_request import Interrupted, PlanningRequest, never, planner_version
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_shared.protocol import Digest

PLANS = Path(__file__).parents[1] / "build" / "plans"
_KEPT_S = 86_400.0
_ANALYSIS = Path(__file__).parent / "analysis"
_OF_NOTEBOOKS = [_ANALYSIS / name for name in ("analyst", "estimation", "panel", "kinds", "charts", "comparisons")]

_known: dict[Digest, tuple[FinishedPlan, list[Progress]]] = {}


def folder() -> Path:
    """Where the plans of this planner are."""
    return PLANS / planner_version()[:16]


def computed_once(
    request: PlanningRequest, progress: ProgressCallback, compute: Callable[..., FinishedPlan] | None = None
) -> FinishedPlan:
    """The plan of the request; another one who asks is told the same steps as the first one."""
    if request.digest not in _known:
        found = _found(request)
        if found is None:
            return _computed(request, progress, compute or type(request).compile)
        _known[request.digest] = found
    plan, steps = _known[request.digest]
    for step in steps:
        progress(step)
    return plan


def compiled_once(request: PlanRequest) -> CompiledPlan:
    """`compile_plan` for tests of what follows from a plan; one that was cut short is not kept."""
    kept = folder() / f"{hashlib.sha256(pickle.dumps(request)).hexdigest()}.compiled"
    if kept.exists():
        found: CompiledPlan = pickle.loads(kept.read_bytes())
        return found
    plan = compile_plan(request)
    if plan.cut_short is None:
        _write(kept, pickle.dumps(plan))
    return plan


def _computed(
    request: PlanningRequest, progress: ProgressCallback, compute: Callable[..., FinishedPlan]
) -> FinishedPlan:
    steps: list[Progress] = []

    def noted(step: Progress) -> None:
        steps.append(step)
        progress(step)

    plan = compute(request, noted)
    if plan.complete:
        _known[request.digest] = plan, steps
        # A plan without its steps would be found and told nothing of: they come first.
        _write(_steps_of(request), pickle.dumps(steps))
        PlanCache(folder()).keep(request, plan)
    return plan


def _found(request: PlanningRequest) -> tuple[FinishedPlan, list[Progress]] | None:
    plan, steps = PlanCache(folder()).find(request), _steps_of(request)
    return None if plan is None or not steps.exists() else (plan, pickle.loads(steps.read_bytes()))


def _steps_of(request: PlanningRequest) -> Path:
    return folder() / f"{request.digest}.steps"


def _write(path: Path, content: bytes) -> None:
    """Readers in other processes see the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def _kept(compute: Callable[..., FinishedPlan]) -> Callable[..., FinishedPlan]:
    """The method `compile` of requests, whose plans are kept unless they may be cut short."""

    def compile(
        request: PlanningRequest, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never
    ) -> FinishedPlan:
        if interrupted is not never or request.options.time_limit is not None:
            return compute(request, progress, interrupted)
        return computed_once(request, progress, compute)

    return compile


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Keep the plans of notebooks where tests are about what follows from a plan."""
    with pytest.MonkeyPatch.context() as patch:
        if any(item.path.is_relative_to(each) for each in _OF_NOTEBOOKS):
            for kind in (LinearRequest, PairwiseRequest):
                patch.setattr(kind, "compile", _kept(kind.compile))
        return (yield)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remove the plans of planners that were not used for a day."""
    if hasattr(session.config, "workerinput"):
        return
    folder().mkdir(parents=True, exist_ok=True)
    os.utime(folder())
    for each in PLANS.iterdir():
        if each.stat().st_mtime < time.time() - _KEPT_S:
            shutil.rmtree(each, ignore_errors=True)
