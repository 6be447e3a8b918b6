"""Populations as JSON."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, StrictFloat, StrictInt, computed_field

from sordino_analysis.guarantees import BasicComposition, restore
from sordino_analysis.strict_model import StrictModel
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.times import Created
from sordino_server.models import AskedEpsilon, Population
from sordino_server.populations.names import name_problem
from sordino_shared.guarantees import NANO, PureEpsilon

_Epsilon = StrictFloat | StrictInt | Annotated[str, Field(max_length=40)]


class PopulationCaps(StrictModel):
    """ε that campaigns may ask of one device. A member that is left out stays as it is; null takes a cap away."""

    epsilon_per_period: _Epsilon | None = Field(None, description="Largest ε in any `period_days` days.")
    period_days: Annotated[int, Field(strict=True, ge=1, le=3660)] | None = Field(
        None, description="Length of the period in days; required with `epsilon_per_period`."
    )
    epsilon_lifetime: _Epsilon | None = Field(None, description="Largest ε in total.")

    def columns(self) -> dict[str, int | None]:
        """What was given, as columns of a row."""
        given = {
            "period_nano": ("epsilon_per_period", _nano(self.epsilon_per_period)),
            "period_days": ("period_days", self.period_days),
            "lifetime_nano": ("epsilon_lifetime", _nano(self.epsilon_lifetime)),
        }
        return {column: value for column, (name, value) in given.items() if name in self.model_fields_set}


class PopulationOrder(PopulationCaps):
    """A population with its caps, made before its first campaign opens."""

    name: str = Field(min_length=1, max_length=200, description="The name in the manifests of campaigns.")


_NAME_PROBLEM = "Why no new population may have this name, which stays; null as a rule."


class PopulationDocument(Created):
    """A population, its caps, and what was asked of each of its devices."""

    id: str = Field(description="SHA-256 of the folded name in UTF-8: NFKC, case-folded, blanks alike.")
    name: str
    epsilon_per_period: float | None
    period_days: int | None
    epsilon_lifetime: float | None
    asked_in_period: float | None = Field(description="ε per device used in the last `period_days` days.")
    asked: float = Field(description="ε per device used in total.")
    declared: bool = Field(description="Whether an admin created it or set its caps.")
    name_problem: str | None = Field(description=_NAME_PROBLEM)
    version: int = Field(description="Number of changes of the caps; in quotes, the ETag.")

    @classmethod
    def of(cls, row: Population, asked_in_period: int | None, charged: int) -> Self:
        """The row with the sums of its ledger in nano-ε."""
        return cls(
            id=row.id,
            name=row.name,
            epsilon_per_period=_epsilon(row.period_nano),
            period_days=row.period_days,
            epsilon_lifetime=_epsilon(row.lifetime_nano),
            asked_in_period=_epsilon(asked_in_period),
            asked=charged / NANO,
            declared=row.declared,
            name_problem=name_problem(row.name),
            version=row.version,
            created_at=row.created_at,
        )


class Room(BaseModel):
    """When more may be asked than now, as something leaves the period."""

    at: int = Field(description="Unix seconds.")
    epsilon: float = Field(description="The largest ε of one question then.")

    @computed_field
    def on(self) -> str:
        return iso_8601(self.at)


class BudgetFit(BaseModel):
    """What still fits below the caps at one ε of an answer."""

    epsilon: float
    questions: int = Field(description="How many questions that ask once fit now.")
    weekly_slots: int | None = Field(
        description="A question of every week fits if each device answers once in so many weeks; null where none does."
    )
    weekly_answers: int | None = Field(
        description="So many answers of each device the cap for life leaves to it; null without such a cap."
    )


class PopulationBudget(PopulationDocument):
    """A population with what may still be asked of each of its devices."""

    left: float | None = Field(description="The largest ε of a question that opens now; null without caps.")
    left_in_period: float | None = Field(description="ε left of the cap of the period; null without one.")
    left_for_life: float | None = Field(description="ε left of the cap for life; null without one.")
    room: Room | None = Field(description="When more may be asked; null where nothing leaves the period by itself.")
    fits: list[BudgetFit] = Field(description="What fits at ε = 0.25, 0.5, 1, 2 and 4, as far as they are left.")


class PopulationEntry(Created):
    """A population in a list."""

    id: str
    name: str
    epsilon_per_period: float | None
    period_days: int | None
    epsilon_lifetime: float | None
    declared: bool
    name_problem: str | None = Field(description=_NAME_PROBLEM)

    @classmethod
    def of(cls, row: Population) -> Self:
        """What a list shows of a row."""
        return cls(
            id=row.id,
            name=row.name,
            epsilon_per_period=_epsilon(row.period_nano),
            period_days=row.period_days,
            epsilon_lifetime=_epsilon(row.lifetime_nano),
            declared=row.declared,
            name_problem=name_problem(row.name),
            created_at=row.created_at,
        )


class PopulationList(BaseModel):
    """A page of populations, newest first."""

    populations: list[PopulationEntry]
    next_page_token: str | None


class LedgerEntry(BaseModel):
    """A campaign that opened, and the ε that it asked of every device."""

    campaign: str
    name: str = Field(description="Name of the campaign.")
    guarantee: Literal["pure_epsilon"] = Field(description="Kind of the guarantee of the devices.")
    epsilon: float = Field(description="Its ε in the caps.")
    opened_at: int
    answers_max: int | None = Field(description="Of a series, the most answers of a device; null where it asks once.")
    counts_until: int | None = Field(
        description="Until when it counts in the cap of the period, in Unix seconds; null where none ends it."
    )

    @computed_field
    def opened(self) -> str:
        return iso_8601(self.opened_at)

    @classmethod
    def of(cls, row: AskedEpsilon, name: str, answers_max: int | None, counts_until: int | None) -> Self:
        """What is shown of a row."""
        epsilon = BasicComposition().price(restore(row.kind, row.nano)) / NANO
        return cls(
            campaign=row.id,
            name=name,
            guarantee="pure_epsilon",
            epsilon=epsilon,
            opened_at=row.created_at,
            answers_max=answers_max,
            counts_until=counts_until,
        )


class LedgerPage(BaseModel):
    """A page of a population's ledger, newest first. Entries are never changed or removed."""

    entries: list[LedgerEntry]
    next_page_token: str | None


def _nano(given: float | int | str | None) -> int | None:
    return None if given is None else PureEpsilon.at_most(given).nano


def _epsilon(nano: int | None) -> float | None:
    return None if nano is None else nano / NANO
