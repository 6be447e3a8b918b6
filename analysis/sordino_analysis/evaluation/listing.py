"""The queries of a published plan that have a figure and an answer each."""

from __future__ import annotations

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.protocol import DevicePart


def listed_workload(device: DevicePart, analyst: AnalystPart) -> Workload:
    """All queries of the plan, or those that are listed where they are too many, in the order of its answers."""
    workload = build_workload(device.domain, analyst.queries, analyst.workload)
    return for_randomizer(device.randomizer).listed(workload)
