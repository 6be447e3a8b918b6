"""The ground truth for a handful of types: the best kernel and decoder by a cone program over all 2^k extreme rows.

Solving it takes as long as what the tests are about, so `exact_optima.json` keeps the optima by what was solved.
`make test-all` solves each again and compares; `planning/test_exact_optimum.py` does so with some in `make test`.
`RECORD_OPTIMA=1 make test WORKERS=0` adds those that are not in the file.
"""

import json
import os
from hashlib import sha256
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from sordino_analysis.planning import planner
from sordino_analysis.planning.certificates import lower_bound

# The optimum has many supports, and beyond these the solver stalls on that.
_TOLERANCES = {"tol_gap_abs": 1e-7, "tol_gap_rel": 1e-6, "tol_feas": 1e-8}


def extreme_rows(size, epsilon):
    """All rows in {1, e^ε}^k up to scale, each scaled to mean 1: every ε-LDP kernel is a mixture of these."""
    members = (np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1
    rows = np.where(members == 1, np.exp(epsilon), 1.0)
    return rows / rows.mean(axis=1, keepdims=True)


def solve_exactly(matrix, epsilon, objective):
    """min over kernels and unbiased decoders of the maximum over queries and types, or over types of the mean.

    With row weights θ and f_qy = V_qy·θ_y the second moment Σ_y r_yx f_qy²/θ_y is convex in (θ, f) together.
    """
    import cvxpy as cp  # takes a second to import, and most runs read recorded optima

    counted, size = matrix.shape
    rows = extreme_rows(size, epsilon)
    # A constant added to a query changes no variance, and the solver likes its numbers near one.
    outputs, scale = len(rows), np.ptp(matrix, axis=1).max()
    target = (matrix - matrix.mean(axis=1, keepdims=True)) / scale
    if objective == "mean" and counted > size:
        # The mean asks of W only what WᵀW is.
        target = np.linalg.qr(target, mode="r")
    queries = len(target)
    weights, decoded, worst = cp.Variable(outputs), cp.Variable((queries, outputs)), cp.Variable()
    constraints = [rows.T @ weights == 1, decoded @ rows == target]
    if objective == "max":
        squares = cp.Variable((queries, outputs))
        for query in range(queries):
            sides = cp.vstack([2 * decoded[query], squares[query] - weights])
            constraints.append(cp.SOC(squares[query] + weights, sides, axis=0))
        constraints.append(squares @ rows - target**2 <= worst)
    else:
        sums = cp.Variable(outputs)
        sides = cp.vstack([2 * decoded, cp.reshape(sums - weights, (1, outputs), order="C")])
        constraints.append(cp.SOC(sums + weights, sides, axis=0))
        constraints.append(sums @ rows - (target**2).sum(axis=0) <= counted * worst)
    cp.Problem(cp.Minimize(worst), constraints).solve(solver="CLARABEL", **_TOLERANCES)
    return float(worst.value) * scale**2


OPTIMA = Path(__file__).parent / "exact_optima.json"


def key_of(matrix, epsilon, objective):
    """Names what is solved, but for its last digits, in which machines differ."""
    rounded = np.round(np.asarray(matrix, dtype=np.float64), 12) + 0.0
    return sha256(repr((matrix.shape, float(epsilon), objective)).encode() + rounded.tobytes()).hexdigest()[:24]


@pytest.fixture(scope="session")
def exact_optimum(pytestconfig):
    """exact_optimum(matrix, ε, objective): the least variance of any unbiased one-round mechanism, remembered."""
    recorded = json.loads(OPTIMA.read_text(encoding="utf-8"))
    known = {}
    solves_all = "or not slow" in pytestconfig.getoption("markexpr")

    def find(matrix, epsilon, objective):
        key = key_of(matrix, epsilon, objective)
        if key not in known:
            known[key] = recorded.get(key)
            if solves_all or known[key] is None:
                known[key] = solve_exactly(matrix, epsilon, objective)
                assert known[key] == pytest.approx(recorded.get(key, known[key]), rel=1e-5)
        return known[key]

    yield find
    if os.environ.get("RECORD_OPTIMA"):
        text = json.dumps(dict(sorted((known | recorded).items())), indent=0)
        OPTIMA.write_text(text + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def bounds_proved_once():
    """For files that plan a question by several mechanisms: what is certified depends on the question alone."""
    known = {}

    def once(work, objective, progress):
        options, workload = work.request.options, work.request.workload
        assert options.time_limit is None, "a bound that was cut short is not that of the question"
        question = (workload.digest, options.guarantee.nano, options.objective, options.effort, objective)
        if question not in known:
            known[question] = lower_bound(work, objective, progress)
        return known[question]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "lower_bound", once)
        yield


@pytest.fixture(scope="session")
def solve():
    """The cone program itself, which nobody has solved before."""
    return solve_exactly


@pytest.fixture(scope="session")
def optimum_key():
    return key_of


@pytest.fixture(scope="session")
def small_matrix():
    """small_matrix(kind, size): the workloads of the ground truth, without constant queries."""

    def build(kind, size):
        if kind == "histogram":
            return np.eye(size)
        if kind == "prefix":
            return np.tril(np.ones((size, size)))[:-1]
        cells = np.arange(size)
        if kind == "ranges":
            ends = [(i, j) for i in range(size) for j in range(i, size) if j - i < size - 1]
            return np.array([((i <= cells) & (cells <= j)).astype(float) for i, j in ends])
        bits = size.bit_length() - 1
        points = np.array(list(product([0, 1], repeat=bits)))
        chosen = [set_ for width in (1, 2) for set_ in combinations(range(bits), width)]
        return np.array([(-1.0) ** points[:, list(set_)].sum(axis=1) for set_ in chosen])

    return build
