"""Two closed campaigns, arms of them, or windows of series, that are compared: which rounds answer, or why none does.

`comparison_computing` computes the differences, in the process that answers questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import anyio.to_thread
from sqlalchemy.orm import Session

from sordino_analysis.request_terms import MOST_LEVEL
from sordino_server.answers.compared_window import MARK, ComparedWindow, check_apart, compared_window
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
    """A closed round that is compared, or its arm of this number, and the name of its campaign.

    `arms` are the names of all arms of the campaign.
    """

    name: str
    closed: AnsweringRound
    arm: int | None = None
    arms: tuple[str, ...] = ()

    @property
    def campaign(self) -> str:
        """The id of the campaign."""
        return self.closed.campaign

    @property
    def is_arm(self) -> bool:
        """Whether an arm is compared, and not the whole round."""
        return self.arm is not None

    @property
    def arm_name(self) -> str | None:
        """The name of the arm; None where the whole round is compared."""
        return None if self.arm is None else self.arms[self.arm]

    @property
    def shown_name(self) -> str:
        """The name of the campaign, with that of the arm."""
        return self.name if self.arm is None else f"{self.name} {self.arm_name}"


Compared = ComparedRound | ComparedWindow


@dataclass(frozen=True, kw_only=True)
class ComparisonTerms:
    """What is asked about two campaigns: `queries` by their labels, or all that both answer; or `quantiles`.

    Or all steps of the `distribution` of an ordered attribute. Raises InvalidValue where several of these are asked,
    and for a level that no band has.
    """

    level: float
    queries: tuple[str, ...]
    population: bool
    quantiles: tuple[float, ...] = ()
    distribution: str | None = None

    def __post_init__(self) -> None:
        if self.level > MOST_LEVEL:
            raise InvalidValue(f"/query/level: it is at most 1 − 10⁻⁹, not 1 − {1 - self.level:.0e}", self.level)
        others = {"query": self.queries, "distribution": self.distribution}
        named = [f"`{name}`" for name, given in others.items() if given]
        if self.quantiles and named:
            raise InvalidValue(
                f"/query/quantile: shifts of quantiles are asked alone: leave {' and '.join(named)} out", self.quantiles
            )
        if self.queries and self.distribution is not None:
            raise InvalidValue("/query/distribution: all its steps are compared: leave `query` out", self.distribution)


def compared(session: Session, given: str, now: int) -> Compared:
    """The round of `CAMPAIGN` or `CAMPAIGN:ARM`, or a window of a series; raises ServerError with the campaign."""
    find = compared_window if MARK in given else compared_round
    try:
        return find(session, given, now)
    except ServerError as error:
        campaign = given.partition(MARK)[0].partition(":")[0]
        raise ServerError(error.problem, f"campaign {campaign}: {error.detail}", **error.extra) from error


def compared_round(session: Session, given: str, now: int) -> ComparedRound:
    """The round of `CAMPAIGN` or `CAMPAIGN:ARM`; raises ServerError."""
    campaign, colon, arm = given.partition(":")
    row = campaigns.get(session, campaign)
    names = tuple(each.name for each in Manifest.read(row.manifest).arms)
    if colon and arm not in names:
        raise ServerError(Problem.INVALID_REQUEST, _why_no_arm(names, arm))
    closed = answering_round(session, campaign, now)
    return ComparedRound(row.name, closed, names.index(arm) if colon else None, names)


def _why_no_arm(names: tuple[str, ...], arm: str) -> str:
    return f"it has no arm {arm!r}: " + (f"its arms are {', '.join(names)}" if names else "name the campaign alone")


def names_of(left: Compared, right: Compared) -> tuple[str, str]:
    """The names of both: of arms of one campaign those of the arms, else of campaigns, which ids tell apart."""
    arms = two_arms(left, right)
    if arms is not None:
        return str(arms[0].arm_name), str(arms[1].arm_name)
    first, second = left.shown_name, right.shown_name
    if first == second:
        first, second = (f"{first} {each.campaign[:_ID_DIGITS]}" for each in (left, right))
    return first, second


def two_arms(left: Compared, right: Compared) -> tuple[ComparedRound, ComparedRound] | None:
    """The two sides where they are arms of one round, else None."""
    if not isinstance(left, ComparedRound) or not isinstance(right, ComparedRound):
        return None
    return (left, right) if left.closed == right.closed else None


async def comparison_document(context: Context, left: str, right: str, terms: ComparisonTerms) -> bytes:
    """The document of the answers of the right campaign less those of the left one.

    Raises as `compared` does, and InvalidValue where the campaigns cannot be compared.
    """
    rounds = await anyio.to_thread.run_sync(_compared_rounds, context, left, right)
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compare, url, *rounds, terms)


def _compare(url: str, left: Compared, right: Compared, terms: ComparisonTerms) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.answers.comparison_computing import compute_comparison

    return compute_comparison(url, left, right, terms)


def _compared_rounds(context: Context, left: str, right: str) -> tuple[Compared, Compared]:
    if left == right:
        raise InvalidValue(f"/query/right: {right} is the left campaign too: compare two campaigns, or two arms", right)
    now = context.clock.now()
    with context.database.read("read compared rounds") as session:
        found = compared(session, left, now), compared(session, right, now)
    arms = two_arms(*found)
    if arms is not None and None in (arms[0].arm, arms[1].arm):
        raise InvalidValue("/query/right: an arm is a part of its campaign: compare two arms, or two campaigns", right)
    if isinstance(found[0], ComparedWindow) and isinstance(found[1], ComparedWindow):
        check_apart(found[0], found[1])
    return found
