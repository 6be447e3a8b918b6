"""Statements about the best rule: exact covariances, and bands, sets and excess that hold as often as they say."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtri

from sordino_analysis.conformance.enumeration import payload_law
from sordino_analysis.documents.decoders import CharacterDecoder
from sordino_analysis.estimation.concept_errors import CharacterErrors, WorstTypeErrors, errors_of
from sordino_analysis.estimation.concepts import ALWAYS, NEVER, ConceptEstimator
from sordino_analysis.estimation.few_attributes import LocalShares
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.orbit_answers import orbit_answers
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_codes
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.kept_plans import compiled_once


@cache
def plan_of(indicators, width, epsilon="1", family="conjunctions", miss=1.0, negations=True):
    names = [*(f"a{number}" for number in range(indicators)), "crashed"]
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    label, cost = {"attribute": "crashed", "positive": "on"}, {"miss": miss}
    asked = {"class": family, "width": width, "label": label, "cost": cost, "negations": negations}
    workload = parse_specification({"name": "what crashes", "domain": domain, "queries": asked}).build()
    options = PlanningOptions.of(epsilon=epsilon, mechanism="orbit_kernel" if epsilon == "2" else "fourier")
    return compiled_once(PlanRequest(workload, options))


def estimator_of(*asked, **options):
    plan = plan_of(*asked, **options)
    return ConceptEstimator.of(plan.device, plan.analyst)


def population(rng, users, indicators, lift):
    """Correlated attributes; the label follows `a0 and a1` as far as `lift` says."""
    often = np.where(rng.random((users, 1)) < 0.5, 0.65, 0.4)
    held = (rng.random((users, indicators)) < often).astype(np.uint64)
    rule = (held[:, 0] == 1) & (held[:, 1] == 1)
    label = rng.random(users) < np.where(rule, 0.5 + lift, 0.5 - lift)
    return np.hstack([held, label[:, None].astype(np.uint64)])


def reported(estimator, codes, seed):
    device = estimator.estimator.device
    payloads = randomize_codes(device.randomizer, codes, device.domain.shape, SeededRandomness(seed))
    return Aggregate(len(codes), accumulate(device.randomizer, payloads))


@pytest.mark.parametrize(("epsilon", "miss"), [("1", 1.0), ("1", 5.0), ("2", 1.0)])
def test_moments_of_contributions_are_those_of_the_law_of_reports(epsilon, miss):
    """From every payload with its chance: exact for rows of one character, an upper bound for other rows."""
    estimator = estimator_of(2, 1 if epsilon == "2" else 2, epsilon, miss=miss)
    errors, randomizer = estimator.errors, estimator.estimator.device.randomizer
    assert isinstance(errors, CharacterErrors) == (epsilon == "1")
    for cell in (0, 5):
        law = list(payload_law(randomizer, cell))
        sums = [accumulate(randomizer, np.frombuffer(payload, np.uint8)[None]) for payload, _ in law]
        decoded = np.stack(
            [estimator.estimator.law.decode(mean_accumulator(randomizer, Aggregate(1, each))) for each in sums]
        )
        chances = np.array([float(chance) for _, chance in law])
        centred = decoded - errors.constants
        squares = chances @ centred**2
        room = 1e-6 * errors.second_moments.max()
        assert (squares <= errors.second_moments + room).all()
        for rule in (0, 3, 5):
            apart = chances @ (centred - centred[:, [rule]]) ** 2
            assert (np.sqrt(apart) <= errors.differences(rule, 1) + 1e-3).all()
            if epsilon == "1":
                assert np.allclose(squares, errors.second_moments, atol=room)
                assert np.allclose(apart, errors.differences(rule, 1) ** 2, atol=room)


def test_quantiles_are_those_of_the_design_and_below_bonferroni():
    """Page: 4.17, 3.88, 3.83, 3.81 for 16 attributes; here the smaller class, against its own Bonferroni quantile."""
    errors = estimator_of(6, 2).errors
    quantiles = errors.quantile(0.95)
    assert len(set(quantiles.tolist())) == 4
    assert 2.5 < quantiles.min() < quantiles.max() < 3.25


@pytest.mark.parametrize(("family", "negations"), [("conjunctions", True), ("conjunctions", False), ("juntas", True)])
def test_quantiles_hold_for_every_rule_of_a_kind_and_not_for_the_first_alone(family, negations):
    """At 40,000 normal draws a share of .95 has the standard error .0011, and the quantile's own draws one of .0034."""
    errors = estimator_of(3, 2, family=family, negations=negations).errors
    operator, noise = errors.operator, errors._by_orbit[1]
    quantiles = errors.quantile(0.95)
    drawn = np.random.default_rng(8).standard_normal((1 + len(noise), 40_000)) * np.sqrt(np.append(0, noise))[:, None]
    found = operator.answers([drawn] * len(operator.blocks))
    for rule in range(len(quantiles)):
        scale = errors.differences(rule, 1)
        told = scale > 1e-9 * scale.max()
        worst = ((found[rule] - found[told]) / scale[told, None]).max(axis=0)
        assert abs((worst <= quantiles[rule]).mean() - 0.95) < 5 * 0.0036, rule


