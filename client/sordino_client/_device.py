"""What join, answer and flush do, step by step, for the sync and the async client alike: each is a flow."""

from __future__ import annotations

import logging
import os
from datetime import datetime

from sordino_client._account import Account, account
from sordino_client._clock import Clock, seconds
from sordino_client._config import Config
from sordino_client._delivery import Counted, Refused, delay_s
from sordino_client._errors import (
    NotJoined,
    OptedOut,
    PlanRefused,
    PlanUnavailable,
    ServedElsewhere,
    WrongArgument,
)
from sordino_client._fetching import fetch, fetch_plan, warn_offline
from sordino_client._finding import Accept, Finding, FoundCampaigns
from sordino_client._flow import Flow, Pause
from sordino_client._found_rows import FoundRows
from sordino_client._kept import Kept, Prefetched
from sordino_client._ledger import Ledger
from sordino_client._log_marks import of_ledger
from sordino_client._preview import Preview, codes_to_show
from sordino_client._public_log import PublicLog
from sordino_client._results import Answer, Campaign, Flushed, RefusedUpload, campaign_of
from sordino_client._sending import send
from sordino_client._sentences import answered, offline, sent
from sordino_client._series import Series
from sordino_client._session import AnswerStatus, Session, VerifiedPart, check_joinable, pin_manifest, verify_part
from sordino_client._shuffled import check_headline
from sordino_client._spool import AnswerTerms, Spool
from sordino_client._storage import MEMORY, Storage
from sordino_client._tokens import Tokens
from sordino_client._transport import check_address
from sordino_shared.protocol import CampaignId, Digest, Manifest, Period, Task
from sordino_shared.randomness import Randomness

_LOG = logging.getLogger("sordino_client")


