"""Several estimates of different devices, each compared with one of them, with one band over all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.difference import Difference, Side, difference
from sordino_analysis.estimation.intervals import independent_quantile, normal_quantile, simultaneous_quantile
from sordino_analysis.panel.means import MeanPart


def differences(
    base: Side, others: Sequence[Side], *, only: Sequence[str] | None = None, population: bool = False
) -> list[Difference]:
    """Each of the `others` less the `base`, as `difference` has them; their bands hold all of them at once.

    The quantile is that of the largest of all errors from their exact covariance, to which the common base adds
    (Dunnett 1955, for several answers); where covariances are not known it is Šidák's (1967).
    """
    found = [difference(base, other, only=only, population=population) for other in others]
    if len(found) < 2:
        return found
    common = _quantile(found, len(base.parts), population)
    return [replace(each, common=common) for each in found]


def _quantile(found: Sequence[Difference], of_base: int, population: bool) -> float:
    """`of_base` parts of each difference are those of the base: their errors are the same in all."""
    level = found[0].level
    shared = [_root(each.mean.parts[:of_base], population) for each in found]
    own = [_root(each.mean.parts[of_base:], population) for each in found]
    known = [(left, right) for left, right in zip(shared, own, strict=True) if left is not None and right is not None]
    if len(known) < len(found):
        return independent_quantile(level, sum(int(np.count_nonzero(each.mean.noise > 0)) for each in found))
    rows = []
    for place, (left, _) in enumerate(known):
        blocks = [
            right if other == place else np.zeros((len(left), right.shape[1])) for other, (_, right) in enumerate(known)
        ]
        rows.append(np.hstack([left, *blocks]))
    return max(simultaneous_quantile(np.vstack(rows), level), normal_quantile(level))


def _root(parts: Sequence[tuple[float, MeanPart]], population: bool) -> Floats | None:
    roots = [(weight, part.root(sampled=population)) for weight, part in parts]
    known = [weight * root for weight, root in roots if root is not None]
    return np.hstack(known) if len(known) == len(roots) else None
