"""Runs in processes forked for work: names the modules that the work imports there."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import Interrupted, never
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.requests import StoredRequest


def imported(work: str, *given: object) -> tuple[list[str], Any]:
    """Modules that "module:name" imports until it has returned, and what it returns; without a name, of the import."""
    before = set(sys.modules)
    module, _, name = work.partition(":")
    found = import_module(module)
    result = getattr(found, name)(*given) if name else None
    return sorted(sys.modules.keys() - before), result


class Refusing(StoredRequest):
    """Computes its plan, and refuses it with the modules that this imported."""

    def compile(self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never) -> FinishedPlan:
        before = set(sys.modules)
        super().compile(progress, interrupted)
        raise PlanError(json.dumps(sorted(sys.modules.keys() - before)), None)
