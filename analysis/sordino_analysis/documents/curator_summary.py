"""The plan of a trusted curator in numbers, as JSON, with the keys that plans of devices have."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.request_terms import Neighbours, Objective


class CuratorSummary(BaseModel):
    """Variances and bounds are of counts in one release at `rho`, in squared people.

    `predicted_max_rmse` is of a share of `users`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    trust: Literal["curator"] = "curator"
    workload: str
    k: int
    queries: int
    rho: float
    epsilon: float = Field(description="Of the (ε, δ) that ρ implies; never below the true one.")
    delta: float
    neighbours: Neighbours
    objective: Objective
    mechanism: str
    max_variance: float
    mean_variance: float
    bias_bound: float
    lower_bound_max: float | None = Field(description="For unbiased mechanisms; null where none holds for the users.")
    lower_bound_mean: float | None = Field(description="For unbiased mechanisms; null where none holds for the users.")
    ratio_max: float | None
    ratio_mean: float | None
    holds_from_n: int | None = Field(description="The cells of so many people can have a member of each weighted pair.")
    squared_sensitivity: int = Field(description="Exact, of the integers that are measured.")
    noise_variance: float = Field(description="Of the discrete Gaussian, in the lattice of the integers.")
    useful_from_n: int = Field(
        description="From so many people on the unbiased answers have at most half the error of the uniform histogram, "
        "for data with shares 1/rank^1.2 of the types in random order."
    )
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
