"""What JL-Release would come to, in numbers, as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.documents.curator_summary import CuratorPromise
from sordino_analysis.documents.shown_noise import ShownNoise


class SimulatedErrors(BaseModel):
    """Root mean squared errors of shares over queries and draws."""

    uniform: float = Field(description="Of people who are spread evenly over the types.")
    zipf: float = Field(description="Of people with shares 1/rank^1.2 of the types in random order.")


class ProjectedSummary(CuratorPromise):
    """A biased mechanism of the literature beside the projected answers of the best unbiased one."""

    trust: Literal["curator"] = "curator"
    workload: str
    mechanism: str
    sums: int = Field(description="ℓ, how many sums of the queries with random signs are measured.")
    users: int
    noise: ShownNoise
    errors: SimulatedErrors
    best_mechanism: str | None = Field(description="Null where no unbiased release of so many types is planned.")
    best_errors: SimulatedErrors | None
    knowing_nothing: SimulatedErrors = Field(description="Of answering the uniform histogram.")
