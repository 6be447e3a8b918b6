"""The benchmark of pairwise statistics runs, and its populations are what they are called."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.accuracy.pairwise_cases import cases
from benchmarks.accuracy.pairwise_runs import measure_subset_selection


def test_cases_have_histograms_and_their_known_values():
    found = cases(16)
    for case in found.values():
        assert case.histogram.sum() == pytest.approx(1)
        assert case.histogram.min() >= 0
    assert found["gini_uniform"].statistic.of_histogram(np.full(16, 1 / 16)) == pytest.approx(15 / 16)
    large = cases(1024)["kendall"]
    # τ of a bivariate normal is (2/π)·arcsin(ρ) = 1/3; a grid of 32 loses ties.
    assert large.statistic.of_histogram(large.histogram) == pytest.approx(1 / 3, abs=0.03)
    area, numerator = found["auc"], found["auc_numerator"]
    below = (area.statistic.of_histogram(area.histogram) - 0.5) * 0.35 * 0.65
    assert numerator.statistic.of_histogram(numerator.histogram) == pytest.approx(below)


def test_the_plug_in_is_unbiased():
    case = cases(16)["gini_mean_difference"]
    found = measure_subset_selection(case, 4.0, 2000, 40, 1)
    assert abs(found.bias) < 4 * found.achieved / np.sqrt(40)


def test_it_runs_and_writes_what_it_measured(tmp_path):
    written = tmp_path / "rows.json"
    command = [sys.executable, "-m", "benchmarks.accuracy.pairwise", "--quick", "--statistic", "gini_mean_difference"]
    result = subprocess.run(
        [*command, "--protocol", "one_round", "--json", str(written)], capture_output=True, text=True, check=True
    )
    (row,) = json.loads(written.read_text())
    assert row["protocol"] == "one_round"
    # 20 runs: four standard errors of a root mean square are 63 %.
    assert row["achieved"] == pytest.approx(row["predicted"], rel=0.63)
    assert "gini_mean_difference" in result.stdout
