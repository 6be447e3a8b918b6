"""Plan on this machine: the question and the options that several commands share, progress, and the cache of plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sordino_analysis.kinds.specifications import load_question
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.plan_cache import PlanCache
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.request_terms import Effort
from sordino_server.cli.output import fail, say
from sordino_server.cli.progress_bar import displayed_progress
from sordino_server.cli.sigint import finishing_when_asked

Kind = Literal["histogram", "prefix", "ranges"]

CacheDirOption = Annotated[
    Path | None,
    typer.Option(envvar="SORDINO_CACHE_DIR", metavar="FOLDER", help="Folder of earlier plans.", show_default=False),
]
FileOption = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Workload file (YAML or JSON) instead of --workload.")
]
EffortOption = Annotated[Effort, typer.Option(metavar="LEVEL", help=f"Search effort: {', '.join(Effort)}.")]


def asked_specification(kind: Kind | None, size: int | None, file: Path | None) -> WrittenQuestion:
    """The question that --workload with --size, or --file, names."""
    if (kind is None) == (file is None) or (kind is not None and size is None):
        fail("give --workload with --size, or --file", code=2)
    if file is not None:
        if size is not None:
            fail("--size goes with --workload; a workload file has its own domain", code=2)
        return load_question(file)
    return builtin_specification(str(kind), size or 0)


def finished_plan(request: PlanningRequest, cache: PlanCache | None) -> FinishedPlan:
    """The plan that was computed for the same request before, else computed now and kept."""
    if cache is None:
        return _computed(request)
    found = cache.find(request)
    if found is not None:
        say(f"computed before; taken from {cache.folder} (--no-cache computes it again)")
        return found
    plan = _computed(request)
    try:
        cache.keep(request, plan)
    except OSError as error:
        say(f"the plan cannot be kept in {cache.folder} ({error.strerror}); --cache-dir chooses another folder")
    return plan


def _computed(request: PlanningRequest) -> FinishedPlan:
    with finishing_when_asked() as interrupted, displayed_progress() as show:
        return request.compile(show, interrupted)
