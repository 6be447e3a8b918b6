"""Quantiles of answers whose noise is not normal: Laplace noise has longer tails, and the lattice has steps."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import NoiseLaw
from sordino_analysis.estimation.intervals import BAND_DRAWS, MOST_OPERATIONS, seeded_generator

# Numbers of all draws that are held: half a gigabyte.
_MOST_HELD = 2**26
# Fewer draws than these tell no quantile.
_LEAST_DRAWS = 2000
# Draws that are made at once.
_BATCH = 500
# The quantile is taken so many standard errors of its rank outwards: one in 740 falls short.
_OUTWARDS = 3.0
# Ends of intervals at steps of the lattice are within them.
_ROUNDING = 1e-9


def simulated_quantiles(
    decode: Callable[[Floats], Floats], law: NoiseLaw, errors: Floats, level: float
) -> tuple[Floats, float]:
    """(m,) how many of its standard errors `errors` (m,) each answer stays within, and how many all do, at this level.

    From 20,000 seeded draws of the noise's exact law, and from fewer where answers or numbers are many. `decode` takes
    (r, n) to (m, n). The rank of the quantile is moved outwards by three standard errors of what so many draws tell.
    """
    measured, answers = len(law.variances()), len(errors)
    affordable = min(MOST_OPERATIONS / (measured * answers), _MOST_HELD / max(measured, answers))
    draws = max(_LEAST_DRAWS, min(BAND_DRAWS, int(affordable)))
    generator, found = seeded_generator(), []
    scale = np.divide(1.0, errors, out=np.zeros_like(errors), where=errors > 0)
    for _ in range(0, draws, _BATCH):
        found.append(np.abs(decode(law.simulated(generator, _BATCH)) * scale[:, None]))
    drawn = np.concatenate(found, axis=1)
    place = min(drawn.shape[1] - 1, math.ceil(drawn.shape[1] * _outwards(level, drawn.shape[1])))
    single = np.partition(drawn, place, axis=1)[:, place]
    return single * (1 + _ROUNDING), float(np.partition(drawn.max(axis=0), place)[place]) * (1 + _ROUNDING)


def _outwards(level: float, draws: int) -> float:
    return level + _OUTWARDS * math.sqrt(level * (1 - level) / draws)
