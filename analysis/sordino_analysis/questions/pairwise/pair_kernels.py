"""Kernels f(x, x') of two users as matrices: of one attribute, and spread over a domain of several."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.domains import Domain


def differ(size: int) -> Floats:
    """1[x ≠ x'], (size, size)."""
    return np.asarray(1.0 - np.eye(size))


def distances(values: Floats) -> Floats:
    """|x − x'| for (b,) values, (b, b)."""
    return np.abs(np.subtract.outer(values, values))


def half_squares(values: Floats) -> Floats:
    """½(x − x')² for (b,) values: its mean over pairs is the variance."""
    return np.asarray(0.5 * np.subtract.outer(values, values) ** 2)


def signs(size: int) -> Floats:
    """sgn(i − j) with sgn(0) = 0: antisymmetric, (size, size)."""
    places = np.arange(size)
    return np.sign(np.subtract.outer(places, places)).astype(float)


def of_steps(table: Floats) -> Floats:
    """f(|i − j|) for a (b,) table by the number of bins between two users, (b, b)."""
    places = np.arange(len(table))
    return np.asarray(table[np.abs(np.subtract.outer(places, places))])


def over_domain(domain: Domain, factors: Mapping[str, Floats]) -> Floats:
    """Π f_a(x_a, x'_a) over the attributes a named in `factors`, (k, k); the other attributes do not matter.

    A factor has one row for each of the attribute's first members; where these are only its bins or its listed labels,
    a pair with `missing` or `other` counts 0.
    """
    kernel = np.ones((1, 1))
    for attribute in domain.attributes:
        kernel = np.asarray(np.kron(kernel, _padded(factors.get(attribute.name), attribute.size)), dtype=float)
    return kernel


def _padded(factor: Floats | None, size: int) -> Floats:
    if factor is None:
        return np.ones((size, size))
    rest = size - len(factor)
    return np.pad(factor, ((0, rest), (0, rest)))
