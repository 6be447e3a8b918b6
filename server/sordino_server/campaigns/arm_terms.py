"""Arms of an experiment as an order has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sordino_analysis.experiments.looks import Looks
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.request_terms import MOST_LEVEL
from sordino_analysis.strict_model import StrictModel
from sordino_server.models import ExperimentRow
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm


class ArmTerms(StrictModel):
    """One version of the app: a device draws it with probability weight/65536 and keeps it."""

    name: str = Field(description="1 to 24 letters, digits and hyphens; no attribute has the name.")
    weight: Annotated[int, Field(strict=True, description="1 to 65536; the weights sum to 65536.")]


def arms_of(named: Sequence[ArmTerms], kind: str) -> tuple[Arm, ...]:
    """The arms in their order; raises InvalidValue for some that no device may draw, and where nothing compares them.

    `kind` is that of the question.
    """
    if named and not kind_named(kind).compares_arms:
        asks = f"this plan asks a question of kind {kind}"
        raise InvalidValue(f"/arms: arms are compared by shares and means; {asks}: ask linear queries", kind)
    return tuple(Arm(each.name, each.weight) for each in named)


class ExperimentTerms(StrictModel):
    """How the arms are compared: pinned before the first report."""

    primary: str = Field(min_length=1, max_length=200, description="Label of the query that decides.")
    looks: Looks = Field(
        Looks.PLANNED,
        description="`planned`: every day, `end`: once, `any`: every day with no end planned, `always`: the same for "
        "any number of reports. Behind a shuffler `end`, also if left out.",
    )
    days: Annotated[
        int,
        Field(
            strict=True,
            ge=1,
            le=366,
            description="The campaign closes after so many days; behind a shuffler they count from its creation.",
        ),
    ]
    users: Annotated[int, Field(strict=True, ge=2, lt=2**53, description="Planned users of all arms.")]
    spread: Annotated[float, Field(gt=0, le=0.5)] = Field(
        0.5, description="Standard deviation of the users' values, as a share of the query's scale."
    )
    level: Annotated[float, Field(gt=0, le=MOST_LEVEL)] = Field(0.95, description="Of all arms and looks together.")
    expect: Annotated[float | None, Field(allow_inf_nan=False)] = Field(
        None,
        description="What the primary answer is expected to be, in its unit: with looks `always` the nearer to the "
        "truth it is, the fewer users are needed, and they hold whatever it is.",
    )

    @model_validator(mode="after")
    def _expects_for_its_looks(self) -> Self:
        if self.expect is not None and self.looks is not Looks.ALWAYS:
            raise PydanticCustomError("expect", "expect goes with looks `always`: other looks do not use it")
        return self

    def with_one_look(self) -> Self:
        """The same for a campaign behind a shuffler; raises PydanticCustomError where more looks are asked for."""
        if "looks" in self.model_fields_set and self.looks is not Looks.END:
            raise PydanticCustomError(
                "one_look",
                "experiment/looks: behind a shuffler no report is opened before the end, so that an experiment has one "
                "look: say `end`, or leave looks out",
            )
        return self.model_copy(update={"looks": Looks.END})

    def row(self, campaign: str) -> ExperimentRow:
        """What is kept of them."""
        return ExperimentRow(
            campaign_id=campaign,
            primary_query=self.primary,
            looks=self.looks.value,
            days=self.days,
            users=self.users,
            spread=self.spread,
            level=self.level,
            expect=self.expect,
        )
