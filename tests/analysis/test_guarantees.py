"""Every member of the union has a tag, a price that composes, and comes back from a ledger; other tags are refused."""

from __future__ import annotations

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


def test_prices_in_an_account_of_rho_add_up_and_a_pure_guarantee_costs_half_its_square() -> None:
    one, other, accountant = Zcdp.of("0.1"), Zcdp.of("0.02"), ConcentratedComposition()
    assert accountant.price(one) + accountant.price(other) == accountant.price(one + other) == 120_000_000
    assert accountant.price(PureEpsilon.of("0.5")) == 125_000_000
    assert accountant.price(PureEpsilon(1)) == 1


def test_an_account_of_pure_epsilon_holds_no_rho() -> None:
    with pytest.raises(InvalidValue, match="charge an account of ρ"):
        BasicComposition().price(Zcdp.of(0.1))


@pytest.mark.parametrize("kind", ["zero_concentrated", "approximate", "", "pure_Epsilon"])
def test_another_tag_is_refused(kind: str) -> None:
    with pytest.raises(InvalidValue, match="this version reads pure_epsilon"):
        restore(kind, 1)
