"""Both protocols of two rounds: ε of the whole transcript, the same bytes again, and what goes wrong."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolRequest
from sordino_analysis.pairwise.two_round import TwoRound
from sordino_analysis.pairwise.two_round_shared import TwoRoundShared
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.guarantees import epsilon_of_ratio

LINE = {"name": "value", "kind": "ordinal", "edges": {"low": 0.0, "high": 1.0, "bins": 4}}
LABEL = {"name": "label", "kind": "categorical", "labels": ["no", "yes"]}
DISTANCE = parse_statistic(
    {"name": "distance", "domain": [LINE], "statistic": {"kind": "gini_mean_difference"}}
).build()
AREA = parse_statistic(
    {
        "name": "area",
        "domain": [LINE, LABEL],
        "statistic": {"kind": "auc", "score": "value", "label": "label", "positive": "yes"},
    }
).build()
USERS = 5000


def designed(protocol, statistic=DISTANCE, epsilon=2.0):
    request = ProtocolRequest(statistic, PlanningOptions.of(epsilon=epsilon, users=USERS, effort=Effort.QUICK))
    return protocol.design(request, lambda fraction: None)


@pytest.fixture(scope="module")
def designs():
    return {protocol: designed(protocol) for protocol in (TwoRound(), TwoRoundShared())}


def closed(plan, counts, seed):
    kernel = plan.device.randomizer
    table = kernel_table(kernel) / 2.0**kernel.bits
    generator = np.random.default_rng(seed)
    sums = sum(generator.multinomial(n, table[:, x] / table[:, x].sum()) for x, n in enumerate(counts))
    return ClosedRound(plan, Aggregate(int(np.sum(counts)), np.asarray(sums)))


def worst(randomizer, first, second):
    return max(Fraction(row[first], row[second]) for row in kernel_table(randomizer).tolist())


def test_the_transcript_keeps_epsilon_for_every_pair_of_types_and_every_first_round(designs):
    for protocol, design in designs.items():
        for seed in range(5):
            first = closed(design.first, [500, 900, 300, 800], seed)
            second = protocol.step(design.plan, (first,))
            assert isinstance(second, RoundPlan)
            for types in permutations(range(4), 2):
                ratios = [worst(plan.device.randomizer, *types) for plan in (design.first, second)]
                # A device is in one of two rounds by a draw that does not depend on its value, or in both.
                spent = ratios[0] * ratios[1] if design.plan.first_weight is None else max(ratios)
                proved = epsilon_of_ratio(spent.numerator, spent.denominator)
                assert proved is not None
                assert proved.nano <= design.plan.guarantee


def test_the_same_first_round_gives_the_same_second_plan(designs):
    for protocol, design in designs.items():
        first = closed(design.first, [500, 900, 300, 800], 1)
        again, other = closed(design.first, [500, 900, 300, 800], 1), closed(design.first, [500, 900, 300, 800], 2)
        plans = [protocol.step(design.plan, (c,)) for c in (first, again, other)]
        assert plans[0].device.digest == plans[1].device.digest
        assert plans[0].analyst.digest == plans[1].analyst.digest
        assert plans[0].device.digest != plans[2].device.digest
        assert len(plans[0].device.content) < 10_000


def test_the_estimate_is_near_and_says_what_it_is(designs):
    counts = np.array([1000, 2200, 600, 1200])
    for protocol, design in designs.items():
        both = design.plan.first_weight is None
        first = closed(design.first, counts if both else counts * design.plan.first_weight // 2**32, 3)
        rest = counts if both else counts - counts * design.plan.first_weight // 2**32
        second = closed(protocol.step(design.plan, (first,)), rest, 4)
        estimate = protocol.step(design.plan, (first, second))
        truth = DISTANCE.of_pairs(counts.astype(float))
        assert abs(estimate.value - truth) < 5 * estimate.standard_error
        assert estimate.lower < estimate.value < estimate.upper
        assert estimate.standard_error == pytest.approx(protocol.predict(design, counts / USERS), rel=0.3)
        assert estimate.unbiased
        assert estimate.protocol == protocol.name
        assert len(estimate.users) == 2
        assert estimate.warnings == ()


def test_without_a_second_round_the_first_answers_with_a_warning(designs):
    for protocol, design in designs.items():
        first = closed(design.first, [500, 900, 300, 800], 1)
        empty = closed(protocol.step(design.plan, (first,)), [0, 0, 0, 0], 1)
        for rounds in ((first,), (first, empty)):
            estimate = protocol.conclude(design.plan, rounds)
            assert estimate.users == (2500,)
            assert any("second round" in warning for warning in estimate.warnings)


def test_a_first_round_without_a_pair_is_an_error(designs):
    for protocol, design in designs.items():
        for counts in ([0, 0, 0, 0], [0, 1, 0, 0]):
            with pytest.raises(PairwiseError, match="pairs need two users"):
                protocol.step(design.plan, (closed(design.first, counts, 1),))


@pytest.fixture(scope="module")
def area_design():
    return designed(TwoRound(), AREA)


def test_a_ratio_is_estimated_and_called_consistent(area_design):
    protocol, design = TwoRound(), area_design
    counts = np.array([900, 100, 800, 300, 500, 700, 300, 1400])
    first = closed(design.first, counts // 2, 1)
    second = closed(protocol.step(design.plan, (first,)), counts - counts // 2, 2)
    estimate = protocol.step(design.plan, (first, second))
    assert abs(estimate.value - AREA.of_pairs(counts.astype(float))) < 5 * estimate.standard_error
    assert not estimate.unbiased


def test_too_few_users_and_too_little_epsilon_are_refused_by_reason():
    few = ProtocolRequest(DISTANCE, PlanningOptions.of(epsilon=1, users=10))
    assert "too few" in (TwoRound().reason_against(few) or "")
    little = ProtocolRequest(DISTANCE, PlanningOptions.of(epsilon=0.0015, users=1000))
    assert "half" in (TwoRoundShared().reason_against(little) or "")
