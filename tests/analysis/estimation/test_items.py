"""Answers about items of a long histogram: counts by every way, exact intervals, the largest, the nearest histogram."""

import numpy as np
import pytest
from scipy.stats import binomtest

from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.consistency import nearest_histogram
from sordino_analysis.estimation.items import ItemEstimator
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, add_payloads
from sordino_analysis.evaluation.coarsened import membership_counts
from sordino_analysis.evaluation.item_answers import ItemChances, item_level
from sordino_analysis.evaluation.item_counts import count_items, counts_of_all, counts_of_table
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_many, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level, LinearLabel
from tests.kept_plans import compiled_once


def plan(attribute, epsilon=4):
    asked = parse_specification({"name": "items", "domain": [attribute], "queries": "histogram"}).build()
    return compiled_once(PlanRequest(asked, PlanningOptions.of(epsilon=epsilon, objective="max")))


def estimator(made):
    return ItemEstimator(made.device, made.analyst)


@pytest.mark.parametrize("label", [FieldLabel(3), FieldLabel(1), LinearLabel(2)])
def test_items_are_counted_alike_by_every_way(label):
    sizes = (9, 14)
    level = Level(1 << 32, GridPartition((1, 1)), label, b"\x01")
    sent = Coarsened.for_guarantee(sizes, [level], PureEpsilon.of(1))
    payloads = randomize_many(sent, np.arange(2000) % 126, SeededRandomness(3))
    codes = np.stack(np.unravel_index(np.arange(126), sizes), axis=1).astype(np.uint64)
    ((_, reports),) = unpack_coarsened(sent, payloads)
    expected = membership_counts(item_level(sent), sizes, reports, codes)
    sums = accumulate(sent, payloads)
    np.testing.assert_array_equal(count_items(sent, payloads, codes), expected)
    np.testing.assert_array_equal(counts_of_table(sent, sums, codes), expected)
    np.testing.assert_array_equal(counts_of_all(sent, sums), expected)
    in_place = np.zeros_like(sums)
    for start in range(0, 2000, 600):
        add_payloads(sent, payloads[start : start + 600], in_place)
    np.testing.assert_array_equal(in_place, sums)


def test_texts_of_64_bits_are_counted_one_by_one():
    made = plan({"name": "url", "kind": "hashed", "bits": 64})
    texts = ["a"] * 3000 + ["b"] * 1000
    payloads = randomize_part(made.device, codes_many(made.device.domain, texts), SeededRandomness(1))
    codes = codes_many(made.device.domain, ["a", "b", "nobody"])
    counts = count_items(made.device.randomizer, payloads, codes)
    found = estimator(made).of_counts(codes, counts, len(texts))
    # Six standard errors: one false alarm in 5·10^8 for each answer.
    assert np.abs(found.value - [0.75, 0.25, 0]).max() < 6 * found.standard_error.max()
    assert found.labels[0] == f"hash {int(codes[0, 0]):016x}"
    assert "2^-64 of the users of all other texts" in found.warnings[0]
    with pytest.raises(InvalidValue, match="item by item"):
        counts_of_all(made.device.randomizer, np.zeros(1, dtype=np.int64))
    published = estimator(made).published(Aggregate(4000, accumulate(made.device.randomizer, payloads)))
    assert len(published.labels) == 0


def test_intervals_are_the_exact_ones_of_a_binomial():
    made = plan({"name": "x", "kind": "integers", "low": 1, "high": 1 << 17}, epsilon=1)
    find, users = estimator(made), 50
    counts = np.arange(users + 1)
    found = find.of_counts(np.zeros((users + 1, 1), dtype=np.uint64), counts, users)
    slope, offset = find.decoder.slope, find.decoder.offset
    for columns, level in ((found.interval, 0.95), (found.band, 1 - 0.05 / (1 << 17))):
        for count in counts.tolist():
            exact = binomtest(count, users).proportion_ci(level, method="exact")
            expected = np.clip([offset + slope * exact.low, offset + slope * exact.high], 0, 1)
            np.testing.assert_allclose(columns[count], expected, atol=1e-7)


