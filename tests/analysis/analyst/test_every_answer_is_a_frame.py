"""Whatever answers with an interval or a band in a notebook becomes columns and data frames."""

from __future__ import annotations

import inspect
import math
import typing
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.answers.framed import Framed
from sordino_analysis.average_case.answers import AverageCaseAnswer
from sordino_analysis.panel.period_answers import Change, PeriodAnswers
from sordino_analysis.planning.sample_size import SampleSizes

_ENDS = frozenset({"interval", "intervals", "band"})
# Users, not answers.
_NO_ANSWERS = (SampleSizes,)


def returned(function: Any) -> set[type]:
    """The classes that a function's hint of what it returns names."""
    try:
        hint = typing.get_type_hints(inspect.unwrap(function)).get("return")
    except (NameError, TypeError):
        return set()
    waiting, found = [hint], set()
    while waiting:
        each = waiting.pop()
        waiting += typing.get_args(each)
        if inspect.isclass(each) and each.__module__.startswith("sordino_analysis"):
            found.add(each)
    return found


def answers_of_public_functions() -> set[type]:
    """What public functions return, and the methods of what they return that are called for an answer."""
    values = [getattr(sa, name) for name in sa.__all__]
    found = {each for each in values if inspect.isclass(each)}
    found |= {each for value in values if callable(value) and not inspect.isclass(value) for each in returned(value)}
    methods = [member for cls in found for _, member in inspect.getmembers(cls, inspect.isfunction)]
    found |= {each for method in methods if not method.__name__.startswith("_") for each in returned(method)}
    named = {cls: {*dir(cls), *getattr(cls, "__dataclass_fields__", {})} for cls in found}
    return {cls for cls, names in named.items() if names & _ENDS and cls.__module__.split(".")[1] != "questions"}


def test_every_answer_has_columns_and_frames() -> None:
    found = answers_of_public_functions() - set(_NO_ANSWERS)
    assert {sa.Estimate, PeriodAnswers, Change, AverageCaseAnswer} <= found
    assert [cls.__name__ for cls in found if not issubclass(cls, Framed)] == []


@pytest.fixture(scope="module")
def prefix() -> sa.Plan:
    return sa.plan(sa.prefix([10.0, 20.0], name="delay", unit="min"), epsilon=4, mechanism="randomized_response")


def test_a_shift_of_quantiles_is_a_row_of_numbers(prefix: sa.Plan) -> None:
    sides = [sa.simulate(prefix, np.full(2000, value), seed=seed) for seed, value in enumerate([5.0, 15.0])]
    found = sa.quantile_shift(sides[0], sides[1], 0.5)
    (row,) = found.to_pandas().to_dict("records")
    assert (row["kind"], row["unit"], row["verdict"]) == ("quantile", "min", "higher")
    # From below 10 min, which has no end, to 10 … 20 min.
    assert (row["lower"], row["upper"]) == found.interval == (0.0, math.inf)
    assert found.to_polars()["upper"].to_list() == [math.inf]
    assert found.columns()["label"] == ["0.5 quantile of delay"]
    assert "0.5 quantile of delay is higher" in repr(found)
