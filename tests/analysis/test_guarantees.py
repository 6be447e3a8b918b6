"""Every member of the union has a tag, a price that composes, and comes back from a ledger; other tags are refused."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from sordino_analysis.guarantees import (
    BasicComposition,
    ConcentratedComposition,
    Guarantee,
    GuaranteeKind,
    kind_of,
    restore,
)
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

MEMBERS = get_args(Guarantee) or (Guarantee,)
SAMPLES: dict[str, Guarantee] = {"pure_epsilon": PureEpsilon.of("0.3"), "zcdp": Zcdp.of("0.024356")}
OWN_ACCOUNT = {"pure_epsilon": BasicComposition(), "zcdp": ConcentratedComposition()}


def test_every_member_has_a_tag_and_a_sample() -> None:
    assert {member.kind for member in MEMBERS} == set(get_args(GuaranteeKind)) == SAMPLES.keys()


@pytest.mark.parametrize("kind", get_args(GuaranteeKind))
def test_a_ledger_gives_back_what_it_stored(kind: str) -> None:
    stored = SAMPLES[kind]
    assert kind_of(stored) == kind
    assert restore(kind, OWN_ACCOUNT[kind].price(stored)) == stored


def test_prices_of_pure_guarantees_add_up_to_that_of_their_composition() -> None:
    one, other, accountant = PureEpsilon.of("0.1"), PureEpsilon.of("1.7"), BasicComposition()
    assert accountant.price(one) + accountant.price(other) == accountant.price(one + other) == 1_800_000_000


def test_prices_in_an_account_of_rho_add_up_and_a_pure_guarantee_costs_epsilon_tanh_half() -> None:
    one, other, accountant = Zcdp.of("0.1"), Zcdp.of("0.02"), ConcentratedComposition()
    assert accountant.price(one) + accountant.price(other) == accountant.price(one + other) == 120_000_000
    for epsilon, price in (("0.5", 122_459_332), ("1", 462_117_158), ("2", 1_523_188_312), ("8", 7_994_634_398)):
        assert accountant.price(PureEpsilon.of(epsilon)) == price
        exact = float(epsilon) * math.tanh(float(epsilon) / 2)
        assert price - 1 < exact * 1e9 <= price + 1e-3
    assert accountant.price(PureEpsilon(1)) == 1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_price_is_the_least_rho_of_randomised_response(epsilon: float) -> None:
    """Every pure mechanism is a post-processing of it: its D_α/α is below the price at every α, and reaches it at 1."""
    price = ConcentratedComposition().price(PureEpsilon.of(epsilon)) / 1e9
    p = 1 / (1 + math.exp(-epsilon))
    ratios = []
    for order in (1 + 1e-6, 1.01, 1.5, 2.0, 8.0, 64.0):
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        ratios.append(math.log(moment) / (order - 1) / order)
    assert max(ratios) <= price + 1e-9
    assert ratios[0] == pytest.approx(price, rel=1e-5)
    assert price < epsilon**2 / 2


def test_the_largest_epsilon_of_a_cap_on_rho_costs_no_more_and_one_nano_more_does() -> None:
    """A cap of ρ = .1 admits one release of ε = .451."""
    cap, accountant = Zcdp.of("0.1"), ConcentratedComposition()
    found = Zcdp.pure_within(cap)
    assert found.epsilon == pytest.approx(0.4509, abs=2e-4)
    assert accountant.price(found) <= cap.nano_rho < accountant.price(PureEpsilon(found.nano + 3))


def test_an_account_of_pure_epsilon_holds_no_rho() -> None:
    with pytest.raises(InvalidValue, match="charge an account of ρ"):
        BasicComposition().price(Zcdp.of(0.1))


@pytest.mark.parametrize("kind", ["zero_concentrated", "approximate", "", "pure_Epsilon"])
def test_another_tag_is_refused(kind: str) -> None:
    with pytest.raises(InvalidValue, match="this version reads pure_epsilon"):
        restore(kind, 1)
