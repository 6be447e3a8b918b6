"""Sums of a source are taken once, while nothing came of the round, and only where reports can have made them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_server import aggregates, archives, rounds
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.kit.db import Database
from sordino_server.models import Key, Round, SourceSums
from sordino_server.plans import service as plans
from sordino_server.sources import repository
from sordino_server.sources.schemas import RoundSources, SourceStatus
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem
from sordino_shared.quantities import quantity


@dataclass(frozen=True)
class CheckedSums:
    """Sums that reports of the round can have made; `most_reports` is how many a round can count in all."""

    document: AggregateDocument
    source: str
    most_reports: int


def check(database: Database, key: Key, campaign: str, index: int, document: AggregateDocument) -> CheckedSums:
    """The sums as ones that may be taken; of a long table this takes seconds, and is done outside of a transaction.

    Raises InvalidValue or ServerError, which say what is wrong with them.
    """
    source = _named(document, campaign, index)
    keys.check_sender(key, campaign, source)
    with database.read("read plan of sums") as session:
        row = rounds.find(session, campaign, index)
        if row is None:
            raise rounds.RoundNotFound(campaign, index)
        if str(document.device_digest) != row.device_digest:
            raise ServerError(
                Problem.PLAN_MISMATCH,
                f"the sums are of reports made with the plan {document.device_digest}, round {index} has "
                f"{row.device_digest}",
            )
        if row.arms:
            raise InvalidValue("sums from elsewhere are of campaigns without arms; this one has arms", row.arms)
        half = for_randomizer(plans.device_part(session, row.device_digest).randomizer)
    half.check(document.aggregate.sums, document.count)
    return CheckedSums(document, source, half.most_reports)


def take(
    database: Database, session: Session, campaign: str, index: int, sums: CheckedSums, now: int
) -> tuple[SourceStatus, bool]:
    """What counts from the source now, and whether that changed: the same document twice changes nothing.

    Raises `illegal-transition` where something came of the round or its source may replace nothing any more,
    `already-exists` unless the document's number is higher than that of the source's last one, `not-found` for an
    unknown source, and InvalidValue for too many reports.
    """
    document, source = sums.document, sums.source
    known = repository.find(session, campaign, source)
    if known is None:
        raise ServerError(
            Problem.NOT_FOUND,
            f"the campaign has no source {source}: an admin adds one with `sordino keys create --role aggregator`",
        )
    found = rounds.find(session, campaign, index)
    last = None if found is None else repository.sums(session, found.id, source)
    if last is not None and last.digest == str(document.digest):
        return SourceStatus.of(last, document.count), False
    row = rounds.take_sums(database, session, campaign, index, source, now)
    last = repository.sums(session, row.id, source)
    if last is not None and document.number <= last.number:
        raise ServerError(
            Problem.ALREADY_EXISTS,
            f"source {source} has sent other sums of round {index} as number {last.number}: number "
            f"{document.number} is not higher",
            number=last.number,
        )
    if document.count > known.max_reports:
        raise InvalidValue(
            f"source {source} may have {known.max_reports} reports in a round, these sums are of {document.count}; "
            "an admin raises the limit with another key of the source",
            document.count,
        )
    if document.manifest is not None and archives.holds(session, row.id, str(document.manifest)):
        raise ServerError(
            Problem.ALREADY_EXISTS,
            f"the sums are of an archive of this server's own reports of round {index}, which count already",
        )
    _check_total(session, row, sums)
    return _put(session, row, sums, last, now), True


def _put(session: Session, row: Round, sums: CheckedSums, last: SourceSums | None, now: int) -> SourceStatus:
    document = sums.document
    if last is None:
        last = SourceSums(round_id=row.id, source=sums.source)
        session.add(last)
    last.number, last.digest, last.received_at = document.number, str(document.digest), now
    last.manifest = None if document.manifest is None else str(document.manifest)
    aggregates.put_source(session, row.id, sums.source, document.count, document.sums)
    return SourceStatus.of(last, document.count)


def _named(document: AggregateDocument, campaign: str, index: int) -> str:
    """The source of a document that is whole and of this round."""
    if str(document.campaign) != campaign or document.round != index:
        raise InvalidValue(
            f"the sums are of round {document.round} of campaign {document.campaign}, not of round {index} of "
            f"{campaign}",
            document.round,
        )
    if document.arm or document.blanket:
        raise InvalidValue(
            f"the sums are of arm {document.arm} with {document.blanket} reports of a blanket; the campaign has no "
            "arms and no shuffler",
            document.arm,
        )
    if document.source is None:
        raise InvalidValue("the sums name no source: write them again with --source", None)
    if document.missing:
        raise InvalidValue(
            f"the sums lack {document.missing} of {quantity(document.parts_in_all, 'part')}: add them with "
            "`sordino aggregates add` first",
            document.missing,
        )
    return document.source


def _check_total(session: Session, row: Round, sums: CheckedSums) -> None:
    """Raise InvalidValue where all sums of the round together would not fit their 64 bits."""
    others = aggregates.counts_by_round(session, [row.id])[row.id]
    others -= aggregates.source_counts(session, row.id).get(sums.source, 0)
    if others + sums.document.count > sums.most_reports:
        raise InvalidValue(
            f"sums of {others + sums.document.count} reports do not fit 64 bits: a round of this plan has at most "
            f"{sums.most_reports}",
            sums.document.count,
        )


def check_complete(session: Session, manifest: Manifest) -> None:
    """Raise `illegal-transition` where a collector of the manifest has no key: its reports would never be counted."""
    known = repository.names_with_keys(session, str(manifest.campaign))
    lacking = [server.name for server in manifest.servers[1:] if server.name not in known]
    if lacking:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"{', '.join(lacking)} cannot collect yet: make each a key with `sordino keys create --role aggregator "
            f"--campaign {manifest.campaign} --source NAME --max-reports N`",
            sources=lacking,
        )


def of_rounds(
    session: Session, numbers: Collection[int], counts: Mapping[int, Mapping[str, int]], now: int
) -> dict[int, RoundSources]:
    """What came from elsewhere for each of the rounds, with their reports by source, and whose sums it waits for."""
    found = {number: RoundSources([], []) for number in numbers}
    for source in rounds.sources_of(session, numbers, now):
        shown = found[source.round_id]
        if source.sums is not None:
            shown.came.append(SourceStatus.of(source.sums, counts[source.round_id][source.name]))
        elif source.awaited:
            shown.waiting_for.append(source.name)
    return found
