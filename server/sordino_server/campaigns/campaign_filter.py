"""Which campaigns a list has, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sordino_shared.protocol import CampaignState


class CampaignSort(StrEnum):
    """What a list of campaigns is sorted by; those that agree in it by their ids."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    POPULATION = "population"
    STATE = "state"


@dataclass(frozen=True, kw_only=True)
class CampaignFilter:
    """Chooses the campaigns that agree with every member that is not None."""

    state: CampaignState | None = None
    population: str | None = None
    name: str | None = None
    id_prefix: str | None = None
    since: int | None = None
    archived: bool | None = None
    series: bool | None = None
