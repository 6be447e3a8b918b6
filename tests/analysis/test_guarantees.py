"""Every member of the union has a tag, a price that composes, and comes back from a ledger; other tags are refused."""

from __future__ import annotations

from typing import get_args

import pytest

from sordino_analysis.guarantees import BasicComposition, Guarantee, GuaranteeKind, kind_of, restore
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

MEMBERS = get_args(Guarantee) or (Guarantee,)
SAMPLES: dict[str, Guarantee] = {"pure_epsilon": PureEpsilon.of("0.3")}


def test_every_member_has_a_tag_and_a_sample() -> None:
    assert {member.kind for member in MEMBERS} == set(get_args(GuaranteeKind)) == SAMPLES.keys()


@pytest.mark.parametrize("kind", get_args(GuaranteeKind))
def test_a_ledger_gives_back_what_it_stored(kind: str) -> None:
    stored = SAMPLES[kind]
    assert kind_of(stored) == kind
    assert restore(kind, BasicComposition().price(stored)) == stored


def test_prices_of_pure_guarantees_add_up_to_that_of_their_composition() -> None:
    one, other, accountant = PureEpsilon.of("0.1"), PureEpsilon.of("1.7"), BasicComposition()
    assert accountant.price(one) + accountant.price(other) == accountant.price(one + other) == 1_800_000_000


@pytest.mark.parametrize("kind", ["zero_concentrated", "", "pure_Epsilon"])
def test_another_tag_is_refused(kind: str) -> None:
    with pytest.raises(InvalidValue, match="this version reads pure_epsilon"):
        restore(kind, 1)
