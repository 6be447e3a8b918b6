"""Histograms that predictions are averaged over: fixed before any report, the same for everybody, nobody's data.

A protocol is chosen by its mean squared error over these. They range from even to very uneven, and from no order at all
to a hump along the order of the cells: what a protocol is good at depends on little else.
"""

from __future__ import annotations

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_shared.domains import Domain

_SEED = 20_261_121
# Dirichlet concentrations of one type: .1 puts half of the users on a few per cent of the types.
_CONCENTRATIONS = (1.0, 0.1)
# Humps along every attribute, by centre and width as shares of its members.
_HUMPS = ((0.5, 0.2), (0.25, 0.12))


def reference_histograms(domain: Domain) -> tuple[Floats, ...]:
    """A handful of histograms (k,): even, drawn from two Dirichlet laws under a fixed seed, and two humps."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    drawn = tuple(_drawn(generator, domain.size, concentration) for concentration in _CONCENTRATIONS)
    humps = tuple(_hump(domain, centre, width) for centre, width in _HUMPS)
    return (np.full(domain.size, 1.0 / domain.size), *drawn, *humps)


def _drawn(generator: np.random.Generator, size: int, concentration: float) -> Floats:
    weights = generator.gamma(concentration, size=size)
    return np.asarray(weights / weights.sum())


def _hump(domain: Domain, centre: float, width: float) -> Floats:
    """The product over attributes of a normal density at the members' places, nowhere quite zero."""
    histogram = np.ones(1)
    for members in domain.shape:
        places = (np.arange(members) + 0.5) / members
        weights = np.exp(-0.5 * ((places - centre) / width) ** 2) + 1e-3
        histogram = np.kron(histogram, weights / weights.sum())
    return histogram
