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
    members = codes[:, measures.number.place].astype(np.int64)
    numbers, places = np.unique(members, return_inverse=True)
    values = measures.scale.numbers(numbers.tolist())[places]
    return [_true(measures, shown, _held(shown, codes, values)) for shown in measures.shown]


def _held(shown: ShownMeasure, codes: NDArray[np.uint64], values: Floats) -> Floats:
    if shown.category is None:
        return values
    place, member = shown.category
    return np.asarray(values[codes[:, place] == member])


def _true(measures: Measures, shown: ShownMeasure, values: Floats) -> float:
    if shown.name == "sum":
        return float(values.sum())
    if not len(values):
        return float("nan")
    match shown.name:
        case "mean":
            return float(values.mean())
        case "variance":
            return float(values.var())
        case "sd":
            return float(values.std())
        case _:
            return float((values > measures.threshold(shown)).mean())