def test_rules_about_too_many_indicators_to_exchange_have_bonferronis_quantile():
    errors = estimator_of(5, 5).errors
    assert len(set(errors.quantile(0.95).tolist())) == 1
    assert errors.quantile(0.95)[0] == pytest.approx(-ndtri(0.05 / (errors.operator.shape[0] - 1)))
    assert errors.of_few(100, 0.95) is None


def test_a_planted_rule_is_found_and_its_loss_lies_in_the_band():
    """With 300,000 devices the chance to miss it is below one in 10^6: six standard errors of the difference."""
    estimator = estimator_of(5, 2)
    codes = population(np.random.default_rng(4), 300_000, 5, 0.25)
    found = estimator.estimate(reported(estimator, codes, 5))
    assert found.known.text(found.chosen) == "a0=on and a1=on"
    assert found.beats_base
    assert found.chosen in found.best
    assert {NEVER, ALWAYS}.isdisjoint(found.best.tolist())
    assert found.band_low[found.chosen] <= 0.25 <= found.band_high[found.chosen]
    assert 0 <= found.excess < 0.1
    assert found.statement == "a0=on and a1=on is the best of 52 rules, and beats never and always"


def test_flipping_every_label_negates_and_negating_an_attribute_permutes():
    estimator = estimator_of(4, 2)
    codes = population(np.random.default_rng(1), 2000, 4, 0.1)
    law, device = estimator.estimator.law, estimator.estimator.device
    randomizer = device.randomizer

    def decoded(values):
        payloads = randomize_codes(randomizer, values, device.domain.shape, SeededRandomness(9))
        return law.decode(mean_accumulator(randomizer, Aggregate(len(values), accumulate(randomizer, payloads))))

    plain, texts = decoded(codes), [estimator.known.text(rule) for rule in range(len(estimator.errors.constants))]
    flipped = codes.copy()
    flipped[:, -1] = 1 - flipped[:, -1]
    assert np.allclose(decoded(flipped), 1 - plain)
    turned = codes.copy()
    turned[:, 2] = 1 - turned[:, 2]
    swapped = {"a2=on": "a2=off", "a2=off": "a2=on"}
    renamed = [" and ".join(swapped.get(part, part) for part in text.split(" and ")) for text in texts]
    assert np.allclose(decoded(turned)[[texts.index(name) for name in renamed]], plain)


