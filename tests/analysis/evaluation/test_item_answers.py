"""Answers for single items: the law is enumerated in GF(2^4), the decoder is compared with one item at a time."""

from fractions import Fraction

import numpy as np
import pytest

from sordino_analysis.conformance.coarsened import level_law
from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.documents.queries import ProductQueries
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.coarsened import membership_counts
from sordino_analysis.evaluation.coarsened.tables import reports_holding as counted
from sordino_analysis.evaluation.item_answers import ItemChances, item_level
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms.coarsened_histogram import best_density
from sordino_analysis.questions.linear import builtin
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Domain, Integers
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level, LinearLabel, ResidueLabel

EPSILON = PureEpsilon.of("0.7")


def randomizer(sizes, label, members):
    return Coarsened.for_guarantee(sizes, [Level(1 << 32, GridPartition((1,) * len(sizes)), label, members)], EPSILON)


def in_sixteen(first, second):
    """The product in GF(2^4) = F₂[x]/(x⁴ + x + 1)."""
    product = 0
    for place in range(4):
        product ^= (first << place) * (second >> place & 1)
    for place in (6, 5, 4):
        product ^= (0b10011 << (place - 4)) * (product >> place & 1)
    return product


def holds(payload, item, bits, members):
    """Whether a report (a in its lowest 4 bits, then y) holds the item, worked out by hand."""
    told = int.from_bytes(payload, "little")
    label = in_sixteen(told & 15, item) >> (4 - bits)
    return bool(members >> (label ^ told >> 4) & 1)


@pytest.mark.parametrize(("bits", "members"), [(1, 0b1), (2, 0b1), (2, 0b111), (3, 0b111), (4, 0b1011)])
def test_every_variance_is_that_of_all_reports(bits, members):
    sent = randomizer((16,), FieldLabel(bits), bytes([members]))
    chances = ItemChances.of(sent)
    decoder = chances.decoder()
    slope, offset = Fraction(decoder.slope), Fraction(decoder.offset)
    own, other = chances.variances(decoder)
    for x in range(16):
        law = list(level_law(sent, 0, [x]))
        assert sum(chance for _, chance in law) == 1
        for item in range(16):
            held = sum(chance for payload, chance in law if holds(payload, item, bits, members))
            assert held == (chances.own if item == x else chances.other)
            variance = float(slope**2 * held * (1 - held))
            assert variance == pytest.approx(own if item == x else other, rel=1e-12)
            assert float(abs(offset + slope * held - (item == x))) <= chances.bias(decoder)


def test_a_law_without_the_multiplier_zero_would_be_biased():
    sent = randomizer((16,), FieldLabel(2), b"\x01")
    chances, law = ItemChances.of(sent), dict(level_law(sent, 0, [3]))
    left = {payload: chance for payload, chance in law.items() if int.from_bytes(payload, "little") & 15}
    held = sum(c for p, c in left.items() if holds(p, 5, 2, 1)) / sum(left.values())
    assert held != chances.other
    assert float(held) == pytest.approx((4 * 0.25 - chances.own / 4) / 3.75, rel=1e-9)


@pytest.mark.parametrize("label", [LinearLabel(2), FieldLabel(3)])
def test_the_transform_counts_what_one_item_at_a_time_does(label):
    sent = randomizer((5, 7), label, b"\x05")
    workload = build_workload(Domain((Integers("x", 0, 4), Integers("y", 0, 6))), ProductQueries(("histogram",) * 2))
    payloads = randomize_many(sent, np.arange(3000) % 35, SeededRandomness(1))
    level, points = item_level(sent), np.stack(np.unravel_index(np.arange(35), (5, 7)), axis=1).astype(np.uint64)
    ((_, reports),) = unpack_coarsened(sent, payloads)
    shares = membership_counts(level, sent.sizes, reports, points) / 3000
    decoder = ItemChances.of(sent).decoder()
    mean = mean_accumulator(sent, Aggregate(3000, accumulate(sent, payloads)))
    decoded = answer_moments(sent, decoder, workload).decode(mean)
    np.testing.assert_allclose(decoded, decoder.offset + decoder.slope * shares, atol=1e-9)


def test_answers_at_a_million_items_scatter_as_stated():
    """Squared errors over their variance, averaged over 2^20 items: within 6 standard deviations of 1 (one in 10⁹)."""
    items, users = 1 << 20, 30_000
    bits, members = best_density(items, 1.0, "max")
    level = Level.of_first(1 << 32, GridPartition((1,)), FieldLabel(bits), members)
    sent = Coarsened.for_guarantee((items,), [level], PureEpsilon.of(1))
    held = np.concatenate([np.full(users // 2, 77), np.random.default_rng(5).integers(0, items, users // 2)])
    payloads = randomize_many(sent, held, SeededRandomness(2))
    chances = ItemChances.of(sent)
    decoder = chances.decoder()
    own, other = chances.variances(decoder)
    mean = mean_accumulator(sent, Aggregate(users, accumulate(sent, payloads)))
    workload = build_workload(Domain((Integers("x", 1, items),)), ProductQueries(("histogram",)))
    with pytest.raises(InvalidValue, match="one by one"):
        answer_moments(sent, decoder, workload).decode(mean)
    found = (
        decoder.offset
        + decoder.slope * counted(item_level(sent), sent.sizes, np.rint(mean[1:] * users).astype(int)) / users
    )
    truth = np.bincount(held, minlength=items) / users
    squared = (found - truth) ** 2 / ((other + (own - other) * truth) / users)
    # Answers of different items are uncorrelated: the mean over items of a squared error has a spread of √(2/items).
    assert abs(squared.mean() - 1) < 6 * np.sqrt(2 / items)
    assert abs(squared.mean() / 1.05 - 1) > 6 * np.sqrt(2 / items)
    assert abs(found[77] - truth[77]) < 6 * np.sqrt(own / users)


def test_what_is_no_set_of_single_items_is_refused():
    workload = builtin("histogram", 16)
    decoder = ScaledHistogramDecoder(2.0, -0.5)
    for wrong in (
        randomizer((16,), ResidueLabel((4,)), b"\x01"),
        Coarsened.for_guarantee((16,), [Level(1 << 32, GridPartition((2,)), FieldLabel(2), b"\x01")], EPSILON),
        Coarsened.for_guarantee((16,), [Level(1 << 31, GridPartition((1,)), FieldLabel(2), b"\x01")] * 2, EPSILON),
    ):
        with pytest.raises(InvalidValue, match="single items"):
            answer_moments(wrong, decoder, workload).profile()
    with pytest.raises(InvalidValue, match="histogram"):
        answer_moments(randomizer((16,), FieldLabel(2), b"\x01"), decoder, builtin("prefix", 16))
    with pytest.raises(InvalidValue, match="attributes"):
        answer_moments(randomizer((16,), FieldLabel(2), b"\x01"), decoder, builtin("histogram", 15))
