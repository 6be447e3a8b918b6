"""What made-up reports can do to an answer: never more than is published, and as much where outputs are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.integer_kernels import dense_kernel
from sordino_analysis.evaluation.manipulation import manipulation
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Domain, Ordinal
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Pair, SeededDirection

COUNTED = ["randomized_response", "subset_selection", "optimised_kernel"]


def published(plan: Any) -> np.ndarray:
    return manipulation(plan.device, plan.analyst, plan.request.workload)


def outputs(plan: Any, reports: int) -> np.ndarray:
    """Payloads that devices send, which over so many reports are about all there are where outputs are few."""
    cells = np.arange(reports, dtype=np.int64) % plan.device.randomizer.size
    return np.unique(randomize_many(plan.device.randomizer, cells, SeededRandomness(1)), axis=0)


def answers(plan: Any, payloads: np.ndarray) -> np.ndarray:
    aggregate = Aggregate(len(payloads), accumulate(plan.device.randomizer, payloads))
    return np.asarray(LinearEstimator.of(plan.device, plan.analyst).unbiased(aggregate))


def furthest(plan: Any, reports: int = 600) -> np.ndarray:
    """The furthest that one chosen output lies from the mean of honest devices that all hold one value."""
    entries = plan.request.workload.operator.rows(0, plan.request.workload.queries)
    alone = np.array([answers(plan, payload[None]) for payload in outputs(plan, reports)])
    return np.asarray(np.abs(alone[:, :, None] - entries[None]).max(axis=(0, 2)))


@pytest.mark.parametrize("mechanism", COUNTED)
@pytest.mark.parametrize("kind", ["histogram", "prefix"])
def test_the_figure_is_what_the_worst_output_does(plan_of: Any, mechanism: str, kind: str) -> None:
    plan = plan_of(kind, 4, mechanism=mechanism)
    varying = plan.request.workload.varying_rows
    np.testing.assert_allclose(published(plan)[varying], furthest(plan)[varying], rtol=1e-6)


def test_no_direction_does_more(plan_of: Any) -> None:
    plan = plan_of("prefix", 4, mechanism="factorization")
    found, most, varying = furthest(plan), published(plan), plan.request.workload.varying_rows
    assert np.all(found[varying] <= most[varying])
    # The figure is no idle bound: a few hundred seeds that somebody tries come near it.
    assert np.all(found[varying] > 0.8 * most[varying])


def test_no_pair_of_a_direction_and_a_number_does_more() -> None:
    """Both are chosen, so that the worst of one comes with the worst of the other."""
    vectors, halves = np.array([[1, 0], [-1, 1], [0, -1]], dtype="<i4"), np.full(3, (1 << 60) - (1 << 58), dtype="<u8")
    direction = SeededDirection(60, array_of(vectors << 20, "<i4"), array_of(halves, "<u8"))
    number = dense_kernel(np.full((3, 3), 0.2) + 0.4 * np.eye(3), PureEpsilon.of("1.2"))
    pair = Pair(direction, number)
    rows = np.random.default_rng(8).standard_normal((5, pair.accumulator_size))
    decoder = AnswerDecoder(array_of(rows, "<f8"), array_of(np.arange(5.0), "<f8"))
    domain = Domain((Ordinal("value", (1.0, 2.0)),))
    queries = MatrixQueries(array_of(np.eye(5, 3), "<f8"), tuple("abcde"))
    low, high = for_randomizer(pair).extreme_contributions(decoder, build_workload(domain, queries))
    seeds = randomize_many(direction, np.arange(1000, dtype=np.int64) % 3, SeededRandomness(9))
    # One output after the other, the null output that hardly ever comes among them.
    names = np.arange(len(seeds), dtype=np.uint8)[:, None] % number.outputs
    payloads = np.hstack([seeds, names])
    found = np.array([mean_accumulator(pair, Aggregate(1, accumulate(pair, payload[None]))) for payload in payloads])
    answers = found @ rows.T + np.arange(5.0)
    assert np.all(answers >= low)
    assert np.all(answers <= high)
    np.testing.assert_allclose(np.ptp(answers, axis=0), high - low, rtol=1e-3)


def test_answers_that_are_the_same_for_all_are_not_moved(plan_of: Any) -> None:
    plan = plan_of("matrix", 3, mechanism="randomized_response", rows=((1.0, 1.0, 1.0), (1.0, 0.0, 2.0)))
    assert published(plan)[0] == 0
    assert published(plan)[1] > 2


def test_a_share_of_made_up_reports_moves_an_answer_by_that_share(plan_of: Any) -> None:
    """Honest devices that all hold the first value, and a twentieth that sends what hurts most."""
    plan, share, users = plan_of("histogram", 3, "2", mechanism="randomized_response"), 0.05, 20_000
    randomizer = plan.device.randomizer
    honest = randomize_many(randomizer, np.zeros(users, dtype=np.int64), SeededRandomness(2))
    before, crowd = answers(plan, honest), int(share * users)
    hurting = np.array([np.repeat(payload[None], crowd, axis=0) for payload in outputs(plan, 100)])
    moved = [np.abs(answers(plan, np.vstack([honest[crowd:], made_up])) - before) for made_up in hurting]
    most = share * published(plan)
    # The crowd replaced honest reports, whose own noise is the 1/√crowd in the room given here.
    noise = 6 * share * np.sqrt(plan.analyst.figures.max_variance / crowd)
    assert np.all(np.max(moved, axis=0) <= most + noise)
    assert np.max(moved) > 0.9 * most.max()
