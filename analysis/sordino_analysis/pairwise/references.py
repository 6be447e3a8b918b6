"""Histograms that predictions are averaged over: fixed before any report, the same for everybody, nobody's data.

A protocol is chosen by its mean squared error over these. They range from even to very uneven, and from no order at all
to a hump along the order of the cells: what a protocol is good at depends on little else. The drawn ones come from a
fixed seed.
"""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.domains import Domain, Ordered

# Any seed: the same request has the same plan.
_SEED = 20_261_121
# Zipf's law, shares of 1/rank^s, is what names, words and wares are like; s is about 1, and sometimes more.
_EXPONENTS = (1.0, 1.25)
# Humps along every line, by centre and width as shares of its members.
_HUMPS = ((0.5, 0.2), (0.25, 0.12))
# No bin of a hump is empty: each has this much of its highest.
_LEAST_SHARE = 1e-3


def reference_histograms(domain: Domain) -> tuple[Floats, ...]:
    """A handful of histograms (k,): even, uniform on the simplex, by Zipf's law in a drawn order twice, two humps."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    drawn = generator.exponential(size=domain.size)
    ranked = (_ranked(generator, domain.size, exponent) for exponent in _EXPONENTS)
    humps = (_hump(domain, centre, width) for centre, width in _HUMPS)
    return (np.full(domain.size, 1.0 / domain.size), drawn / drawn.sum(), *ranked, *humps)


def _ranked(generator: np.random.Generator, size: int, exponent: float) -> Floats:
    weights = generator.permutation(np.arange(1, size + 1)) ** -exponent
    return np.asarray(weights / weights.sum())


def _hump(domain: Domain, centre: float, width: float) -> Floats:
    """The product of a normal density at the places of the bins of every line, nowhere quite zero, and even shares."""
    histogram = np.ones(1)
    for attribute in domain.attributes:
        places = (np.arange(attribute.size) + 0.5) / attribute.size
        weights = np.exp(-0.5 * ((places - centre) / width) ** 2) + _LEAST_SHARE
        if not isinstance(attribute, Ordered):
            weights = np.ones(attribute.size)
        histogram = np.kron(histogram, weights / weights.sum())
    return histogram
