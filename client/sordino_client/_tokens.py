"""The token of a round's report: drawn and kept before it is asked for, so that no failure costs or doubles one."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

from sordino_client._clock import Clock
from sordino_client._config import Config
from sordino_client._errors import ClientError, PlanRefused, PlanUnavailable
from sordino_client._fetching import post
from sordino_client._flow import Flow
from sordino_client._session import Session
from sordino_client._storage import Storage, blob
from sordino_shared._records import dataclass
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import AccountGate, CampaignId, HookGate, Task, TokenEvaluations, TokenRequest
from sordino_shared.protocol.tokens import MAX_CREDENTIAL, SECRET_BYTES, TOKEN_BYTES, token_of
from sordino_shared.randomness import Randomness

_LOG = logging.getLogger("sordino_client")
_SCALAR_BYTES = 32


@dataclass(frozen=True)
class _Drawn:
    """What the ledger keeps of a token: the secret, the blind, and the token once it is there."""

    secret: bytes
    blind: int
    token: bytes | None


class Tokens:
    """The tokens of one ledger. Each is one round's, and used by its one answer."""

    def __init__(self, storage: Storage, config: Config, randomness: Randomness, clock: Clock) -> None:
        self._storage = storage
        self._config = config
        self._randomness = randomness
        self._clock = clock

    def ahead(self, session: Session, task: Task | None) -> Flow[None]:
        """Get the token of the open round now, so that it answers without the issuer; what fails is tried again."""
        index = None if task is None or session.manifest.gate is None or self._config.dry_run else task.round
        if index is None or index not in session.rounds():
            return
        try:
            yield from self.of_round(session, index)
        except (PlanUnavailable, PlanRefused) as error:
            _LOG.warning("Campaign %s has no token yet: %s.", session.campaign, error)

    def of_round(self, session: Session, index: int) -> Flow[bytes]:
        """The token of an open round, from the ledger or the issuer; empty in a campaign without tokens.

        Raises `PlanUnavailable` where the issuer gives none now, and `PlanRefused` where it cheats.
        """
        issuer = session.manifest.issuer
        if issuer is None or self._config.dry_run:
            return b""
        drawn = self._drawn(session.campaign, index)
        if drawn.token is not None:
            return drawn.token
        # Only devices of campaigns with tokens need the group.
        from sordino_shared.tokens.voprf import blinded, finalize

        element = blinded(drawn.secret, drawn.blind)
        answer = yield from self._ask(session, index, element)
        try:
            evaluations = TokenEvaluations.read(answer)
            given = evaluations.elements(), evaluations.proof, issuer.keys[index]
            [output] = finalize([drawn.secret], [drawn.blind], *given)
        except SordinoError as error:
            raise PlanRefused("token", str(error), session.campaign) from error
        token = token_of(drawn.secret, output)
        with self._storage.write() as connection:
            row = (token, bytes(session.campaign), index)
            connection.execute("UPDATE tokens SET token = ? WHERE campaign = ? AND round = ?", row)
        return token

    def _ask(self, session: Session, index: int, element: bytes) -> Flow[bytes]:
        """The bytes of the issuer's answer, from the server or from the app's backend."""
        gate, campaign = session.manifest.gate, str(session.campaign)
        if isinstance(gate, AccountGate):
            issue = self._config.issue
            if issue is None:
                reason = "tokens of this campaign come from the app's backend: give Client(issue=…)"
                raise PlanRefused("token", reason, session.campaign)
            return _called("issue", lambda: issue(campaign, index, element))
        attest, credential = self._config.attest, b""
        if isinstance(gate, HookGate) and attest is not None:
            credential = _called("attest", lambda: attest(campaign, index, element))
            if len(credential) > MAX_CREDENTIAL:
                reason = f"attest() of the app gives at most {MAX_CREDENTIAL:,} bytes, not {len(credential):,}"
                raise PlanUnavailable("token", reason)
        path = f"/v1/campaigns/{campaign}/rounds/{index}/tokens"
        request = TokenRequest(element, credential)
        return (yield from post("token", path, request.content, TokenEvaluations.limit, self._clock))

    def _drawn(self, campaign: CampaignId, index: int) -> _Drawn:
        """Secret and blind of a round, drawn once and committed before anybody is asked."""
        with self._storage.read() as connection:
            found = _read(connection, campaign, index)
        if found is None:
            with self._storage.write() as connection:
                found = self._draw(connection, campaign, index)
        return found

    def _draw(self, connection: sqlite3.Connection, campaign: CampaignId, index: int) -> _Drawn:
        # Another process may have drawn one meanwhile.
        if (found := _read(connection, campaign, index)) is not None:
            return found
        from sordino_shared.tokens.voprf import blind

        secret = self._randomness.bytes(SECRET_BYTES)
        scalar, _ = blind(secret, self._randomness)
        row = (bytes(campaign), index, secret, scalar.to_bytes(_SCALAR_BYTES, "little"))
        connection.execute("INSERT INTO tokens (campaign, round, secret, blind) VALUES (?, ?, ?, ?)", row)
        return _Drawn(secret, scalar, None)


def _read(connection: sqlite3.Connection, campaign: CampaignId, index: int) -> _Drawn | None:
    query = "SELECT secret, blind, token FROM tokens WHERE campaign = ? AND round = ?"
    row = connection.execute(query, (bytes(campaign), index)).fetchone()
    if row is None:
        return None
    secret, scalar, token = row
    known = None if token is None else blob(token)
    if known is not None and len(known) != TOKEN_BYTES:
        raise ValueError("a token of another length")
    return _Drawn(blob(secret), int.from_bytes(blob(scalar), "little"), known)


def _called(name: str, call: Callable[[], bytes]) -> bytes:
    """What a function of the app gives; its errors leave the answer for later."""
    try:
        given = call()
    except ClientError:
        raise
    except Exception as error:
        raise PlanUnavailable("token", f"{name}() of the app failed: {error}") from error
    if not isinstance(given, bytes):
        raise PlanUnavailable("token", f"{name}() of the app gives bytes, not {type(given).__name__}")
    return given
