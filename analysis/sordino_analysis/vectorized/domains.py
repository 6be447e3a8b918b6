"""Indices and cells of many values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_shared.domains import Domain


def encode_many(domain: Domain, values: Sequence[object], *, strict: bool = False) -> NDArray[np.int64]:
    """(n,) cells of many values; see `Domain.encode`."""
    return np.fromiter((domain.encode(value, strict=strict) for value in values), dtype=np.int64, count=len(values))


def codes_many(domain: Domain, values: Sequence[object], *, strict: bool = False) -> NDArray[np.uint64]:
    """(n, attributes) index of the member that each value has in each attribute; see `Domain.codes`."""
    codes = np.empty((len(values), len(domain.attributes)), dtype=np.uint64)
    for place, value in enumerate(values):
        codes[place] = domain.codes(value, strict=strict)
    return codes
