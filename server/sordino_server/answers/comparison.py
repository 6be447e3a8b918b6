"""Two closed campaigns that are compared: which rounds answer, or why none does.

`comparison_computing` computes the differences, in the process that answers questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import anyio.to_thread
from sqlalchemy.orm import Session

from sordino_server.answers.on_demand import AnsweringRound, answering_round
from sordino_server.campaigns import service as campaigns
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem

# Digits of an id that tell campaigns of one name apart.
_ID_DIGITS = 12


@dataclass(frozen=True)
class ComparedRound:
    """A closed round that is compared, and the name of its campaign."""

    name: str
    closed: AnsweringRound


@dataclass(frozen=True, kw_only=True)
class ComparisonTerms:
    """What is asked about two campaigns: `queries` by their labels, or all that both answer."""

    level: float
    queries: tuple[str, ...]
    population: bool


def compared_round(session: Session, given: str, now: int) -> ComparedRound:
    """The round of `CAMPAIGN` or `CAMPAIGN:ARM`; raises ServerError, which names the campaign."""
    campaign, colon, arm = given.partition(":")
    try:
        row = campaigns.get(session, campaign)
        if colon:
            raise ServerError(Problem.INVALID_REQUEST, _why_no_arm(row.manifest, campaign, arm))
        closed = answering_round(session, campaign, now)
    except ServerError as error:
        raise ServerError(error.problem, f"campaign {campaign}: {error.detail}", **error.extra) from error
    return ComparedRound(row.name, closed)


def _why_no_arm(manifest: bytes, campaign: str, arm: str) -> str:
    if arm not in {each.name for each in Manifest.read(manifest).arms}:
        return f"it has no arm {arm!r}: name the campaign alone"
    return f"its arms are compared with each other alone, see /v1/campaigns/{campaign}/experiment: name the campaign"


def names_of(left: ComparedRound, right: ComparedRound) -> tuple[str, str]:
    """The names of both campaigns, with the first digits of their ids where these are the same."""
    if left.name != right.name:
        return left.name, right.name
    first, second = (f"{each.name} {each.closed.campaign[:_ID_DIGITS]}" for each in (left, right))
    return first, second


async def comparison_document(context: Context, left: str, right: str, terms: ComparisonTerms) -> bytes:
    """The document of the answers of the right campaign less those of the left one.

    Raises as `compared_round` does, and InvalidValue where the campaigns cannot be compared.
    """
    rounds = await anyio.to_thread.run_sync(_compared_rounds, context, left, right)
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compare, url, *rounds, terms)


def _compare(url: str, left: ComparedRound, right: ComparedRound, terms: ComparisonTerms) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.answers.comparison_computing import compute_comparison

    return compute_comparison(url, left, right, terms)


def _compared_rounds(context: Context, left: str, right: str) -> tuple[ComparedRound, ComparedRound]:
    if left == right:
        raise InvalidValue(f"/query/right: {right} is the left campaign too: compare two campaigns", right)
    now = context.clock.now()
    with context.database.read("read compared rounds") as session:
        return compared_round(session, left, now), compared_round(session, right, now)