class Device:
    """One ledger, its spool, and the flows over them."""

    def __init__(
        self, ledger: str | os.PathLike[str], origin: str, config: Config, randomness: Randomness, clock: Clock
    ) -> None:
        if config.background and os.fspath(ledger) == MEMORY:
            raise WrongArgument(
                "background=True needs a ledger in a file: its thread would open an empty one in memory"
            )
        self.config = config
        self.origin = origin
        self.randomness = randomness
        self.clock = clock
        self._storage = Storage(ledger)
        self._parts: dict[Digest, VerifiedPart] = {}
        self._checked = set[tuple[CampaignId, int, Digest]]()
        try:
            self._read_ledger()
        except BaseException:
            # A ledger that is refused is not kept locked until the garbage collector finds it.
            self._storage.close()
            raise

    def _read_ledger(self) -> None:
        config, randomness, clock = self.config, self.randomness, self.clock
        self._spool = Spool(self._storage, self.origin, config.spool_limit, clock)
        self._kept = Kept(self._storage, clock)
        self._ledger = Ledger(self._storage, self._spool, self._kept, self.origin, config, clock)
        self._series = Series(self._storage, self._ledger, config, randomness, clock)
        rows = FoundRows(self._storage, self._ledger, self.origin, config, clock)
        self._log = PublicLog(of_ledger(self._storage.read), of_ledger(self._storage.write), config, clock)
        self._tokens = Tokens(self._storage, config, randomness, clock)
        self._finding = Finding(rows, self._log, config, randomness, clock)

    def close(self) -> None:
        """Close the ledger's file."""
        self._storage.close()

    def join(self, campaign: CampaignId) -> Flow[Campaign]:
        """Pin the manifest, from the ledger if it is there; fetch what an answer without a connection needs."""
        if self._ledger.left_all():
            raise OptedOut
        try:
            session = self._ledger.session(campaign)
        except (NotJoined, ServedElsewhere) as error:
            if isinstance(error, ServedElsewhere) and error.origin is not None:
                raise
            manifest = yield from self._fetch_manifest(campaign)
            check_joinable(manifest)
            yield from self._finding.check_named(manifest)
            yield from self._log.check_manifest(manifest)
            session, task = yield from self._pin(manifest)
            yield from self._tokens.ahead(session, task)
            _LOG.info("Joined campaign %s.", campaign)
        return self._describe(session)

    def find(self, population: str, accept: Accept, allow_repeats: bool) -> Flow[FoundCampaigns]:
        """Join campaigns of the population's list, then fetch what answers without a connection need."""
        if self._ledger.left_all():
            raise OptedOut
        found = yield from self._finding.find(population, accept, allow_repeats)
        for campaign in found.joined:
            fetched = yield from self._fetch_ahead(self._ledger.session(campaign).manifest)
            try:
                if fetched is not None:
                    self._ledger.keep(fetched)
                    yield from self._tokens.ahead(self._ledger.session(campaign), fetched.task)
            except PlanRefused as error:
                warn_offline(campaign, error)
        return found

    def rehome(self, campaign: CampaignId, address: str) -> Flow[Campaign]:
        """Move a joined campaign to this client's server, once that has shown the same manifest.

        One whose manifest names its servers moves to another address of the same server only.
        """
        if self._ledger.left_all():
            raise OptedOut
        if check_address(address, allow_http=True) != self.origin:
            raise WrongArgument(f"this client talks to {self.origin}; rehome with a client of {address!r}", address)
        self._ledger.session_of_any(campaign)
        self._ledger.rehome((yield from self._fetch_manifest(campaign)))
        return self._describe(self._ledger.session(campaign))

    def answer(self, campaign: CampaignId, value: object) -> Flow[Answer]:
        """Everything is fetched and verified before the value is looked at, so that no request can depend on it."""
        self._ledger.expire()
        session = self._ledger.session(campaign)
        yield from self._log.check_again(session.manifest)
        if session.series is not None:
            return (yield from self._series.answer(session, session.series, value))
        settled = self._ledger.settled(session)
        if settled is not None:
            return Answer(settled, campaign)
        task, terms = yield from self._answer_terms(session)
        index = session.open_round(task)
        if isinstance(index, AnswerStatus):
            return Answer(index, campaign, task.round)
        verified = yield from self.fetch_part(session, task, index)
        token = yield from self._tokens.of_round(session, index)
        codes = session.codes(verified, value, strict=self.config.strict)
        status = self._ledger.record(
            session,
            index,
            verified.proved,
            terms,
            lambda: session.answer(verified, index, task.epoch, codes, token, self.randomness),
        )
        _LOG.info("%s", answered(campaign, f"round {index}", status))
        return Answer(status, campaign, index, verified.proved if status is AnswerStatus.RECORDED else None)

    def arm(self, campaign: CampaignId) -> str | None:
        """The name of the drawn arm, from the ledger alone; None without arms, and after the owner left."""
        session = self._ledger.session_of_any(campaign)
        return None if self._ledger.opted_out(campaign) else session.arm_name

    def due(self, campaign: CampaignId) -> Period | None:
        """The period of a series that this device is asked about now."""
        return self._series.due(campaign)

    def wants(self, campaign: CampaignId) -> bool:
        """Whether an answer may be asked for now: a series' period, or a round that is left. No request."""
        session = self._ledger.session(campaign)
        if session.series is not None:
            return self._series.due(campaign) is not None
        return self._ledger.settled(session) is None

    def refresh(self, campaign: CampaignId) -> Flow[None]:
        """Join where that is missing, and read what answers without a connection need."""
        yield from self.join(campaign)
        session = self._ledger.session(campaign)
        if session.series is None and self._ledger.settled(session) is None:
            fetched = yield from self._fetch_ahead(session.manifest)
            if fetched is not None:
                self._ledger.keep(fetched)
                yield from self._tokens.ahead(session, fetched.task)

    def next_due(self, campaign: CampaignId) -> datetime | None:
        """When this device is asked next."""
        return self._series.next_due(campaign)

    def flush(self, patience_s: float, only: CampaignId | None = None, *, now: bool = False) -> Flow[Flushed]:
        """Send what is due, of one campaign or of all, pausing for at most `patience_s` in all; `now`: each once."""
        if not isinstance(patience_s, int | float) or not patience_s >= 0:
            raise WrongArgument(f"patience_s is a number of seconds, 0 or more, got {patience_s!r}", patience_s)
        delivered, refused, trouble = 0, list[RefusedUpload](), self._why_silent()
        silent = trouble is not None
        self._ledger.expire()
        if now and not silent:
            patience_s = 0.0
            self._spool.hurry()
        while not silent and (due := self._spool.next(only)) is not None:
            wait, report = due
            if wait > patience_s:
                break
            if wait > 0:
                patience_s -= wait
                yield Pause(wait)
                self._ledger.expire()
                continue
            outcome = yield from send(report, self.config.upload_token, self.clock)
            _LOG.info("%s", sent(report.campaign, report.round, outcome))
            if isinstance(outcome, Counted):
                self._spool.delivered(report)
                delivered += 1
            elif isinstance(outcome, Refused):
                self._spool.refused(report, outcome)
                refused.append(RefusedUpload(report.campaign, report.round, outcome.reason))
            else:
                self._spool.postpone(report, outcome, self.randomness, only)
                trouble = outcome.reason
        queue = self._spool.queue()
        return Flushed(
            delivered=delivered,
            refused=tuple(refused),
            waiting=queue.waiting,
            retry_in_s=queue.due_in_s,
            trouble=trouble or queue.trouble,
            tried_at=queue.tried_at,
        )

    def preview(self, campaign: CampaignId, value: object) -> Preview:
        """An answer that is drawn, measured and thrown away: no request, no debit."""
        session = self._ledger.session(campaign)
        index, verified = self._newest_part(session)
        codes = codes_to_show(verified, session, value, strict=self.config.strict)
        payload = session.randomize(verified, codes, self.randomness)
        token = bytes(session.token_bytes)
        report = session.report(verified, index, 0, payload + token, self.randomness)
        return Preview(
            campaign=campaign,
            server=self.origin,
            round=index,
            plan=verified.digest,
            guarantee=verified.proved,
            payload_bytes=len(payload),
            upload_bytes=len(report.content),
            example=payload,
        )

    def due_campaigns(self) -> list[CampaignId]:
        """The campaigns with a report to send now, the one that was due first in front."""
        self._ledger.expire()
        return [] if self._why_silent() else self._spool.due_campaigns()

    def put_off(self, campaign: CampaignId) -> None:
        """Send the reports of a campaign at another time of its retry window."""
        self._spool.put_off(campaign, self.randomness)

    def seconds_until_change(self, most: float) -> float:
        """Seconds until a report is due or expires, at most `most`."""
        due = None if self._why_silent() else self._spool.seconds_until_due()
        return min(wait for wait in (due, self._spool.seconds_until_over(), most) if wait is not None)

    def account(self) -> Account:
        """What was spent and sent."""
        self._ledger.expire()
        return account(self._ledger, self.config.caps, int(seconds(self.clock)), self.config.log)

    def opt_out(self, campaign: CampaignId) -> None:
        """Delete the campaign's reports; keep its debits."""
        self._ledger.opt_out(campaign)

    def opt_out_all(self) -> None:
        """Delete all reports, keep all debits, and refuse to go on until `opt_in`."""
        self._ledger.opt_out_all()
        _LOG.info("The owner left all campaigns.")

    @property
    def opted_out(self) -> bool:
        """Whether the owner left all campaigns."""
        return self._ledger.left_all()

    def opt_in(self) -> None:
        """Go on after `opt_out_all`."""
        self._ledger.opt_in()
        _LOG.info("The owner came back.")

    def session(self, campaign: CampaignId) -> Session:
        """The pinned session of a joined campaign."""
        return self._ledger.session(campaign)

    def fetch_task(self, session: Session) -> Flow[Task]:
        """What is open now, checked against the manifest and against what earlier tasks named."""
        task = yield from self._fetch_task(session)
        self._ledger.keep(Prefetched(task))
        return task

    def fetch_part(self, session: Session, task: Task, index: int) -> Flow[VerifiedPart]:
        """The device part of round `index`, from memory, the ledger or the server; verified wherever it comes from."""
        digest = task.device_parts[index]
        verified, content = yield from self._find_part(session, digest, index)
        if content is not None:
            self._ledger.keep_part(digest, content)
        return verified

    def _fetch_task(self, session: Session) -> Flow[Task]:
        answer = yield from fetch("task", f"/v1/campaigns/{session.campaign}/task", Task.limit, self.clock)
        return session.read_task(answer)

    def _find_part(self, session: Session, digest: Digest, index: int) -> Flow[tuple[VerifiedPart, bytes | None]]:
        """The verified part, claim and log entry checked for each round, and its bytes where the server gave them."""
        content, verified = None, self._parts.get(digest) or self._kept_part(digest)
        if verified is None:
            content = yield from fetch_plan(digest, self.config.largest_part, self.clock)
            verified = verify_part(content, digest)
        entry = (session.campaign, index, digest)
        if entry not in self._checked:
            if session.manifest.rounds[index].plan is None:
                yield from self._log.check_plan(*entry)
            check_headline(session.manifest, verified.part)
            self._checked.add(entry)
        self._parts[digest] = verified
        session.check_part(verified, index)
        return verified, content

    def _why_silent(self) -> str | None:
        if self._ledger.left_all():
            return "the owner left all campaigns of this ledger; nothing is sent until opt_in()"
        return "a dry run sends nothing" if self.config.dry_run else None

    def _pin(self, manifest: Manifest) -> Flow[tuple[Session, Task | None]]:
        law = Session(manifest, None).series
        if law is not None:
            return (yield from self._series.join(manifest, law)), None
        fetched = yield from self._fetch_ahead(manifest)
        try:
            return self._ledger.join(manifest, self.randomness, fetched), None if fetched is None else fetched.task
        except PlanRefused as error:
            if fetched is None:
                raise
            warn_offline(manifest.campaign, error)
            return self._ledger.join(manifest, self.randomness, None), None

    def _fetch_ahead(self, manifest: Manifest) -> Flow[Prefetched | None]:
        """Task and part, the same for every device; what fails here fails in `answer` again, which tells it."""
        session, fetched = Session(manifest, None), None
        try:
            task = yield from self._fetch_task(session)
            fetched = Prefetched(task)
            index = len(task.device_parts) - 1 if task.round is None else task.round
            digest = task.device_parts[index]
            _, content = yield from self._find_part(session, digest, index)
            return fetched if content is None else Prefetched(task, (digest, content))
        except (PlanUnavailable, PlanRefused) as error:
            warn_offline(manifest.campaign, error)
            return fetched

    def _answer_terms(self, session: Session) -> Flow[tuple[Task, AnswerTerms]]:
        """The task of now; without a connection the one read last, while its time lasts."""
        try:
            task = yield from self.fetch_task(session)
            until: float | None = task.accept_until
        except PlanUnavailable as error:
            kept = self._kept.task(session.campaign) if error.offline else None
            if kept is None:
                raise
            until = kept.answer_until
            try:
                task = session.read_task(kept.content)
            except PlanRefused:
                # A kept copy that was damaged costs the answer without a connection, no more.
                raise error from None
            _LOG.info("%s", offline(session.campaign))
        wait_s = delay_s(task.retry, 0, None, self.randomness) if self.config.background else 0.0
        return task, AnswerTerms(retry=task.retry, until=until, expires_at=task.accept_until, wait_s=wait_s)

    def _kept_part(self, digest: Digest) -> VerifiedPart | None:
        content = self._kept.part(digest)
        try:
            if content is None or len(content) > self.config.largest_part:
                return None
            return verify_part(content, digest)
        except PlanRefused:
            # A kept copy that was damaged costs a request, no more.
            return None

    def _newest_part(self, session: Session) -> tuple[int, VerifiedPart]:
        """The latest of the device's rounds whose part is kept, and the part."""
        if session.series is not None:
            return self._series.running(session.series), self._series.part(session)
        for index, digest in sorted(self._ledger.named_plans(session).items(), reverse=True):
            verified = self._parts.get(digest) or self._kept_part(digest)
            if index in session.rounds() and verified is not None:
                session.check_part(verified, index)
                return index, verified
        raise PlanUnavailable("plan", "the ledger keeps none of this device's rounds; answer() fetches it")

    def _fetch_manifest(self, campaign: CampaignId) -> Flow[Manifest]:
        content = yield from fetch("manifest", f"/v1/campaigns/{campaign}", Manifest.limit, self.clock)
        return pin_manifest(content, campaign)

    def _describe(self, session: Session) -> Campaign:
        return campaign_of(session, self._ledger.opted_out(session.campaign), self.config.caps)
