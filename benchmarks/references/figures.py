"""What the lower bounds of the literature come to without their constants: figures to look at, which prove nothing."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import qr

from sordino_analysis.arrays import Floats


def volume_figure(matrix: Floats, epsilon: float) -> float:
    """max over j of vrad·j/(e ε √Q) in counts, for simplices of j + 1 columns of the matrix (Q, k); pure ε.

    vrad is of the differences of a simplex, of volume C(2j,j)|det|/j!, against the unit ball of j dimensions. The bound
    of Nikolov, Talwar and Zhang (2013, Section 4) is this up to a constant that they leave open.
    """
    logs = _log_volumes(matrix - matrix[:, :1])
    best = 0.0
    for size, log_determinant in enumerate(logs, start=1):
        log_differences = math.lgamma(2 * size + 1) - 3 * math.lgamma(size + 1) + log_determinant
        log_ball = size / 2 * math.log(math.pi) - math.lgamma(size / 2 + 1)
        radius = math.exp((log_differences - log_ball) / size)
        best = max(best, radius * size / (math.e * epsilon * math.sqrt(len(matrix))))
    return best


def determinant_figure(matrix: Floats) -> float:
    """max over j of (vol_j²/C(Q,j))^(1/2j) for j columns of the matrix (Q, k): some j×j determinant is as large.

    Half of it bounds the hereditary discrepancy below (Lovász, Spencer and Vesztergombi 1986), which Nikolov, Talwar
    and Zhang (2013, Section 2.3) turn into a bound for (ε, δ), up to a constant that they leave open.
    """
    best = 0.0
    for size, log_volume in enumerate(_log_volumes(matrix), start=1):
        log_choices = math.lgamma(len(matrix) + 1) - math.lgamma(size + 1) - math.lgamma(len(matrix) - size + 1)
        best = max(best, math.exp((log_volume - log_choices / 2) / size))
    return best


def _log_volumes(matrix: Floats) -> Floats:
    """Logarithms of the volumes that 1, 2, … columns span, chosen by pivoting; `matrix` (Q, k)."""
    diagonal = np.abs(np.diag(qr(matrix, mode="r", pivoting=True)[0]))
    kept = diagonal > 1e-10 * diagonal.max(initial=0)
    return np.asarray(np.cumsum(np.log(diagonal[kept])))
