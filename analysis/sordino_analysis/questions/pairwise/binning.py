"""How many bins a continuous value is cut into: wide bins mislead by themselves, narrow ones need more reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.errors import InvalidValue

# In steps of a third to a half: the error is flat around its least, and every number tried costs the caller a plan.
_TRIED = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256)
# Exponents (a, b) of smooth densities u^a (1 − u)^b on the line: even, humped, and leaning to either side.
_REFERENCES = ((0, 0), (1, 1), (1, 4), (4, 1))
# Bins so narrow that what they mislead by is a thousandth of what 16 do.
_NARROW = 512


@dataclass(frozen=True)
class OpenBins:
    """A line from `low` to `high` whose number of even bins is open, and a kernel of smoothness G on it.

    |f(x, x') − f(z, x')| ≤ G·|x − z| for x, x', z between `low` and `high`. With `kernel`, f at (b,) values as (b, b),
    users are taken to be spread smoothly over the line, and bins to mislead by what they then do.
    """

    low: float
    high: float
    smoothness: float
    kernel: Callable[[Floats], Floats] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.high - self.low) and self.low < self.high):
            raise InvalidValue(f"bins need a line from low to high, got {self.low:g} to {self.high:g}", self)
        if not (math.isfinite(self.smoothness) and self.smoothness > 0):
            raise InvalidValue(f"the smoothness bound must be a positive number, got {self.smoothness:g}", self)

    def bias_bound(self, bins: int) -> float:
        """G·w: largest difference between the statistic of the bins' midpoints and that of the values, for any users.

        w is the width of a bin, and each of two users is at most w/2 from the middle of theirs.
        """
        return self.smoothness * (self.high - self.low) / bins

    def bias(self, bins: int) -> float:
        """The bias that counts against so many bins: its bound, or the prediction where users are spread smoothly."""
        return self.bias_bound(bins) if self.kernel is None else self._bias_of_smooth(self.kernel, bins)

    def _bias_of_smooth(self, kernel: Callable[[Floats], Floats], bins: int) -> float:
        """The largest distance of hᵀWh in `bins` bins from that in far narrower ones, over the reference densities."""
        parts = math.ceil(_NARROW / bins)
        narrow, wide = self._middles(bins * parts), self._middles(bins)
        places = (narrow - self.low) / (self.high - self.low)
        gaps = []
        for left, right in _REFERENCES:
            density = places**left * (1 - places) ** right
            density /= density.sum()
            histogram = density.reshape(bins, parts).sum(axis=1)
            gaps.append(histogram @ kernel(wide) @ histogram - density @ kernel(narrow) @ density)
        return float(np.abs(gaps).max())

    def _middles(self, bins: int) -> Floats:
        return self.low + (self.high - self.low) * (np.arange(bins) + 0.5) / bins


def choose_bins(
    line: OpenBins, predicted_rmse: Callable[[int], float], should_stop: Callable[[], bool] = lambda: False
) -> int:
    """The number of bins that makes the squared bias plus the predicted variance least.

    `predicted_rmse(bins)` is the predicted root mean squared error of the estimate from so many bins, the bias of
    binning left out. Fifteen numbers from 2 to 256 are tried in order, up to the first whose prediction alone is no
    better than the best sum: the error of the estimate is taken to grow with the number of bins. Once `should_stop()`
    no further number is tried.
    """
    best, least = _TRIED[0], math.inf
    for bins in _TRIED:
        variance = _checked(predicted_rmse(bins)) ** 2
        total = variance + line.bias(bins) ** 2
        if total < least:
            best, least = bins, total
        if variance >= least or should_stop():
            break
    return best


def _checked(rmse: float) -> float:
    if not (math.isfinite(rmse) and rmse >= 0):
        raise InvalidValue(f"a predicted error must be a number of zero or more, got {rmse:g}", rmse)
    return rmse