def test_cells_of_a_rules_attributes_have_the_shares_that_its_losses_say():
    """Of more types than a histogram lists, linear estimates of the same losses need these."""
    operator = estimator_of(3, 2).errors.operator
    histogram = np.random.default_rng(1).dirichlet(np.full(16, 50.0))
    answers = operator.matvec(histogram)
    shares = LocalShares.nearest(operator, answers)
    assert np.allclose(shares.answers, answers)
    assert all((block >= 0).all() and np.allclose(block.sum(axis=1), 1) for block in shares.blocks)


def test_without_a_rule_a_constant_stays_in_the_set():
    estimator = estimator_of(5, 2)
    kept = 0
    for seed in range(40):
        codes = population(np.random.default_rng(seed), 5000, 5, 0.0)
        kept += not estimator.estimate(reported(estimator, codes, seed)).beats_base
    # At .95 fewer than 31 of 40 has the chance 10^-5.
    assert kept >= 31


@pytest.mark.parametrize("miss", [1.0, 5.0])
def test_the_ends_of_a_contribution_are_those_of_some_report(miss):
    estimator = estimator_of(3, 2, miss=miss).estimator
    randomizer = estimator.device.randomizer
    payloads = np.array([np.frombuffer(payload, np.uint8) for payload, _ in payload_law(randomizer, 0)])
    sums = [accumulate(randomizer, payload[None]) for payload in payloads]
    decoded = np.array([estimator.law.decode(mean_accumulator(randomizer, Aggregate(1, each))) for each in sums])
    ends = for_randomizer(randomizer).extreme_contributions(estimator.decoder, estimator.workload)
    assert np.allclose(ends, [decoded.min(axis=0), decoded.max(axis=0)], rtol=1e-6)


