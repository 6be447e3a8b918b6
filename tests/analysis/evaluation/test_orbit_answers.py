"""Variances, means and sums of orbit kernels against every output written out, report by report."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from sordino_analysis.documents.decoders import CharacterDecoder
from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.evaluation.character_tables import CharacterTables
from sordino_analysis.evaluation.orbit_answers import orbit_answers
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_SCALE
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.orbits import base_row, row_members
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_shared.randomizers import OrbitKernel

# Five standard errors of a product of errors that is seen so often: nobody in a million is beyond.
DRAWN_REPORTS = 10_000
LOW, HIGH = 1 << 40, 5 << 39


def kernel(shape, width, rows, overlaps):
    weights = [1 << 59, 1 << 59] if len(rows) == 2 else [1 << 60]
    rows = tuple(base_row(np.array(row, dtype=bool)) for row in rows)
    return OrbitKernel(
        shape=shape, width=width, overlaps=overlaps, bits=60, low=LOW, high=HIGH, row_weights=tuple(weights), rows=rows
    )


def workload(shape, queries):
    attributes = [
        {"name": f"a{i}", "kind": "categorical", "labels": [f"v{j}" for j in range(size)]}
        for i, size in enumerate(shape)
    ]
    return parse_specification({"name": "asked", "domain": attributes, "queries": queries}).build()


def outputs(randomizer):
    """(payload, (k,) probabilities) of every report, from the definition of the law."""
    cells = list(product(*(range(size) for size in randomizer.shape)))
    for number, row in enumerate(randomizer.rows):
        members = row_members(row).reshape(row.shape)
        places = [
            p
            for p in permutations(range(len(randomizer.shape)), len(row.shape))
            if all(randomizer.shape[a] == size for a, size in zip(p, row.shape, strict=True))
        ]
        chance = randomizer.row_weights[number] / 2**randomizer.bits / len(places)
        for attributes in places:
            for index, shift in enumerate(product(*(range(size) for size in row.shape))):
                hit = [
                    members[tuple((x[a] - t) % c for a, t, c in zip(attributes, shift, row.shape, strict=True))]
                    for x in cells
                ]
                payload = bytes([number, *attributes, *[255] * (randomizer.slots - len(attributes))])
                mass = chance * np.where(hit, HIGH, LOW) / randomizer.mass(row)
                yield payload + index.to_bytes(2, "little"), mass


def error_products(answers, chances, truth):
    """(Q, Q) E[e_i e_j] and E[e_i² e_j²] of the errors of one report; `chances` (outputs, k) of it and the type."""
    second, fourth = np.zeros((len(answers), len(answers))), np.zeros((len(answers), len(answers)))
    for chance, own in zip(chances.T, truth.T, strict=True):
        errors = answers - own[:, None]
        second += (errors * chance) @ errors.T
        fourth += (errors**2 * chance) @ (errors**2).T
    return second, fourth


CASES = [
    ((2, 2), 2, [[[1, 0], [0, 0]]], {"kind": "marginals", "width": 2}),
    ((2, 2, 2), 2, [[[1, 0], [0, 0]], [[[1, 0], [0, 1]], [[0, 0], [1, 0]]]], {"kind": "marginals", "width": 2}),
    ((2, 2, 2), 3, [[[1, 0], [0, 1]], [[[1, 0], [0, 1]], [[0, 0], [1, 0]]]], {"kind": "parities", "width": 3}),
    ((3, 2, 3), 2, [[1, 0, 0], [[1, 0], [0, 1], [0, 0]]], {"kind": "marginals", "width": 2, "exactly": True}),
    (
        (3, 3),
        2,
        [[[1, 0, 0], [0, 1, 0], [1, 0, 0]], [[1, 1, 0], [0, 1, 0], [0, 0, 0]]],
        {"kind": "marginals", "width": 2},
    ),
    ((4, 2), 2, [[[1, 0], [0, 1], [1, 1], [0, 0]], [1, 0]], {"kind": "marginals", "width": 2}),
]


@pytest.mark.parametrize("overlaps", [False, True])
@pytest.mark.parametrize(("shape", "width", "rows", "queries"), CASES)
def test_variances_are_those_of_every_output_written_out(shape, width, rows, queries, overlaps):
    randomizer, asked = kernel(shape, width, rows, overlaps), workload(shape, queries)
    rng = np.random.default_rng(4)
    blocks, orbits = len(asked.operator.blocks), len(asked.operator.characters.orbits)
    levels = len(rows) * (width + 1 if overlaps else 1)
    slopes, offsets = rng.uniform(1, 5, (blocks, levels * orbits)), rng.uniform(-1, 1, (blocks, levels))
    decoder = CharacterDecoder(array_of(slopes, "<f8"), array_of(offsets, "<f8"))
    listed = list(outputs(randomizer))
    table = np.array([mass for _, mass in listed])
    assert table.sum(axis=0) == pytest.approx(1, abs=1e-12)
    assert (table.max(axis=1) / table.min(axis=1)).max() == pytest.approx(HIGH / LOW)
    payloads = np.frombuffer(b"".join(payload for payload, _ in listed), dtype=np.uint8).reshape(len(listed), -1)
    assert in_alphabet(randomizer, payloads).all()
    unit = CharacterTables(randomizer, DIRECTION_SCALE).unit / DIRECTION_SCALE
    sums = np.array([accumulate(randomizer, payload[None]) for payload in payloads])
    assert np.abs(sums).max() <= DIRECTION_SCALE
    assert np.array_equal(accumulate(randomizer, payloads), sums.sum(axis=0))
    answers = np.stack([orbit_answers(randomizer, decoder, asked).decode(report * unit) for report in sums], axis=1)
    means = answers @ table
    variances = answers**2 @ table - means**2
    law = answer_moments(randomizer, decoder, asked)
    assert law.type_variances() == pytest.approx(variances, rel=1e-7)
    profile = law.profile()
    assert profile.variance == pytest.approx(variances.max(axis=1), rel=1e-7)
    ones = np.indices(randomizer.shape).reshape(len(randomizer.shape), -1).sum(axis=0)
    by_class = np.broadcast_to(profile.type_variance, max(ones.max() + 1, len(profile.type_variance)))
    assert by_class[ones] == pytest.approx(variances.mean(axis=0), rel=1e-7)
    assert profile.bias == pytest.approx(np.abs(means - asked.operator.dense()).max(axis=1), abs=1e-7)
    histogram = rng.dirichlet(np.ones(asked.size))
    assert law.mixed_variances(histogram) == pytest.approx(variances @ histogram, rel=1e-7)
    # Many reports are decoded at once, and make up the covariance that a band is drawn from.
    assert law.decode(sums.T * unit) == pytest.approx(answers, abs=1e-9)
    second, fourth = error_products(answers, table * histogram, asked.operator.dense())
    root = law.covariance_root(histogram)
    assert (np.abs(root @ root.T - second) <= 5 * np.sqrt(fourth / DRAWN_REPORTS) + 1e-9).all()
    # The whole law of a report too: four moments, of users who are spread as the histogram.
    mixed, queries = table @ histogram, list(range(len(answers)))
    for query, found in enumerate(for_randomizer(randomizer).contribution_laws(decoder, asked, histogram, queries)):
        expected = [answers[query] ** power @ mixed for power in range(1, 5)]
        mean = asked.operator.dense()[query] @ histogram
        assert found.chances.sum(axis=0) == pytest.approx(1, abs=1e-12)
        assert [found.values**power @ found.chances @ found.shares for power in range(1, 5)] == pytest.approx(
            expected, rel=1e-6
        )
        assert found.truth @ found.shares == pytest.approx(mean)
