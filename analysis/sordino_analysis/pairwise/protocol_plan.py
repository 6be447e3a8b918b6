"""The plan of a whole protocol: immutable, content-addressed, pinned by the campaign's manifest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Digest

Target = Literal["pairs", "histogram"]


@dataclass(frozen=True, eq=False)
class ProtocolPlan:
    """Everything that decides how reports become the estimate, fixed before the first report arrives.

    `statistic` is the specification of the statistic, `rounds` the nano-ε that a device may spend in each round,
    `first_weight` the share of devices that answer round 0 in units of 2^-32 where each device answers one round only,
    `parameters` what the protocol named `protocol` reads besides (all JSON numbers, texts, lists). `predicted_rmse` is
    the root mean squared error predicted at `users` users, `guarantee` the nano-ε of a device in all rounds.
    `notes` are sentences for readers of the answer.
    """

    statistic: dict[str, Any]
    protocol: str
    target: Target
    users: int
    guarantee: int
    rounds: tuple[int, ...]
    first_weight: int | None
    seed: int
    predicted_rmse: float
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def content(self) -> bytes:
        """Canonical JSON: sorted keys, no spaces, shortest numbers."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @cached_property
    def digest(self) -> Digest:
        """SHA-256 of the canonical bytes."""
        return Digest.of(self.content)

    @classmethod
    def read(cls, content: bytes, digest: Digest | None = None) -> ProtocolPlan:
        """The plan that `content` encodes; with `digest`, only if it names exactly these bytes."""
        if digest is not None:
            digest.check(content)
        try:
            plain = json.loads(content)
            plan = cls(**(plain | {name: tuple(plain[name]) for name in ("rounds", "notes")}))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidValue("not the plan of a protocol", content) from error
        return plan

    def round_guarantees(self) -> tuple[PureEpsilon, ...]:
        """What a device may spend in each round."""
        return tuple(PureEpsilon(nano) for nano in self.rounds)

    @property
    def first_share(self) -> float | None:
        """The probability with which a device draws round 0; None where it answers every round."""
        return None if self.first_weight is None else self.first_weight / 2**32
