"""The array types that the numerical code of this package speaks in, and which rows of a matrix vary."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A row whose entries differ by less than this share of the largest is constant up to the rounding of its input.
_CONSTANT = 1e-14


def varying_rows(matrix: Floats) -> Mask:
    """The rows that are not constant: only these need reports, a constant one has the same answer for everybody.

    `matrix` (Q, k) → (Q,).
    """
    spread = np.abs(matrix - matrix[:, :1]).max(axis=1)
    return np.asarray(spread > _CONSTANT * np.abs(matrix).max(axis=1))
