"""One way to make a release: what is measured, with which noise."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import NoiseLaw
from sordino_analysis.curator.strategy import Strategy
from sordino_analysis.guarantees import Guarantee


@dataclass(frozen=True, eq=False)
class Candidate:
    """A strategy, the noise that keeps the guarantee on it, and what both are called."""

    name: str
    guarantee: Guarantee
    strategy: Strategy
    law: NoiseLaw

    @property
    def variances(self) -> Floats:
        """(m,) of the unbiased answers, in squared counts."""
        return self.strategy.variances_under(self.law.variances())
