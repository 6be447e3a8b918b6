"""`LedgerStore`: one database for the ledgers of many owners, with the promises of a device's ledger for each."""

from __future__ import annotations

import hmac
import math
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypeVar

from sordino_client._account import Account, account
from sordino_client._accounting import check_budget
from sordino_client._client import connection
from sordino_client._clock import Clock, SystemClock, seconds
from sordino_client._config import DEFAULT_LARGEST_PART, REQUIRE_LOG, Caps, Config, pinned_log
from sordino_client._errors import LedgerUnavailable, WrongArgument
from sordino_client._flow import Finished, Flow, Pause, advance
from sordino_client._ledger_view import Debit, Joined, LedgerView
from sordino_client._log_marks import proofs
from sordino_client._results import Answer, Campaign, Flushed, campaign_id, campaign_of
from sordino_client._session import AnswerStatus
from sordino_client._transport import Transport, check_address, exchange
from sordino_client.backend import _owners
from sordino_client.backend._campaigns import KeptCampaign, StoreCampaigns, why_closed
from sordino_client.backend._databases import FORMAT, StoreDatabase, opened
from sordino_client.backend._owners import KEY_BYTES, OwnerRandomness, OwnerRow
from sordino_client.backend._sending import DELETED, StoreSending
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Period, ReportId
from sordino_shared.randomness import Randomness, SystemRandomness

T = TypeVar("T")
_STATES = ("spooled", "delivered", "refused", "expired", "deleted")


