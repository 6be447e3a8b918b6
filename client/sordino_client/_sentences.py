"""What the SDK's log says, in sentences: campaigns, rounds and outcomes, never a value or a report."""

from __future__ import annotations

from sordino_client._delivery import Counted, Refused, RetryLater
from sordino_client._session import AnswerStatus
from sordino_shared.protocol import CampaignId

_ANSWERED = {
    AnswerStatus.RECORDED: "{of} is answered; the report is recorded and waits to be sent.",
    AnswerStatus.ALREADY_ANSWERED: "{of} was answered before; nothing was spent.",
    AnswerStatus.NOT_OPEN: "{of} takes no reports now; nothing was spent.",
    AnswerStatus.NOT_ASSIGNED: "{of} is not the one that this device drew; nothing was spent.",
    AnswerStatus.OPTED_OUT: "{of} is not answered: the owner left.",
    AnswerStatus.DRY_RUN: "{of} could be answered; this is a dry run, and nothing was spent.",
    AnswerStatus.NOT_THIS_PERIOD: "{of} is not the one that this device is asked about now; nothing was spent.",
    AnswerStatus.CLOCK_DIFFERS: "{of} is not answered: the server's time is another; nothing was spent.",
}


def answered(campaign: CampaignId, part: str, status: AnswerStatus) -> str:
    """What became of an answer to `part` of a campaign, such as "round 0"."""
    return _ANSWERED[status].format(of=f"{part.capitalize()} of campaign {campaign}")


def offline(campaign: CampaignId) -> str:
    """That an answer goes by what is kept."""
    return f"There is no connection: campaign {campaign} is answered by the task that was read last."


def sent(campaign: CampaignId, number: int, outcome: Counted | Refused | RetryLater) -> str:
    """What became of an upload of the report about round or period `number`."""
    report = f"report {number} of campaign {campaign}"
    if isinstance(outcome, Counted):
        return f"The server counted {report}."
    if isinstance(outcome, Refused):
        return f"The server will never count {report}: {outcome.reason}. Its debit stays."
    return f"The server did not take {report}: {outcome.reason}. It is sent again later."
