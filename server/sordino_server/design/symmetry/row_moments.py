"""Exact second moments of symmetric answers from rows of an orbit kernel, without going over its reports.

An answer F = Σ_r β_r g_r H_r is about the attributes of one support. A random arrangement maps some of them to slots of
the row, the others to none; given which, the report's shift there is uniform but for u's marginal on these slots.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.symmetry.characters import Integers
from sordino_server.design.symmetry.spectrum import Complex


@dataclass(frozen=True, eq=False)
class LocalQuery:
    """β (K,) over the frequencies of a support of sizes `shape`, and the orbit (K,) of each; −1 at r = 0."""

    shape: tuple[int, ...]
    weights: Floats
    orbits: Integers


def second_moments(coefficients: Complex, sizes: Sequence[int], query: LocalQuery, slopes: Floats) -> Floats:
    """(n, c, c, K) E[F_i F_j | x] at each local cell x for n rows, F_i = Σ_{r ≠ 0} β_r slopes[·, i, orbit of r] H_r.

    `coefficients` (n, slots …) are û of rows over the same slots, `sizes` those of all attributes of the domain, and
    `slopes` (n, c, orbits).
    """
    count = slopes.shape[1]
    total = np.zeros((len(coefficients), count, count, *query.shape))
    factors = np.where(query.orbits >= 0, slopes[:, :, query.orbits], 0.0) * query.weights
    factors = factors.reshape(-1, count, *query.shape)
    for slots, chance in partial_maps(coefficients.shape[1:], query.shape, sizes):
        mapped = [axis for axis, slot in enumerate(slots) if slot is not None]
        local = _on_slots(coefficients, [slot for slot in slots if slot is not None])
        used = (slice(None), slice(None), *(slice(None) if axis in mapped else 0 for axis in range(len(slots))))
        axes = tuple(range(2, 2 + len(mapped)))
        waves = np.fft.ifftn(factors[used] * np.conj(local)[:, None], axes=axes) * local[0].size
        answers = waves.real + waves.imag
        products = answers[:, :, None] * answers[:, None, :]
        axes = tuple(range(3, 3 + len(mapped)))
        moments = np.fft.ifftn(np.fft.fftn(products, axes=axes) * local[:, None, None], axes=axes).real
        lengths = [size if axis in mapped else 1 for axis, size in enumerate(query.shape)]
        total += chance * moments.reshape(-1, count, count, *lengths)
    return np.asarray(total.reshape(len(coefficients), count, count, -1))


def partial_maps(
    row: Sequence[int], support: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[tuple[int | None, ...], float]]:
    """For each attribute of the support the slot that a random arrangement gives it, or None; and the chance of that.

    Of L attributes of a size, m in slots, w in the support: j of the w are on j given slots with chance
    (L − w)(L − w − 1)…/(L(L − 1)…), with m − j factors above and m below.
    """
    present, slots, wanted = Counter(sizes), Counter(row), Counter(support)
    choices = [[None, *(slot for slot, size in enumerate(row) if size == wide)] for wide in support]
    for chosen in product(*choices):
        used = [slot for slot in chosen if slot is not None]
        if len(set(used)) < len(used):
            continue
        mapped = Counter(row[slot] for slot in used)
        chance = 1.0
        for size, number in slots.items():
            rest = math.perm(present[size] - wanted[size], number - mapped[size])
            chance *= rest / math.perm(present[size], number)
        if chance > 0:
            yield chosen, chance


def _on_slots(coefficients: Complex, slots: Sequence[int]) -> Complex:
    """û of each row restricted to frequencies on these slots, one axis a slot in the given order."""
    index = (slice(None), *(slice(None) if slot in slots else 0 for slot in range(coefficients.ndim - 1)))
    ranks = np.argsort(np.argsort(slots)) if slots else np.zeros(0, dtype=np.intp)
    return np.asarray(np.transpose(coefficients[index], [0, *(1 + ranks).tolist()]))
