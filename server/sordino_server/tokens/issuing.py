"""A token request, through the gate of its campaign, to an evaluation."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from sordino_server import rounds
from sordino_server.config import Settings
from sordino_server.errors import ServerError, found
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.db import Database
from sordino_server.models import Campaign
from sordino_server.tokens import repository
from sordino_server.tokens.gates import AddressQuota, Hook
from sordino_server.tokens.issuer import issuer_key
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import (
    AccountGate,
    AddressGate,
    Gate,
    HookGate,
    Manifest,
    Problem,
    RoundState,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.randomness import SystemRandomness
from sordino_shared.tokens import IssuerKey, evaluate
from sordino_shared.tokens.voprf import check_element

_MOST_ACCOUNT = 1024


@dataclass(frozen=True)
class Applicant:
    """Who asks: its network address, and what raises ServerError unless it has a key of role issuer."""

    address: str
    check_issuer: Callable[[], None]


class Issuing:
    """The issuer of one process: quotas of addresses are its own."""

    def __init__(self, database: Database, clock: ServerClock, settings: Settings) -> None:
        self._database = database
        self._clock = clock
        self._quota = AddressQuota()
        self._hook = Hook(settings.token_hook, settings.token_hook_timeout_s)

    def issue(self, campaign: str, index: int, request: TokenRequest, applicant: Applicant) -> TokenEvaluations:
        """The evaluation of one element.

        Raises `not-found`, `wrong-route`, `round-not-open`; `token-refused`, `rate-limited`, `unauthorized`,
        `forbidden` and `unavailable` by the gate; InvalidValue for what the gate does not take, or is no element.
        """
        gate, key = self._open(campaign, index)
        elements = request.elements()
        if len(elements) != 1:
            raise InvalidValue("blinded: a device asks for one token of a round", len(elements))
        # Before the gate: what is no element uses up nothing. Evaluating takes fifty times as long, and comes last.
        check_element(elements[0])
        self._pass(gate, key, campaign, index, request, applicant)
        evaluated, proof = evaluate(key, elements, SystemRandomness())
        return TokenEvaluations(evaluated[0], proof)

    def _open(self, campaign: str, index: int) -> tuple[Gate, IssuerKey]:
        with self._database.read("find issuer") as session:
            row = found(session.get(Campaign, campaign), "there is no campaign of this id")
            issuer = Manifest.read(row.manifest).issuer
            if issuer is None:
                raise ServerError(Problem.WRONG_ROUTE, "reports of this campaign have no tokens")
            known = rounds.find(session, campaign, index)
            if known is None:
                raise rounds.RoundNotFound(campaign, index)
            key = issuer_key(session, campaign, index)
            if known.state != RoundState.OPEN or key is None:
                detail = f"round {index} is {known.state} and has no tokens to give"
                raise ServerError(Problem.ROUND_NOT_OPEN, detail, state=known.state)
            return issuer.gate, key.with_public(issuer.keys[index])

    def _pass(
        self, gate: Gate, key: IssuerKey, campaign: str, index: int, request: TokenRequest, applicant: Applicant
    ) -> None:
        match gate:
            case AccountGate():
                applicant.check_issuer()
                self._note_account(key, campaign, index, request)
            case AddressGate(per_day):
                self._count_address(campaign, per_day, request, applicant.address)
            case HookGate():
                if not self._hook.allows(campaign, index, request.blinded, request.credential):
                    raise ServerError(Problem.TOKEN_REFUSED, "the operator's program gives this device no token")

    def _note_account(self, key: IssuerKey, campaign: str, index: int, request: TokenRequest) -> None:
        if not 1 <= len(request.credential) <= _MOST_ACCOUNT:
            raise InvalidValue(f"credential: the name of an account, 1 to {_MOST_ACCOUNT} bytes", None)
        # Keyed with the round's key: once that is deleted, nobody can look for an account by its name.
        secret = key.scalar.to_bytes(32, "little")
        account = hmac.digest(secret, b"sordino account v1\0" + request.credential, "sha256")
        asked = hashlib.sha256(request.blinded).digest()[:16]
        if not self._database.run(
            "note account", lambda session: repository.note_account(session, campaign, index, account, asked)
        ):
            raise ServerError(Problem.TOKEN_REFUSED, f"the account has its token of round {index} already")

    def _count_address(self, campaign: str, per_day: int, request: TokenRequest, address: str) -> None:
        if request.credential:
            raise InvalidValue("credential: this campaign's gate asks for none; leave it empty", None)
        wait = self._quota.take(campaign, address, per_day, request.blinded, self._clock.now())
        if wait is not None:
            raise ServerError(
                Problem.RATE_LIMITED,
                f"this address has its {per_day} tokens of today; try again tomorrow (UTC)",
                retry_after=wait,
            )
