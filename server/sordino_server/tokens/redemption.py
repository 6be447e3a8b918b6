"""Tokens of an upload, told from its payloads and checked before the writer takes it: that takes a millisecond each."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Self

import anyio
import anyio.to_thread

from sordino_server import rounds
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.rounds.known_randomizers import KnownRandomizers
from sordino_server.tokens import repository
from sordino_server.tokens.issuer import issuer_key
from sordino_shared.protocol import MAX_REPORTS, CampaignId, Problem, ReportBatch
from sordino_shared.protocol.tokens import SECRET_BYTES, TOKEN_BYTES, coin_of, token_of
from sordino_shared.tokens import IssuerKey, redeem

_MAX_KNOWN = 4096
# Some ten seconds of a processor, and any single request; of bytes as many as may wait to be written.
MAX_WAITING_REPORTS = 2 * MAX_REPORTS
MAX_WAITING_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class ReportTokens:
    """The tokens of reports, in their order: secrets of 16 bytes, and whether each is one of the round and its report.

    A report is a token's if its public part is the one that the token's coin gives.
    """

    secrets: tuple[bytes, ...]
    valid: tuple[bool, ...]

    @classmethod
    def none(cls, count: int) -> Self:
        """Those of reports that came without."""
        return cls((bytes(SECRET_BYTES),) * count, (False,) * count)

    def __add__(self, other: ReportTokens) -> ReportTokens:
        return ReportTokens(self.secrets + other.secrets, self.valid + other.valid)


class Redemption:
    """Redeems the tokens of one process; whether a campaign has tokens, and the keys of rounds, never change.

    Anybody may send tokens that are none, and each takes as long as a true one. So requests take turns, one computing
    while another asks the database, in no thread that other routes need, and no more wait than `MAX_WAITING_REPORTS`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._has_tokens: OrderedDict[str, bool] = OrderedDict()
        self._randomizers = KnownRandomizers()
        self._turns = anyio.CapacityLimiter(2)
        self._waiting_reports = self._waiting_bytes = 0

    async def redeem(self, campaign: str, index: int, batch: ReportBatch) -> tuple[ReportBatch, ReportTokens] | None:
        """The batch without its tokens, and the tokens; None for a campaign without tokens, or that does not exist.

        Raises `overloaded` where too many wait.
        """
        known = self._has_tokens.get(campaign)
        if known is None:
            known = await anyio.to_thread.run_sync(self._ask, campaign)
        if not known:
            return None
        reports, size = self._waiting_reports + batch.count, self._waiting_bytes + len(batch.payloads)
        if reports > MAX_WAITING_REPORTS or size > MAX_WAITING_BYTES:
            raise ServerError(Problem.OVERLOADED, "too many tokens are waiting to be redeemed; try again later")
        self._waiting_reports, self._waiting_bytes = reports, size
        try:
            return await anyio.to_thread.run_sync(self._redeem, campaign, index, batch, limiter=self._turns)
        finally:
            self._waiting_reports -= batch.count
            self._waiting_bytes -= len(batch.payloads)

    def _ask(self, campaign: str) -> bool:
        with self._database.read("find tokens") as session:
            found = repository.has_tokens(session, campaign)
        if found is None:
            # Anybody can make up ids: nothing is remembered.
            return False
        self._has_tokens[campaign] = found
        if len(self._has_tokens) > _MAX_KNOWN:
            self._has_tokens.popitem(last=False)
        return found

    def _redeem(self, campaign: str, index: int, batch: ReportBatch) -> tuple[ReportBatch, ReportTokens]:
        width, count = batch.width - TOKEN_BYTES, batch.count
        with self._database.read("find issuer") as session:
            key = issuer_key(session, campaign, index)
            row = None if key is None else rounds.find(session, campaign, index)
            randomizer = None if row is None else self._randomizers.of(session, row.device_digest)
        if key is None or randomizer is None or width < 1:
            # The round is over, or there is no token behind the payload.
            return batch, ReportTokens.none(count)
        rows = [batch.payloads[start : start + batch.width] for start in range(0, len(batch.payloads), batch.width)]
        tokens = [row[width:] for row in rows]
        secrets = tuple(token[:SECRET_BYTES] for token in tokens)
        payloads = b"".join([row[:width] for row in rows])
        of = CampaignId.parse(campaign), index, batch.device_digest
        # A payload of another width is none of the round's, whatever its coin.
        has_coin = randomizer.has_coin and width == randomizer.payload_bytes
        valid = tuple(
            is_valid(key, token) and (not has_coin or randomizer.agrees(row[:width], coin_of(*of, token)))
            for row, token in zip(rows, tokens, strict=True)
        )
        return replace(batch, payloads=payloads), ReportTokens(secrets, valid)


def is_valid(key: IssuerKey, token: bytes) -> bool:
    """Whether the key made the token of its secret."""
    secret = token[:SECRET_BYTES]
    return hmac.compare_digest(token_of(secret, redeem(key, secret)), token)
