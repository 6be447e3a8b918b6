"""The number that stands for each bin of a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.questions.linear.attributes import EvenBins, OrdinalSpecification
from sordino_shared.quantities import quantity


def values_of(
    line: OrdinalSpecification, values: Sequence[float] | None, outer: tuple[float, float] | None
) -> tuple[Floats, str]:
    """(b,) values that stand for the bins, and a sentence that says which.

    They are `values`, or the middles of the bins; the first and the last bin have a middle where they are even, and
    else stand for the two numbers of `outer`. Raises WorkloadError for a value outside its bin.
    """
    edges = tuple(line.attribute().edges)
    unit = f" {line.unit}" if line.unit else ""
    if values is not None:
        if outer is not None:
            raise WorkloadError("statistic: give values or outer, not both", outer)
        return _within(
            np.array(values), edges
        ), f"bins of {line.name} stand for the values listed{unit and ', in' + unit}"
    if isinstance(line.edges, EvenBins):
        if outer is not None:
            raise WorkloadError("statistic.outer: even bins stand for their middles, the outer ones too", outer)
        found = line.edges.midpoints()
        return np.array(found), f"bins of {line.name} stand for their middles, {found[0]:g} to {found[-1]:g}{unit}"
    if outer is None:
        raise WorkloadError(
            f"statistic: the outer bins of {line.name!r} are unbounded: say what they stand for with "
            "outer: [number, number], or give values, one for each bin",
            line.name,
        )
    if not edges:
        raise WorkloadError(f"statistic: {line.name!r} has one bin only: cut it at one edge at least", line.name)
    found = (outer[0], *((a + b) / 2 for a, b in pairwise(edges)), outer[1])
    sentence = f"bins of {line.name} stand for their middles, the outer ones for {outer[0]:g} and {outer[1]:g}{unit}"
    return _within(np.array(found), edges), sentence


def _within(values: Floats, edges: Sequence[float]) -> Floats:
    if len(values) != len(edges) + 1:
        raise WorkloadError(
            f"statistic.values: {quantity(len(values), 'value')} for {quantity(len(edges) + 1, 'bin')}: give one a bin",
            values,
        )
    bounds = [-np.inf, *edges, np.inf]
    for place, value in enumerate(values):
        if not bounds[place] <= value <= bounds[place + 1]:
            raise WorkloadError(
                f"statistic: {value:g} stands for bin {place + 1}, which is from {bounds[place]:g} to "
                f"{bounds[place + 1]:g}: it must lie inside",
                value,
            )
    return values
