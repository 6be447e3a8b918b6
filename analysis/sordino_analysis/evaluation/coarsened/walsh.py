"""Walsh–Hadamard transforms in integers: the number of reports that hold each cell, for all cells at once.

With labels t = A·c, 1[t ⊖ y ∈ M] = (1/G) Σ_j M̂_j (−1)^⟨j, y⟩ (−1)^⟨Aᵀj, c⟩, where M̂_j = Σ_{z ∈ M} (−1)^⟨j, z⟩. A report
adds M̂_j (−1)^⟨j, y⟩ at the index Aᵀj of its table, and the transform of the table is G times the number of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
# Butterflies run over blocks of this many entries, which stay in a processor's cache: 1 MiB.
_BLOCK = 1 << 17


def transform(table: NDArray[Any]) -> None:
    """Replace (2^r,) entries v by Σ_j v_j (−1)^⟨j, c⟩ at every c, in place; a block of 1 MiB is all that is copied."""
    inner = min(len(table), 1 << (len(table).bit_length() // 2))
    matrix = table.reshape(-1, inner)
    rows = max(1, _BLOCK // inner)
    for start in range(0, len(matrix), rows):
        block = matrix[start : start + rows]
        block[:] = _butterflies(block.T.copy()).T
    columns = max(1, _BLOCK // len(matrix))
    for start in range(0, inner, columns):
        matrix[:, start : start + columns] = _butterflies(matrix[:, start : start + columns].copy())


def _butterflies(columns: NDArray[Any]) -> NDArray[Any]:
    """The transform along axis 0 of (2^s, m), in place."""
    height, step = len(columns), 1
    while step < height:
        pairs = columns.reshape(height // (2 * step), 2, step, -1)
        first, second = pairs[:, 0], pairs[:, 1]
        first += second
        second *= -2
        second += first
        step *= 2
    return columns


def add_spectrum(table: Integers, inside: NDArray[np.bool_], rows: Sequence[Words], shifted: Words) -> None:
    """Add reports with `rows` of A, (n,) each, and y `shifted` (n,) to their (2^r,) table; `inside` (G,) is M."""
    spectrum = inside.astype(np.int64)
    transform(spectrum)
    table[0] += int(spectrum[0]) * len(shifted)
    signs = [1 - 2 * ((shifted >> np.uint64(bit)) & np.uint64(1)).astype(np.int64) for bit in range(len(rows))]
    index, sign = np.zeros(len(shifted), dtype=np.uint64), np.ones(len(shifted), dtype=np.int64)
    # In the order of the Gray code one row is added at a time.
    for step in range(1, len(spectrum)):
        bit = (step & -step).bit_length() - 1
        index ^= rows[bit]
        sign *= signs[bit]
        weight = int(spectrum[step ^ (step >> 1)])
        if weight:
            np.add.at(table, index.astype(np.intp), weight * sign)
