"""States: the tables are complete, final states are final, nothing else passes."""

from __future__ import annotations

from enum import StrEnum
from itertools import product

import pytest

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import (
    CAMPAIGN_TRANSITIONS,
    ROUND_TRANSITIONS,
    CampaignState,
    IllegalTransition,
    RoundState,
    check_campaign_transition,
    check_round_transition,
)


def test_every_state_has_a_row_and_is_reached() -> None:
    for states, table, first in (
        (CampaignState, CAMPAIGN_TRANSITIONS, CampaignState.READY),
        (RoundState, ROUND_TRANSITIONS, RoundState.PENDING),
    ):
        assert set(table) == set(states)
        reached, grown = {first}, True
        while grown:
            more = reached | {wanted for state in reached for wanted in table[state]}
            grown, reached = more != reached, more
        assert reached == set(states)


def test_final_states_are_final_and_no_state_repeats() -> None:
    for table, final in (
        (CAMPAIGN_TRANSITIONS, {CampaignState.CLOSED, CampaignState.CANCELLED}),
        (ROUND_TRANSITIONS, {RoundState.ESTIMATED, RoundState.CANCELLED}),
    ):
        assert {state for state, wanted in table.items() if not wanted} == final
        assert not any(state in wanted for state, wanted in table.items())


@pytest.mark.parametrize(
    ("states", "table", "check"),
    [
        (CampaignState, CAMPAIGN_TRANSITIONS, check_campaign_transition),
        (RoundState, ROUND_TRANSITIONS, check_round_transition),
    ],
)
def test_only_listed_transitions_pass(states: type[StrEnum], table: dict, check: object) -> None:
    assert callable(check)
    for current, wanted in product(states, states):
        if wanted in table[current]:
            check(current, wanted)
        else:
            with pytest.raises(IllegalTransition) as raised:
                check(current, wanted)
            assert isinstance(raised.value, SordinoError)
            assert (raised.value.current, raised.value.wanted) == (current, wanted)
