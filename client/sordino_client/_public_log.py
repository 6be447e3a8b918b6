"""What a device checks against the public log that its app pins: the same campaign, in the same list, as everybody.

Two requests, the same for all devices: the proof of a campaign, and the list of daily checkpoints. None says what this
device has seen. See docs/log.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sordino_client import _log_marks as rows
from sordino_client._clock import Clock, seconds
from sordino_client._config import DAY_S, PREFER_LOG, Config
from sordino_client._errors import PlanRefused, PlanUnavailable
from sordino_client._fetching import fetch_text
from sordino_client._flow import Flow
from sordino_client._log_marks import Begin, LogMark
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.protocol import CampaignId, Digest, LogEntry, Manifest, ShuffledRoute
from sordino_shared.protocol.log_days import MAX_DAYS, MAX_DAYS_BYTES, LogDays
from sordino_shared.protocol.log_entries import LoggedPlan, entry_fault
from sordino_shared.protocol.log_keys import LogPins, TooFewWitnesses, Vouched
from sordino_shared.protocol.log_notes import Checkpoint
from sordino_shared.protocol.log_proofs import MAX_PROOF_BYTES, LogProof

_LOG = logging.getLogger("sordino_client")
_WHAT = "log proof"
_DAYS = "/v1/log/days"
# The log may have grown between the two requests: then both are made again, once.
_TRIES = 2
# The clock of a device may be behind the server's by so much.
_DAYS_AHEAD = 1


@dataclass(frozen=True)
class _Shown:
    """What a server showed of the log for one campaign."""

    proof: LogProof
    content: bytes
    days: LogDays
    vouched: Vouched


class PublicLog:
    """The checks of one ledger; without a pinned log there are none, and no request."""

    def __init__(self, read: Begin, write: Begin, config: Config, clock: Clock) -> None:
        self._read, self._write = read, write
        self._config = config
        self._clock = clock

    def check_manifest(self, manifest: Manifest) -> Flow[None]:
        """Prove that a manifest is in the log before it is joined.

        Raises `PlanRefused` for a wrong proof, and `PlanUnavailable` where there is none, unless the app prefers to
        join then; it is asked for again daily.
        """
        pins, campaign = self._config.log, manifest.campaign
        if pins is None:
            return
        try:
            yield from self._prove(pins, campaign, lambda entry: entry_fault(entry, manifest), days=_days_of(manifest))
        except PlanUnavailable as error:
            if self._config.log_policy != PREFER_LOG:
                raise
            _LOG.warning("Campaign %s is not in the public log yet: %s.", campaign, error)
            with self._write() as database:
                rows.keep_trial(database, campaign, seconds(self._clock))

    def check_again(self, manifest: Manifest) -> Flow[None]:
        """Ask once a day for the proof of a campaign that was joined without one; nothing stops its answers."""
        campaign = manifest.campaign
        if self._config.log is None or not self._is_due(campaign):
            return
        try:
            yield from self.check_manifest(manifest)
        except (PlanRefused, PlanUnavailable) as error:
            _LOG.warning("Campaign %s has no proof of the public log: %s.", campaign, error)
            with self._write() as database:
                rows.keep_trial(database, campaign, seconds(self._clock))

    def check_plan(self, campaign: CampaignId, index: int, digest: Digest) -> Flow[None]:
        """Prove that a later round's plan is in the log; a log that is down stops nobody who joined.

        Raises `PlanRefused` for a wrong proof.
        """
        pins = self._config.log
        if pins is None:
            return

        def fault(entry: LogEntry) -> str | None:
            if entry.event == LoggedPlan(campaign, index) and entry.subject == bytes(digest):
                return None
            return f"the entry of the log is not that of plan {digest} for round {index}"

        try:
            yield from self._prove(pins, campaign, fault, place=f"/rounds/{index}")
        except PlanUnavailable as error:
            _LOG.warning("The plan of round %s is not in the public log yet: %s.", index, error)

    def _is_due(self, campaign: CampaignId) -> bool:
        assert self._config.log is not None
        with self._read() as database:
            tried = rows.tried_at(database, campaign)
            # A clock that was set back does not hold it back for years.
            waits = 0 <= seconds(self._clock) - tried < DAY_S
            return not waits and rows.proof_of(self._config.log, rows.proofs(database), campaign) is None

    def _prove(
        self,
        pins: LogPins,
        campaign: CampaignId,
        fault: Callable[[LogEntry], str | None],
        place: str = "",
        days: str = _DAYS,
    ) -> Flow[None]:
        path = f"/v1/campaigns/{campaign}{place}/log-proof"
        # Kept under the newest key: an app that ships both goes on where the one before it was.
        shown, log = (yield from self._fetch(pins, campaign, (path, days))), str(pins.keys[-1])
        with self._read() as database:
            known = rows.marks(database, list(map(str, pins.keys)))
        try:
            today = int(seconds(self._clock)) // DAY_S
            wrong = fault(shown.proof.entry) or _contradiction(pins, known, shown, today)
            if wrong is not None:
                raise PlanRefused(_WHAT, wrong, campaign)
        except PlanRefused:
            with self._write() as database:
                rows.keep_evidence(database, log, shown.proof, shown.content)
            raise
        with self._write() as database:
            rows.keep_proof(database, log, shown.proof, shown.content)
            rows.keep_day(database, log, shown.days.days[-1])

    def _fetch(self, pins: LogPins, campaign: CampaignId, paths: tuple[str, str]) -> Flow[_Shown]:
        """A proof and the days that lead to its checkpoint, both accepted."""
        path, days_path = paths
        for _ in range(_TRIES):
            content = yield from fetch_text(_WHAT, path, MAX_PROOF_BYTES, self._clock)
            listed = yield from fetch_text("list of log days", days_path, MAX_DAYS_BYTES, self._clock)
            try:
                proof = LogProof.read(content)
                vouched = pins.accept(proof.checkpoint, int(seconds(self._clock)))
                days = LogDays.read(listed)
            except TooFewWitnesses as error:
                # They cosign within seconds, or once they are back: a campaign is joined then, and a plan is read.
                raise PlanUnavailable(_WHAT, str(error)) from error
            except (SordinoError, InvalidValue) as error:
                raise PlanRefused(_WHAT, str(error), campaign) from error
            if days.newest.text == proof.checkpoint.text:
                return _Shown(proof, content, days, vouched)
        raise PlanUnavailable(_WHAT, "the log's proof and its list of days are of two moments")


def _days_of(manifest: Manifest) -> str:
    """Where the list of days is; a shuffler may have campaigns of several logs, so it is told of which this one is."""
    return f"{_DAYS}?campaign={manifest.campaign}" if isinstance(manifest.route, ShuffledRoute) else _DAYS


def _contradiction(pins: LogPins, known: list[LogMark], shown: _Shown, today: int) -> str | None:
    """Why what is shown does not continue what this ledger accepted before; None where it does.

    Raises `PlanUnavailable` for an older tree that a cache may have kept.
    """
    size, root = shown.proof.checkpoint.size, shown.proof.checkpoint.root
    for mark in known:
        if mark.size == size and mark.root != root:
            return f"the public log has two trees of {size} entries: it shows this device another one than before"
    if known and known[-1].size > size:
        return _older(pins, known[-1], shown)
    if not shown.days.days:
        # Else this device would keep none to look for the next time.
        return "the list of days of the public log has none"
    dated = [mark for mark in known if mark.day is not None]
    return None if not dated else _missing_day(dated[-1], shown.days, today)


def _older(pins: LogPins, last: LogMark, shown: _Shown) -> str:
    size = shown.proof.checkpoint.size
    reason = f"the public log has {size} entries, and {last.size} were seen before"
    before = _vouched_at(pins, LogProof.read(last.proof).checkpoint) if last.proof else 0
    if 0 < before < shown.vouched.at:
        return f"{reason}: it went back, and witnesses vouch for it later"
    raise PlanUnavailable(_WHAT, f"{reason}: a cache may have kept an older answer")


def _vouched_at(pins: LogPins, note: Checkpoint) -> int:
    """The latest time of a witness that is pinned now, in Unix seconds; 0 for none."""
    return max((time for each in pins.witnesses for time in each.cosigned_at(note)), default=0)


def _missing_day(mark: LogMark, days: LogDays, today: int) -> str | None:
    """Why the daily checkpoint that was kept is not in the list; None where it is, or is older than a full list.

    Raises `PlanUnavailable` where days that are yet to come fill the list.
    """
    assert mark.day is not None
    if any((each.size, each.root) == (mark.size, mark.root) for each in days.days):
        return None
    if len(days.days) == MAX_DAYS and days.days[0].day > mark.day:
        # Away for longer than a full list: witnesses vouch for the time between. A shorter one has all days of the log.
        if days.days[-1].day > today + _DAYS_AHEAD:
            raise PlanUnavailable(_WHAT, "the list has days that are yet to come by this device's clock")
        return None
    return f"the public log no longer has the checkpoint of {mark.size} entries that this device saw on day {mark.day}"
