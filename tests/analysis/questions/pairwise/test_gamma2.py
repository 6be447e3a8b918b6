"""γ₂ of the named kernels: the bounds of Ghazi et al. (section 5) and exact values, against the solver.

Without a centre throughout, as the paper has none. Sign matrices are skew-circulant, so that their singular vectors
have entries of one size and γ₂ is the mean of their singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.references.closed_forms import gini, lipschitz_tree
from sordino_analysis.optimisation.factorization import check_certificate, factorize
from sordino_analysis.questions.pairwise import PairwiseStatistic, parse_statistic

GAP = 0.01


def _line(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"low": 0, "high": 1, "bins": bins}}


def _statistic(domain: list[dict[str, Any]], **statistic: Any) -> PairwiseStatistic:
    return parse_statistic({"name": "asked", "domain": domain, "statistic": statistic}).build()


def _gamma2(matrix: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Certified bounds on γ₂, at most GAP apart."""
    found = factorize(matrix, "max", GAP, centred=False)
    check_certificate(matrix, found)
    assert found.upper <= (1 + GAP) * found.lower
    return found.lower, found.upper


def _of_signs(size: int) -> float:
    """γ₂ of sgn(i − j): its singular values are |cot((2j − 1)π/2m)|."""
    return float(np.mean(np.abs(1 / np.tan((2 * np.arange(1, size + 1) - 1) * np.pi / (2 * size)))))


def _of_triangle(size: int) -> float:
    """γ₂ of the paper's U_m, which is +1 above and on the diagonal and −1 below: 1/sin in place of the cotangent."""
    return float(np.mean(1 / np.sin((2 * np.arange(1, size + 1) - 1) * np.pi / (2 * size))))


@pytest.mark.parametrize("size", [2, 5, 24])
def test_gini_diversity_is_below_two(size: int) -> None:
    lower, upper = _gamma2(_statistic([_line("x", size)], kind="gini_diversity").forms[0].matrix)
    exact = 2 * (size - 1) / size
    assert gini(size).upper == pytest.approx(exact)
    assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    assert upper <= 2 * (1 + GAP)


@pytest.mark.parametrize("size", [3, 7, 15, 31])
@pytest.mark.parametrize("kind", ["gini_mean_difference", "variance"])
def test_lipschitz_kernels_are_of_the_order_of_their_slope_times_the_bins(kind: str, size: int) -> None:
    """Lemma 17 with its constants: √(Σ(25/36)^d) · √(Σ 2^d ((6/5)^d Gk/2^d)²) over depths d ≥ 0."""
    asked = parse_statistic({"name": "asked", "domain": [_line("x", size)], "statistic": {"kind": kind}})
    matrix = asked.build().forms[0].matrix
    lower, upper = _gamma2(matrix)
    slope_per_bin = 1 / size
    assert upper <= np.sqrt(36 / 11 * 25 / 7) * slope_per_bin * size
    assert lower <= lipschitz_tree(matrix, centred=False).upper


@pytest.mark.parametrize("size", [2, 3, 12])
def test_sign_matrices_are_known_exactly(size: int) -> None:
    places = np.arange(size)
    signs = np.sign(np.subtract.outer(places, places)).astype(float)
    triangle = np.where(places[:, None] <= places, 1.0, -1.0)
    for matrix, exact in ((signs, _of_signs(size)), (triangle, _of_triangle(size))):
        lower, upper = _gamma2(matrix)
        assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    # Θ(log m): 2/π of it, and a constant below one and a half.
    assert _of_signs(size) <= _of_triangle(size) <= 2 / np.pi * np.log(size) + 1.5


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 5), (6, 6)])
def test_kendall_is_the_product_of_two_logarithms(rows: int, columns: int) -> None:
    """Fact 15 (2): γ₂ of a Kronecker product is the product."""
    grid = [_line("x", rows), _line("y", columns)]
    lower, upper = _gamma2(_statistic(grid, kind="kendall", variant="a", attributes=["x", "y"]).forms[0].matrix)
    exact = _of_signs(rows) * _of_signs(columns)
    assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    assert upper <= _of_triangle(rows) * _of_triangle(columns)


@pytest.mark.parametrize("bins", [2, 4, 16])
def test_the_area_under_the_curve_is_one_logarithm(bins: int) -> None:
    """½ sgn ⊗ the two labels' antisymmetric matrix, of γ₂ 1; and the pairs of different labels, of γ₂ 1."""
    label = {"name": "y", "kind": "categorical", "labels": ["no", "yes"]}
    statistic = _statistic([_line("s", bins), label], kind="auc", score="s", label="y", positive="yes")
    for form, exact in zip(statistic.forms, (_of_signs(bins) / 2, 1.0), strict=True):
        lower, upper = _gamma2(form.matrix)
        assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)
    assert _gamma2(statistic.forms[0].matrix)[1] <= _of_triangle(bins)
