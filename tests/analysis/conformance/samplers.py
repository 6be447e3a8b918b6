"""Parts with a correct sampler, and samplers that are broken in ways that a test of the law of favour does not see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.conformance.coarsened import CoarsenedReport, coordinate_counts, coordinates, label_of
from sordino_analysis.conformance.empirical import Sampler, reference_sampler
from sordino_analysis.conformance.features import sides_of
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_integers
from sordino_shared.domains import Domain, Integers
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    Coarsened,
    DenseRows,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    SeededDirection,
)
from sordino_shared.randomizers.base import cell_codes

Payloads = NDArray[np.uint8]
ONE = PureEpsilon.of(1)


def part_of(randomizer: object, size: int) -> DevicePart:
    proved = epsilon_of_ratio(*randomizer.likelihood_ratio())  # type: ignore[attr-defined]
    return DevicePart(Domain((Integers("x", 0, size - 1),)), proved, randomizer)  # type: ignore[arg-type]


def direction_part() -> DevicePart:
    """Sixteen types with vectors of ±1 in eight dimensions, all at the largest keep weight for ε = 1."""
    vectors = np.random.default_rng(4).choice([-1, 1], size=(16, 8))
    keep = np.full(16, SeededDirection.largest_keep_weight(ONE), dtype=np.uint64)
    return part_of(SeededDirection(60, array_of(vectors, "<i4"), array_of(keep, "<u8")), 16)


def table_part() -> DevicePart:
    """A square table that is not symmetric: each column has two outputs that are e times as likely, rows 1 to 7."""
    low = 0.9 / (6 + 2 * np.e)
    law = np.full((8, 8), low)
    for cell in range(8):
        law[[0 if cell < 7 else 1, 2 + cell % 6], cell] = low * np.e * (1 - 1e-9)
    table = np.floor(law * 2.0**60).astype(np.uint64)
    return part_of(FiniteKernel(60, DenseRows(array_of(table, "<u8"))), 8)


def label_part() -> DevicePart:
    level = Level(1 << 32, GridPartition((1,)), LinearLabel(2), b"\x01")
    return part_of(Coarsened.for_guarantee((16,), (level,), ONE), 16)


def drawn_again(part: DevicePart, seed: int = 5) -> Sampler:
    """The seed is drawn again, up to five times, until the direction is on the value's side."""
    randomizer, fresh = part.randomizer, reference_sampler(part, seed)

    def draw(cell: int, count: int) -> Payloads:
        payloads = fresh(cell, count).copy()
        for _ in range(5):
            wrong = ~sides_of(randomizer, cell, payloads)  # type: ignore[arg-type]
            payloads[wrong] = fresh(cell, int(wrong.sum()))
        return payloads

    return draw


def transposed(part: DevicePart, seed: int = 6) -> Sampler:
    """The table is read by rows in place of columns."""
    law = kernel_integers(part.randomizer.rows).astype(float) / 2.0**60  # type: ignore[union-attr]
    rng = np.random.default_rng(seed)

    def draw(cell: int, count: int) -> Payloads:
        chances = law[cell] / law[cell].sum()
        return rng.choice(8, size=count, p=chances).astype(np.uint8)[:, None]

    return draw


def label_chosen(part: DevicePart, seed: int = 7) -> Sampler:
    """The words are drawn again until the value's label is 0, up to three times."""
    randomizer, fresh = part.randomizer, reference_sampler(part, seed)
    assert isinstance(randomizer, Coarsened)

    def is_zero(codes: list[int], payload: bytes) -> bool:
        report = CoarsenedReport.read(randomizer, codes, payload)
        level = randomizer.levels[report.level]
        cell = coordinates(level.partition, codes, report.public)
        return label_of(level.label, cell, coordinate_counts(randomizer, level), report.words) == 0

    def draw(cell: int, count: int) -> Payloads:
        payloads, codes = fresh(cell, count).copy(), cell_codes(cell, randomizer.sizes)
        for _ in range(3):
            wrong = np.array([not is_zero(codes, bytes(row)) for row in payloads])
            payloads[wrong] = fresh(cell, int(wrong.sum()))
        return payloads

    return draw
