"""What every kind of question offers: the server, the command line and notebooks plan all kinds through it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Protocol, Self

from sordino_analysis.mechanisms.version import planner_version
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ProgressCallback
from sordino_shared.protocol import Digest

Interrupted = Callable[[], bool]


def never() -> bool:
    """Nobody interrupts."""
    return False


class PlanningRequest(Protocol):
    """A question with its options. It can be pickled, and refuses at once what no plan can be made for."""

    @property
    def options(self) -> PlanningOptions: ...

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, the planner's version included, but not how long it may take."""

    def compile(self, progress: ProgressCallback, interrupted: Interrupted = never) -> FinishedPlan:
        """The best plan within the time limit, or until `interrupted` is true; raises PlanError where there is none."""

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""


def request_digest(question: Digest, options: PlanningOptions, unused: Iterable[str]) -> Digest:
    """Of a question by the digest of its canonical text, and of all options but those that its kind has no use for."""
    content = {"planner": planner_version(), "question": str(question), **options.content(unused)}
    return Digest.of(json.dumps(content, sort_keys=True, allow_nan=False).encode())
