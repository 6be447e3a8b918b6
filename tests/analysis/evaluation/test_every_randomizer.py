"""The contract of a randomizer, on samples of every member of `AnyRandomizer`: privacy, law, sums and moments.

A member without a sample in `tests/randomizers.py` fails the collection of this file. What the client sends is held
against the same laws in `tests/client/test_output_law.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import (
    AnswerDecoder,
    CharacterDecoder,
    Decoder,
    GridDecoder,
    ScaledHistogramDecoder,
)
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.contribution_law import Moments
from sordino_analysis.evaluation.integer_kernels import histogram_decoder
from sordino_analysis.evaluation.orbit_answers import ROOT_REPORTS
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms.randomized_response import inverse_decoder
from sordino_analysis.mechanisms.subset_mixture import mixture_decoder
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import check_guarantee, prove_epsilon
from sordino_shared.errors import GuaranteeNotMet, InvalidValue
from sordino_shared.guarantees import epsilon_of_ratio
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    FieldLabel,
    FiniteKernel,
    GridPartition,
    OrbitKernel,
    RandomizedResponse,
    SubsetMixture,
    SubsetSelection,
)
from tests.randomizers import SAMPLES, Sample, every_sample, is_accepted, law_of, outcomes, tilted, written_out

# Draws of a value, and how far off a law is that they must refuse; sides of directions are worked out one by one.
LISTED_DRAWS, LISTED_TILT = 60_000, 0.05
SEEDED_DRAWS, SEEDED_TILT = 10_000, 0.12
# Seeds that moments are averaged over; a number that deviates by at most 0.8 from its mean errs by 6 standard errors.
REPLICAS, SEEDED_TOLERANCE = 400, 0.25

each = pytest.mark.parametrize("sample", list(every_sample()))


def test_a_member_without_a_sample_fails_the_collection() -> None:
    class Another(RandomizedResponse):
        """A randomizer that somebody has just added to the union."""

    with pytest.raises(LookupError, match="Another is in AnyRandomizer and has no sample"):
        list(every_sample((*get_args(AnyRandomizer), Another)))


@each
def test_the_claim_is_what_the_written_out_law_spends_and_one_unit_more_is_refused(sample: Sample) -> None:
    _, chances = written_out(sample.randomizer, 16)
    flat = chances.reshape(-1, sample.randomizer.size)
    worst = max(max(row) / min(row) for row in flat if max(row))
    ratio = sample.randomizer.likelihood_ratio()
    assert ratio is not None
    assert Fraction(*ratio) == worst
    assert prove_epsilon(sample.randomizer) == epsilon_of_ratio(worst.numerator, worst.denominator) == sample.claim
    assert check_guarantee(sample.part) == sample.claim
    with pytest.raises(GuaranteeNotMet):
        check_guarantee(DevicePart(sample.domain, sample.claim, sample.worse))


@each
def test_draws_follow_the_law_and_not_one_a_few_percent_off(sample: Sample) -> None:
    draws, tilt = (LISTED_DRAWS, LISTED_TILT) if sample.is_listed else (SEEDED_DRAWS, SEEDED_TILT)
    randomizer, source = sample.randomizer, SeededRandomness(7)
    for cell in (0, randomizer.size - 1):
        law = law_of(randomizer, cell)
        assert sum(law.values()) == 1
        found = outcomes(randomizer, cell, randomize_many(randomizer, np.full(draws, cell), source))
        assert is_accepted(found, law)
        assert not is_accepted(found, tilted(law, tilt))


@each
def test_values_in_one_array_are_drawn_each_by_its_own_law(sample: Sample) -> None:
    randomizer = sample.randomizer
    cells = np.arange(3000 * randomizer.size) % randomizer.size
    payloads = randomize_many(randomizer, cells, SeededRandomness(8))
    assert in_alphabet(randomizer, payloads).all()
    for cell in range(randomizer.size):
        assert is_accepted(outcomes(randomizer, cell, payloads[cells == cell]), law_of(randomizer, cell))


@each
def test_the_alphabet_is_what_some_value_can_send(sample: Sample) -> None:
    """Payloads of the law, and all that differ from some of them in one byte."""
    payloads, chances = written_out(sample.randomizer, 4)
    flat = payloads.reshape(-1, sample.randomizer.payload_bytes)
    possible = (chances > 0).any(axis=2).ravel()
    assert (in_alphabet(sample.randomizer, flat) == possible).all()
    if sample.is_listed:
        known = {payload.tobytes() for payload in flat[possible]}
        altered = np.repeat(flat[:, None, None], 256, axis=2).repeat(flat.shape[1], axis=1)
        for place in range(flat.shape[1]):
            altered[:, place, :, place] = np.arange(256)
        others = altered.reshape(-1, flat.shape[1])
        assert (in_alphabet(sample.randomizer, others) == [other.tobytes() in known for other in others]).all()


@each
def test_values_and_payloads_of_another_form_are_refused(sample: Sample) -> None:
    randomizer, source, width = sample.randomizer, SeededRandomness(1), sample.randomizer.payload_bytes
    for cells in ([[0]], [-1], [randomizer.size], [0.0], [True]):
        with pytest.raises(InvalidValue, match="cells"):
            randomize_many(randomizer, np.array(cells), source)
    for payloads in (np.zeros((2, width + 1), np.uint8), np.zeros(width, np.uint8), np.zeros((2, width), np.int64)):
        with pytest.raises(InvalidValue, match="payloads"):
            in_alphabet(randomizer, payloads)
    assert randomize_many(randomizer, np.zeros(0, dtype=np.int64), source).shape == (0, width)
    assert len(randomizer.randomize(0, source)) == width


@each
def test_sums_merge_in_any_order_to_the_same_bytes(sample: Sample) -> None:
    randomizer, rng = sample.randomizer, np.random.default_rng(3)
    payloads = randomize_many(randomizer, np.arange(60) % randomizer.size, SeededRandomness(2))
    whole = Aggregate(60, accumulate(randomizer, payloads))
    assert len(whole.sums) == randomizer.accumulator_size == len(for_randomizer(randomizer).units())
    for cuts in ([1, 2], [30], [7, 7, 50]):
        shards = [Aggregate(len(p), accumulate(randomizer, p)) for p in np.split(payloads[rng.permutation(60)], cuts)]
        merged = Aggregate.empty(randomizer)
        for number in rng.permutation(len(shards)):
            merged = shards[number] + merged
        assert (merged.count, merged.to_bytes()) == (whole.count, whole.to_bytes())


def decoders(sample: Sample) -> Iterator[tuple[Decoder, Workload]]:
    """Decoders of random numbers, and the ones that mechanisms ship with the randomizer."""
    randomizer, rng = sample.randomizer, np.random.default_rng(5)
    prefix, types = builtin("prefix", randomizer.size), randomizer.size
    match randomizer:
        case Coarsened():
            yield from coarsened_decoders(randomizer)
            return
        case OrbitKernel():
            domain = [
                {"name": f"a{i}", "kind": "ordinal", "edges": list(map(float, range(1, size)))}
                for i, size in enumerate(randomizer.shape)
            ]
            queries: dict[str, Any] = {"kind": "marginals", "width": randomizer.width}
            if randomizer.pinned is not None:
                label = {"attribute": domain[randomizer.pinned]["name"], "positive": "> 1"}
                queries = {"class": "conjunctions", "width": randomizer.width - 1, "label": label}
            workload = parse_specification({"name": "asked", "domain": domain, "queries": queries}).build()
            operator = workload.operator
            levels = len(randomizer.rows) * (randomizer.width + 1 if randomizer.overlaps else 1)
            slopes = rng.uniform(1, 5, (len(operator.blocks), levels * len(operator.characters.orbits)))
            offsets = rng.uniform(-1, 1, (len(operator.blocks), levels))
            yield CharacterDecoder(array_of(slopes, "<f8"), array_of(offsets, "<f8")), workload
            return
        case RandomizedResponse() | SubsetSelection():
            yield inverse_decoder(for_randomizer(randomizer).moments), prefix
        case SubsetMixture():
            yield mixture_decoder(for_randomizer(randomizer).moments, randomizer.subset_sizes, 0.3), prefix
        case FiniteKernel() if kernel_table(randomizer).any(axis=1).all():
            yield histogram_decoder(randomizer, np.full(types, 1 / types)), prefix
    rows = rng.uniform(-1, 1, (prefix.queries, randomizer.accumulator_size))
    yield AnswerDecoder(array_of(rows, "<f8"), array_of(rng.uniform(-1, 1, prefix.queries), "<f8")), prefix


def coarsened_decoders(randomizer: Coarsened) -> Iterator[tuple[Decoder, Workload]]:
    """Of single items for one level of cells of one type, of grids for prefix sums; sets of attributes have none."""
    lines = [{"name": f"a{i}", "kind": "integers", "low": 1, "high": size} for i, size in enumerate(randomizer.sizes)]

    def asked(queries: str) -> Workload:
        return parse_specification({"name": "asked", "domain": lines, "queries": queries}).build()

    labels = {type(level.label) for level in randomizer.levels}
    grids = all(isinstance(level.partition, GridPartition) for level in randomizer.levels)
    if len(randomizer.levels) == 1:
        yield ScaledHistogramDecoder(1.75, -0.25), asked("histogram")
    # Residues of two attributes are decoded where the member is the first.
    first = all(level.members == b"\x01" for level in randomizer.levels) or len(randomizer.sizes) == 1
    if grids and first and FieldLabel not in labels:
        yield GridDecoder(), asked("prefix")
        if len(randomizer.sizes) == 1:
            factors = np.linspace(0.4, 1.1, len(randomizer.levels))
            yield GridDecoder(array_of(factors, "<f8")), asked("prefix")


def test_coarsened_reports_are_decoded_in_every_way_that_ships() -> None:
    every = [each for sample in SAMPLES[Coarsened].values() for each, _ in decoders(sample)]
    kinds = [decoder.kind for decoder in every]
    assert sorted(kinds) == ["grids"] * 5 + ["scaled_histogram"] * 2


def check_root(root: Floats, errors: Floats, chances: Floats, room: float, reports: int | None) -> None:
    """root · rootᵀ is the covariance; where it is of seeded `reports`, within 6 standard errors: a false alarm in 10⁶.

    `errors` (m, Q, k) of the answers to every output, with the `chances` (m, k) of outputs and types.
    """
    covariance = np.einsum("mqx,mrx,mx->qr", errors, errors, chances)
    allowed = np.full_like(covariance, room)
    if reports is not None:
        squares = np.einsum("mqx,mrx,mx->qr", errors**2, errors**2, chances)
        allowed = 1e-6 + 6 * np.sqrt(np.maximum(squares - covariance**2, 0.0) / reports)
    wrong = np.abs(root @ root.T - covariance)
    assert (wrong <= allowed).all(), f"{(wrong / allowed).max():.3g} times what is allowed"


@each
def test_moments_extremes_and_laws_are_those_of_every_output_written_out(sample: Sample) -> None:
    randomizer, half = sample.randomizer, for_randomizer(sample.randomizer)
    tolerance = 1e-6 if sample.is_exact else SEEDED_TOLERANCE
    payloads, exact = written_out(randomizer, REPLICAS)
    flat = payloads.reshape(-1, randomizer.payload_bytes)
    chances = exact.astype(float).reshape(len(flat), -1) / len(payloads)
    sent = chances.any(axis=1)
    flat, chances = flat[sent], chances[sent]
    reports = [mean_accumulator(randomizer, Aggregate(1, accumulate(randomizer, one[None]))) for one in flat]
    histogram = np.random.default_rng(6).dirichlet(np.ones(randomizer.size))
    for decoder, workload in decoders(sample):
        law = answer_moments(randomizer, decoder, workload)
        values = np.array([law.decode(report) for report in reports])
        means = values.T @ chances
        deviations = values[:, :, None] - means
        cumulants = [np.einsum("mqx,mx->qx", deviations**power, chances) for power in (2, 3)]
        # Tolerances are for answers of a direction of length one, so longer ones have more.
        room = tolerance * max(1.0, float(np.abs(values).max())) ** 2
        np.testing.assert_allclose(law.type_variances(), cumulants[0], atol=room)
        np.testing.assert_allclose(law.mixed_variances(histogram), cumulants[0] @ histogram, atol=room)
        profile, entries = law.profile(), workload.operator.dense()
        np.testing.assert_allclose(profile.variance, cumulants[0].max(axis=1), atol=room)
        assert (np.abs(means - entries).max(axis=1) <= profile.bias + room).all()
        root = law.covariance_root(histogram)
        if root is not None:
            # Where reports are drawn, errors are about the truth: decoders of this test have some bias.
            drawn = isinstance(randomizer, OrbitKernel)
            errors = values[:, :, None] - entries if drawn else deviations
            check_root(root, errors, chances * histogram, room, ROOT_REPORTS if drawn else None)
            if drawn:
                with pytest.raises(AssertionError, match="times what is allowed"):
                    check_root(root * 1.12, errors, chances * histogram, room, ROOT_REPORTS)
        low, high = half.extreme_contributions(decoder, workload)
        assert (values >= low - 1e-6).all()
        assert (values <= high + 1e-6).all()
        # Orbit kernels have a bound; that of a finite kernel counts an output in that no value has.
        if sample.is_listed and sample.shape is None and sent.all():
            np.testing.assert_allclose(np.ptp(values, axis=0), high - low, rtol=1e-6)
        laws = half.contribution_laws(decoder, workload, histogram, list(range(workload.queries)))
        for query, one in enumerate(laws):
            found = (one if isinstance(one, Moments) else one.moments).of_reporters
            second, third = ((cumulant @ histogram)[query] for cumulant in cumulants)
            assert found.variance == pytest.approx(second, abs=room)
            assert found.skewness * found.variance**1.5 == pytest.approx(third, abs=room)
