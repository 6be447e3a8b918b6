"""Estimates of marginals of so many attributes that no histogram is held, and marginals on demand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.estimation import linear
from sordino_analysis.estimation.consistency import project_onto_simplex
from sordino_analysis.estimation.few_attributes import projected_onto_simplex
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator
from sordino_analysis.estimation.marginals import MarginalEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.character_tables import CharacterTables
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.orbits import row_members
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import OrbitKernel
from tests.kept_plans import compiled_once

USERS = 200_000


def planned(sizes: list[int], queries: dict[str, Any], **options: Any) -> CompiledPlan:
    domain = [
        {"name": f"a{number}", "kind": "categorical", "labels": [f"v{label}" for label in range(size)]}
        for number, size in enumerate(sizes)
    ]
    workload = parse_specification({"name": "settings", "domain": domain, "queries": queries}).build()
    options = {"epsilon": "1", "objective": "mean", "mechanism": "orbit_kernel"} | options
    return compiled_once(PlanRequest(workload, PlanningOptions.of(**options)))


def drawn(sizes: list[int], users: int, seed: int) -> np.ndarray:
    """Users of a latent class model: attributes go together, and most settings are as they came."""
    rng = np.random.default_rng(seed)
    keen = rng.random(users) < 0.3
    codes = np.empty((users, len(sizes)), dtype=np.uint64)
    for place, size in enumerate(sizes):
        changed = rng.random(users) < np.where(keen, 0.6, 0.1 + 0.02 * (place % 5))
        codes[:, place] = np.where(changed, 1 + rng.integers(0, size - 1, users), 0)
    return codes


def reported(plan: CompiledPlan, codes: np.ndarray, seed: int) -> Aggregate:
    randomizer = plan.device.randomizer
    payloads = randomize_codes(randomizer, codes, plan.device.domain.shape, SeededRandomness(seed))
    assert in_alphabet(randomizer, payloads).all()
    return Aggregate(len(codes), accumulate(randomizer, payloads))


def truth_of(codes: np.ndarray, sizes: list[int], supports: list[tuple[int, ...]]) -> np.ndarray:
    found = []
    for support in supports:
        shape = [sizes[a] for a in support]
        cells = np.ravel_multi_index([codes[:, a].astype(np.int64) for a in support], shape)
        found.append(np.bincount(cells, minlength=int(np.prod(shape))) / len(codes))
    return np.concatenate(found)


@pytest.mark.parametrize("attributes", [20, pytest.param(80, marks=pytest.mark.slow)])
def test_marginals_of_many_attributes_are_estimated_with_their_errors(attributes: int) -> None:
    """With seeded devices. Each z is standard normal; of 12,640 or fewer the largest is above 5.5 with chance 5·10⁻⁴.

    Their mean square is 1 within .4, three standard deviations: it is made of 210 characters or more, some of which
    count in many answers.
    """
    sizes = [2] * attributes
    plan = planned(sizes, {"kind": "marginals", "width": 2, "exactly": True})
    codes = drawn(sizes, USERS, seed=1)
    found = LinearEstimator.of(plan.device, plan.analyst).estimate(reported(plan, codes, seed=2))
    truth = truth_of(codes, sizes, list(combinations(range(attributes), 2)))
    z = (found.unbiased - truth) / found.standard_error
    assert np.abs(z).max() < 5.5
    assert (z**2).mean() == pytest.approx(1.0, abs=0.4)
    assert ((found.band_lower <= truth) & (truth <= found.band_upper)).all()
    covered = ((found.lower <= truth) & (truth <= found.upper)).mean()
    assert covered == pytest.approx(0.95, abs=0.03)
    # Answers that are consistent already stay, up to their last bits.
    assert ((found.best - truth) ** 2).mean() <= ((found.unbiased - truth) ** 2).mean() * (1 + 1e-9)
    assert found.best.reshape(-1, 4).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_band_holds_where_few_reports_are_about_a_pair() -> None:
    """150 campaigns of 3,000 users. At a chance of .95 fewer than 135 hold with chance .006; normal errors hold 127."""
    sizes = [2] * 64
    plan = planned(sizes, {"kind": "marginals", "width": 2, "exactly": True})
    codes = drawn(sizes, 3000, seed=11)
    truth = plan.request.workload.truth_of_codes(codes)
    estimator, held = LinearEstimator.of(plan.device, plan.analyst), 0
    for seed in range(150):
        found = estimator.estimate(reported(plan, codes, seed))
        held += ((found.band_lower <= truth) & (truth <= found.band_upper)).all()
    assert held >= 135


def test_devices_with_another_law_are_noticed() -> None:
    """Reports of devices whose high weight is a tenth lower answer with characters that are a tenth too small."""
    sizes = [2] * 20
    plan = planned(sizes, {"kind": "marginals", "width": 2, "exactly": True}, epsilon="2")
    kernel = plan.device.randomizer
    assert isinstance(kernel, OrbitKernel)
    fields = {name: getattr(kernel, name) for name in ("shape", "width", "overlaps", "bits", "row_weights", "rows")}
    off = OrbitKernel(**fields, low=kernel.low, high=kernel.high * 9 // 10)
    codes = np.zeros((USERS, 20), dtype=np.uint64)
    estimator, zs = LinearEstimator.of(plan.device, plan.analyst), []
    for law in (kernel, off):
        payloads = randomize_codes(law, codes, plan.device.domain.shape, SeededRandomness(5))
        found = estimator.estimate(Aggregate(USERS, accumulate(kernel, payloads)))
        own = found.unbiased[::4].mean() - 1.0
        zs.append(abs(own) / found.standard_error[::4].min())
    assert zs[0] < 1.0 < 3.0 < zs[1]


def test_few_types_have_the_same_answers_and_errors_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned([2, 3, 4, 2], {"kind": "marginals", "width": 2})
    codes = drawn([2, 3, 4, 2], 50_000, seed=3)
    aggregate, estimator = reported(plan, codes, seed=4), LinearEstimator.of(plan.device, plan.analyst)
    whole = estimator.estimate(aggregate)
    monkeypatch.setattr(linear, "MOST_LISTED_TYPES", 1)
    local = estimator.estimate(aggregate)
    assert np.array_equal(local.unbiased, whole.unbiased)
    assert local.standard_error == pytest.approx(whole.standard_error, rel=0.02)
    assert local.lower == pytest.approx(whole.lower, abs=0.1 * whole.standard_error.max())
    assert local.best == pytest.approx(whole.best, abs=2 * whole.standard_error.max())


def test_marginals_on_demand_are_those_of_the_workload_and_smaller_ones() -> None:
    sizes = [2] * 20
    plan = planned(sizes, {"kind": "marginals", "width": 2, "exactly": True})
    codes = drawn(sizes, USERS, seed=6)
    aggregate = reported(plan, codes, seed=7)
    listed = LinearEstimator.of(plan.device, plan.analyst).estimate(aggregate)
    on_demand = MarginalEstimator.of(plan.device, plan.analyst)
    found = on_demand.estimate(["a1", "a0"], aggregate)
    assert found.unbiased == pytest.approx(listed.unbiased[:4], abs=1e-12)
    assert found.standard_error == pytest.approx(listed.standard_error[:4], rel=1e-9)
    assert on_demand.compared == 2 * 20 + 4 * 190
    assert (found.band_upper >= listed.band_upper[:4]).all()
    one = on_demand.estimate(["a7"], aggregate)
    truth = truth_of(codes, sizes, [(7,)])
    # Four standard errors: 6·10⁻⁵.
    assert (np.abs(one.unbiased - truth) < 4 * one.standard_error).all()
    assert one.unbiased.sum() == pytest.approx(1.0)
    assert on_demand.question(["a7"]).workload.labels() == ["a7: v0", "a7: v1"]


def test_the_public_functions_take_more_attributes_than_cells_have_numbers() -> None:
    """At 70 attributes; of four answers none is beyond 4.5 standard errors, but in 3 of 100,000 campaigns."""
    domain = [{"name": f"a{number}", "kind": "categorical", "labels": ["off", "on"]} for number in range(70)]
    queries = {"kind": "marginals", "width": 2, "exactly": True}
    plan = sa.plan(sa.workload({"name": "settings", "domain": domain, "queries": queries}), epsilon=2, objective="mean")
    labels = np.array(["off", "on"])
    run = sa.simulate(plan, labels[drawn([2] * 70, 20_000, seed=8).astype(int)], seed=9)
    found = sa.marginal(plan, run.aggregate, ["a0", "a1"])
    assert found.labels == run.estimate.labels[:4]
    assert found.values == pytest.approx(run.estimate.values[:4])
    assert (np.abs(found.values - run.truth[:4]) < 4.5 * found.standard_errors).all()


@pytest.mark.parametrize("queries", [{"kind": "marginals", "width": 2}, {"kind": "parities", "width": 3}])
def test_true_answers_need_no_cells(queries: dict[str, Any]) -> None:
    plan = planned([2] * 6, queries)
    codes, workload = drawn([2] * 6, 500, seed=10), plan.request.workload
    cells = np.ravel_multi_index(tuple(codes.T.astype(int)), (2,) * 6)
    assert workload.truth_of_codes(codes) == pytest.approx(workload.truth(cells))


@pytest.mark.parametrize(
    ("attributes", "match"),
    [
        (["a0", "b"], "no attribute 'b'"),
        (["a0", "a1", "a2"], "1 to 2 different attributes"),
        (["a0", "a0"], "different"),
        ([], "1 to 2"),
    ],
)
def test_marginals_that_cannot_be_answered_are_refused(attributes: list[str], match: str) -> None:
    plan = planned([2] * 5, {"kind": "marginals", "width": 2})
    with pytest.raises(EstimationError, match=match):
        MarginalEstimator.of(plan.device, plan.analyst).question(attributes)


def test_a_character_that_was_never_measured_is_refused() -> None:
    """Parities of exactly three attributes need none of one or two, and half the rows of them know none."""
    plan = planned([2] * 8, {"kind": "parities", "width": 3, "exactly": True}, mechanism="fourier")
    with pytest.raises(EstimationError, match="never measured"):
        MarginalEstimator.of(plan.device, plan.analyst).question(["a0", "a1"])


def test_variances_are_those_of_every_report_in_rationals() -> None:
    """At four attributes: all reports of the kernel that is shipped, with chances and answers as integers.

    An answer is a float, an integer over a power of two, and all are taken over one.
    """
    plan = planned([2] * 4, {"kind": "marginals", "width": 2, "exactly": True})
    kernel, law = plan.device.randomizer, LinearEstimator.of(plan.device, plan.analyst).law
    assert isinstance(kernel, OrbitKernel)
    cells, one = list(product((0, 1), repeat=4)), 2**200
    mean = np.full((plan.request.workload.queries, len(cells)), Fraction(0))
    square = mean.copy()
    for number, row in enumerate(kernel.rows):
        placed = list(permutations(range(4), len(row.shape)))
        inside, first, second = row_members(row).reshape(row.shape), 0 * mean, 0 * mean
        for attributes in placed:
            for index, shift in enumerate(product((0, 1), repeat=len(row.shape))):
                payload = bytes([number, *attributes, *[255] * (kernel.slots - len(attributes))])
                sums = accumulate(kernel, np.frombuffer(payload + index.to_bytes(2, "little"), dtype=np.uint8)[None])
                exact = [one * Fraction(answer) for answer in law.decode(sums / 2.0**32 * unit_of(kernel)).tolist()]
                assert all(answer.denominator == 1 for answer in exact)
                answers = np.array([answer.numerator for answer in exact], dtype=object)
                held = [inside[tuple(cell[a] ^ t for a, t in zip(attributes, shift, strict=True))] for cell in cells]
                weights = np.array([kernel.high if one_held else kernel.low for one_held in held], dtype=object)
                first, second = first + np.outer(answers, weights), second + np.outer(answers**2, weights)
        chance = Fraction(kernel.row_weights[number], 2**kernel.bits * len(placed) * kernel.mass(row))
        mean, square = mean + first * (chance / one), square + second * (chance / one**2)
    table = (square - mean**2).astype(float)
    figures = plan.analyst.figures
    assert figures.max_variance == pytest.approx(table.max(), rel=1e-7)
    assert figures.mean_variance == pytest.approx(table.mean(axis=0).max(), rel=1e-7)
    assert mean.astype(float) == pytest.approx(plan.request.workload.operator.dense(), abs=1e-7)


def unit_of(kernel: OrbitKernel) -> float:
    """A device's largest character, as an aggregator writes it."""
    return CharacterTables(kernel, 1 << 32).unit


def test_rows_are_projected_like_one_by_one() -> None:
    points = np.random.default_rng(0).normal(0.2, 0.4, (50, 5))
    each = np.stack([project_onto_simplex(point) for point in points])
    assert projected_onto_simplex(points) == pytest.approx(each, abs=1e-12)
