"""The array types that the numerical code of this package speaks in, and which rows of a matrix vary."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A row whose entries differ by less than this share of the largest is constant up to the rounding of its input.
_CONSTANT = 1e-14
# What may be nothing is raised to it before it divides: no quotient of this package is near its inverse.
TINY = 1e-300
# Weights that sum to 1 may miss it by this: the rounding of a few thousand terms is far below.
SUM_TOLERANCE = 1e-9
# Singular values, lengths and equal numbers below this share of the largest are rounding.
NEARLY_ZERO = 1e-12


def varying_rows(matrix: Floats) -> Mask:
    """The rows that are not constant: only these need reports, a constant one has the same answer for everybody.

    `matrix` (Q, k) → (Q,).
    """
    spread = np.abs(matrix - matrix[:, :1]).max(axis=1)
    return np.asarray(spread > _CONSTANT * np.abs(matrix).max(axis=1))
