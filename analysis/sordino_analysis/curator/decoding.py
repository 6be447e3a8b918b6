"""The decoder of least variance for whole-number rows with noise of known variances."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.strategy import Integers, IntegerStrategy, squared_sensitivity
from sordino_analysis.request_terms import Neighbours


def decoded_strategy(
    rows: Integers, matrix: Floats, neighbours: Neighbours, variances: Floats | None = None
) -> IntegerStrategy:
    """Measures `rows` (r, k) and answers `matrix` (m, k) by weighted least squares.

    `variances` (r,) of the noise are equal if left out.

    Where the rows do not span the queries the decoder misses them, which `check_decodes` says.
    """
    deviations = np.ones(len(rows)) if variances is None else np.sqrt(variances)
    scaled, wanted, offset = rows / deviations[:, None], matrix, np.zeros(len(matrix))
    if neighbours == "replace":
        scaled = scaled - scaled.mean(axis=1, keepdims=True)
        wanted = matrix - matrix.mean(axis=1, keepdims=True)
    size = float(np.abs(scaled).max()) or 1.0
    decoder = np.linalg.lstsq(scaled.T / size, wanted.T, rcond=None)[0].T / size / deviations
    if neighbours == "replace":
        offset = matrix.mean(axis=1) - decoder @ rows.mean(axis=1)
    return IntegerStrategy(
        neighbours=neighbours,
        rows=rows,
        squared_sensitivity=squared_sensitivity(rows, neighbours),
        decoder=np.asarray(decoder, dtype=float),
        offset=np.asarray(offset, dtype=float),
    )
