"""What the page of a running campaign says about its rounds, and what it warns of."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_server.campaigns.question import CampaignError
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.console.running_campaign import RunningCampaign, lasting
from sordino_shared.protocol import CampaignState, RoundState

DIGEST = "0" * 64
OPENED = 1_800_000_000


def _round(index: int, state: RoundState, reports: int, **rule: int) -> RoundStatus:
    return RoundStatus(
        index=index, state=state, reports=reports, sources=[], waiting_for=[], device_digest=DIGEST,
        analyst_digest=DIGEST, opened_at=OPENED,
        closed_at=None, purged_at=None, error=None, close_after_reports=rule.get("after"),
        close_after_s=rule.get("seconds"),
    )  # fmt: skip


def _running(*rounds: RoundStatus, wanted: int = 1000, **given: Any) -> RunningCampaign:
    predicted = CampaignError(users_now=1, rmse_now=0.1, users_wanted=wanted, rmse_wanted=0.01)
    status = CampaignStatus(
        id=DIGEST, name="delays", population="travellers", state=CampaignState.OPEN, archived_at=None,
        created_at=OPENED, opened_at=OPENED, closed_at=None, question=None, epsilon=1.0, predicted=predicted,
        protocol=None, planned_rounds=1, needs_token=False, public=False, rounds=list(rounds),
        sources_deadline_s=0, refusals=given.pop("refusals", {}),
    )  # fmt: skip
    shown: dict[str, Any] = {"last_report_at": OPENED + 5, "rate": 2.0, "first_share": None, "now": OPENED + 60}
    return RunningCampaign(campaign=status, **(shown | given))


def test_what_closes_a_round_when() -> None:
    both = _running(_round(0, RoundState.OPEN, 400, after=1000, seconds=3660)).closing
    assert both == [
        "Round 0 closes after 1,000 reports, 600 more, in about 5 minutes at this rate; or "
        "at 2027-01-15T09:01:00Z, in 1 hour."
    ]
    assert _running(_round(0, RoundState.OPEN, 400)).closing == ["Round 0 closes when an operator closes it."]
    assert _running(_round(0, RoundState.OPEN, 4, after=9), rate=None).closing == [
        "Round 0 closes after 9 reports, 5 more."
    ]
    assert _running(_round(0, RoundState.ESTIMATED, 4, after=9)).closing == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"last_report_at": OPENED, "now": OPENED + 3600}, "no report has come for 1 hour"),
        (
            {"refusals": {"round-not-open": 40, "report-id-conflict": 10}},
            "11 % of the reports were refused, most of them because the question took no answers then",
        ),
        ({"wanted": 10_000}, "at this rate round 0 closes with about 7,600 of the 10,000 reports wanted"),
    ],
)
def test_warnings(given: dict[str, Any], said: str) -> None:
    quiet = _round(0, RoundState.OPEN, 400, seconds=3660)
    assert _running(quiet).warnings == []
    assert said in _running(quiet, **given).warnings


def test_rounds_that_lost_devices_are_warned_of() -> None:
    rounds = [_round(0, RoundState.ESTIMATED, 1000), _round(1, RoundState.ESTIMATED, 900)]
    (warning,) = _running(*rounds, _round(2, RoundState.OPEN, 10)).warnings
    assert warning.startswith("round 1 has 100 reports fewer than round 0")
    # The open round is not over.
    assert _running(_round(0, RoundState.ESTIMATED, 1000), _round(1, RoundState.OPEN, 10)).warnings == []


def test_lengths_of_time() -> None:
    assert [lasting(each) for each in (0, 1, 59, 61, 7200, 90_000, 864_000)] == [
        "0 seconds", "1 second", "59 seconds", "1 minute", "2 hours", "1 day", "10 days",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "hourly", "told"),
    [
        ({"after": 1000}, 1.0, ("At this rate", "about 10 minutes", "on 15 Jan, 08:11 UTC")),
        ({"after": 1000, "seconds": 300}, 1.0, ("Closes in", "4 minutes", "on 15 Jan, 08:05 UTC")),
        ({"after": 1000}, 0.0, ("Closes", "with 1,000 devices", "no report came in the last hour")),
        ({}, 1.0, ("Closes", "when you close it", "")),
    ],
)
def test_the_time_left_is_by_the_rule_that_ends_first(
    rule: dict[str, int], hourly: float, told: tuple[str, ...]
) -> None:
    facts = _running(_round(0, RoundState.OPEN, 400, **rule), hourly=hourly).facts
    assert [(each.word, each.value, each.note) for each in facts][1] == told
    assert [each.word for each in facts] == ["Answered", told[0], "Refused"]
