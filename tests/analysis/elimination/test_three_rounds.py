"""Three rounds for a class of rules: exact laws of the listed rules, the choice, and the interval of the last round."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sordino_analysis.conformance.enumeration import payload_law
from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_analysis.elimination import listed_rules, three_rounds
from sordino_analysis.elimination.listed_rules import ListedRules
from sordino_analysis.elimination.three_rounds import CertifiedRule, ThreeRounds, combined
from sordino_analysis.estimation.concepts import ConceptEstimator
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

ONE = PureEpsilon(10**9)
CONCEPTS = Path(__file__).parents[3] / "docs" / "concepts.md"


@cache
def plan_of(indicators=4, miss=1.0, width=2, users=None):
    """With `users` the answers are biased, as is best for so many."""
    names = [*(f"a{number}" for number in range(indicators)), "crashed"]
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    label, cost = {"attribute": "crashed", "positive": "on"}, {"miss": miss}
    asked = {"class": "conjunctions", "width": width, "label": label, "cost": cost}
    if users is not None:
        asked |= {"exactly": True, "bias": "allowed"}
    workload = parse_specification({"name": "what crashes", "domain": domain, "queries": asked}).build()
    mechanism = "fourier" if users is None else "biased_characters"
    compiled = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon="1", mechanism=mechanism, users=users)))
    return RoundPlan(compiled.device, compiled.analyst)


@cache
def first_of(*asked):
    plan = plan_of(*asked)
    return ConceptEstimator.of(plan.device, plan.analyst)


def listed_of(rules, *asked):
    return ListedRules.of("w", first_of(*asked).known, plan_of(*asked).device.domain, rules)


def population(rng, users, indicators=4, lift=0.2):
    held = rng.integers(2, size=(users, indicators))
    often = np.where(held[:, 0] & held[:, 1], 0.5 + lift, 0.5 - lift)
    return np.column_stack([held, rng.random(users) < often]).astype(np.uint64)


def closed(plan, codes, seed):
    """Reports of devices that hold the attributes of the first round."""
    names = [attribute.name for attribute in plan_of().device.domain.attributes]
    held = codes[:, [names.index(attribute.name) for attribute in plan.device.domain.attributes]]
    payloads = randomize_part(plan.device, held, SeededRandomness(seed))
    return ClosedRound(plan, Aggregate(len(held), accumulate(plan.device.randomizer, payloads)))


def closed_as_expected(plan, cells):
    """Each report as often as its law says, of so many devices in each cell."""
    randomizer = plan.device.randomizer
    total = Aggregate.empty(randomizer)
    for cell, devices in cells.items():
        for payload, chance in payload_law(randomizer, cell):
            reports = round(chance * devices)
            sums = accumulate(randomizer, np.frombuffer(payload, np.uint8)[None])
            total += Aggregate(reports, reports * sums)
    return ClosedRound(plan, total)


def test_a_drawn_rule_has_the_variance_of_the_closed_form_for_every_type_and_no_bias():
    plan = listed_of((2, 10, 0)).plan(ONE, 3)
    assert [attribute.name for attribute in plan.device.domain.attributes] == ["a0", "a1", "crashed"]
    workload = build_workload(plan.device.domain, plan.analyst.queries, "w")
    law = answer_moments(plan.device.randomizer, plan.analyst.decoder, workload)
    second = law.type_variances() + (workload.operator.dense() - 0.5) ** 2
    assert np.allclose(second, 3 / (4 * np.tanh(0.5) ** 2), rtol=1e-5)
    assert plan.analyst.figures.bias_bound < 1e-9


def test_losses_are_those_of_the_class_on_the_attributes_that_the_rules_look_at():
    listed = listed_of((2, 10))
    whole = first_of().estimator.workload.operator.dense()[[2, 10]].reshape(2, 2, 2, 2, 2, 2)
    assert listed.texts == ("a0=on", "a0=on and a1=on")
    assert np.allclose(listed.losses.reshape(2, 2, 2, 2), whole[:, :, :, 0, 0, :])


def test_with_unequal_costs_each_mistake_is_drawn_by_its_cost():
    listed = listed_of((0, 2, 10), 4, 5.0)
    plan = listed.plan(ONE, 3)
    check_guarantee(plan.device)
    assert plan.analyst.figures.bias_bound < 1e-8
    workload = build_workload(plan.device.domain, plan.analyst.queries, "w")
    found = answer_moments(plan.device.randomizer, plan.analyst.decoder, workload).type_variances()
    # `never` raises no alarm: costs 5 three times and 1 twice, 17 in all, and a mistake is drawn with its cost / 17.
    scale = 17 / (2 * np.tanh(0.5))
    keep = 1 / (1 + np.exp(-1.0))
    for rule, costs in ((0, (5.0,)), (1, (5.0, 1.0)), (2, (5.0, 1.0))):
        for cell in range(workload.size):
            loss, middle = listed.losses[rule, cell], sum(costs) / 2
            means = [scale * (2 * keep - 1) * (1 if cost == loss else -1) * cost / 17 for cost in costs]
            assert middle + sum(means) == pytest.approx(loss)
            square = sum(scale**2 * cost / 17 for cost in costs) - (loss - middle) ** 2
            assert found[rule, cell] == pytest.approx(square, rel=1e-5)


def test_the_second_round_asks_about_the_best_rules_and_the_last_about_the_one_that_is_left():
    """At 200,000 devices the planted rule is better than every other by .1, ten standard errors of the second round."""
    protocol, rng = ThreeRounds(RoundShares(top=5)), np.random.default_rng(3)
    first = closed(plan_of(), population(rng, 120_000), 1)
    second_plan = protocol.step((first,))
    losses = first_of().estimate(first.aggregate).losses
    texts = [first_of().known.text(rule) for rule in losses.argsort()[:5]]
    assert list(second_plan.analyst.queries.labels) == texts
    assert protocol.step((first,)).device.content == second_plan.device.content
    assert second_plan.device.guarantee == plan_of().device.guarantee
    assert all(check.holds for check in audit_plan(second_plan.device, second_plan.analyst))
    second = closed(second_plan, population(rng, 60_000), 2)
    third_plan = protocol.step((first, second))
    assert third_plan.analyst.queries.labels == ("a0=on and a1=on",)
    third = closed(third_plan, population(rng, 20_000), 3)
    found = protocol.step((first, second, third))
    assert isinstance(found, CertifiedRule)
    assert first_of().known.text(found.first.chosen) == "a0=on and a1=on"
    assert found.certified_by_round == 2
    low, high = found.interval
    assert low < found.loss < high
    reach = protocol.certified_reach(200_000, 1.0)
    assert 0.9 * reach < (high - low) / 2 <= 1.001 * reach
    # An ordinary interval is a fraction of the band of the class.
    assert (high - low) < 0.6 * (found.first.band_high - found.first.band_low).min()
    assert found.users == (120_000, 60_000, 20_000)


def test_rules_that_would_need_too_many_attributes_are_passed_over(monkeypatch):
    monkeypatch.setattr(three_rounds, "MOST_CELLS", 8)
    first = closed(plan_of(), population(np.random.default_rng(3), 120_000), 1)
    plan = ThreeRounds(RoundShares(top=12)).step((first,))
    assert plan.device.domain.size <= 8
    assert len(plan.analyst.queries.labels) == 10
    assert plan.analyst.queries.labels[0] == "a0=on and a1=on"


def test_thresholds_take_part_with_the_whole_of_their_attribute():
    domain = [{"name": "x", "kind": "ordinal", "edges": [1, 2, 3]}, {"name": "crashed", "kind": "categorical"}]
    domain[1]["labels"] = ["no", "yes"]
    asked = {"class": "thresholds", "label": {"attribute": "crashed", "positive": "yes"}}
    workload = parse_specification({"name": "w", "domain": domain, "queries": asked}).build()
    compiled = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon="1", mechanism="sign_vectors")))
    held = np.repeat(np.array([[0, 0], [1, 0], [2, 1], [3, 1]], dtype=np.uint64), 10_000, axis=0)
    protocol, rounds = ThreeRounds(RoundShares(top=3)), ()
    plan = RoundPlan(compiled.device, compiled.analyst)
    for seed in range(3):
        payloads = randomize_part(plan.device, held, SeededRandomness(seed))
        rounds += (ClosedRound(plan, Aggregate(len(held), accumulate(plan.device.randomizer, payloads))),)
        plan = protocol.step(rounds)
    assert rounds[2].plan.analyst.queries.labels == ("x > 2",)
    assert plan.interval[0] <= 0 <= plan.interval[1]


def test_fewer_rounds_have_the_band_of_the_first_and_no_interval():
    protocol, rng = ThreeRounds(RoundShares(top=5)), np.random.default_rng(3)
    first = closed(plan_of(), population(rng, 20_000), 1)
    alone = protocol.conclude((first,))
    expected = first_of().estimate(first.aggregate)
    assert (alone.first.chosen, alone.interval, alone.certified_by_round) == (expected.chosen, None, None)
    assert np.array_equal(alone.first.band_low, expected.band_low)
    second = closed(protocol.step((first,)), population(rng, 10_000), 2)
    assert protocol.conclude((first, second)).interval is None
    with pytest.raises(EstimationError, match="no round is closed"):
        protocol.conclude(())


def test_what_few_reports_of_the_last_round_leave_open_is_said():
    protocol, rng, rounds = ThreeRounds(RoundShares(top=5)), np.random.default_rng(3), ()
    plan = plan_of()
    for number, users in enumerate((20_000, 10_000, 2)):
        rounds += (closed(plan, population(rng, users), number),)
        plan = protocol.step(rounds)
    assert plan.first.warnings == ()
    assert "only 2 users reported" in plan.warnings[0]
    assert protocol.conclude(rounds[:2]).warnings == ()


def test_a_bias_of_the_first_round_counts_against_it_when_rounds_are_weighed():
    """One device in 25 has all settings on and crashes. The first round shrinks the loss of `never`, .04, less than
    that of the true rule, and its 6 million reports say so: only its bias speaks for the second round.
    """
    plan, protocol = plan_of(3, 1.0, 3, 40), ThreeRounds(RoundShares((0.989, 0.01, 0.001), top=2))
    first = closed_as_expected(plan, {0b0000: 5_760_000, 0b1111: 240_000})
    alone = protocol.conclude((first,)).first
    assert alone.known.text(alone.chosen) == "never"
    assert alone.bias_bound > 0.2
    second_plan = protocol.step((first,))
    assert second_plan.analyst.queries.labels == ("never", "a0=on and a1=on and a2=on")
    second = closed_as_expected(second_plan, {0b0000: 57_600, 0b1111: 2_400})
    third_plan = protocol.step((first, second))
    assert third_plan.analyst.queries.labels == ("a0=on and a1=on and a2=on",)
    found = protocol.conclude((first, second)).first
    assert found.known.text(found.chosen) == "a0=on and a1=on and a2=on"
    # What is sure of the class is the first round's, whose bias makes up for its wrong choice.
    assert found.band_low[found.chosen] <= 0 <= found.band_high[found.chosen]
    assert found.band_low[0] <= 0.04 <= found.band_high[0]


def test_rounds_are_weighed_by_their_inverse_errors():
    joint = combined(np.array([0.2, 0.4]), np.array([1.0, 2.0]), np.array([0.4, 0.4]), np.array([3.0, 0.0]))
    assert np.allclose(joint, [0.25, 0.4])


@pytest.mark.parametrize(
    ("shares", "top", "words"),
    [
        ((0.6, 0.3), 32, "each of 3 rounds"),
        ((0.6, 0.3, 0.2), 32, "sum to 1"),
        ((0.6, 0.4, 0.0), 32, "above 0"),
        ((0.6, 0.4, float("nan")), 32, "above 0"),
        ((0.6, 0.3, 0.1), 1, "two rules at least"),
    ],
)
def test_shares_that_do_not_fit_are_refused(shares, top, words):
    with pytest.raises(InvalidValue, match=words):
        RoundShares(shares, top)


def test_the_class_has_more_rules_than_the_second_round():
    first = closed(plan_of(), population(np.random.default_rng(1), 2000), 1)
    with pytest.raises(InvalidValue, match="the class has 34 rules"):
        ThreeRounds(RoundShares(top=34)).step((first,))


@pytest.mark.slow
@pytest.mark.parametrize("lift", [0.0, 0.1])
def test_statements_of_three_rounds_hold_in_1000_campaigns(lift):
    """Devices are drawn afresh. Each of the four has 95 %: fewer than 925 of 1,000 has the chance 3·10^-4."""
    protocol, rng = ThreeRounds(RoundShares(top=8)), np.random.default_rng(9)
    held = dict.fromkeys(("interval", "band", "best", "excess"), 0)
    truth = first_of().estimator.workload.truth_of_codes(population(np.random.default_rng(1), 2_000_000, lift=lift))
    for seed in range(1000):
        rounds = (closed(plan_of(), population(rng, 6000, lift=lift), 3 * seed),)
        for number, users in ((1, 3000), (2, 1000)):
            rounds += (closed(protocol.step(rounds), population(rng, users, lift=lift), 3 * seed + number),)
        found = protocol.conclude(rounds)
        chosen, first = found.first.chosen, found.first
        held["interval"] += bool(found.interval[0] <= truth[chosen] <= found.interval[1])
        held["band"] += bool(((first.band_low <= truth) & (truth <= first.band_high)).all())
        held["best"] += int(truth.argmin()) in first.best.tolist()
        held["excess"] += bool(truth[chosen] - truth.min() <= first.excess)
    print(held)
    assert min(held.values()) >= 925


def test_a_round_about_13_attributes_has_a_device_part_of_the_stated_size():
    """As docs/concepts.md says: 32 rules, which look at all of them; a bit for each cell and rule, and the domain."""
    known = first_of(13).known
    looks_at = [listed_rules.looked_at(known, [rule]) for rule in range(known.starts[-1])]
    pairs = [rule for rule, places in enumerate(looks_at) if len(places) == 2]
    rules = [next(rule for rule in pairs if place in looks_at[rule]) for place in range(13)]
    rules += [rule for rule in pairs if rule not in rules][: 32 - len(set(rules))]
    listed = listed_of(sorted(set(rules)), 13)
    assert (len(listed.rules), listed.domain.size) == (32, listed_rules.MOST_CELLS)
    plan = listed.plan(ONE, 3)
    size = len(plan.device.content)
    print(f"{size:,} bytes")
    assert f"{size:,} bytes" in CONCEPTS.read_text()
    # Its bounds are for some of the 16,384 types, and an audit takes them.
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