class LedgerStore:
    """Answers for many owners, each under caps of its own; safe between threads and processes.

    `target` is a path, or a DSN that begins with postgresql:// (psycopg must be installed). `key` has 32 secret bytes,
    kept outside of the database: owners are known by a keyed hash, and their phases and arms follow from it. The store
    knows who answered what; ε protects against those who read the server, not against this backend.
    `log`, `witnesses`, `quorum` and `log_policy` pin the server's public log as those of a `Client`; one check, when a
    campaign is joined, is that of all owners.
    Raises `WrongArgument`, and `LedgerUnavailable` where the database cannot be used.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        server: str,
        caps: Caps,
        key: bytes,
        strict: bool = False,
        upload_token: str | None = None,
        largest_part: int = DEFAULT_LARGEST_PART,
        log: str | Sequence[str] | None = None,
        witnesses: Sequence[str] = (),
        quorum: int | None = None,
        log_policy: str = REQUIRE_LOG,
        allow_http: bool = False,
        transport: Transport | None = None,
        randomness: Randomness | None = None,
        clock: Clock | None = None,
    ) -> None:
        origin = check_address(server, allow_http=allow_http or transport is not None)
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise WrongArgument(f"the key is {KEY_BYTES} secret bytes, such as those of secrets.token_bytes(32)")
        self.config = Config(
            caps=caps,
            strict=strict,
            upload_token=upload_token,
            largest_part=largest_part,
            log=pinned_log(log, witnesses, quorum),
            log_policy=log_policy,
        )
        self.caps, self.strict, self.key = caps, strict, key
        self.clock, self.randomness = clock or SystemClock(), randomness or SystemRandomness()
        self.database = opened(target)
        self._transport = transport or connection(server, allow_http)
        self._check_key()
        self.campaigns = StoreCampaigns(self.database, origin, self.clock, self.config)
        self._sending = StoreSending(self.database, self.campaigns, origin, upload_token, self.randomness, self.clock)

    def _check_key(self) -> None:
        """A store of another key would not find its owners again, and would give each a new budget."""
        mine = hmac.digest(self.key, b"sordino store key", "sha256")
        with self.database.transaction() as database:
            for name, value in (("key", mine), ("format", FORMAT)):
                database.run("INSERT INTO store (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", name, value)
            [(kept,)] = database.rows("SELECT value FROM store WHERE name = 'key'")
            [(form,)] = database.rows("SELECT value FROM store WHERE name = 'format'")
        if bytes(form) != FORMAT:
            self.database.close()
            raise LedgerUnavailable(
                self.database.name, f"it has format {bytes(form)!r}", "use the SDK's version that wrote it"
            )
        if not hmac.compare_digest(bytes(kept), mine):
            self.database.close()
            raise WrongArgument("the store was made with another key: give that one, or each owner gets a new budget")

    def join(self, campaign: CampaignId | str) -> Campaign:
        """Fetch and verify a campaign once for all owners; raises what `Client.join` does."""
        kept = self.run(self.campaigns.join(campaign_id(campaign)))
        return campaign_of(kept.session, False, self.caps)

    def owner(self, name: str) -> StoredOwner:
        """The owner of a name: text of at most 200 bytes that never changes, such as a user's number."""
        return StoredOwner(self, _owners.hash_of(self.key, name))

    def flush(self) -> Flushed:
        """Send what waits, in batches of at most 4,096; after trouble nothing that it is about until its time.

        Call it every minute.
        """
        return self.run(self._sending.flush())

    def close(self) -> None:
        """Close connections."""
        self._transport.close()
        self.database.close()

    def run(self, flow: Flow[T]) -> T:
        """The result of a flow whose requests go through the store's transport."""
        step = advance(flow, None)
        while not isinstance(step, Finished):
            assert not isinstance(step, Pause)
            step = advance(flow, exchange(self._transport, step))
        return step.value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class StoredOwner:
    """One owner in a store, with the calls of a device."""

    def __init__(self, store: LedgerStore, name_hash: bytes) -> None:
        self._store = store
        self._hash = name_hash

    def answer(self, campaign: Campaign | CampaignId | str, value: object) -> Answer:
        """Randomise `value` and record debit and report in one transaction, once for each round or period.

        The campaign's task is asked for once a minute, for all owners. Raises what `Client.answer` does.
        """
        store, wanted = self._store, campaign_id(campaign)
        kept = store.run(store.campaigns.current(store.campaigns.get(wanted)))
        closed = why_closed(kept)
        if closed is not None:
            return Answer(closed, wanted)
        codes = kept.session.codes(kept.part, value, strict=store.strict)
        with store.database.transaction() as database:
            owner = _owners.locked(database, self._hash)
            asked = self._asked(database, owner, kept)
            if isinstance(asked, AnswerStatus):
                return Answer(asked, wanted)
            self._spend(database, owner, kept, asked, codes)
        return Answer(AnswerStatus.RECORDED, wanted, asked, kept.part.proved)

    def due(self, series: Campaign | CampaignId | str) -> Period | None:
        """The period of a series that this owner is asked about now, None if there is none; sends no request."""
        kept = self._series(campaign_id(series))
        assert kept.law is not None
        with self._store.database.transaction() as database:
            owner = _owners.known(database, self._hash) or OwnerRow(-1, 0, None)
            asked = self._asked(database, owner, kept)
        return kept.law.period(asked) if isinstance(asked, int) else None

    def arm(self, campaign: Campaign | CampaignId | str) -> str | None:
        """The version that this owner is shown in an experiment; None without arms, and once they left."""
        kept = self._store.campaigns.get(campaign_id(campaign))
        place = _owners.arm_of(kept.manifest, self._drawn(kept))
        with self._store.database.transaction() as database:
            owner = _owners.known(database, self._hash)
            gone = owner is not None and _owners.left(database, owner, kept.manifest.campaign)
        return None if place is None or gone else kept.manifest.arms[place].name

    def account(self) -> Account:
        """What was spent and sent for this owner."""
        return account(self, self._store.caps, int(seconds(self._store.clock)), self._store.config.log)

    def opt_out(self, campaign: Campaign | CampaignId | str) -> None:
        """Leave a campaign permanently: reports that wait are deleted, debits stay."""
        left = campaign_id(campaign)
        with self._store.database.transaction() as database:
            owner = _owners.locked(database, self._hash)
            database.run(
                "INSERT INTO opt_outs (owner, campaign, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                owner.number, bytes(left), int(seconds(self._store.clock)),
            )  # fmt: skip
            database.run(
                f"UPDATE answers SET state = {DELETED}, report = NULL WHERE state = 0 AND owner = ?"
                " AND campaign IN (SELECT number FROM campaigns WHERE campaign = ?)",
                owner.number, bytes(left),
            )  # fmt: skip

    def opt_out_all(self) -> None:
        """Leave all campaigns, those to come as well, until `opt_in`: what waits is deleted, debits stay."""
        with self._store.database.transaction() as database:
            owner = _owners.locked(database, self._hash)
            now = int(seconds(self._store.clock))
            database.run("UPDATE owners SET left_at = coalesce(left_at, ?) WHERE number = ?", now, owner.number)
            database.run(
                f"UPDATE answers SET state = {DELETED}, report = NULL WHERE state = 0 AND owner = ?", owner.number
            )

    def opt_in(self) -> None:
        """Come back after `opt_out_all`; a campaign left by `opt_out` stays left."""
        with self._store.database.transaction() as database:
            owner = _owners.locked(database, self._hash)
            database.run("UPDATE owners SET left_at = NULL WHERE number = ?", owner.number)

    @property
    def opted_out(self) -> bool:
        """Whether the owner left all campaigns."""
        with self._store.database.transaction() as database:
            owner = _owners.known(database, self._hash)
        return owner is not None and owner.left_at is not None

    def statement(self) -> LedgerView:
        """Everything that the account says, in one consistent view."""
        store = self._store
        with store.database.transaction() as database:
            # First: no answer is added from here on, and campaigns that were answered are there.
            owner = _owners.known(database, self._hash, database.locking) or OwnerRow(-1, 0, None)
            known = store.campaigns.by_number(database)
            now = max(math.ceil(seconds(store.clock)), owner.high_water)
            rows = database.rows(
                "SELECT campaign, round, nano, at, state, report FROM answers WHERE owner = ?"
                " ORDER BY at, campaign, round",
                owner.number,
            )
            mine = {number: kept for number, kept in known.items() if any(row[0] == number for row in rows)}
            return LedgerView(
                logged=proofs(database),
                debits=[_debit(known[row[0]], *row[1:]) for row in rows],
                joined={kept.manifest.campaign: self._joined(database, owner, kept) for number, kept in mine.items()},
                spending=_owners.spending(database, owner.number, None, now - store.caps.period_s),
                left_all_at=owner.left_at,
            )

    def _asked(self, database: StoreDatabase, owner: OwnerRow, kept: KeptCampaign) -> int | AnswerStatus:
        """The round or period to answer now, or why there is none."""
        if _owners.left(database, owner, kept.manifest.campaign):
            return AnswerStatus.OPTED_OUT
        if kept.law is None:
            done = _owners.row_of(database, owner.number, kept.number, 0)
            return 0 if done is None else AnswerStatus.ALREADY_ANSWERED
        phase = self._drawn(kept).below(kept.law.slots)
        state = _owners.series_state(database, owner.number, kept.number, kept.law, phase, kept.ended)
        asked = state.period_to_answer(kept.law, int(seconds(self._store.clock)))
        return asked.number if isinstance(asked, Period) else asked

    def _spend(
        self, database: StoreDatabase, owner: OwnerRow, kept: KeptCampaign, number: int, codes: list[int]
    ) -> None:
        """Check the caps, randomise, and write debit and report; raises `BudgetExceeded` before anything is drawn."""
        store = self._store
        now = max(math.ceil(seconds(store.clock)), owner.high_water)
        spent = _owners.spending(database, owner.number, kept.number, now - store.caps.period_s)
        check_budget(spent, kept.part.proved, kept.manifest, store.caps)
        payload = kept.session.randomize(kept.part, codes, store.randomness)
        epoch = kept.task.epoch if kept.law is None else kept.law.epoch(number)
        identifier = epoch.to_bytes(2, "big") + store.randomness.bytes(ReportId.LENGTH - 2)
        arm = _owners.arm_of(kept.manifest, self._drawn(kept)) or 0
        database.run("UPDATE owners SET high_water = ? WHERE number = ?", now, owner.number)
        database.run(
            "INSERT INTO answers (owner, campaign, round, nano, at, report) VALUES (?, ?, ?, ?, ?, ?)",
            owner.number, kept.number, number, kept.part.proved.nano, now, bytes([arm]) + identifier + payload,
        )  # fmt: skip

    def _series(self, campaign: CampaignId) -> KeptCampaign:
        kept = self._store.campaigns.get(campaign)
        if kept.law is None:
            raise WrongArgument(f"campaign {campaign} is no series: it has no periods, call answer()", campaign)
        return kept

    def _drawn(self, kept: KeptCampaign) -> OwnerRandomness:
        return OwnerRandomness(self._store.key, self._hash, kept.manifest.campaign)

    def _joined(self, database: StoreDatabase, owner: OwnerRow, kept: KeptCampaign) -> Joined:
        law, state = kept.law, None
        if law is not None:
            phase = self._drawn(kept).below(law.slots)
            state = _owners.series_state(database, owner.number, kept.number, law, phase, kept.ended)
        return Joined(
            manifest=kept.manifest,
            assigned_round=None,
            arm=_owners.arm_of(kept.manifest, self._drawn(kept)),
            origin=None,
            opted_out=_owners.left(database, owner, kept.manifest.campaign),
            series=state,
            found=None,
            paused=law is not None and kept.task.round is None and not kept.ended,
        )


def _debit(kept: KeptCampaign, number: int, nano: int, at: int, state: int, report: bytes | None) -> Debit:
    return Debit(
        campaign=kept.manifest.campaign,
        round=number,
        guarantee=PureEpsilon(nano),
        at=at,
        period_start=None if kept.law is None else kept.law.period(number).start,
        state=_STATES[state],
        reason=None,
        payloads=None if report is None else bytes(report)[1 + ReportId.LENGTH :],
        sealed=False,
    )
