"""How finely devices round numbers: plans are made for several numbers of levels, and the best is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload

# One bit: a device part of a few hundred bytes, for devices that should do no more than that.
_OF_ONE_BIT = 2
_ONE_BIT = "randomized_response"
# A mean has 0 to 2 % less variance with twice as many: python -m benchmarks.numbers.
_FINE = 17
# A mean alone has a linear program in place of a search: at ε = 4 these are within 1.5 % of its optimum where 17 are
# within 2.4 %, and their device part is below 8 kB: python -m benchmarks.numbers.
_OF_ONE_MEAN = 21
# Searches find better kernels of fewer types, of two categories 2.30 of the squared range at ε = 1 where 17 levels have
# 2.96: python -m benchmarks.numbers.
_COARSE = 9
# Types of more categories and 17 levels take a search minutes.
_FEW_CATEGORIES = 4


def with_levels(workload: Workload, options: PlanningOptions) -> Iterator[Workload]:
    """The workload at each number of levels, to plan and compare; one without numbers is unchanged."""
    queries = workload.published
    if not isinstance(queries, NumberQueries) or workload.dithering is None:
        yield workload
        return
    seen = set()
    for levels in _numbers_of_levels(workload, queries, options.mechanism):
        asked = tuple(replace(each, levels=levels) for each in queries.asked)
        built = build_workload(workload.held_domain, NumberQueries(asked), workload.name)
        assert built.dithering is not None
        if built.dithering.knots not in seen:
            yield built
        seen.add(built.dithering.knots)


def _numbers_of_levels(workload: Workload, queries: NumberQueries, mechanism: str | None) -> tuple[int, ...]:
    if mechanism == _ONE_BIT:
        return (_OF_ONE_BIT,)
    if len(queries.asked) > 1:
        return max(each.levels for each in queries.asked), _OF_ONE_BIT
    if workload.queries == 1:
        return (_OF_ONE_MEAN,)
    assert workload.dithering is not None
    knots = next(each for each in workload.dithering.knots if each)
    categories = workload.size // len(knots)
    if categories == 1:
        return _FINE, _COARSE
    return (_FINE, _COARSE, _OF_ONE_BIT) if categories <= _FEW_CATEGORIES else (_COARSE, _OF_ONE_BIT)