def test_reports_of_a_character_that_count_differently_have_moments_that_are_not_too_small():
    """Two rows tell the same characters, and one of them counts three times as much as the other."""
    estimator = estimator_of(2, 2)
    law, kernel = estimator.errors.law, estimator.estimator.device.randomizer
    *others, last = kernel.row_weights
    doubled = replace(kernel, rows=(*kernel.rows, kernel.rows[-1]), row_weights=(*others, last - last // 2, last // 2))
    slopes = np.outer([1, 1, 1.5, 0.5], law.slopes_of(0)[0, 0])
    blocks = len(law.operator.blocks)
    decoder = CharacterDecoder(
        array_of(np.tile(slopes.ravel(), (blocks, 1)), "<f8"), array_of(np.zeros((blocks, 4)), "<f8")
    )
    moments = orbit_answers(doubled, decoder, law.workload)
    assert moments.profile().bias.max() < 1e-8
    errors, exact = errors_of(moments, moments.operator), 0.0
    for payload, chance in payload_law(doubled, 0):
        sums = accumulate(doubled, np.frombuffer(payload, np.uint8)[None])
        exact += float(chance) * (moments.decode(mean_accumulator(doubled, Aggregate(1, sums))) - errors.constants) ** 2
    assert (errors.second_moments >= exact * (1 - 1e-9)).all()


def test_the_set_holds_each_rule_at_its_level_by_the_law_of_reports():
    """Where no rule predicts every rule is the best, and 6,000 reports are a multinomial draw of signed characters.

    20,000 draws have a binomial error of .0015, the quantile one of .0034: .018 is five of both together. Bonferroni's
    quantile holds most of the rules in .974, that of one normal error in .76.
    """
    errors, reports, draws = estimator_of(4, 2).errors, 6000, 20_000
    information = errors.law.spectrum.information.sum(axis=0)[errors.operator.characters.orbit_of]
    told, keep = np.flatnonzero(information > 0), np.tanh(0.5)
    chances = information[told] / keep**2
    assert chances.sum() == pytest.approx(1)
    rng = np.random.default_rng(5)
    counts = rng.multinomial(reports, chances, size=draws)
    coefficients = np.zeros((1 + len(information), draws))
    coefficients[1 + told] = ((2 * rng.binomial(counts, 0.5) - counts) / (reports * chances * keep)).T
    found = errors.operator.answers([coefficients] * len(errors.operator.blocks))
    scales, quantiles = (
        np.array([errors.differences(rule, reports) for rule in range(len(found))]),
        errors.quantile(0.95),
    )
    stays = [(found[c] - found <= (quantiles[c] * scales[:, c])[:, None] + 1e-9).all(axis=0) for c in range(len(found))]
    held = np.mean(stays, axis=1)
    print(held.min(), held.mean(), held.max())
    assert (np.abs(held - 0.95) < 0.018).all()


def test_rules_that_biased_reports_do_not_tell_apart_may_differ_by_their_biases():
    class Alike(WorstTypeErrors):
        def differences(self, rule, users):
            return np.zeros(len(self.constants))

    plain = estimator_of(2, 2)
    errors, losses = Alike(plain.errors.law, plain.errors.operator), len(plain.errors.constants)
    biased = replace(plain, errors=errors, biases=np.full(losses, 0.1))
    aggregate = reported(plain, population(np.random.default_rng(2), 2000, 2, 0.2), 2)
    found = biased.estimate(aggregate)
    others = np.sort(found.losses)[1:]
    assert found.excess == pytest.approx(0.2 - (others[0] - found.losses.min()))
    assert len(found.best) == 1 + int((others <= found.losses.min() + 0.2).sum())
    assert replace(biased, biases=np.zeros(losses)).estimate(aggregate).excess == 0


def test_few_reports_have_bernsteins_band_and_say_so():
    estimator = estimator_of(8, 2)
    codes = population(np.random.default_rng(2), 30, 8, 0.0)
    found = estimator.estimate(reported(estimator, codes, 2))
    assert "30 reports, fewer than the 37 characters" in found.warnings[0]
    assert (found.band_high - found.band_low > 2).all()
    assert len(found.best) == len(found.losses)


def test_reports_that_are_not_there_or_of_another_class_have_no_estimate():
    estimator = estimator_of(3, 2)
    with pytest.raises(EstimationError, match="no report"):
        estimator.estimate(Aggregate.empty(estimator.estimator.device.randomizer))
    with pytest.raises(EstimationError, match="between 0 and 1"):
        estimator.estimate(Aggregate.empty(estimator.estimator.device.randomizer), 1.0)
    plan = compiled_once(PlanRequest(builtin("prefix", 4), PlanningOptions.of(epsilon=1)))
    with pytest.raises(EstimationError, match="no concept class"):
        ConceptEstimator.of(plan.device, plan.analyst)


@pytest.mark.slow
@pytest.mark.parametrize("lift", [0.0, 0.1])
def test_statements_hold_in_1500_campaigns(lift):
    """Devices are drawn afresh from a fixed population. Each statement has 95 %: below 93.1 % the chance is 7·10^-4,
    and .4 % for one of the six.

    The naive interval of the chosen rule fails the same test: it is what the band is for.
    """
    estimator, users = estimator_of(6, 2), 20_000
    rng = np.random.default_rng(77)
    truth = estimator.estimator.workload.truth_of_codes(population(np.random.default_rng(1), 2_000_000, 6, lift))
    held = {"band": 0, "best": 0, "excess": 0, "naive": 0}
    for seed in range(1000, 2500):
        found = estimator.estimate(reported(estimator, population(rng, users, 6, lift), seed))
        held["band"] += bool(((found.band_low <= truth) & (truth <= found.band_high)).all())
        held["best"] += int(truth.argmin()) in found.best.tolist()
        held["excess"] += bool(truth[found.chosen] - truth.min() <= found.excess)
        error = abs(found.losses[found.chosen] - truth[found.chosen])
        held["naive"] += bool(error <= 1.96 * found.standard_errors[found.chosen])
    print(held)
    assert min(held[name] for name in ("band", "best", "excess")) >= 0.931 * 1500
    assert held["naive"] < 0.931 * 1500
