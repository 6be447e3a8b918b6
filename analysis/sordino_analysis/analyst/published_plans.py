"""What the plan of every question is made of: a part that devices verify and run, and one that analysts decode with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sordino_analysis.analyst.arguments import PATH, WrongType, takes
from sordino_analysis.analyst.display import Facts
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.planning.plan_folder import write_parts
from sordino_analysis.planning.rounds import RoundPlan
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Domain
from sordino_shared.protocol import DevicePart


@dataclass(frozen=True, eq=False, repr=False)
class PublishedPlan(Facts):
    """Two parts of one plan, whose ε the integers of the device part prove.

    Raises InvalidValue where they are not of one plan, and GuaranteeNotMet where the integers prove a larger ε than the
    device part claims.
    """

    device: DevicePart
    analyst: AnalystPart

    def __post_init__(self) -> None:
        if not (isinstance(self.device, DevicePart) and isinstance(self.analyst, AnalystPart)):
            raise WrongType("a Plan has a DevicePart and an AnalystPart: read_plan makes one of files or bytes")
        RoundPlan(self.device, self.analyst)
        check_guarantee(self.device)

    @property
    def epsilon(self) -> float:
        """ε of one report."""
        return self.device.guarantee.epsilon

    @property
    def domain(self) -> Domain:
        """What a user holds: attributes and their members."""
        return self.device.domain

    @property
    def mechanism(self) -> str:
        """Name of the mechanism; docs/mechanisms.md describes each."""
        return self.analyst.mechanism

    @property
    def blanket(self) -> BlanketTerms | None:
        """The random reports that a shuffler adds and what they hide; None where devices report to the server."""
        return self.analyst.blanket

    @takes(folder=PATH)
    def save(self, folder: Path | str) -> None:
        """Write `device.cbor` and `analyst.cbor`, which `read_plan` or `read_string_plan` reads; raises OSError."""
        write_parts(Path(folder), {"device": self.device, "analyst": self.analyst})
