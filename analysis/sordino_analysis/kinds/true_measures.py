"""What measures of numbers truly are for users who are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.numbers.measures import Measures, ShownMeasure


def measures_of(workload: Workload) -> Measures:
    """The measures that the workload was made for."""
    assert isinstance(workload.published, NumberQueries)
    return Measures(workload.held_domain, workload.published)


def true_measures(measures: Measures, codes: NDArray[np.uint64]) -> list[float]:
    """Each measure, as answers show them, of users with these members, (n, attributes); NaN of a category of nobody."""
    return [_true(measures, shown, _held(shown, codes)) for shown in measures.shown]


def _held(shown: ShownMeasure, codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The members of the users whom a measure is about."""
    if shown.category is not None:
        place, member = shown.category
        codes = codes[codes[:, place] == member]
    members = codes[:, shown.number.place].astype(np.int64)
    absent = shown.number.absent
    return members if shown.name == "share" or not absent else members[members < absent.start]


def _true(measures: Measures, shown: ShownMeasure, members: NDArray[np.int64]) -> float:
    if shown.name in ("top", "share"):
        return float((members == int(shown.at[0])).mean()) if len(members) else float("nan")
    if shown.name == "clipped":
        end = shown.number.numbers.last if shown.at[0] else 0
        return float((members == end).mean()) if len(members) else float("nan")
    held, places = np.unique(members, return_inverse=True)
    values = shown.number.numbers.numbers(held.tolist())[places]
    if shown.name == "mean_within":
        first, end = shown.number.numbers.within(*shown.at)
        values = values[(first <= members) & (members < end)]
    if shown.name == "sum":
        return float(values.sum())
    if not len(values):
        return float("nan")
    return _of_numbers(measures, shown, values)


def _of_numbers(measures: Measures, shown: ShownMeasure, values: Floats) -> float:
    match shown.name:
        case "variance":
            return float(values.var())
        case "sd":
            return float(values.std())
        case "share_above":
            return float((values > measures.threshold(shown)).mean())
        case "quantile":
            return float(np.quantile(values, shown.at[0], method="inverted_cdf"))
        case _:
            return float(values.mean())
