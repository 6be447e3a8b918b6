"""Send one report that waits, and say what became of it."""

from __future__ import annotations

from sordino_client._clock import Clock, seconds
from sordino_client._delivery import Counted, Refused, RetryLater, read_upload, upload
from sordino_client._errors import TransportFailed
from sordino_client._flow import Flow
from sordino_client._spool import SpooledReport
from sordino_shared.errors import OversizedDocument


def send(report: SpooledReport, token: str | None, clock: Clock) -> Flow[Counted | Refused | RetryLater]:
    """Upload a report under the campaign's token, if it has one; trouble is an outcome, and raises nothing."""
    try:
        response = yield upload(report.campaign, report.round, report.body, token)
    except TransportFailed as error:
        return RetryLater(str(error), None, everything=True)
    except OversizedDocument as error:
        return RetryLater(str(error), None, everything=False)
    assert response is not None
    now = seconds(clock)
    outcome = read_upload(response, 1, now)
    if isinstance(outcome, RetryLater) and outcome.given_up(report.answered_at, now):
        return Refused(outcome.reason)
    if isinstance(outcome, Counted) and outcome.outcomes.refused:
        return Refused(outcome.outcomes.refused[0].reason.value)
    return outcome
