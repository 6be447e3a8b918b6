"""Begin and read searches for strings with a wider beam.

The estimate stays as it is. A wider search reads the levels that chose candidates and never the one that certified
them, which was read once: so it tells paths and their odds, no shares, and certifies nothing.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_analysis.documents.string_queries import MAX_BEAM
from sordino_analysis.kinds.strings import StringExtras
from sordino_server.answers.on_demand import answering_round
from sordino_server.answers.stored import read_estimate, stored_last
from sordino_server.errors import ServerError, found
from sordino_server.kit.db import FOR_CHANGE
from sordino_server.models import Round, StringSearch
from sordino_server.string_searches import repository
from sordino_server.string_searches.schemas import SearchList, SearchSummary
from sordino_shared.protocol import Problem


def order(session: Session, campaign: str, beam: int, now: int) -> tuple[StringSearch, bool]:
    """The search with this beam, and whether it begins now: it does not where it is done, and where it is not finished.

    Raises ServerError: `not-found`, `estimate-not-ready`, `invalid-request` for another question or a beam that is not
    wider, and `illegal-transition` where the reports were purged or another search is not finished.
    """
    # One order after the other.
    row = session.get_one(Round, _round(session, campaign, now), with_for_update=FOR_CHANGE, populate_existing=True)
    own = _beam_of_estimate(session, campaign, now)
    if not own < beam <= MAX_BEAM:
        advice = f"give more, up to {MAX_BEAM:,}" if own < MAX_BEAM else "that is the widest, so no search is wider"
        raise ServerError(Problem.INVALID_REQUEST, f"/beam: the estimate has a beam of {own:,}: {advice}")
    known = repository.find(session, row.id, beam)
    if known is not None and known.error is None:
        return known, False
    if row.purged_at is not None:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION, "the reports of this round were purged, so that nothing can be found in them"
        )
    if (other := repository.find_unfinished(session, row.id)) is not None:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION, f"a search with a beam of {other.beam:,} is not finished: wait for it"
        )
    if known is None:
        known = StringSearch(round_id=row.id, beam=beam, created_at=now)
        session.add(known)
    known.error, known.progress, known.attempts = None, 0.0, 0
    session.flush()
    return known, True


def get(session: Session, campaign: str, beam: int, now: int) -> StringSearch:
    """The search with this beam; raises `not-found` where nobody began it."""
    return found(
        repository.find(session, _round(session, campaign, now), beam),
        f"there is no search with a beam of {beam:,}: begin it with POST /v1/campaigns/{campaign}/strings",
    )


def listed(session: Session, campaign: str, now: int) -> SearchList:
    """The searches of an estimated campaign of strings; raises as `order` does."""
    row = session.get_one(Round, _round(session, campaign, now))
    known = repository.of_round(session, row.id)
    return SearchList(
        beam=_beam_of_estimate(session, campaign, now),
        purged=row.purged_at is not None,
        searches=[SearchSummary.of(search, now, done=done) for search, done in known],
    )


def _round(session: Session, campaign: str, now: int) -> int:
    """The row number of the round that was estimated; raises as `order` does, for a series too."""
    return answering_round(session, campaign, now).number


def _beam_of_estimate(session: Session, campaign: str, now: int) -> int:
    extras = read_estimate(stored_last(session, campaign, now)).extras
    if not isinstance(extras, StringExtras):
        raise ServerError(Problem.INVALID_REQUEST, "the campaign collects no strings, so there is no beam to widen")
    return extras.beam
