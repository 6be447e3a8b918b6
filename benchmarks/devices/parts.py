"""Device parts of every size that a device may be asked to verify."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_shared.domains import Domain, Integers
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    DenseRows,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    Pair,
    SeededDirection,
    SubsetSelection,
)

_BITS = 60
_EPSILON, _HALF = PureEpsilon.of(2), PureEpsilon.of(1)


def parts() -> Iterator[tuple[str, bytes]]:
    """Names and bytes."""
    rng = np.random.default_rng(1)
    for size in (360, 1024, 2048):
        yield f"dense {size}²", _content(_dense(rng, size))
    low = rng.integers(1 << 45, 1 << 46, 2896, dtype=np.uint64)
    rows = two_level_rows(low, 2 * low, rng.random((2896, 2850)) < 0.3)
    yield "two-level 2,850 × 2,896", _content(FiniteKernel(_BITS, rows))
    yield "pair of dense 256²", _content(Pair(_dense(rng, 256), _dense(rng, 256)))
    for types, dimension in ((256, 1020), (1000, 256)):
        vectors = array_of(rng.integers(-1000, 1000, (types, dimension)), "<i4")
        weights = np.full(types, SeededDirection.largest_keep_weight(_HALF), dtype=np.uint64)
        yield (
            f"directions {types:,} × {dimension:,}",
            _content(SeededDirection(_BITS, vectors, array_of(weights, "<u8"))),
        )
    level = Level(1 << 32, GridPartition((1,)), LinearLabel(8), b"\x01")
    yield "coarsened linear 2²⁴", _content(Coarsened.for_guarantee((1 << 24,), (level,), _HALF))
    for size in (4096, 65_536):
        yield f"subset selection {size:,}", _content(SubsetSelection.for_guarantee(size, size // 4, _HALF))


def _dense(rng: np.random.Generator, size: int) -> FiniteKernel:
    table = rng.integers((1 << _BITS) // (3 * size), (1 << _BITS) // (2 * size), (size, size))
    return FiniteKernel(_BITS, DenseRows(array_of(table, "<u8")))


def _content(randomizer: AnyRandomizer) -> bytes:
    return DevicePart(Domain((Integers("x", 0, randomizer.size - 1),)), _EPSILON, randomizer).content
