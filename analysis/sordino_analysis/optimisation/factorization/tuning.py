"""What the factorizations trade, quality against time, memory or bytes.

`python -m benchmarks.tuning factorization` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ApproximationTuning:
    """Factors of an approximation of W: `approximation.py`. Measured: `python -m benchmarks.tuning
    factorization.approximation`."""

    penalty: float = 20.0
    """The penalty of the splitting at first. Entries of W are scaled to at most one; singular values are of this
    order then, and the penalty adapts from here."""
    penalty_step: float = 1.5
    """The penalty changes by this factor."""
    unequal_residuals: float = 5.0
    """It changes once one residual is so many times the other."""
    exponent: float = 0.5
    """The weights move while the splitting does, by this power of the variances at first."""
    gain: float = 1e-4
    """They slow down once the lower bound gains less than this share between two looks at the factors."""
    slower: float = 0.8
    """How much of the exponent then stays."""
    uniform_share: float = 1e-3
    """A row that no witness needs still has factors: without this share of uniform weights they grow without limit.
    The value is concave in the weights, so the share costs the lower bound no more than itself."""
    steps_between_looks: int = 10
    """Steps of the splitting between two looks at the factors, each of which takes as long as several steps."""
    least_ratio: float = 1e-3
    """A weight falls at most by this ratio, to the power of the exponent, in a step."""
    share_of_factors: float = 0.3
    """Of the gap asked for, the share that factorizing the approximation may take."""
    most_tangents: int = 8
    """Points of the curve of bias and variance that are solved for at most; each takes seconds."""
    gap: float = 0.01
    """The proved gap at which an approximation ends, where no other is given: less takes more steps."""
    most_steps: int = 500
    """Steps of the splitting at most, where no other number is given."""
    cost_gap: float = 0.02
    """The same gap of the cost of bias and variance, of which each approximation has half."""
    furthest: float = 0.99
    """Biases are tried up to this share of the one at which constants answer every query."""
    precision: float = 1e-4
    """How closely the best bias along the tangents is found, relative to that one."""


@dataclass(frozen=True, kw_only=True)
class Gamma2Tuning:
    """The factorization of least variance: `gamma2.py`. Measured: `python -m benchmarks.tuning
    factorization.gamma2`."""

    relaxation: float = 1.5
    """The largest exponent of a step. On prefix and ranges, k = 48…1024, 1.4 to 1.8 need a third fewer steps than
    1, while 2 oscillates when both sets of weights move."""
    recovery: float = 1.25
    """A centred matrix of rank one swaps two weights endlessly at exponent 1: a step that loses ground is taken
    back and halved, and the exponent recovers by this factor."""
    gap: float = 0.01
    """The proved gap at which a factorization ends, where no other is given: less takes more steps."""
    most_steps: int = 500
    """Steps at most, where no other number is given; the gap is what is proved by then."""


APPROXIMATION = ApproximationTuning()
GAMMA2 = Gamma2Tuning()
