"""The campaigns of a store: documents that are fetched and verified once for all owners."""

from __future__ import annotations

from sordino_client._clock import Clock, seconds
from sordino_client._config import Config
from sordino_client._delivery import server_time
from sordino_client._errors import NotJoined, PlanRefused, PlanUnavailable, ServedElsewhere
from sordino_client._fetching import fetch, fetch_plan, fetch_response
from sordino_client._flow import Flow
from sordino_client._former import read_kept_manifest
from sordino_client._public_log import PublicLog
from sordino_client._session import AnswerStatus, Session, VerifiedPart, check_joinable, pin_manifest, verify_part
from sordino_client.backend._databases import StoreDatabase
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId, CampaignState, EveryRound, Manifest, Rotating, ShuffledRoute, Task

# Owners share the task that was read last, for so long.
TASK_EVERY_S = 60.0


@dataclass(frozen=True, kw_only=True)
class KeptCampaign:
    """A joined campaign: its row's number, its server, manifest, verified part, and the last task with its time.

    `clock_differs` says that the server's time was more than a period of the series away.
    """

    number: int
    origin: str
    session: Session
    part: VerifiedPart
    task: Task
    task_at: float
    clock_differs: bool = False

    @property
    def manifest(self) -> Manifest:
        return self.session.manifest

    @property
    def law(self) -> Rotating | None:
        return self.session.series

    @property
    def ended(self) -> bool:
        return self.task.state in (CampaignState.CLOSED, CampaignState.CANCELLED)


class StoreCampaigns:
    """Joined campaigns, in memory and in the database."""

    def __init__(self, database: StoreDatabase, origin: str, clock: Clock, config: Config) -> None:
        self._database = database
        self._origin = origin
        self._clock = clock
        self._config = config
        self._log = PublicLog(database.transaction, database.transaction, config, clock)
        self._known: dict[CampaignId, KeptCampaign] = {}

    def join(self, campaign: CampaignId) -> Flow[KeptCampaign]:
        """Fetch, verify and keep a campaign, unless it was; raises what `Client.join` does."""
        found = self._load(campaign)
        if found is not None:
            return self._served_here(found)
        content = yield from fetch("manifest", f"/v1/campaigns/{campaign}", Manifest.limit, self._clock)
        manifest = pin_manifest(content, campaign)
        check_joinable(manifest)
        _check_answered_by_stores(manifest)
        yield from self._log.check_manifest(manifest)
        session = Session(manifest, None)
        task = session.read_task((yield from fetch("task", f"/v1/campaigns/{campaign}/task", Task.limit, self._clock)))
        plan = manifest.rounds[0].plan
        assert plan is not None
        content = yield from fetch_plan(plan.device, self._config.largest_part, self._clock)
        session.check_part(verify_part(content, plan.device), 0)
        now = int(seconds(self._clock))
        with self._database.transaction() as database:
            database.run(
                "INSERT INTO campaigns (campaign, manifest, part, task, task_at, joined_at, origin)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                bytes(campaign), manifest.content, content, task.content, now, now, self._origin,
            )  # fmt: skip
        loaded = self._load(campaign)
        assert loaded is not None
        return loaded

    def get(self, campaign: CampaignId) -> KeptCampaign:
        """A campaign that was joined at this server; raises `NotJoined`, `ServedElsewhere`."""
        found = self._known.get(campaign) or self._load(campaign)
        if found is None:
            raise NotJoined(campaign)
        return self._served_here(found)

    def _served_here(self, kept: KeptCampaign) -> KeptCampaign:
        if kept.origin != self._origin:
            raise ServedElsewhere(kept.manifest.campaign, kept.origin, self._origin)
        return kept

    def current(self, kept: KeptCampaign) -> Flow[KeptCampaign]:
        """The campaign with a task of the last minute; without a connection with the last one, while its time lasts."""
        now = seconds(self._clock)
        if 0 <= now - kept.task_at < TASK_EVERY_S:
            return kept
        campaign = kept.manifest.campaign
        yield from self._log.check_again(kept.manifest)
        try:
            response = yield from fetch_response("task", f"/v1/campaigns/{campaign}/task", Task.limit, self._clock)
        except PlanUnavailable as error:
            until = kept.task.answer_until
            if not error.offline or (kept.law is None and (until is None or not kept.task_at <= now < until)):
                raise
            return kept
        task, shown = kept.session.read_task(response.content), server_time(response)
        differs = kept.law is not None and shown is not None and abs(shown - now) > kept.law.period_s
        if task != kept.task:
            with self._database.transaction() as database:
                database.run(
                    "UPDATE campaigns SET task = ?, task_at = ? WHERE number = ?", task.content, int(now), kept.number
                )
        self._known[campaign] = KeptCampaign(
            number=kept.number,
            origin=kept.origin,
            session=kept.session,
            part=kept.part,
            task=task,
            task_at=now,
            clock_differs=differs,
        )
        return self._known[campaign]

    def by_number(self, database: StoreDatabase) -> dict[int, KeptCampaign]:
        """The campaigns of all servers by their rows' numbers, in the caller's transaction."""
        rows = database.rows("SELECT campaign FROM campaigns ORDER BY number")
        ids = [CampaignId(bytes(row[0])) for row in rows]
        found = (self._known.get(each) or self._read(database, each) for each in ids)
        return {kept.number: kept for kept in found if kept is not None}

    def _load(self, campaign: CampaignId) -> KeptCampaign | None:
        with self._database.transaction() as database:
            return self._read(database, campaign)

    def _read(self, database: StoreDatabase, campaign: CampaignId) -> KeptCampaign | None:
        rows = database.rows(
            "SELECT number, manifest, part, task, task_at, origin FROM campaigns WHERE campaign = ?", bytes(campaign)
        )
        if not rows:
            return None
        number, manifest, part, task, task_at, origin = rows[0]
        session = Session(read_kept_manifest(bytes(manifest), campaign), None)
        plan = session.manifest.rounds[0].plan
        assert plan is not None
        verified = verify_part(bytes(part), plan.device)
        session.check_part(verified, 0)
        self._known[campaign] = kept = KeptCampaign(
            number=number,
            origin=origin,
            session=session,
            part=verified,
            task=session.read_task(bytes(task)),
            task_at=float(task_at),
        )
        return kept


def why_closed(kept: KeptCampaign) -> AnswerStatus | None:
    """Why nothing is answered now to anybody; None where the campaign is open."""
    if kept.clock_differs:
        return AnswerStatus.CLOCK_DIFFERS
    return AnswerStatus.NOT_OPEN if kept.task.round is None else None


def _check_answered_by_stores(manifest: Manifest) -> None:
    """Raise `PlanRefused` for what a store does not do: answers of several rounds, shufflers, successors of series."""
    assignment = manifest.assignment
    several = len(manifest.rounds) > 1 or not isinstance(assignment, EveryRound | Rotating)
    successor = isinstance(assignment, Rotating) and assignment.replaces is not None
    if several or successor or manifest.gate is not None or isinstance(manifest.route, ShuffledRoute):
        reason = (
            "a store answers direct campaigns of one round without tokens, and series that replace none; use a Client "
            "an owner"
        )
        raise PlanRefused("manifest", reason, manifest.campaign)
