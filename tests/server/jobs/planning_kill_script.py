"""A worker that says the id of its planning process, once it computes, and is then killed by a test."""

import multiprocessing as mp

from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import Progress
from sordino_analysis.questions.linear import builtin
from sordino_server.jobs.planning_process import PlanningProcess


def say(told: Progress) -> None:
    """The process that has told something runs."""
    if told.fraction > 0:
        print(mp.active_children()[0].pid, flush=True)


if __name__ == "__main__":
    request = LinearRequest(
        builtin("prefix", 96), PlanningOptions.of(epsilon=1, objective="max", mechanism="optimised_kernel")
    )
    PlanningProcess(memory_mb=2048, time_limit_s=60).compute(request, say)
