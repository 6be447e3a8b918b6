"""The Rényi curve of claims, against laws that are written out, and the table of accounts of the design."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest

from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol.routes import WHOLE_ATTO, PrivacyClaim
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.shuffling.claims import bound_of, least_claim
from sordino_shared.shuffling.composition import ORDERS, composed_epsilon, renyi_curve

PARTS = (0.25, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
Law = list[float]


def binary(local: float, blanket: int) -> tuple[Law, Law]:
    """Chances of 0 … blanket + 1 ones among uniform bits and one answer of a device that holds 1, or 0."""
    truth = 1 / (1 + math.exp(-local))
    bits = [math.comb(blanket, ones) / 2**blanket for ones in range(blanket + 1)]

    def with_answer(one: float) -> Law:
        return [one * above + (1 - one) * below for above, below in zip([0.0, *bits], [*bits, 0.0], strict=True)]

    return with_answer(truth), with_answer(1 - truth)


def delta_at(first: Law, second: Law, epsilon: float) -> float:
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(first, second, strict=True))


def claims_of(first: Law, second: Law, epsilons: list[float]) -> list[PrivacyClaim]:
    """What holds at these ε, rounded up: both orders of the pair are one another's mirror image."""
    return [
        PrivacyClaim(round(1e9 * each), max(10**6, math.ceil(WHOLE_ATTO * delta_at(first, second, round(each, 9)))))
        for each in epsilons
    ]


@pytest.mark.parametrize(("local", "blanket"), [(1.0, 3), (2.0, 8), (4.0, 12), (3.0, 16)])
def test_the_curve_is_never_below_that_of_the_law(local: float, blanket: int) -> None:
    """But for the least δ of a claim, 10⁻¹², which is an infinite loss and no part of the curve."""
    first, second = binary(local, blanket)
    epsilons = [local * part / 8 for part in range(1, 9)]
    curve = renyi_curve(claims_of(first, second, epsilons))
    for order, bound in zip(ORDERS, curve, strict=True):
        moment = math.fsum(p * math.exp((order - 1) * math.log(p / q)) for p, q in zip(first, second, strict=True))
        exact = math.log(moment) / (order - 1)
        assert exact <= bound * (1 + 1e-6)
        # Eight points of it tell most: without the blanket the divergence is nearly the local ε.
        if order <= 8:
            assert bound <= max(3 * exact, exact + 0.4 * local)
    assert all(below <= above for below, above in pairwise(curve))


@pytest.mark.parametrize("answers", [1, 2, 4])
def test_what_is_composed_holds_for_every_sequence_of_outcomes(answers: int) -> None:
    first, second = binary(3.0, 6)
    claims = claims_of(first, second, [0.25 * part for part in range(1, 13)])
    for delta in (1e-2, 1e-4):
        epsilon = composed_epsilon(claims, answers, delta)
        assert epsilon is not None
        outcomes = list(product(range(len(first)), repeat=answers))
        many = [[math.prod(law[one] for one in each) for each in outcomes] for law in (first, second)]
        assert delta_at(many[0], many[1], epsilon) <= delta
    # It can fail: half of that ε is too little for several answers.
    assert answers == 1 or delta_at(many[0], many[1], epsilon / 3) > delta


@pytest.mark.parametrize(
    ("local", "blanket", "one", "exact"), [(4, 1706, 0.425, 2.88), (2, 44, 0.885, 7.03), (6, 4064, 0.339, 2.26)]
)
def test_thirty_rounds_cost_what_the_design_says(local: int, blanket: int, one: float, exact: float) -> None:
    """Randomized response on 16 types at δ = 10⁻⁶, from 12 claims: at most 1.2 times the curve of the whole law, which
    it is never below, where the ε of 30 rounds add up to 4 times as much and more.
    """
    randomizer = RandomizedResponse.for_guarantee(16, PureEpsilon.of(local))
    epsilons = [min(one * part, local - 1e-3) for part in PARTS if one * part < local]
    claims = [
        PrivacyClaim(nano := round(1e9 * each), least_claim(bound_of(randomizer, blanket, nano))) for each in epsilons
    ]
    found = composed_epsilon(claims, 30, 1e-6)
    assert found is not None
    assert exact <= found <= 1.2 * exact
    assert found < 30 * one / 3


def test_a_delta_that_the_last_claim_uses_up_proves_nothing() -> None:
    claims = [PrivacyClaim(10**9, 10**12), PrivacyClaim(2 * 10**9, 10**11)]
    assert composed_epsilon(claims, 10, 1e-6) is None
    assert composed_epsilon(claims, 9, 1e-6) is not None
