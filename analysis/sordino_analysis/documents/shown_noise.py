"""The noise of a release as JSON shows it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class ShownBlock(BaseModel):
    """A block of noise P(z) ∝ e^(−‖z‖/scale) on so many rows."""

    rows: int
    norm: Literal["l1", "linf"]
    scale: float


class ShownNoise(BaseModel):
    """The noise on what is measured, in the lattice of its whole numbers."""

    squared_sensitivity: int | None = Field(None, description="Δ², exact, of the discrete Gaussian; else null.")
    variance: float | None = Field(None, description="σ² of the discrete Gaussian on each number; else null.")
    blocks: tuple[ShownBlock, ...] | None = Field(None, description="Of pure ε, in the order of the rows; else null.")
