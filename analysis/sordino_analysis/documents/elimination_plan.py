"""The plan of three rounds for a class of rules: immutable, content-addressed, pinned by the campaign's manifest."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from functools import cached_property

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import WHOLE_WEIGHT, Digest

PROTOCOL = "elimination"
# A class of rules, the best of them, and the best one.
ROUNDS = 3
# Shares of rounds sum to 1 up to rounding.
_SUM = 1e-9


@dataclass(frozen=True)
class RoundShares:
    """The shares of devices that answer each of the three rounds, and how many rules the second one asks about."""

    # Most users choose among all rules, and fewer among few.
    shares: tuple[float, ...] = (0.6, 0.3, 0.1)
    # Rules that the second round compares.
    top: int = 32

    def __post_init__(self) -> None:
        if len(self.shares) != ROUNDS:
            raise InvalidValue(f"give a share of the devices for each of {ROUNDS} rounds", self.shares)
        if not all(0 < share < 1 for share in self.shares) or abs(math.fsum(self.shares) - 1) > _SUM:
            raise InvalidValue(f"the shares of the rounds are above 0 and sum to 1, not {self.shares}", self.shares)
        if not all(weight >= 1 for weight in self.weights):
            raise InvalidValue(f"the shares of the rounds are at least 2^-32, not {self.shares}", self.shares)
        if self.top < 2:
            raise InvalidValue(f"the second round asks about two rules at least, not {self.top}", self.top)

    def check_rules(self, rules: int) -> None:
        """Raise InvalidValue where the class has no more rules than the second round asks about."""
        if self.top >= rules:
            raise InvalidValue(f"the class has {rules} rules, so `top` is less than that, not {self.top}", self.top)

    @property
    def weights(self) -> tuple[int, ...]:
        """The shares in units of 2^-32; the first round has what rounding leaves."""
        later = tuple(round(share * WHOLE_WEIGHT) for share in self.shares[1:])
        return (WHOLE_WEIGHT - sum(later), *later)


@dataclass(frozen=True, kw_only=True)
class EliminationPlan:
    """What decides how three rounds follow one another, fixed before the first report arrives.

    `guarantee` is the nano-ε of the one round that a device answers, `weights` the shares of the rounds in units of
    2^-32, `top` how many rules the second round asks about.
    """

    guarantee: int
    weights: tuple[int, ...]
    top: int
    protocol: str = field(default=PROTOCOL, init=False)

    @classmethod
    def of(cls, shares: RoundShares, guarantee: PureEpsilon) -> EliminationPlan:
        """Rounds of this ε each."""
        return cls(guarantee=guarantee.nano, weights=shares.weights, top=shares.top)

    @cached_property
    def content(self) -> bytes:
        """Canonical JSON: sorted keys, no spaces."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()

    @cached_property
    def digest(self) -> Digest:
        """SHA-256 of the canonical bytes."""
        return Digest.of(self.content)

    @property
    def rounds(self) -> tuple[int, ...]:
        """The nano-ε that a device may spend in each round."""
        return (self.guarantee,) * ROUNDS

    def round_guarantees(self) -> tuple[PureEpsilon, ...]:
        """What a device may spend in each round."""
        return tuple(PureEpsilon(nano) for nano in self.rounds)

    @property
    def shares(self) -> RoundShares:
        """The shares that devices draw by."""
        return RoundShares(tuple(weight / WHOLE_WEIGHT for weight in self.weights), self.top)
