"""How many users one question takes, by whom they trust."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.request_terms import Neighbours, Objective

Trust = Literal["local", "shuffled", "blanket", "curator"]


class UsersUnderTrust(BaseModel):
    """Honest users that are enough for the error and for the privacy, and from whom this protects them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    trust: Trust
    against: str = Field(description="Who learns no more than the guarantee allows.")
    users: int | None = Field(description="Enough for both; null where none is known.")
    users_for_error: int | None = None
    users_for_privacy: int | None = Field(None, description="So many honest reports hide one of them.")
    device_epsilon: float | None = Field(None, description="What a device proves and spends.")
    blanket: int | None = Field(None, description="Random reports that a shuffler adds; others may all be fake.")
    rho: float | None = Field(None, description="What a release of a curator spends; null where it is under pure ε.")
    mechanism: str | None = None
    reason: str | None = Field(None, description="Why no number is known, or what it is compared by.")


class PriceOfLocality(BaseModel):
    """Users for `target_error` under (ε, δ), by whom they trust, for neighbours that differ in one user's value.

    Local plans give ε without δ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    target_error: float = Field(description="Root mean squared error, in units of the answers.")
    objective: Objective
    epsilon: float
    delta: float
    neighbours: Neighbours = "replace"
    rows: tuple[UsersUnderTrust, ...]
