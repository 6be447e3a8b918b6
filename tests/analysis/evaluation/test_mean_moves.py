"""What fake reports with drawn coins do in the mean: never more than the bound, by attackers who see their coins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.manipulation import DrawnMoves, drawn_manipulation, manipulation
from sordino_analysis.evaluation.mean_moves import COINS as MOST_COINS
from sordino_analysis.evaluation.mean_moves import MeanMoves, coins_of, upper_mean
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_shared.randomness import CoinStream, ShakeRandomness

COINS = 300


def drawn(plan: Any) -> DrawnMoves:
    return drawn_manipulation(plan.device, plan.analyst, plan.request.workload)


def attacked(plan: Any) -> np.ndarray:
    """(coins, Q) the furthest that an output lies from an honest answer, of all outputs that each coin leaves."""
    randomizer, estimator = plan.device.randomizer, LinearEstimator.of(plan.device, plan.analyst)
    entries = plan.request.workload.operator.rows(0, plan.request.workload.queries)
    found, known = [], dict[bytes, np.ndarray]()
    for number in range(COINS):
        seed = b"attack" + number.to_bytes(4, "big")
        # Types and labels enough to reach every output that the coin leaves.
        types = (secret % randomizer.size for secret in range(24))
        payloads = {
            randomizer.randomize(cell, ShakeRandomness(secret), CoinStream(seed)) for secret, cell in enumerate(types)
        }
        for payload in payloads - known.keys():
            sums = accumulate(randomizer, np.frombuffer(payload, dtype=np.uint8)[None])
            known[payload] = np.asarray(estimator.unbiased(Aggregate(1, sums)))
        alone = np.array([known[payload] for payload in payloads])
        found.append(np.abs(alone[:, :, None] - entries[None]).max(axis=(0, 2)))
    return np.array(found)


@pytest.mark.parametrize(("size", "mechanism"), [(64, "shifted_grids"), (12, "factorization")])
def test_no_attacker_who_sees_the_coins_moves_more(plan_of: Any, size: int, mechanism: str) -> None:
    plan = plan_of("prefix", size, mechanism=mechanism)
    bound, moves = drawn(plan), attacked(plan)
    chosen = manipulation(plan.device, plan.analyst, plan.request.workload)
    varying = plan.request.workload.varying_rows
    assert np.all(moves[:, varying] <= chosen[varying] * (1 + 1e-6))
    # The mean of 300 coins, whose error is above 5 of its deviations in one of 10⁶ runs for each query.
    means, errors = moves.mean(axis=0)[varying], moves.std(axis=0)[varying] / np.sqrt(COINS)
    assert np.all(means - 5 * errors <= bound.mean)
    # The bound is near what the best attacker does, and below what chosen coins do.
    assert bound.mean < 1.25 * means.max()
    assert bound.mean < 0.95 * bound.most


def test_the_bound_of_marginals_is_exact() -> None:
    domain = [{"name": name, "kind": "categorical", "labels": ["no", "yes"]} for name in "abcd"]
    workload = parse_specification(
        {"name": "m", "domain": domain, "queries": {"kind": "marginals", "width": 2}}
    ).build()
    plan = compile_plan(
        PlanRequest(workload, PlanningOptions.of(epsilon="1", objective="max", mechanism="orbit_kernel"))
    )
    bound, moves = drawn(plan), attacked(plan)
    errors = moves.std(axis=0) / np.sqrt(COINS)
    varying = plan.request.workload.varying_rows
    least, most = plan.request.workload.operator.entry_range()
    half = for_randomizer(plan.device.randomizer)
    found = half.mean_moves(plan.analyst.decoder, plan.request.workload, least, most)
    assert found is not None
    assert np.all(np.abs(moves.mean(axis=0) - found.moves)[varying] <= 5 * errors[varying] + 1e-9)
    assert bound.mean == pytest.approx(found.moves.max() + plan.analyst.figures.bias_bound)


def test_tables_have_no_coin_to_draw(plan_of: Any) -> None:
    plan = plan_of("histogram", 4, mechanism="randomized_response")
    bound = drawn(plan)
    assert (bound.mean, bound.over) == (bound.most, None)


def test_means_of_draws_are_below_their_bounds_and_a_hundred_are_not_enough() -> None:
    """Of 2,000 laws with the mean .3, none has a bound below it, whose chance is 10⁻⁶ for each run."""
    generator, most = np.random.default_rng(1), np.ones(2000)
    for count, margin in ((100, 0.7), (10_000, 0.06)):
        draws = (generator.random((2000, count)) < 0.3).astype(float)
        bounds = upper_mean(draws.sum(axis=1), (draws**2).sum(axis=1), count, most, 2000)
        assert bounds.min() > 0.3
        assert bounds.max() < 0.3 + margin + 1e-9


def test_many_types_have_fewer_coins_and_never_too_few_for_a_margin() -> None:
    assert [coins_of(size) for size in (2, 2_500, 10_000, 2**40)] == [MOST_COINS, MOST_COINS, 2_500, 500]


def test_queries_that_are_not_listed_are_not_bounded() -> None:
    found = MeanMoves(rows=np.arange(64), moves=np.ones(64))
    assert (found.over(64), found.over(9_999)) == (None, "64 of 9999 queries")


def test_a_share_moves_by_its_mean_and_hardly_more() -> None:
    """2,000 crowds of 400 tokens, whose coins move an answer by 10 or not at all: none above the bound of 1 in 10⁶."""
    bound = DrawnMoves(mean=2.0, most=10.0, queries=1, over=None)
    crowds = 10 * np.random.default_rng(2).binomial(400, 0.2, 2000) / 40_000
    limit = bound.with_chance(0.01, 40_000)
    assert crowds.max() <= limit < 0.01 * bound.most
    assert crowds.mean() == pytest.approx(0.01 * bound.mean, rel=0.05)
