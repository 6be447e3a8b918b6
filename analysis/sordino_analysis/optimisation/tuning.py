"""What the solutions of displaced systems trade, quality against time, memory or bytes.

`python -m benchmarks.tuning optimisation` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ToeplitzTuning:
    """Solutions of displaced systems: `toeplitz.py`, `block_toeplitz.py`. Measured: `python -m benchmarks.tuning
    optimisation.toeplitz`."""

    most_steps: int = 200
    """Steps of conjugate gradients at most: a system that needs more is refused."""
    most_generators: int = 20
    """Vectors that find the displacement rank: more than that of N for prefix sums or ranges, which is 8 at most, and
    for a stack of them."""
    most_plane_steps: int = 300
    """The same of planes."""
    most_factored: int = 2048
    """Planes of up to so many cells are solved by a factor of 32 MiB of doubles; one of so many takes as long as
    conjugate gradients for a few planes."""
    sufficient: float = 1e4
    """Residuals of so many times the goal still solve a system whose steps gain nothing more: rounding stops them
    there."""


TOEPLITZ = ToeplitzTuning()
