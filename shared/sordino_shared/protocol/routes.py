"""By which way reports come: straight to the server, or through a shuffler, which mixes them with random ones."""

from __future__ import annotations

from typing import ClassVar

from sordino_shared._checks import check_distinct, check_increasing, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.series import MAX_TIME
from sordino_shared.protocol.servers import check_source, check_urls
from sordino_shared.protocol.tokens import Issuer

MAX_KEYS = 400
MAX_ROUND = 2**53 - 1
MAX_FLOOR = 10**7
MAX_BLANKET = 10**6
MAX_CLAIMS = 16
MAX_NANO_EPSILON = 10**12
# A claim is at least 10^-12 above the bound that it rests on.
LEAST_ATTO_DELTA = 10**6
WHOLE_ATTO = 10**18
SUITE = 1
KEY_BYTES = 32
SIGNATURE_BYTES = 64
_FIELD = 2**255 - 19
# Curve25519 and its twist: u of every point whose order divides 8 (RFC 7748, section 6.1).
_SMALL_ORDER = frozenset(
    (
        0,
        1,
        _FIELD - 1,
        325606250916557431795983626356110631294008115727848805560023387167927233504,
        39382357235489614581723060781553021112529911719440698176882885853963445705823,
    )
)


def is_small_order(key: bytes) -> bool:
    """Whether X25519 with this public key gives zero for every secret: the upper bit of the last byte is ignored."""
    return (int.from_bytes(key, "little") & (2**255 - 1)) % _FIELD in _SMALL_ORDER


def check_key(key: bytes, what: str) -> None:
    """32 bytes."""
    if len(key) != KEY_BYTES:
        raise InvalidValue(f"{what} has {KEY_BYTES} bytes, got {len(key)}", key)


@dataclass(frozen=True)
class DirectRoute:
    """Devices send their reports to the server."""

    kind: ClassVar[str] = "direct"


@dataclass(frozen=True)
class TokenRoute:
    """Devices send their reports to the server, each with a token of its round, which they get from the `issuer`."""

    kind: ClassVar[str] = "direct_with_tokens"
    issuer: Issuer


@dataclass(frozen=True)
class Shuffler:
    """Who mixes: its source's name, the addresses of its API, and the Ed25519 key that signs its statements."""

    name: str
    urls: tuple[str, ...]
    key: bytes

    def __post_init__(self) -> None:
        check_source(self.name)
        check_urls(self.urls)
        check_key(self.key, "key of the shuffler")


@dataclass(frozen=True)
class CollectorKey:
    """The collector's X25519 key: reports of round `from_round` and later are sealed for it, until the next key's."""

    from_round: int
    key: bytes

    def __post_init__(self) -> None:
        check_range(self.from_round, 0, MAX_ROUND, "from_round")
        check_key(self.key, "key of the collector")
        if is_small_order(self.key):
            raise InvalidValue("a key of the collector is of small order: everybody could open what it seals", self.key)


@dataclass(frozen=True)
class PrivacyClaim:
    """One point of a privacy profile: (ε, δ) of one round and one arm, in 10^-9 and 10^-18."""

    nano_epsilon: int
    atto_delta: int

    def __post_init__(self) -> None:
        check_range(self.nano_epsilon, 0, MAX_NANO_EPSILON, "nano_epsilon")
        check_range(self.atto_delta, LEAST_ATTO_DELTA, WHOLE_ATTO, "atto_delta")


@dataclass(frozen=True, kw_only=True)
class ShuffledRoute:
    """Devices seal their reports and send them to the shuffler, which adds `blanket` random reports for each arm.

    `floor` is the fewest reports of devices that it releases, of all arms together. `end` is when it takes the last
    report, null exactly for a series, whose periods end by their time. `headline` is the index of the claim that
    people are told. With an `issuer` each report has a token, those of the blanket, too; null: none has.
    """

    kind: ClassVar[str] = "shuffled"
    shuffler: Shuffler
    suite: int
    keys: tuple[CollectorKey, ...]
    floor: int
    blanket: int
    end: int | None
    task_key: bytes
    claims: tuple[PrivacyClaim, ...]
    headline: int
    issuer: Issuer | None = None

    def __post_init__(self) -> None:
        check_range(self.suite, SUITE, SUITE, "suite")
        self._check_keys()
        check_range(self.floor, 1, MAX_FLOOR, "floor")
        check_range(self.blanket, 1, MAX_BLANKET, "blanket")
        if self.end is not None:
            check_range(self.end, 0, MAX_TIME, "end")
        check_key(self.task_key, "task_key")
        check_range(len(self.claims), 1, MAX_CLAIMS, "number of claims")
        check_increasing([claim.nano_epsilon for claim in self.claims], "nano_epsilon of the claims")
        check_increasing([-claim.atto_delta for claim in self.claims], "falling atto_delta of the claims")
        check_range(self.headline, 0, len(self.claims) - 1, "headline")

    def _check_keys(self) -> None:
        check_range(len(self.keys), 1, MAX_KEYS, "number of keys")
        if self.keys[0].from_round != 0:
            raise InvalidValue("the first key of the collector is for round 0 and later", self.keys[0].from_round)
        check_increasing([each.from_round for each in self.keys], "from_round of the keys")
        check_distinct([each.key for each in self.keys], "keys of the collector")

    def key_of(self, number: int) -> bytes:
        """The collector's key for reports of a round."""
        return next(each.key for each in reversed(self.keys) if each.from_round <= number)


Route = DirectRoute | TokenRoute | ShuffledRoute
DIRECT = DirectRoute()
