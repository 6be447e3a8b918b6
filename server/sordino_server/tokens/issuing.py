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
from sordino_server.models import Campaign, Role
from sordino_server.tokens import repository
from sordino_server.tokens.gates import Hook, Repeats
from sordino_server.tokens.issuer import issuer_key
from sordino_shared.errors import InvalidValue
from sordino_shared.http.address_quota import AddressQuota
from sordino_shared.protocol import (
    AccountGate,
    AddressGate,
    Gate,
    HookGate,
    Manifest,
    Problem,
    RoundState,
    ShuffledRoute,
    Shuffler,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.randomness import SystemRandomness
from sordino_shared.tokens import IssuerKey, evaluate
from sordino_shared.tokens.voprf import check_element

_MOST_ACCOUNT = 1024


@dataclass(frozen=True)
class Applicant:
    """Who asks: its network address, and the role of its key, issuer or shuffler, None without one.

    `role` looks it up, and raises `unauthorized` or `forbidden` for another key.
    """

    address: str
    role: Callable[[], Role | None]


@dataclass(frozen=True, kw_only=True)
class _OpenIssuer:
    """The issuer of a round that gives tokens."""

    campaign: str
    index: int
    gate: Gate
    key: IssuerKey
    state: RoundState
    shuffler: Shuffler | None


class Issuing:
    """The issuer of one process: quotas of addresses are its own."""

    def __init__(self, database: Database, clock: ServerClock, settings: Settings) -> None:
        self._database = database
        self._clock = clock
        self._quota = AddressQuota()
        self._repeats = Repeats()
        self._hook = Hook(settings.token_hook, settings.token_hook_timeout_s)

    def issue(self, campaign: str, index: int, request: TokenRequest, applicant: Applicant) -> TokenEvaluations:
        """The evaluation of one element, or of up to 200 for a shuffler.

        Raises `not-found`, `wrong-route`, `round-not-open`; `token-refused`, `rate-limited`, `unauthorized`,
        `forbidden` and `unavailable` by the gate; InvalidValue for what the gate does not take, or is no element.
        """
        opened = self._open(campaign, index)
        elements = request.elements()
        # Before the gate: what is no element uses up nothing. Evaluating takes fifty times as long, and comes last.
        for element in elements:
            check_element(element)
        self._pass(opened, request, applicant)
        wait = self._repeats.take(elements[0], self._clock.now()) if len(elements) == 1 else None
        if wait is not None:
            detail = "this token was asked for too often today; ask again tomorrow (UTC)"
            raise ServerError(Problem.RATE_LIMITED, detail, retry_after=wait)
        evaluated, proof = evaluate(opened.key, elements, SystemRandomness())
        return TokenEvaluations(b"".join(evaluated), proof)

    def _open(self, campaign: str, index: int) -> _OpenIssuer:
        with self._database.read("find issuer") as session:
            row = found(session.get(Campaign, campaign), "there is no campaign of this id")
            manifest = Manifest.read(row.manifest)
            issuer, route = manifest.issuer, manifest.route
            if issuer is None:
                raise ServerError(Problem.WRONG_ROUTE, "reports of this campaign have no tokens")
            known = rounds.find(session, campaign, index)
            if known is None:
                raise rounds.RoundNotFound(campaign, index)
            key = issuer_key(session, campaign, index)
            shuffler = route.shuffler if isinstance(route, ShuffledRoute) else None
            if key is None:
                raise _gives_none(index, RoundState(known.state))
            own = key.with_public(issuer.keys[index])
            state = RoundState(known.state)
            return _OpenIssuer(
                campaign=campaign, index=index, gate=issuer.gate, key=own, state=state, shuffler=shuffler
            )

    def _pass(self, opened: _OpenIssuer, request: TokenRequest, applicant: Applicant) -> None:
        needs_key = opened.shuffler is not None or isinstance(opened.gate, AccountGate)
        role = applicant.role() if needs_key else None
        is_shuffler = role is Role.SHUFFLER and opened.shuffler is not None
        # A shuffler asks for the tokens of its random reports once the round has ended.
        if opened.state is not RoundState.OPEN and not (is_shuffler and opened.state is RoundState.CLOSED):
            raise _gives_none(opened.index, opened.state)
        if is_shuffler:
            self._pass_shuffler(opened, request)
            return
        if len(request.elements()) != 1:
            raise InvalidValue("blinded: a device asks for one token of a round", len(request.elements()))
        match opened.gate:
            case AccountGate():
                if role is not Role.ISSUER:
                    raise ServerError(
                        Problem.UNAUTHORIZED,
                        "tokens of this campaign are asked for with a key: `Authorization: Bearer sdo_issuer_…`",
                    )
                self._note_account(opened.key, opened.campaign, opened.index, request)
            case _ if opened.shuffler is not None:
                raise ServerError(
                    Problem.WRONG_ROUTE, f"devices ask their shuffler for tokens, at {opened.shuffler.urls[0]}"
                )
            case AddressGate(per_day):
                self._count_address(opened.campaign, per_day, request, applicant.address)
            case HookGate():
                self._ask_hook(opened, request)

    def _pass_shuffler(self, opened: _OpenIssuer, request: TokenRequest) -> None:
        """Everything that a shuffler asks for, but what the operator's program decides about a device.

        Its random reports have tokens outside of all quotas: without one they could be told from those of devices.
        """
        if request.credential and isinstance(opened.gate, HookGate):
            self._ask_hook(opened, request)

    def _ask_hook(self, opened: _OpenIssuer, request: TokenRequest) -> None:
        if not self._hook.allows(opened.campaign, opened.index, request.blinded, request.credential):
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


def _gives_none(index: int, state: RoundState) -> ServerError:
    return ServerError(Problem.ROUND_NOT_OPEN, f"round {index} is {state} and has no tokens to give", state=state)
