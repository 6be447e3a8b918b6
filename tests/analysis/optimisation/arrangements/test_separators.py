"""Half-spaces, arrangements and their margins against brute force over all types."""

from itertools import permutations, product

import numpy as np
import pytest

from sordino_analysis.optimisation.arrangements.margins import of_half_spaces, projected_dimension, users_of_scheme
from sordino_analysis.optimisation.arrangements.separators import (
    box,
    box_bits,
    clause,
    decision_list,
    label_changes,
    largest_list_weight,
    monomial,
)
from sordino_shared.errors import InvalidValue


def cells(variables):
    return np.array(list(product((0, 1), repeat=variables)), dtype=bool)


def test_monomials_and_clauses_are_what_their_literals_say():
    bits = cells(3)
    for literals in product((0, 1, None), repeat=3):
        holds = [bits[:, i] == bool(e) for i, e in enumerate(literals) if e is not None]
        assert (monomial(literals).predicts(bits) == np.all(holds, axis=0)).all()
        assert (clause(literals).predicts(bits) == np.any(holds, axis=0)).all()
        assert max(monomial(literals).largest, clause(literals).largest) <= 1


def test_boxes_are_monomials_over_2kj_bits():
    values = np.array(list(product(range(4), repeat=2)))
    bits = box_bits(values, 4)
    assert bits.shape == (16, 2 * 2 * 4)
    for sides in product([(a, b) for a in range(4) for b in range(a, 4)], repeat=2):
        inside = np.all([(values[:, i] >= a) & (values[:, i] <= b) for i, (a, b) in enumerate(sides)], axis=0)
        assert (box(sides, 4).predicts(bits) == inside).all()


def listed(bits, items, otherwise):
    found = np.full(len(bits), bool(otherwise))
    for variable, wanted, answer in reversed(items):
        found = np.where(bits[:, variable] == bool(wanted), bool(answer), found)
    return found


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_every_decision_list_is_a_half_space_with_weights_up_to_the_bound(length):
    bits, reached = cells(3), {}
    for order in permutations(range(3), length):
        for signs, answers in product(product((0, 1), repeat=length), product((0, 1), repeat=length + 1)):
            items = list(zip(order, signs, answers, strict=False))
            found = decision_list(3, items, answers[-1])
            assert (found.predicts(bits) == listed(bits, items, answers[-1])).all()
            changes = label_changes(items, answers[-1])
            reached[changes] = max(reached.get(changes, 0), found.largest)
    assert all(most <= largest_list_weight(3, changes) for changes, most in reached.items())


def test_the_bound_of_theorem_9_is_reached_by_runs_of_equal_length():
    """Five variables, three changes: from the end two, two and one item with alternating answers, (1 + 2)²."""
    items = [(4, 1, 1), (3, 1, 0), (2, 1, 0), (1, 1, 1), (0, 1, 1)]
    assert label_changes(items, 0) == 3
    assert decision_list(5, items, 0).largest == largest_list_weight(5, 3) == 9
    assert (decision_list(5, items, 0).predicts(cells(5)) == listed(cells(5), items, 0)).all()
    with pytest.raises(InvalidValue, match="each variable once"):
        decision_list(2, [(0, 1, 1), (0, 0, 0)], 1)


@pytest.mark.parametrize("variables", [2, 4])
def test_every_sign_is_right_by_the_margin_of_lemma_9(variables):
    bits = cells(variables)
    rules = [monomial(literals) for literals in product((0, 1, None), repeat=variables) if set(literals) != {None}]
    arrangement = of_half_spaces(bits, rules)
    predicted = np.stack([rule.predicts(bits) for rule in rules])
    assert np.allclose(np.linalg.norm(arrangement.types, axis=1), 1)
    assert np.allclose(np.linalg.norm(arrangement.rules, axis=1), 1)
    least = arrangement.least_product(predicted)
    assert least >= 1 / (4 * variables)
    margins = arrangement.margins(predicted)
    assert (margins >= least).all()
    by_hand = [
        np.mean((arrangement.types @ rule)[yes]) / 2 - np.mean((arrangement.types @ rule)[~yes]) / 2
        for rule, yes in zip(arrangement.rules, predicted, strict=True)
    ]
    assert np.allclose(margins, by_hand)
    with pytest.raises(InvalidValue, match="says the same of all types"):
        arrangement.margins(np.ones((len(rules), len(bits)), dtype=bool))


def test_a_projection_to_the_dimension_of_theorem_8_keeps_an_eighth_of_the_margin():
    bits = cells(3)
    rules = [monomial(literals) for literals in product((1, None), repeat=3) if set(literals) != {None}]
    arrangement, predicted = of_half_spaces(bits, rules), np.stack([rule.predicts(bits) for rule in rules])
    margin = arrangement.margins(predicted).min()
    dimension = projected_dimension(len(bits), len(rules), margin, 0.01)
    for seed in range(5):
        drawn = arrangement.projected(dimension, np.random.default_rng(seed))
        assert drawn.types.shape == (8, dimension)
        assert drawn.margins(predicted).min() >= margin / 8


def test_users_are_those_of_20_with_half_of_the_failures_for_sampling():
    """Monomials of 8 variables by the margin 1/32 of Lemma 9 in nine dimensions: 5.2e8, and 4.4e8 with ln(2/β)."""
    found = users_of_scheme(8 + 1, 1 / 32, 1.0, 0.05, 0.05)
    assert found == pytest.approx(32 * 9 * 32**2 * 400 * np.log(80), rel=1e-9)
    assert users_of_scheme(9, 1 / 32, 2.0, 0.05, 0.05) == pytest.approx(found / 4, rel=1e-6)
    with pytest.raises(InvalidValue, match="above 0"):
        users_of_scheme(9, 0.0, 1.0, 0.05, 0.05)
