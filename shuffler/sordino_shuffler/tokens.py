"""Tokens at a shuffler: those of devices, which it gets for them by their address, and those of its random reports.

The issuer is the collector's. It sees blinded elements, which are uniform, and learns that somebody asked; the shuffler
learns who. Addresses are in memory alone, and forgotten with the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from sordino_shared.errors import SordinoError
from sordino_shared.http.address_quota import AddressQuota
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import (
    AccountGate,
    AddressGate,
    CampaignId,
    HookGate,
    Issuer,
    Problem,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.protocol.tokens import MAX_BLINDED, SECRET_BYTES, token_of
from sordino_shared.randomness import Randomness
from sordino_shared.tokens import InvalidProof, blind, finalize
from sordino_shared.tokens.voprf import check_element
from sordino_shuffler.collector import CollectorLink
from sordino_shuffler.errors import CollectorTrouble, TokensRefused
from sordino_shuffler.problems import RequestRefused

# More requests of devices than these wait for the issuer: each takes it six milliseconds, one after the other.
_MOST_WAITING = 256
_MOST_AT_ONCE = 4
# What a device is told as the issuer says it; anything else is the shuffler's to sort out.
_PASSED_ON = (
    Problem.TOKEN_REFUSED,
    Problem.ROUND_NOT_OPEN,
    Problem.RATE_LIMITED,
    Problem.OVERLOADED,
    Problem.INVALID_REQUEST,
    Problem.UNAVAILABLE,
)
# What does not become better by asking again; a wrong key, say, is an operator's to mend.
_FINAL = (Problem.TOKEN_REFUSED, Problem.ROUND_NOT_OPEN, Problem.WRONG_ROUTE, Problem.ILLEGAL_TRANSITION)


class TokenDesk:
    """Where devices ask for their tokens: it counts addresses, and passes on what it may."""

    def __init__(self, proxies: TrustedProxies, clock: Callable[[], float]) -> None:
        self._proxies = proxies
        self._clock = clock
        self._quota = AddressQuota()
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)
        self._waiting = 0

    async def answer(
        self,
        scope: Mapping[str, Any],
        link: CollectorLink,
        issuer: Issuer | None,
        place: tuple[CampaignId, int],
        body: bytes,
    ) -> bytes:
        """The issuer's answer to a device, for a `place` (campaign, round); raises RequestRefused."""
        if issuer is None:
            raise RequestRefused(Problem.WRONG_ROUTE, "reports of this campaign have no tokens")
        try:
            request = TokenRequest.read(body)
        except SordinoError as error:
            raise RequestRefused(Problem.MALFORMED_BODY, str(error)) from error
        self._check(issuer, request)
        if self._waiting >= _MOST_WAITING:
            raise RequestRefused(Problem.OVERLOADED, "too many devices wait for their tokens; try again later")
        if isinstance(issuer.gate, AddressGate):
            self._count(issuer.gate, place[0], request, self._proxies.sender(scope))
        self._waiting += 1
        try:
            async with self._turns:
                return (await asyncio.to_thread(link.tokens, *place, request)).content
        except CollectorTrouble as error:
            raise _told(error) from error
        finally:
            self._waiting -= 1

    def _check(self, issuer: Issuer, request: TokenRequest) -> None:
        match issuer.gate:
            case AccountGate():
                raise RequestRefused(Problem.WRONG_ROUTE, "tokens of this campaign come from the app's backend")
            case AddressGate() if request.credential:
                raise RequestRefused(Problem.INVALID_REQUEST, "credential: this gate asks for none; leave it empty")
            case HookGate() if not request.credential:
                # Without one the issuer would take it for that of a random report, for which nobody is asked.
                raise RequestRefused(Problem.TOKEN_REFUSED, "this gate asks for a credential, such as an attestation")
        try:
            [element] = request.elements()
            check_element(element)
        except SordinoError as error:
            raise RequestRefused(Problem.INVALID_REQUEST, str(error)) from error
        except ValueError as error:
            raise RequestRefused(Problem.INVALID_REQUEST, "a device asks for one token of a round") from error

    def _count(self, gate: AddressGate, campaign: CampaignId, request: TokenRequest, address: str) -> None:
        wait = self._quota.take(str(campaign), address, gate.per_day, request.blinded, int(self._clock()))
        if wait is not None:
            detail = f"this address has its {gate.per_day} tokens of today; try again tomorrow (UTC)"
            raise RequestRefused(Problem.RATE_LIMITED, detail, wait)


def _told(error: CollectorTrouble) -> RequestRefused:
    if error.problem in _PASSED_ON:
        wait = None if error.after_s is None else int(error.after_s)
        return RequestRefused(error.problem, error.detail or "the issuer gives no token", wait)
    return RequestRefused(Problem.UNAVAILABLE, "the issuer of tokens cannot be asked now; try again later")


def blanket_tokens(
    link: CollectorLink, issuer: Issuer, campaign: CampaignId, number: int, count: int, randomness: Randomness
) -> list[bytes]:
    """Tokens of so many random reports, which nothing tells from those of devices; about 6 ms each.

    Raises:
        TokensRefused: the issuer gives none, or made one by another key than the manifest's, and so could tell it.
        CollectorTrouble: the issuer cannot be asked now.
    """
    tokens: list[bytes] = []
    while len(tokens) < count:
        tokens += _some_tokens(link, issuer, campaign, number, min(MAX_BLINDED, count - len(tokens)), randomness)
    return tokens


def _some_tokens(
    link: CollectorLink, issuer: Issuer, campaign: CampaignId, number: int, count: int, randomness: Randomness
) -> list[bytes]:
    secrets = [randomness.bytes(SECRET_BYTES) for _ in range(count)]
    drawn = [blind(secret, randomness) for secret in secrets]
    request = TokenRequest(b"".join(element for _, element in drawn), b"")
    evaluations = _asked(link, campaign, number, request)
    try:
        given = evaluations.elements(), evaluations.proof, issuer.keys[number]
        outputs = finalize(secrets, [scalar for scalar, _ in drawn], *given)
    except SordinoError as error:
        reason = "with another key than the manifest's" if isinstance(error, InvalidProof) else f"wrongly: {error}"
        raise TokensRefused(f"the issuer made tokens of random reports {reason}") from error
    return [token_of(secret, output) for secret, output in zip(secrets, outputs, strict=True)]


def _asked(link: CollectorLink, campaign: CampaignId, number: int, request: TokenRequest) -> TokenEvaluations:
    try:
        return link.tokens(campaign, number, request)
    except CollectorTrouble as error:
        if error.problem in _FINAL:
            raise TokensRefused(f"the issuer gives no tokens for random reports: {error}") from error
        raise
