"""What the strategies of a trusted curator trade, quality against time, memory or bytes.

`python -m benchmarks.tuning gaussian` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class CovarianceTuning:
    """The strategy of least noise: `covariance.py`. Measured: `python -m benchmarks.tuning gaussian.covariance`."""

    exponents: Mapping[str, float] = field(default_factory=lambda: {"replace": 1.0, "add-remove": 1.5})
    """Steps of the ascent: larger ones oscillate. A step that loses ground is taken back and halved."""
    recovery: float = 1.25
    """Then the exponent recovers by this factor."""
    near: float = 0.9
    """How much of a start is weights that were best before: all of it would leave out what had no weight there."""
    least_share: float = 0.01
    """Pairs of less weight than this share of an equal one are left out of the proof, unless that costs too much of
    it."""
    largest_loss: float = 1e-3
    """That is this much of it."""
    gap: float = 0.005
    """The proved gap of the standard deviation at which the ascent ends, where no other is given."""
    most_steps: int = 500
    """Steps at most, where no other number is given."""


@dataclass(frozen=True, kw_only=True)
class DistanceOrbitsTuning:
    """The same for workloads that know distances of bits alone: `distance_orbits.py`. Measured: `python -m
    benchmarks.tuning gaussian.distance_orbits`."""

    recovery: float = 1.25
    """A step that loses ground is taken back and halved; the exponent recovers by this factor."""
    largest_exponent: float = 1.5
    """Up to this one: larger ones oscillate."""
    gap: float = 1e-4
    """The proved gap at which it ends, where no other is given: a step over distances takes microseconds."""
    steps: int = 2000
    """Steps at most, where no other number is given."""


@dataclass(frozen=True, kw_only=True)
class WorstQueryTuning:
    """Weights of queries: `worst_query.py`. Measured: `python -m benchmarks.tuning gaussian.worst_query`."""

    gap: float = 0.01
    """The proved gap of the standard deviation at which it ends, where no other is given; covariances have half."""
    rounds: int = 40
    """Rounds of weights at most, where no other number is given."""
    least_weight: float = 1e-4
    """No weight falls below this share of an equal one: strategies divide by its square root."""


COVARIANCE = CovarianceTuning()
DISTANCE_ORBITS = DistanceOrbitsTuning()
WORST_QUERY = WorstQueryTuning()
