"""One token for each report: by which gate a device gets it, how it asks for it, and how it sends it.

A token is 32 bytes behind the payload of a report: a secret of 16 bytes that the device drew, and the first 16 of the
64 bytes that the issuer's key makes of it. Only one report of a round counts for a secret.
"""

from __future__ import annotations

from typing import ClassVar

from sordino_shared._checks import check_distinct, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.ids import CampaignId, Digest
from sordino_shared.randomness import CoinStream, Randomness
from sordino_shared.tokens import ELEMENT_BYTES, OUTPUT_BYTES, PROOF_BYTES

SECRET_BYTES = 16
CHECK_BYTES = 16
TOKEN_BYTES = SECRET_BYTES + CHECK_BYTES
# One proof stands for so many evaluations: a shuffler needs a token for each of its random reports.
MAX_BLINDED = 200
MAX_CREDENTIAL = 16 << 10
MAX_PER_DAY = 10_000
MAX_ISSUER_KEYS = 400
_INFO_CONTEXT = b"sordino issuer v1\0"
_COIN_CONTEXT = b"sordino coin v1\0"


@dataclass(frozen=True)
class AccountGate:
    """The app's backend asks for its users, by a key of role `issuer`: one token for each account and round."""

    kind: ClassVar[str] = "account"


@dataclass(frozen=True)
class AddressGate:
    """Anybody may ask: `per_day` tokens for each network address and day (UTC)."""

    kind: ClassVar[str] = "address"
    per_day: int

    def __post_init__(self) -> None:
        check_range(self.per_day, 1, MAX_PER_DAY, "per_day")


@dataclass(frozen=True)
class HookGate:
    """A program of the operator's decides by what the device sends, such as an attestation of its platform."""

    kind: ClassVar[str] = "hook"


Gate = AccountGate | AddressGate | HookGate


@dataclass(frozen=True)
class Issuer:
    """Who gives tokens: through which gate, and by which public key of 32 bytes in each round, in their order.

    The campaign's id pins the keys: a server that names one device a key of its own names it another campaign.
    """

    gate: Gate
    keys: tuple[bytes, ...]

    def __post_init__(self) -> None:
        check_range(len(self.keys), 1, MAX_ISSUER_KEYS, "number of keys of the issuer")
        for key in self.keys:
            if len(key) != ELEMENT_BYTES:
                raise InvalidValue(f"a key of the issuer has {ELEMENT_BYTES} bytes, got {len(key)}", key)
        # A token of one round would count in another, and could be kept for it.
        check_distinct(self.keys, "keys of the issuer")


@dataclass(frozen=True)
class TokenRequest(Document):
    """1 to 200 blinded elements of 32 bytes, one behind the other, and what the gate asks for.

    `credential` is empty for the gate `address`, the name of the account for `account`, the attestation for `hook`.
    """

    document: ClassVar[str] = "token_request"
    limit: ClassVar[int] = 32 << 10
    max_items: ClassVar[int] = 32

    blinded: bytes
    credential: bytes

    def __post_init__(self) -> None:
        _check_elements(self.blinded, "blinded")
        check_range(len(self.credential), 0, MAX_CREDENTIAL, "bytes of the credential")

    def elements(self) -> list[bytes]:
        """The elements one by one."""
        return _split(self.blinded)


@dataclass(frozen=True)
class TokenEvaluations(Document):
    """The issuer's evaluations in the order of the request, and one proof that the round's key made all of them."""

    document: ClassVar[str] = "token_evaluations"
    limit: ClassVar[int] = 8 << 10
    max_items: ClassVar[int] = 32

    evaluated: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _check_elements(self.evaluated, "evaluated")
        if len(self.proof) != PROOF_BYTES:
            raise InvalidValue(f"a proof has {PROOF_BYTES} bytes, got {len(self.proof)}", len(self.proof))

    def elements(self) -> list[bytes]:
        """The elements one by one."""
        return _split(self.evaluated)


def issuer_info(number: int) -> bytes:
    """`sordino issuer v1` ‖ 0 ‖ round (8 bytes): from what the key of a round is derived, with a seed of its own.

    The campaign's id follows from the key, and not the key from the id.
    """
    check_range(number, 0, 2**53 - 1, "round")
    return _INFO_CONTEXT + number.to_bytes(8, "big")


def token_of(secret: bytes, output: bytes) -> bytes:
    """The token of a secret (16 bytes) and the issuer's output for it (64 bytes)."""
    if (len(secret), len(output)) != (SECRET_BYTES, OUTPUT_BYTES):
        raise InvalidValue(f"a secret has {SECRET_BYTES} bytes and an output {OUTPUT_BYTES}", len(secret))
    return secret + output[:CHECK_BYTES]


def coin_of(campaign: CampaignId, number: int, device: Digest, token: bytes) -> Randomness:
    """The coin of a token, from which the public part of its report is drawn: the same for anyone who sees the token.

    SHAKE-256 of `sordino coin v1` ‖ 0 ‖ campaign ‖ round (8 bytes) ‖ digest of the device part ‖ the 16 bytes of the
    issuer's output in the token. Nobody knows these before the issuer answers, so nobody chooses the coin.
    """
    if len(token) != TOKEN_BYTES:
        raise InvalidValue(f"a token has {TOKEN_BYTES} bytes, got {len(token)}", len(token))
    check_range(number, 0, 2**53 - 1, "round")
    return CoinStream(_COIN_CONTEXT + campaign + number.to_bytes(8, "big") + device + token[SECRET_BYTES:])


def _check_elements(elements: bytes, what: str) -> None:
    if len(elements) % ELEMENT_BYTES:
        raise InvalidValue(f"{what} is a whole number of elements of {ELEMENT_BYTES} bytes", len(elements))
    check_range(len(elements) // ELEMENT_BYTES, 1, MAX_BLINDED, "number of elements")


def _split(elements: bytes) -> list[bytes]:
    return [elements[start : start + ELEMENT_BYTES] for start in range(0, len(elements), ELEMENT_BYTES)]
