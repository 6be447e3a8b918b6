"""How often intervals of measures of numbers hold the truth: campaigns drawn from the exact law of reports.

A campaign's sums are drawn type by type: of users with a number as many become either knot as a binomial draw says,
and the reports of a type are a multinomial draw of the kernel's column. That is the law of reports, without a report.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.kinds.drawn_rounds import manifest_of
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.kinds.true_measures import measures_of, true_measures
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.randomizers import Dithered, FiniteKernel

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}
COUNTRY = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]}
# Shapes of the numbers in shares of the range, the last at an end of it.
SHAPES = {"even": (1.0, 1.0), "left": (1.0, 6.0), "end": (0.3, 20.0)}
USERS, VALUES = 5000, 250
# 3.5 standard errors of .95 of 1,000 campaigns: the share of exact intervals is too low in one seed of 2,400, and too
# high in one of 20,000. Of the 54 shares that are held to it some fail in one seed of 42.
WITHIN = 0.024


# What is asked: the domain, and the measures of load_ms.
QUESTIONS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "spread": ([LOAD], ["mean", "sd"]),
    "country": ([COUNTRY, LOAD], "mean"),
    "spread in a country": ([COUNTRY, LOAD], ["mean", "sd"]),
    "part": ([LOAD], ["mean", {"mean_within": [0, 12000]}, {"quantile": [0.5], "bins": 8}]),
    "missing": ([LOAD | {"missing": True}], ["mean", "sd", {"share_above": 9000}]),
}


@cache
def planned(question: str) -> FinishedPlan:
    domain, queries = QUESTIONS[question]
    kind = kind_named("numbers")
    asked = kind.parse({"name": "load time", "domain": domain, "queries": {"load_ms": queries}})
    return kind.request_class().of(asked, PlanningOptions.of(epsilon=1, effort="quick")).compile(lambda step: None)


def held(shape: str, question: str) -> list[Any]:
    """`VALUES` values, each of which `USERS`/`VALUES` users hold."""
    rng = np.random.default_rng(7)
    numbers: list[Any] = (60000 * rng.beta(*SHAPES[shape], VALUES)).tolist()
    if question == "missing":
        return [None if place % 4 == 0 else each for place, each in enumerate(numbers)]
    if len(QUESTIONS[question][0]) == 1:
        return numbers
    return [{"country": "DE" if place % 3 == 0 else "FR", "load_ms": each} for place, each in enumerate(numbers)]


def covered(shape: str, campaigns: int, question: str = "spread", width: float = 1.0) -> dict[str, float]:
    """The share of campaigns whose interval holds the users' own answer, for each measure.

    `width` times an interval's own width counts, about the answer or the middle.
    """
    plan, kind = planned(question), kind_named("numbers")
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Dithered)
    assert isinstance(randomizer.inner, FiniteKernel)
    workload = build_workload(plan.device.domain, plan.analyst.queries)
    assert workload.dithering is not None
    codes = codes_many(plan.device.domain, held(shape, question))
    truth = true_measures(measures_of(workload), codes)
    chances = np.stack([workload.dithering.shares_of_types(code[None]) for code in codes])
    table, rng = probabilities(randomizer.inner), np.random.default_rng(11)
    table = table / table.sum(axis=0)
    manifest, holds = manifest_of(plan), list[Any]()
    for _ in range(campaigns):
        types = rng.multinomial(USERS // VALUES, chances).sum(axis=0)
        sums = sum(rng.multinomial(count, table[:, each]) for each, count in enumerate(types.tolist()))
        closed = ClosedRound(RoundPlan(plan.device, plan.analyst), Aggregate(USERS, np.asarray(sums)))
        answers = list(kind.follow(manifest, None, [closed], conclude=True).answers())
        ends = np.array([_ends(answer) for answer in answers])
        middle = np.array([_middle(answer) for answer in answers])
        low, high = middle + width * (ends.T - middle)
        holds.append((low <= truth) & (np.asarray(truth) <= high))
        labels = [str(answer["label"]) for answer in answers]
    return dict(zip(labels, np.mean(holds, axis=0).tolist(), strict=True))


def _middle(answer: Any) -> float:
    uncut = answer.get("uncut")
    return sum(_ends(answer)) / 2 if uncut is None else float(uncut)


def _ends(answer: Any) -> tuple[float, float]:
    """Of an interval; what is open or left in words holds all numbers of the range and beyond."""
    low, high = answer.get("lower"), answer.get("upper")
    return -1e9 if low is None else low, 1e9 if high is None else high


def test_intervals_of_mean_and_deviation_hold_as_often_as_they_say() -> None:
    """60 campaigns: three standard errors are .084, and one seed in 150 is a false alarm. The long run has 1,000."""
    found = covered("left", 60)
    assert 0.866 < found["mean of load_ms"] <= 1
    assert 0.856 < found["sd of load_ms"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_of_1000_campaigns_95_in_100_hold(shape: str) -> None:
    """Ends of a deviation are those of the variance, so that it may hold more often."""
    found = covered(shape, 1000)
    assert abs(found["mean of load_ms"] - 0.95) <= WITHIN
    assert found["sd of load_ms"] >= 0.95 - WITHIN


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_of_1000_campaigns_95_in_100_hold_in_a_country(shape: str) -> None:
    """Means of the third of the users who are in DE, by Fieller's sets, and of those in FR."""
    found = covered(shape, 1000, "country")
    for label in ("mean of load_ms, country: DE", "mean of load_ms, country: FR", "mean of load_ms"):
        assert abs(found[label] - 0.95) <= WITHIN, label


@pytest.mark.slow
@pytest.mark.parametrize("question", ["spread", "country"])
def test_intervals_that_are_a_seventh_too_narrow_are_noticed(question: str) -> None:
    """They hold .907 of the time, as if the variance were a quarter too small; one seed in 50 does not show it."""
    found = covered("left", 1000, question, width=6 / 7)
    assert found["mean of load_ms"] < 0.95 - WITHIN


@pytest.mark.parametrize("question", ["spread in a country", pytest.param("part", marks=pytest.mark.slow), "missing"])
def test_intervals_of_further_measures_hold_as_often_as_they_say(question: str) -> None:
    """40 campaigns: four standard errors are .138, a false alarm of one seed in 10,000 for each measure."""
    for label, share in covered("left", 40, question).items():
        assert share > 0.95 - 0.138, label


@pytest.mark.slow
@pytest.mark.parametrize("question", ["spread in a country", "part", "missing"])
@pytest.mark.parametrize("shape", SHAPES)
def test_of_1000_campaigns_95_in_100_hold_for_further_measures(shape: str, question: str) -> None:
    """Spreads and quantiles may hold more often: their ends are those of a variance, and those of bins."""
    for label, share in covered(shape, 1000, question).items():
        assert share >= 0.95 - WITHIN, label
        if label.startswith("mean") and "from" not in label:
            assert share <= 0.95 + WITHIN, label
