"""The benchmark of large domains: its rows, what it prints, and the published variances beside them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.large import peers
from benchmarks.large.rows import ROWS

ROOT = Path(__file__).resolve().parents[2]


def called(*options, code=0):
    command = [sys.executable, "-m", "benchmarks.large", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_a_row_has_variances_times_bytes_and_memory():
    done = called("--only", "histogram 2^20, max", "--reports", "2000", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["name"] for row in rows] == ["histogram 2^20, max", "histogram 2^20, max, ε = 4"]
    for row in rows:
        assert row["bound_max"] <= row["max_variance"] <= row["target_max"]
        assert row["missed"] == []
        assert 0 < row["device_bytes"] < 1000
        assert row["mebibytes"] >= row["plan_mebibytes"] > 10
        assert row["decode_seconds"] > 0
    assert "1 of 2: histogram 2^20, max" in done.stderr


def test_the_table_and_the_names():
    text = called("--only", "hashed text, 64 bits, mean", "--reports", "500").stdout
    assert "| hashed text, 64 bits, mean | `coarsened_histogram` | 3.692: 3.683 | ≤ 3.7 |" in text
    assert "| hashed text, 64 bits, mean | mean | 3.692 | unary 3.918, optimised unary 3.683, Hadamard 4.683," in text
    assert called("--list").stdout.splitlines() == [row.name for row in ROWS]
    assert "no request has nothing in its name" in called("--only", "nothing", code=2).stderr


def matrix_of(kind, types):
    cuts = np.tri(types)[:-1] if kind == "prefix" else None
    if cuts is not None:
        return cuts
    whole = [(first, last) for first in range(types) for last in range(first, types)]
    rows = np.array([[first <= cell <= last for cell in range(types)] for first, last in whole], dtype=float)
    return rows[rows.sum(axis=1) < types]


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_a_tree_with_local_hashing_has_the_variance_of_least_squares(kind):
    """mean over queries of v M⁻¹ v − Var v, for M = s₀ Σ p_u·[same block of u], u = 1, 2, …, k/2."""
    types, epsilon = 16, 1.0
    matrix = matrix_of(kind, types)
    matrix = matrix - matrix.mean(axis=1, keepdims=True)
    moment, blocks = np.zeros((types, types)), (1, 2, 4, 8)
    density = 1 / round(np.e + 1)
    held = np.e * density / (1 + density * (np.e - 1))
    told = (held - density) ** 2 / (density * (1 - density))
    for block in blocks:
        same = np.arange(types)[:, None] // block == np.arange(types) // block
        moment += told / len(blocks) * same
    found = np.mean([row @ np.linalg.solve(moment, row) - (row**2).mean() for row in matrix])
    named = peers.interval_peers(kind, types, epsilon)
    assert named["tree with local hashing"] == pytest.approx(found)
    assert named["such a tree, best levels"] < found


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_haar_wavelets_have_the_variance_of_their_coefficients(kind):
    """Σ_w c_w²/(p_w·tanh²) − Var v with p_w proportional to the root of the mean c_w², from the wavelets themselves."""
    types, epsilon = 16, 2.0
    matrix = matrix_of(kind, types)
    squares = []
    for width in (2, 4, 8, 16):
        total = 0.0
        for start in range(0, types, width):
            wavelet = np.zeros(types)
            wavelet[start : start + width // 2], wavelet[start + width // 2 : start + width] = 1, -1
            total += float(((matrix @ wavelet / width) ** 2).mean())
        squares.append(total)
    expected = np.sqrt(squares).sum() ** 2 / np.tanh(epsilon / 2) ** 2 - matrix.var(axis=1).mean()
    assert peers.interval_peers(kind, types, epsilon)["Haar"] == pytest.approx(expected)


def test_published_variances_of_items():
    """Wang et al. 2017, equations 6 and 11, and the bound 1/(4 sinh²(ε/4)) that unary encoding meets at the worst."""
    high = np.exp(1.5)
    mean = peers.histogram_peers(1.5, "mean")
    assert mean["optimised unary"] == pytest.approx(4 * high / (high - 1) ** 2)
    assert mean["unary"] == pytest.approx(1 / (4 * np.sinh(1.5 / 4) ** 2))
    assert mean["Hadamard"] == pytest.approx(((high + 1) / (high - 1)) ** 2)
    assert mean["local hashing"] == pytest.approx((high + 4) ** 2 / (high - 1) ** 2 / 4, rel=1e-9)
    assert peers.histogram_peers(4, "max")["projective geometry"] == pytest.approx(5.67 * 0.18102, rel=1e-3)


def test_a_parity_by_randomized_response():
    """From its 210 characters: 190 pairs and 20 single ones, by Σ n/λ with the best chances."""
    needed = np.array([19 / (190 * 16)] * 20 + [1 / (190 * 16)] * 190)
    chances = np.sqrt(needed) / np.sqrt(needed).sum()
    expected = (needed / (chances * np.tanh(0.5) ** 2)).sum() - needed.sum()
    assert peers.marginal_peers(20, 2, 1)["one parity"] == pytest.approx(expected)
