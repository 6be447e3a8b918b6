"""The bound with two type weights mixed: proved by forms for all rows, near the truth, never above it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import doubly_nonnegative_bound
from sordino_analysis.optimisation.bounds.mixed_types import (
    MixedTypes,
    end_forms,
    groups_of,
    reach,
    recheck_mixed_types,
)
from sordino_analysis.optimisation.bounds.mixed_types_ascent import _Path, mixed_types_bound
from sordino_analysis.optimisation.bounds.mixed_types_program import MixedTypesProgram
from sordino_shared.errors import InvalidValue

SOLVER = 1e-6
THRESHOLDS = np.arange(1, 8)


def rows(types, epsilon):
    return np.exp(epsilon) ** np.array(list(itertools.product([0, 1], repeat=types)))


def by_enumeration(thresholds, epsilon, numbers):
    """What the same A, Λ and ν prove with the largest violation of all rows."""
    v, a = rows(numbers.type_weights.shape[1], epsilon), numbers.rows(thresholds)
    own = ((v @ a.T) ** 2 / (v @ (numbers.shares @ numbers.type_weights).T)).sum(axis=1)
    level = numbers.multipliers.sum() + max(0.0, ((own - v @ numbers.multipliers) / v.mean(axis=1)).max())
    signs = np.where(np.arange(v.shape[1]) < thresholds[:, None], 0.5, -0.5)
    return (a * signs).sum() ** 2 / level - 0.25


def random_numbers(rng, types, nodes, groups):
    """Asymmetric, of six thresholds."""
    weights, shares = rng.random((2, types)), rng.random((6, 2))
    weights /= weights.sum(axis=1, keepdims=True)
    ends = 2 * nodes - 2
    ends_of_reach = 1 - reach(weights[::-1], 1.0) - 1e-6, reach(weights, 1.0) + 1e-6
    return MixedTypes(
        type_weights=weights,
        shares=shares / shares.sum(),
        knots=np.array([0, 1, 3, 6]),
        numerators=rng.normal(size=(6, 8)),
        multipliers=rng.normal(size=types),
        nodes=np.linspace(*ends_of_reach, nodes),
        slopes=rng.normal(size=(nodes - 1, types)),
        levels=rng.random((ends, types)),
        spans=rng.random(ends),
        pairs=rng.random((ends * groups, groups)),
    )


def test_forms_are_the_right_side_less_the_products():
    rng, epsilon = np.random.default_rng(1), 1.0
    numbers = random_numbers(rng, 9, 3, 3)
    groups, (p, other) = groups_of(9, 3), numbers.type_weights
    for place, form in enumerate(end_forms(numbers, epsilon)):
        low, high = numbers.nodes[place // 2 : place // 2 + 2]
        v, least = rng.normal(size=9), rng.normal()
        total, root = (p + other) @ v, np.exp(epsilon / 2)
        share = p @ v / total
        right = total * (numbers.multipliers @ v) + (share - form.node) * total * (numbers.slopes[place // 2] @ v)
        right -= numbers.levels[place] @ ((v - least) * (root**2 * least - v))
        right -= numbers.spans[place] * (share - low) * (high - share) * total**2
        of_groups = groups.T @ (v - least)
        right -= of_groups @ numbers.pairs[3 * place : 3 * place + 3] @ of_groups
        b = least * root
        assert v @ form.types @ v + 2 * b * form.mixed @ v + form.level * b**2 == pytest.approx(right, rel=1e-11)
        assert form.node == (low, high)[place % 2]


@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_any_kind_prove_no_more_than_all_rows_do(seed):
    """From poor numbers to good ones, whose forms need next to no lift."""
    rng, epsilon = np.random.default_rng(seed), 1.0
    thresholds = np.array([1, 2, 4, 5, 6, 8])
    numbers = random_numbers(rng, 9, 2 + seed % 3, 1 + seed)
    strong = replace(numbers, numerators=1e-3 * numbers.numerators, multipliers=np.ones(9))
    for changed in (numbers, strong):
        proved = recheck_mixed_types(thresholds, epsilon, changed)
        assert proved <= max(0.0, by_enumeration(thresholds, epsilon, changed))


@pytest.mark.parametrize(("types", "epsilon", "share"), [(10, 1.0, 0.98), (11, 2.0, 0.96), (3, 1.5, 0.95)])
def test_the_forms_prove_nearly_what_all_rows_do(types, epsilon, share):
    thresholds = np.arange(1, types)
    numbers = mixed_types_bound(thresholds, types, epsilon)
    proved, exact = recheck_mixed_types(thresholds, epsilon, numbers), by_enumeration(thresholds, epsilon, numbers)
    assert share * exact < proved <= exact


@pytest.fixture(scope="module")
def optimum(exact_optimum, small_matrix):
    return {epsilon: exact_optimum(small_matrix("prefix", 8), epsilon, "max") for epsilon in (1.0, 2.0)}


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.95), (2.0, 0.87)])
def test_it_is_between_common_weights_and_the_exact_optimum(optimum, small_matrix, epsilon, share):
    """Common weights prove .89 of the optimum at ε = 1 and .77 at ε = 2."""
    proved = recheck_mixed_types(THRESHOLDS, epsilon, mixed_types_bound(THRESHOLDS, 8, epsilon))
    assert share * optimum[epsilon] < proved <= optimum[epsilon] * (1 + SOLVER)
    assert proved > 1.05 * doubly_nonnegative_bound(small_matrix("prefix", 8), epsilon, "max").value


def test_thresholds_may_be_left_out_in_pairs():
    thresholds = np.array([2, 3, 6, 9, 10])
    numbers = mixed_types_bound(thresholds, 12, 1.0)
    assert 0 < recheck_mixed_types(thresholds, 1.0, numbers) <= by_enumeration(thresholds, 1.0, numbers)


def test_slopes_of_the_barrier():
    program = MixedTypesProgram(np.arange(1, 7), 7, 1.5, 2, 2)
    path, rng = _Path(program), np.random.default_rng(3)
    x = program.start(1.0)
    x[: program.parts["numerators"].stop] += 1e-3 * rng.normal(size=program.parts["numerators"].stop)
    point, step = path._point(x), 1e-6 * rng.normal(size=len(x)) * (np.abs(x) + 1e-3)
    before, after = path._point(x - step), path._point(x + step)
    slopes, curvature = path.slopes(point, 0.2)
    assert path._value(after, 0.2) - path._value(before, 0.2) == pytest.approx(2 * float(slopes @ step), rel=1e-5)
    assert np.allclose(curvature, curvature.T, rtol=1e-9, atol=1e-9 * np.abs(curvature).max())
    change = path.slopes(after, 0.2)[0] - path.slopes(before, 0.2)[0]
    assert np.linalg.norm(change - 2 * curvature @ step) < 1e-4 * np.linalg.norm(change)


def test_an_ascent_that_is_stopped_proves_no_more_than_it_may(optimum):
    for steps in (0, 5, 20):
        left = iter(range(steps))
        numbers = mixed_types_bound(THRESHOLDS, 8, 1.0, should_stop=lambda left=left: next(left, None) is None)
        assert 0 <= recheck_mixed_types(THRESHOLDS, 1.0, numbers) <= optimum[1.0]


def test_tampering_never_proves_more_than_the_truth(optimum):
    rng, epsilon = np.random.default_rng(8), 2.0
    honest = mixed_types_bound(THRESHOLDS, 8, epsilon)
    value, proved = recheck_mixed_types(THRESHOLDS, epsilon, honest), []
    for name in vars(honest):
        for factor in (0.0, 0.5, 0.99, 1.01, 3.0, -1.0):
            numbers = getattr(honest, name).astype(float)
            numbers.flat[rng.integers(numbers.size)] *= factor
            if name in ("type_weights", "shares"):
                numbers /= numbers.sum(axis=1, keepdims=True) if name == "type_weights" else numbers.sum()
            try:
                proved.append(recheck_mixed_types(THRESHOLDS, epsilon, replace(honest, **{name: numbers})))
            except InvalidValue:
                continue
    assert len(proved) > 40
    assert max(proved) <= optimum[epsilon] * (1 + SOLVER)
    assert min(proved) < 0.9 * value


def test_numbers_that_are_no_certificate_are_refused():
    honest = mixed_types_bound(THRESHOLDS, 8, 1.0, intervals=1)

    def refused(match, thresholds=THRESHOLDS, epsilon=1.0, **changed):
        with pytest.raises(InvalidValue, match=match):
            recheck_mixed_types(thresholds, epsilon, replace(honest, **changed))

    refused("sum to 1", shares=1.001 * honest.shares)
    refused("sum to 1", type_weights=0.5 * honest.type_weights)
    refused("not negative", levels=-honest.levels)
    refused("not negative", spans=honest.spans - 1)
    refused("not negative", pairs=honest.pairs - 1)
    refused("finite", multipliers=np.full(8, np.nan))
    refused("shape", slopes=honest.slopes[:, :-1])
    refused("distances begin at 0", knots=honest.knots[::-1])
    # Rows beyond the last node are not proved.
    refused("nodes go from below", nodes=0.5 + 0.98 * (honest.nodes - 0.5))
    refused("nodes increase", nodes=honest.nodes[::-1])
    refused("thresholds increase", thresholds=THRESHOLDS[::-1])
    refused("between the first and the last", thresholds=np.arange(2, 9))
    refused("ε must be", epsilon=40.0)
    shares = honest.shares.copy()
    shares[3] = 0
    refused("without weight", shares=shares / shares.sum())


@pytest.mark.slow
@pytest.mark.parametrize(("types", "epsilon", "growth", "least"), [(64, 1.0, 2, 9.70), (128, 2.0, 1, 2.45)])
def test_many_types_have_a_larger_bound_than_with_common_weights(types, epsilon, growth, least):
    """Common weights prove 9.443 and 2.29; 13 and 23 s of a processor."""
    thresholds = np.arange(1, types)
    numbers = mixed_types_bound(thresholds, types, epsilon, intervals=1 if types > 64 else 2, growth=growth)
    assert recheck_mixed_types(thresholds, epsilon, numbers) > least
