"""What a closed campaign tells in sentences, and filling it in for estimates of versions that stored none."""

from __future__ import annotations

import json
from typing import Self

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from sordino_analysis.answers.findings import Findings
from sordino_analysis.answers.headline import Headline
from sordino_analysis.experiments.findings import finding_of
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.kinds.registry import kind_named
from sordino_server.answers import repository
from sordino_server.answers.stored import check_not_cancelled, read_estimate, stored_last
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_shared.protocol import Problem


class FindingDocument(BaseModel):
    """What an estimate tells, in the sentences that command line, console and Python print above its table."""

    campaign_id: str
    sentences: list[str] = Field(description="All of them, in the order in which they are printed; may be empty.")
    headline: str | None = Field(description="The first sentence; null where the answers lead to none.")
    others: list[str] = Field(description="What else is found.")
    untold: list[str] = Field(description="What the answers cannot tell.")
    more: int | None = Field(
        description="About how many further users would make every band ± 3 % or narrower; null where they are."
    )
    too_few: bool = Field(description="Whether no band is narrower than 20 points.")

    @classmethod
    def of(cls, campaign: str, found: Findings | None) -> Self:
        """What is found in the answers of a campaign."""
        return cls(
            campaign_id=campaign,
            sentences=[] if found is None else list(found.lines),
            headline=None if found is None else found.headline,
            others=[] if found is None else list(found.others),
            untold=[] if found is None else list(found.untold),
            more=None if found is None else found.more,
            too_few=found is not None and found.too_few,
        )


def finding_document(session: Session, campaign: str, now: int) -> FindingDocument:
    """Of an experiment the sentence of its last look, of others that of the estimate; raises as `stored_last` does."""
    told = _last_look(session, campaign)
    if told is not None:
        check_not_cancelled(session, campaign)
        return FindingDocument.of(campaign, Findings(headline=told))
    estimate = read_estimate(stored_last(session, campaign, now))
    return FindingDocument.of(campaign, kind_named(estimate.kind).finding(estimate))


def fill_headlines(database: Database) -> int:
    """Give its headline to each campaign whose estimate or look a version before stored; how many got one.

    An estimate that cannot be read stays without, and is told where it is opened.
    """
    with database.read("find campaigns without headlines") as session:
        waiting = repository.without_headline(session)
    return sum(_fill(database, campaign) for campaign in waiting)


def _fill(database: Database, campaign: str) -> bool:
    with database.read("read what a headline tells") as session:
        made = _headline(session, campaign)
    if made is None:
        return False
    return database.run("fill headline", lambda session: repository.fill_headline(session, campaign, made.content()))


def _headline(session: Session, campaign: str) -> Headline | None:
    told = _last_look(session, campaign)
    if told is not None:
        return Headline(sentences=(told,))
    content = repository.find_last(session, campaign)
    if content is None:
        return None
    try:
        estimate = read_estimate(content)
    except ServerError as error:
        if error.problem is not Problem.INTERNAL_ERROR:
            raise
        return None
    return kind_named(estimate.kind).headline(estimate)


def _last_look(session: Session, campaign: str) -> str | None:
    found = repository.rule_and_looks(session, campaign)
    if found is None or not found[1]:
        return None
    rule, looks = found
    return finding_of([json.loads(each) for each in looks[-1:]], Looks(rule.looks), rule.days)
