"""The benchmark of numbers runs, and the formulas of the literature are those of its tables."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.references.means import EVEN_SQUARE, hybrid, piecewise, two_point


def test_variances_of_the_literature() -> None:
    """Numbers at ε = 1 and 4 by simulation of the mechanisms, in the design of issue 31."""
    assert max(two_point(1, 0), two_point(1, 1)) == pytest.approx(1.171, abs=5e-4)
    assert two_point(1, EVEN_SQUARE) == pytest.approx(1.087, abs=5e-4)
    assert max(piecewise(1, 0), piecewise(1, 1)) == pytest.approx(1.306, abs=5e-4)
    assert piecewise(4, EVEN_SQUARE) == pytest.approx(0.034, abs=5e-4)
    assert max(hybrid(1, 0), hybrid(1, 1)) == pytest.approx(1.072, abs=1e-3)
    assert hybrid(0.5, 0) == two_point(0.5, 0)


def test_a_plan_has_less_variance_than_all_of_them() -> None:
    command = [sys.executable, "-m", "benchmarks.numbers", "--short", "--json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    [first, cells, levels, question] = map(json.loads, lines)
    assert first["plan"] < min(first["two_point"], first["piecewise"], first["hybrid"])
    assert first["plan_even"] < min(first["two_point_even"], first["piecewise_even"], first["hybrid_even"])
    assert first["plan"] <= 1.02 * first["program"]
    assert cells["users"] < 38_400
    assert levels["levels"] == 9
    assert question["question"] == "mean and sd"
