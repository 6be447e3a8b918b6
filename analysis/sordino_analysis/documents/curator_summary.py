"""The plan of a trusted curator in numbers, as JSON, with the keys that plans of devices have."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.documents.shown_noise import ShownNoise
from sordino_analysis.guarantees import Guarantee, GuaranteeKind
from sordino_analysis.guarantees.approximate import approximate_of
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.guarantees import NANO, PureEpsilon


class CuratorPromise(BaseModel):
    """Pure ε with `rho` null and δ = 0, or ρ with the (ε, δ) that it implies."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    guarantee: GuaranteeKind
    rho: float | None = Field(description="Null under pure ε.")
    epsilon: float = Field(description="Pure, or of the (ε, δ) that ρ implies; never below the true one.")
    delta: float = Field(description="0 under pure ε.")


def promise_of(guarantee: Guarantee, delta: Fraction) -> CuratorPromise:
    """The numbers of a guarantee, at this δ where it is one of ρ."""
    match guarantee:
        case PureEpsilon():
            return CuratorPromise(guarantee="pure_epsilon", rho=None, epsilon=guarantee.epsilon, delta=0.0)
        case Zcdp():
            epsilon = approximate_of(guarantee, delta).nano_epsilon / NANO
            return CuratorPromise(guarantee="zcdp", rho=guarantee.rho, epsilon=epsilon, delta=float(delta))
    assert_never(guarantee)


class ConsideredRelease(BaseModel):
    """A release that was compared: its variances of counts."""

    mechanism: str
    guarantee: GuaranteeKind
    max_variance: float
    mean_variance: float


class CuratorSummary(CuratorPromise):
    """Variances and bounds are of counts in one release, in squared people.

    `predicted_max_rmse` is of a share of `users`.
    """

    trust: Literal["curator"] = "curator"
    workload: str
    k: int
    queries: int
    rho_cost: float = Field(description="What a cap on ρ is charged: ρ, or ε·tanh(ε/2) for pure ε.")
    neighbours: Neighbours
    objective: Objective
    mechanism: str
    max_variance: float
    mean_variance: float
    bias_bound: float
    lower_bound_max: float | None = Field(description="For unbiased mechanisms; null where none holds for the users.")
    lower_bound_mean: float | None = Field(description="For unbiased mechanisms; null where none holds for the users.")
    many_people_bound_mean: float | None = Field(
        description="Under pure ε, for biased mechanisms too, as the number of people grows and for rows of any weight "
        "up to 1; null where none is known."
    )
    ratio_max: float | None
    ratio_mean: float | None
    holds_from_n: int | None = Field(description="The cells of so many people can have a member of each weighted pair.")
    noise: ShownNoise
    useful_from_n: int = Field(
        description="From so many people on the unbiased answers have at most half the error of the uniform histogram, "
        "for data with shares 1/rank^1.2 of the types in random order."
    )
    considered: tuple[ConsideredRelease, ...] = Field(description="What was compared, the best first.")
    seconds: float
    warnings: tuple[str, ...] = ()
    users: int | None = None
    predicted_max_rmse: float | None = None

    @property
    def premise(self) -> str | None:
        """What the bounds need of the rows, which no release tells; None where they hold for all rows."""
        if not self.holds_from_n:
            return None
        if self.users is None or self.users >= self.k:
            return "every cell has a row"
        return f"the cells that the proof weighs, {self.holds_from_n} at least, have a row"

    def text(self) -> str:
        """JSON with the fields in order; those that the request did not ask for are left out."""
        return json.dumps(
            {
                name: value
                for name, value in self.model_dump(mode="json").items()
                if value is not None or name not in ("users", "predicted_max_rmse")
            },
            ensure_ascii=False,
            allow_nan=False,
        )
