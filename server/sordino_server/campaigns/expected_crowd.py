"""How far the answers of a campaign may be off with the reports that are expected, before it is opened."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.plans import service as plans


@dataclass(frozen=True)
class ExpectedCrowd:
    """What to say, and whether an interval reaches further than a tenth of an answer's scale to either side."""

    sentence: str
    too_few: bool


def expected_crowd(session: Session, campaign: CampaignStatus) -> ExpectedCrowd | None:
    """Of the users that its plan was asked for, or the reports after which it closes where these are fewer; else the
    reports to hope for.

    None for a pairwise statistic, and for a plan of before.
    """
    question = campaign.question
    summary = None if question is None else plans.kept_linear_summary(session, question.plan_request)
    if question is None or summary is None or summary.crowd is None:
        return None
    closes_after = None if campaign.predicted is None else campaign.predicted.users_wanted
    # A rule that more reports than there are users would meet makes no crowd of them.
    given = [each for each in (question.users, closes_after) if each is not None]
    expected = min(given, default=None)
    found = None if expected is None else summary.crowd_of(expected)
    if found is None:
        return ExpectedCrowd(summary.crowd.hint, too_few=False)
    return ExpectedCrowd(found.sentence, found.too_few)
