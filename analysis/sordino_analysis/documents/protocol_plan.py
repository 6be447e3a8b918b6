"""The plan of a whole protocol: immutable, content-addressed, pinned by the campaign's manifest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sordino_analysis.request_terms import Target
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import WHOLE_WEIGHT, Digest


@dataclass(frozen=True)
class OneStepParameters:
    """λ of the one-step estimator that joins two rounds."""

    step: float


@dataclass(frozen=True, kw_only=True)
class FormBound:
    """A lower bound on an unbiased estimate of one form, and what anybody needs to recheck it.

    n times its variance is at least `value`, of nine significant digits, at the plan's n users of the worst of the
    `populations`, shares (P, m) of the users over the domain's `types` (m,): of one round on average by `weights` (P,),
    of any number of rounds where there is one population. `numerators` (P, m) and `multipliers` (m,) prove it, see
    `sordino_analysis.optimisation.bounds.pair_game`. `variance` is n times that of the plan at the worst of the
    populations, with the `standard_error` of the draws that predict it: 0 for one round, where it is exact, more for
    two, None where it is not known.
    """

    form: str
    value: float
    variance: float | None
    standard_error: float | None
    types: tuple[int, ...]
    populations: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    numerators: tuple[tuple[float, ...], ...]
    multipliers: tuple[float, ...]

    @property
    def of_any_rounds(self) -> bool:
        """Whether the bound holds for any number of rounds, and not for one alone."""
        return len(self.populations) == 1

    @property
    def ratio(self) -> float | None:
        """The plan's variance over the bound, at least 1."""
        return None if self.variance is None else self.variance / self.value

    @classmethod
    def read(cls, plain: dict[str, Any]) -> FormBound:
        """From a decoded object; raises TypeError and ValueError for another one."""
        lists = {name: tuple(plain[name]) for name in ("types", "weights", "multipliers")}
        tables = {name: tuple(map(tuple, plain[name])) for name in ("populations", "numerators")}
        return cls(**(plain | lists | tables))


@dataclass(frozen=True, eq=False, kw_only=True)
class ProtocolPlan:
    """Everything that decides how reports become the estimate, fixed before the first report arrives.

    `statistic` is the specification of the statistic, `rounds` the nano-ε that a device may spend in each round,
    `first_weight` the share of devices that answer round 0 in units of 2^-32 where each device answers one round only,
    `parameters` what the protocol named `protocol` reads besides, None where it reads nothing. `predicted_rmse` is the
    root mean squared error predicted at `users` users, `guarantee` the nano-ε of a device in all rounds. `notes` are
    sentences for readers of the answer. `bounds` has a lower bound for each form; plans of before have none.
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
    parameters: OneStepParameters | None = None
    notes: tuple[str, ...] = ()
    bounds: tuple[FormBound, ...] = ()

    @cached_property
    def content(self) -> bytes:
        """Canonical JSON: sorted keys, no spaces, shortest numbers; without `bounds` where there are none."""
        plain = asdict(self) | {"parameters": {} if self.parameters is None else asdict(self.parameters)}
        if not self.bounds:
            del plain["bounds"]
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @cached_property
    def digest(self) -> Digest:
        """SHA-256 of the canonical bytes."""
        return Digest.of(self.content)

    @classmethod
    def read(cls, content: bytes, digest: Digest | None = None) -> ProtocolPlan:
        """The plan that `content` encodes; with `digest`, only if it names exactly these bytes.

        Raises InvalidValue for any other bytes.
        """
        if digest is not None:
            digest.check(content)
        try:
            plain = json.loads(content)
            parameters = OneStepParameters(**plain["parameters"]) if plain["parameters"] else None
            lists = {name: tuple(plain[name]) for name in ("rounds", "notes")}
            bounds = tuple(FormBound.read(bound) for bound in plain.get("bounds", ()))
            plan = cls(**(plain | lists | {"parameters": parameters, "bounds": bounds}))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidValue("not the plan of a protocol", content) from error
        return plan

    def round_guarantees(self) -> tuple[PureEpsilon, ...]:
        """What a device may spend in each round."""
        return tuple(PureEpsilon(nano) for nano in self.rounds)

    @property
    def weights(self) -> tuple[int, ...] | None:
        """The weights by which each device draws one of the two rounds; None where it answers every round."""
        return None if self.first_weight is None else (self.first_weight, WHOLE_WEIGHT - self.first_weight)

    @property
    def first_share(self) -> float | None:
        """The probability with which a device draws round 0; None where it answers every round."""
        return None if self.first_weight is None else self.first_weight / WHOLE_WEIGHT

    @property
    def step(self) -> float:
        """λ of the one-step estimator; raises InvalidValue for the plan of a protocol that has none."""
        if self.parameters is None:
            raise InvalidValue(f"the plan of {self.protocol} has no step between its rounds", self)
        return self.parameters.step
