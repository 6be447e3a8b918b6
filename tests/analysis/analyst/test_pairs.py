"""Protocols for pairs are planned, read as numbers, and simulated through every round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sordino_analysis as sa

CARRIERS = {"name": "carrier", "kind": "categorical", "labels": ["AA", "UA", "DL"]}
VALUES = ["AA", "UA", "DL", "AA"] * 1000
TRUTH = 1 - 2 * (1000 / 4000 * 999 / 3999) - (2000 / 4000 * 1999 / 3999)


@pytest.fixture(scope="module")
def diversity():
    return sa.pairwise_statistic({"name": "carriers", "domain": [CARRIERS], "statistic": {"kind": "gini_diversity"}})


QUICK, SLOWER = ("one_round_split", "two_round"), ("one_round", "two_round_shared", "three_round")


@pytest.mark.parametrize("protocol", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOWER)])
def test_every_protocol_is_simulated_to_its_predicted_error(diversity, protocol: str) -> None:
    """The mean of 8 squared errors beyond 5 times its prediction has a probability below 1e-6 for normal errors."""
    plan = sa.plan_pairwise(diversity, 2, len(VALUES), protocol=protocol, effort="quick")
    runs = [sa.simulate_pairwise(plan, VALUES, seed=seed) for seed in range(8)]
    assert all(run.truth == pytest.approx(TRUTH) for run in runs)
    assert np.mean([run.error**2 for run in runs]) < 5 * plan.error**2
    for run in runs:
        # Each device answers every round, or draws one of two.
        answered = run.estimate.users
        assert sum(answered) == len(VALUES) if plan.protocol.first_weight else set(answered) == {len(VALUES)}
        assert "4,000 users" in repr(run)
    assert protocol in repr(plan)
    assert "truth" in repr(runs[0])


def test_the_seed_decides_the_answer_and_the_cache_keeps_the_plan(diversity, tmp_path: Path) -> None:
    plans = [
        sa.plan_pairwise(diversity, 2, 4000, protocol="one_round_split", cache=tmp_path, progress=False)
        for _ in range(2)
    ]
    first, again, other = (
        sa.simulate_pairwise(plan, VALUES, seed=seed).estimate.value
        for plan, seed in zip([*plans, plans[0]], (1, 1, 2), strict=True)
    )
    assert first == again != other
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture(scope="module")
def saved(diversity, tmp_path_factory) -> tuple[sa.PairwisePlan, Path]:
    plan = sa.plan_pairwise(diversity, 2, 4000, protocol="two_round", effort="quick")
    folder = tmp_path_factory.mktemp("plans") / "diversity"
    plan.save(folder)
    return plan, folder


def test_a_saved_plan_is_read_and_answers_the_same(saved) -> None:
    plan, folder = saved
    read = sa.read_pairwise_plan(folder)
    assert (read.protocol.digest, read.first.device.digest) == (plan.protocol.digest, plan.first.device.digest)
    assert repr(read) == repr(plan)
    answers = [sa.simulate_pairwise(each, VALUES, seed=3).estimate.value for each in (plan, read)]
    assert answers[0] == answers[1]


def test_parts_of_two_plans_are_refused(saved, diversity, plan: sa.Plan, tmp_path: Path) -> None:
    pairwise, _ = saved
    pairwise.save(tmp_path)
    plan.save(tmp_path)
    with pytest.raises(sa.SordinoError, match="not those of the protocol's first round"):
        sa.read_pairwise_plan(tmp_path)
    other = sa.plan_pairwise(diversity, 1, 4000, protocol="two_round", effort="quick")
    with pytest.raises(sa.SordinoError, match="at most"):
        sa.PairwisePlan(other.protocol, pairwise.first)
    (tmp_path / "protocol.json").write_bytes(b"{}")
    with pytest.raises(sa.SordinoError, match="not the plan of a protocol"):
        sa.read_pairwise_plan(tmp_path)
