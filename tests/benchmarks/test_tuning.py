"""Constants are measured at half and at twice their value, and are what they were afterwards."""

from __future__ import annotations

import pytest

from benchmarks.tuning.cases import CASES
from benchmarks.tuning.measure import Bench
from benchmarks.tuning.rows import row
from benchmarks.tuning.tables import constants, reads, scaled
from sordino_analysis.mechanisms.tuning import SUBSET_SELECTION
from sordino_analysis.optimisation.search.tuning import STARTS, Start

HISTOGRAM = "histogram 100, ε = 2"


def test_every_table_is_found_once():
    names = [constant.name for constant in constants()]
    assert len(names) == len(set(names)) > 300
    assert {"search.descent.past_steps", "planning.pairs.evaluations", "search.schedules.quick.phases"} <= set(names)


@pytest.mark.parametrize(
    ("value", "half", "twice"),
    [
        (10, 5, 20),
        (1, 0, 2),
        (0.2, 0.1, 0.4),
        (0.9, 0.8, 0.95),
        (1.02, 1.01, 1.04),
        ((2, 0.25), (1, 0.125), (4, 0.5)),
        ({"a": 4}, {"a": 2}, {"a": 8}),
        (Start(2.0, 4.0, 0.0), Start(1.0, 2.0, 0.0), Start(4.0, 8.0, 0.0)),
    ],
)
def test_values_at_half_and_twice(value, half, twice):
    assert scaled(value, 0.5) == pytest.approx(half) if not isinstance(value, Start) else scaled(value, 0.5) == half
    assert scaled(value, 2.0) == pytest.approx(twice) if not isinstance(value, Start) else scaled(value, 2.0) == twice


def test_reads_are_seen_until_the_context_ends():
    with reads() as read:
        assert STARTS.near
    assert (id(STARTS), "near") in read
    assert (id(STARTS), "nearest") not in read
    read.clear()
    assert STARTS.near
    assert not read


def test_a_constant_is_compared_and_put_back():
    bench = Bench(cases={HISTOGRAM: CASES[HISTOGRAM]})
    (coarse,) = [constant for constant in constants() if constant.owner is SUBSET_SELECTION]
    before = coarse.value
    (comparison,) = bench.compared(coarse)
    assert coarse.value == before == SUBSET_SELECTION.coarse_step
    assert [value for value, _ in comparison.moved.values()] == [before / 2, 2 * before]
    assert all(run.outcome == comparison.once.outcome for _, run in comparison.moved.values())
    assert row(comparison).startswith(f"| {coarse.name} | {before:g} | {HISTOGRAM} | 0.75: same plan")


def test_a_constant_that_no_case_reads_is_not_compared():
    bench = Bench(cases={HISTOGRAM: CASES[HISTOGRAM]})
    (near,) = [constant for constant in constants() if constant.name == "search.starts.near"]
    assert list(bench.compared(near)) == []
