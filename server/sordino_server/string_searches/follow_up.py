"""The closed question about the strings that an estimate lists, and how much surer its shares are."""

from __future__ import annotations

import math
from typing import Any, Self

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from sordino_analysis.documents.string_queries import StringsDecoder
from sordino_analysis.kinds.strings_follow_up import FollowUp, follow_up
from sordino_server.answers.on_demand import answering_round
from sordino_server.answers.stored import read_estimate, stored_last
from sordino_server.campaigns import service as campaigns
from sordino_server.plans import service as plans
from sordino_shared.domains import Text
from sordino_shared.protocol import Manifest


class LeftOutString(BaseModel):
    """A string of the list that cannot be a category."""

    label: str
    reason: str


class FollowUpDocument(BaseModel):
    """A workload that asks other devices for the strings that were found, and for nothing else."""

    workload: dict[str, Any] = Field(
        description="A histogram: its categories are public from the plan on, and every device reads them."
    )
    yaml: str = Field(description="The same as a file.")
    left_out: list[LeftOutString] = Field(description="Strings of the list that cannot be categories.")
    smaller: float = Field(
        description="With as many devices at the same ε errors of small shares are so many times smaller, at least."
    )

    @classmethod
    def of(cls, found: FollowUp, held_out: float) -> Self:
        """Every report counts, in place of those of the level that certifies: V/n in place of V/(p_W n)."""
        return cls(
            workload=found.workload,
            yaml=found.yaml(),
            left_out=[LeftOutString(label=each.label, reason=each.reason) for each in found.left_out],
            smaller=math.sqrt(1 / held_out),
        )


def document_of(session: Session, campaign: str, now: int) -> FollowUpDocument:
    """Raises ServerError as searches do, and InvalidValue for another question or a list without a category."""
    closed = answering_round(session, campaign, now)
    domain = Manifest.read(campaigns.get(session, campaign).manifest).domain
    found = follow_up(read_estimate(stored_last(session, campaign, now)), _attribute(domain.attributes))
    decoder = plans.analyst_part(session, closed.analyst_digest).decoder
    assert isinstance(decoder, StringsDecoder), "as of every estimate of strings"
    return FollowUpDocument.of(found, decoder.held_out)


def _attribute(attributes: tuple[object, ...]) -> str:
    return next((each.name for each in attributes if isinstance(each, Text)), "")