def test_the_band_of_2_64_items_is_finite_and_wider():
    made = plan({"name": "url", "kind": "hashed", "bits": 64}, epsilon=1)
    found = estimator(made).of_counts(np.zeros((1, 1), dtype=np.uint64), np.array([437_000]), 10**6)
    half = np.diff(found.band[0])[0] / 2 / found.standard_error[0]
    # A normal error of chance .05/2^64 on both sides is 9.5 standard errors.
    assert half == pytest.approx(9.5, abs=0.3)


def test_shares_of_a_dictionary_are_not_negative_and_sum_to_at_most_one():
    made = compiled_once(
        PlanRequest(builtin("histogram", 200), PlanningOptions.of(epsilon=2, mechanism="coarsened_histogram"))
    )
    find, users = estimator(made), 2000
    chances = ItemChances.of(find.randomizer)
    own, other = round(users * chances.own), round(users * chances.other)
    # Of two items that all users seem to hold, one that is asked twice, and one below nothing.
    codes = np.array([[3], [7], [3], [9]], dtype=np.uint64)
    found = find.of_counts(codes, np.array([own, own, own, other - 40]), users)
    assert found.uncut[3] < 0 == found.value[3]
    assert (found.interval >= 0).all()
    assert (found.interval <= 1).all()
    assert found.best == pytest.approx([0.5, 0.5, 0.5, 0.0], abs=1e-9)
    # Where they leave room for others only the negative ones change.
    few = find.of_counts(codes[2:], np.array([(own + other) // 2, other - 40]), users)
    assert few.best == pytest.approx([few.value[0], 0.0])
    assert 0.4 < few.value[0] < 0.6


def test_the_largest_items_and_their_guesses_in_the_histogram_of_all():
    made = compiled_once(
        PlanRequest(
            builtin("histogram", 200), PlanningOptions.of(epsilon=2, objective="max", mechanism="coarsened_histogram")
        )
    )
    held = np.concatenate([np.full(3000, 5), np.full(1000, 150), np.arange(1000) % 200])
    payloads = randomize_many(made.device.randomizer, held.astype(np.int64), SeededRandomness(1))
    total = Aggregate(5000, accumulate(made.device.randomizer, payloads))
    find = estimator(made)
    everything = find.largest(total, 200)
    order = everything.codes[:, 0].astype(int)
    assert order[:2].tolist() == [5, 150]
    assert (np.diff(everything.value) <= 0).all()
    assert everything.best.sum() == pytest.approx(1.0, abs=1e-9)
    assert (np.diff(everything.best) <= 1e-12).all()
    assert (everything.band[:, 0] <= everything.best).all()
    assert (everything.best <= everything.band[:, 1]).all()
    truth = (np.bincount(held, minlength=200) / 5000)[order]
    nearest = nearest_histogram(builtin("histogram", 200).operator, everything.uncut, 1e-12).histogram
    lost = [((one - truth) ** 2).sum() for one in (everything.best, nearest, everything.uncut)]
    assert lost[0] < 0.9 * lost[1] < 0.5 * lost[2]
    # An item that is asked has the guess that is published.
    (asked,) = answer(answerer_of(made.device, made.analyst, total), made.device.domain, "cell", ["151"]).answers
    assert asked.best == everything.best[1]
    few = find.largest(total, 3)
    np.testing.assert_array_equal(few.codes, everything.codes[:3])
    assert "3 largest of 200" in few.warnings[0]


def test_what_has_no_answer_is_refused():
    made = plan({"name": "x", "kind": "integers", "low": 1, "high": 1 << 17})
    other = compiled_once(PlanRequest(builtin("histogram", 8), PlanningOptions.of(epsilon=1, objective="max")))
    none = Aggregate.empty(made.device.randomizer)
    with pytest.raises(EstimationError, match="no report"):
        estimator(made).largest(none, 10)
    with pytest.raises(EstimationError, match="another plan"):
        estimator(made).largest(Aggregate(1, np.zeros(5, dtype=np.int64)), 10)
    with pytest.raises(EstimationError, match="one plan"):
        ItemEstimator(made.device, other.analyst)
    with pytest.raises(EstimationError, match="single items"):
        ItemEstimator(other.device, other.analyst)
    with pytest.raises(EstimationError, match="level"):
        estimator(made).of_counts(np.zeros((1, 1), dtype=np.uint64), np.array([1]), 2, level=1.0)
