"""What follows from a closed round, and wider searches: reports are searched in a process with limits."""

from __future__ import annotations

from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.progress import ProgressCallback
from sordino_server.answers import next_step
from sordino_server.config import Settings
from sordino_server.jobs.search_process import SearchProcess
from sordino_server.kit.db import Database
from sordino_server.rounds.round_lifecycle import Outcome
from sordino_server.shuffled.round_keys import RoundKeys


def paths_of(database: Database, search: SearchProcess | None, number: int, watch: ProgressCallback) -> bytes:
    """The JSON of the paths of a wider search; raises as `outcome_of` does."""
    from sordino_server.string_searches import searching

    if search is None:
        return searching.paths(database, number, watch)
    content, reason = search.run(watch, searching.paths_at, database.url.render_as_string(hide_password=False), number)
    if content is None:
        raise EstimationError(reason)
    return content


def outcome_of(
    database: Database, settings: Settings, search: SearchProcess | None, number: int, now: int, watch: ProgressCallback
) -> Outcome:
    """The estimate after the round with row number `number`, or the plan of the next one.

    `watch` is called several times a second while a process searches; an error from it ends the process. Raises
    EstimationError and others as `next_step.compute` does, SearchEnded and SearchKilled.
    """
    keys = None if settings.round_keys is None else RoundKeys(settings.round_keys)
    if search is None or not next_step.reads_reports(database, number):
        return next_step.compute(database, number, settings.processes_that_add_up, keys=keys, now=now, progress=watch)
    url = database.url.render_as_string(hide_password=False)
    found = search.run(watch, next_step.compute_at, url, number, keys, now)
    if isinstance(found, next_step.NoOutcome):
        raise EstimationError(found.reason)
    return found
