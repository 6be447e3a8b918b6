"""What a report of an ε-LDP kernel can tell, and the least variance that it leaves.

With type weights π let u be an output's likelihood ratios, E_π u = 1, and X = D_π^½ (E uuᵀ − 11ᵀ) D_π^½ over the
outputs: the information matrix without the constant. Two limits hold for it:

- tr X ≤ max_a (1 − a)(a·e^ε − 1) = sinh²(ε/2), as u lies in [a, a·e^ε] around a mean of 1;
- every eigenvalue is at most tanh²(ε/2). It is the squared correlation of a function of the type with one of the
  output. No such correlation is larger than that of the worst pair of types (Ordentlich and Polyanskiy 2021), whose
  affinity Σ_y √(K(y|x)K(y|x′)) is at least 1/cosh(ε/2), and 1 − 1/cosh²(ε/2) = tanh²(ε/2).

The best unbiased decoder of A leaves the variance tr(A X⁻¹ Aᵀ) − ‖A‖_F². It is least where X has A's right singular
vectors and the eigenvalues x_i = min(tanh²(ε/2), μσ_i) ("water filling"): Σ σ_i²(1/x_i − 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class InformationLimits:
    """The largest trace of X and its largest eigenvalue; `least_excess` is one over the latter, less one."""

    trace: float
    eigenvalue: float
    least_excess: float


def information_limits(epsilon: float, trace: float | None = None) -> InformationLimits:
    """Those of ε-LDP kernels; with `trace` a smaller one than sinh²(ε/2), where the queries allow no more."""
    whole = math.sinh(epsilon / 2) ** 2
    return InformationLimits(
        trace=whole if trace is None else trace, eigenvalue=math.tanh(epsilon / 2) ** 2, least_excess=1 / whole
    )


def least_excesses(
    values: Floats, limits: InformationLimits, counts: Floats | None = None, prices: Floats | None = None
) -> Floats:
    """1/x_i − 1 of the x with the least Σ n_i σ_i²/x_i for Σ n_i c_i x_i ≤ trace and x_i ≤ eigenvalue, (m,).

    `values` σ (m,) and `counts` n (m,) are not negative, n is 1 unless given; `prices` c (m,) likewise.
    """
    counts = np.ones_like(values) if counts is None else counts
    roots = np.ones_like(values) if prices is None else np.sqrt(prices)
    ratios = np.divide(values, roots, out=np.full_like(values, np.inf), where=roots > 0)
    order = np.argsort(-ratios, kind="stable")
    shares = (counts * values * roots)[order]
    # After the first j, which have the largest eigenvalue, these parts of the trace and of Σ nσ√c are left.
    left = limits.trace - limits.eigenvalue * np.concatenate([[0.0], np.cumsum((counts * roots**2)[order])[:-1]])
    rest = np.cumsum(shares[::-1])[::-1]
    fits = (left > 0) & (left * ratios[order] <= limits.eigenvalue * rest)
    excesses = np.full_like(values, limits.least_excess)
    if not fits.any():
        return excesses
    first = int(np.argmax(fits))
    free = order[first:][shares[first:] > 0]
    found = rest[first] / left[first] / ratios[free] - 1
    excesses[free] = np.maximum(found, limits.least_excess)
    return excesses


def least_variance(
    values: Floats, limits: InformationLimits, counts: Floats | None = None, prices: Floats | None = None
) -> float:
    """Σ n_i σ_i²(1/x_i − 1) for the x (n,) of `least_excesses` and its arguments: above 0 unless all σ are 0."""
    squares = values**2 if counts is None else counts * values**2
    return float(squares @ least_excesses(values, limits, counts, prices))
