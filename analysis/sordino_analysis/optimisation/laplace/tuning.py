"""What strategies of Laplace noise trade, quality against time.

`python -m benchmarks.curator guarantees` plans the published workloads with them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LaplaceDescentTuning:
    """The descent over strategies: `descent.py`. Measured: `python -m benchmarks.curator guarantees`."""

    smoothings: tuple[float, ...] = (0.064, 0.0128, 0.0026)
    """|b| is √(b² + μ²) while strategies move, for each of these over the number of types as μ in turn: a smaller one
    is nearer to the norm, and slower. With μ = 10⁻³ at 512 types the descent stayed above its start."""
    steps: tuple[int, ...] = (150, 100, 60)
    """Steps of L-BFGS at each μ, for up to `free_types` types."""
    starts: int = 3
    """Starts that are descended from, for up to `free_types` types; one for more."""
    free_types: int = 128
    """With more types steps are fewer, in proportion: a step inverts a matrix of all types."""
    least_share: float = 0.6
    """But no fewer than this share of them, however many types there are: 512 take half a minute."""
    weight_steps: int = 30
    """Steps for the weights of the levels of a start, of which there are a dozen at most."""
    copy: float = 0.02
    """A small copy of the cells lets a start grow rows that it has not."""
    noise: float = 1e-3
    """Noise on the start, so that entries of 0, where |b| has no slope, can grow to either side."""
    branchings: tuple[int, ...] = (2, 4, 8)
    """Trees that are tried as starts: nodes with so many children."""
    rounds: int = 8
    """Rounds of weights for the worst query."""
    round_steps: int = 40
    """Steps of the descent in each of them."""
    least_weight: float = 1e-4
    """No weight of a query falls below this share of an equal one, so that it can grow again."""


DESCENT = LaplaceDescentTuning()
