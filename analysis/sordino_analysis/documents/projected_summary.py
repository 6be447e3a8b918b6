"""What JL-Release would come to, in numbers, as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.documents.curator_summary import CuratorPromise


class SimulatedErrors(BaseModel):
    """Root mean squared errors of shares over queries and draws."""

    uniform: float = Field(description="Of people who are spread evenly over the types.")
    zipf: float = Field(description="Of people with shares 1/rank^1.2 of the types in random order.")


class ProjectedSummary(CuratorPromise):
    """A biased mechanism of the literature beside the consistent answers of the best unbiased one."""

    trust: Literal["curator"] = "curator"
    workload: str
    mechanism: str
    dimension: int = Field(description="ℓ, how many random sums of the queries are measured.")
    users: int
    errors: SimulatedErrors
    best_mechanism: str
    best_errors: SimulatedErrors
    knowing_nothing: SimulatedErrors = Field(description="Of answering the uniform histogram.")
