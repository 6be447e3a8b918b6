"""The number of bins: a bound that holds whoever the users are, and the least sum of bias and variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from sordino_analysis.questions.pairwise import OpenBins, choose_bins, parse_statistic
from sordino_analysis.questions.pairwise import pair_kernels as kernels
from sordino_shared.errors import InvalidValue

KERNELS = {
    "gini_mean_difference": lambda a, b: np.abs(a - b),
    "variance": lambda a, b: (a - b) ** 2 / 2,
}


@pytest.mark.parametrize("kind", KERNELS)
@given(values=st.lists(st.floats(-2, 3), min_size=2, max_size=12), bins=st.integers(2, 9))
@settings(max_examples=40, deadline=None)
def test_binning_misleads_by_no_more_than_its_bound(kind: str, values: list[float], bins: int) -> None:
    line = {"name": "v", "kind": "ordinal", "edges": {"low": -2, "high": 3, "bins": "auto"}}
    asked = parse_statistic({"name": "open", "domain": [line], "statistic": {"kind": kind}})
    statistic = asked.with_bins(bins).build()
    cells = [statistic.domain.encode(value) for value in values]
    binned = statistic.of_pairs(np.bincount(cells, minlength=bins).astype(float))
    raw = KERNELS[kind](*np.array([(a, b) for i, a in enumerate(values) for j, b in enumerate(values) if i != j]).T)
    bound = asked.open_bins()
    assert bound is not None
    assert abs(binned - raw.mean()) <= bound.bias_bound(bins) * (1 + 1e-9)


def test_the_bound_is_attained_up_to_a_factor_of_one() -> None:
    """Two users at the far ends of neighbouring bins are 2w apart and counted as w."""
    line = {"name": "v", "kind": "ordinal", "edges": {"low": 0, "high": 1, "bins": 4}}
    asked = parse_statistic({"name": "w", "domain": [line], "statistic": {"kind": "gini_mean_difference"}})
    statistic = asked.build()
    cells = [statistic.domain.encode(value) for value in (1e-12, 0.5)]
    binned = statistic.of_pairs(np.bincount(cells, minlength=4).astype(float))
    assert 0.5 - binned == pytest.approx(OpenBins(0, 1, 1).bias_bound(4))


@pytest.mark.parametrize("noise", [1e-3, 0.01, 0.1])
def test_the_choice_is_the_best_of_those_tried(noise: float) -> None:
    def rmse(bins: int) -> float:
        return noise * math.sqrt(bins)

    line = OpenBins(0, 2, 0.7)
    chosen = choose_bins(line, rmse)
    totals = {bins: line.bias_bound(bins) ** 2 + rmse(bins) ** 2 for bins in range(2, 257)}
    assert totals[chosen] <= 1.06 * min(totals.values())


def test_louder_noise_asks_for_fewer_bins_and_stops_the_trials() -> None:
    tried: list[int] = []

    def rmse(bins: int) -> float:
        tried.append(bins)
        return 0.1 * bins

    assert choose_bins(OpenBins(0, 1, 1), rmse) == 3
    assert max(tried) <= 6
    assert choose_bins(OpenBins(0, 1, 1), lambda bins: 0.0) == 256


@pytest.mark.parametrize("bins", [5, 8, 16])
def test_smooth_users_are_misled_most_where_they_are_spread_evenly(bins: int) -> None:
    """Then |x − x'| has mean R/3, and (1 − 1/k²)R/3 in k bins; ½(x − x')² has R²/12, and (1 − 1/k²)R²/12."""
    of_distance, of_square = (OpenBins(2, 5, 3, kernel) for kernel in (kernels.distances, kernels.half_squares))
    assert of_distance.bias(bins) * bins**2 == pytest.approx(3 / 3, rel=2e-3)
    assert of_square.bias(bins) * bins**2 == pytest.approx(9 / 12, rel=2e-3)


@pytest.mark.parametrize("bins", [4, 8, 16])
def test_smooth_users_who_are_no_reference_are_misled_less_than_predicted(bins: int) -> None:
    """The mixture .7·Beta(2, 6) + .3·Beta(8, 3), which has no users at the ends."""
    points = (np.arange(bins * 100) + 0.5) / (bins * 100)
    density = 0.7 * beta.pdf(points, 2, 6) + 0.3 * beta.pdf(points, 8, 3)
    density /= density.sum()
    binned = density.reshape(bins, 100).sum(axis=1)
    middles = (np.arange(bins) + 0.5) / bins
    truth = density @ kernels.distances(points) @ density
    bias = abs(binned @ kernels.distances(middles) @ binned - truth)
    assert bias < OpenBins(0, 1, 1, kernels.distances).bias(bins) < OpenBins(0, 1, 1).bias(bins) / 10


@pytest.mark.parametrize(("rmse", "smooth", "any_users"), [(0.03, 6, 64), (0.003, 23, 256)])
def test_smooth_users_need_few_bins(rmse: float, smooth: int, any_users: int) -> None:
    """The numbers of docs/statistics.md, for an error that grows slowly with the number of bins."""
    assert choose_bins(OpenBins(0, 1, 1, kernels.distances), lambda bins: rmse * bins**0.1) == smooth
    assert choose_bins(OpenBins(0, 1, 1), lambda bins: rmse * bins**0.1) == any_users


def test_what_is_no_line_and_no_prediction() -> None:
    for low, high, smoothness in ((1, 1, 1), (2, 1, 1), (0, math.inf, 1), (0, 1, 0), (0, 1, -1), (0, 1, math.nan)):
        with pytest.raises(InvalidValue):
            OpenBins(low, high, smoothness)
    for prediction in (math.nan, math.inf, -1.0):
        with pytest.raises(InvalidValue, match="predicted error"):
            choose_bins(OpenBins(0, 1, 1), lambda _, prediction=prediction: prediction)  # type: ignore[misc]
