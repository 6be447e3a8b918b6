"""What no mechanism under pure ε beats as the number of people grows, biased ones included: by volume.

Averaged over translations the noise does not depend on the data, and its density p has p(z + v) ≤ e^ε p(z) for v in
K = conv{w_x − w_x′}. By Brunn and Minkowski its level sets grow by vrad(K), the radius of the ball of the same volume,
for each factor e^ε, and among such densities e^(−ε|z|/vrad) has the least second moment, but for steps that matter in
few dimensions. (Hardt and Talwar 2010 and Nikolov, Talwar and Zhang 2013 bound it with other constants.)
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.guarantees import NANO, PureEpsilon

# In fewer dimensions, or at larger ε, densities with steps have less noise than the smooth one.
_LEAST_DIMENSION = 8
_LARGEST_EPSILON = PureEpsilon(NANO)
# From there on steps save less than this share of the variance.
_STEPS = 1e-3
# Singular values below this share of the largest are zero up to rounding.
_RANK = 1e-9


def many_people_bound(matrix: Floats, weights: Floats, guarantee: PureEpsilon) -> float | None:
    """(1/Q) Σ w_q E(error_q²) ≥ d(d+1)·vrad²/(ε²Q) in squared counts, for `replace`; `matrix` (Q, k), `weights` (Q,).

    K is the image of the differences of a simplex, of volume C(2d, d)·√k/d! for d = k − 1. None where the queries have
    a smaller rank, whose volume has no closed form, below 8 dimensions and above ε = 1. It holds for rows of any weight
    up to 1 as the number of people grows, not at every number of them.
    """
    size = matrix.shape[1]
    dimension = size - 1
    if dimension < _LEAST_DIMENSION or guarantee > _LARGEST_EPSILON:
        return None
    centred = np.sqrt(weights)[:, None] * (matrix - matrix.mean(axis=1, keepdims=True))
    squares = np.linalg.eigvalsh(centred.T @ centred)[1:]
    if squares[0] <= _RANK * squares[-1]:
        return None
    log_stretch = float(np.log(squares).sum()) / 2
    log_simplex = math.lgamma(2 * dimension + 1) - 3 * math.lgamma(dimension + 1) + math.log(size) / 2
    log_ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
    radius = math.exp((log_stretch + log_simplex - log_ball) / dimension)
    return float((1 - _STEPS) * dimension * (dimension + 1) * (radius / guarantee.epsilon) ** 2 / len(matrix))
