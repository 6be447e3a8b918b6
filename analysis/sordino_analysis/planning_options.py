"""What a plan is asked for besides its question: one value, from the API and the command line to the search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StrictInt, ValidationError

from sordino_analysis.request_terms import Effort, Objective, Target
from sordino_analysis.strict_model import StrictModel
from sordino_analysis.validation_messages import reason
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# Above this a count of users no longer is an exact double.
MAX_USERS = 2**53
# JSON readers take 1e400 and NaN for numbers; JSON writers turn them into null, and the kept order could not be read.
_FiniteFloat = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class PlanError(InvalidValue):
    """No plan can be made as asked; the message says what to change."""

    code = "plan-error"
    advice = "change the option or the workload that the message names"


class PlanningOptions(StrictModel):
    """ε, the objective and the limits of a plan. Each kind of question refuses the options that it has no use for.

    Without a time limit the same options give the same plan.
    """

    model_config = ConfigDict(frozen=True)

    epsilon: _FiniteFloat | StrictInt | Annotated[str, Field(max_length=40)] = Field(
        description="ε of the round: a number, or its decimal digits as text."
    )
    objective: Objective = "max"
    mechanism: str | None = Field(None, max_length=200, description="Use this mechanism; null for the best one.")
    users: int | None = Field(
        None,
        ge=1,
        le=MAX_USERS,
        strict=True,
        description="Expected number of users; required for a pairwise statistic.",
    )
    protocol: str | None = Field(
        None, max_length=200, description="Use this protocol for a pairwise statistic; null for the best one."
    )
    target: Target | None = Field(
        None,
        description="Pairs of a pairwise statistic: of different users (default), or drawn from the histogram.",
    )
    reduction: int | None = Field(
        None, ge=1, le=1 << 20, strict=True, description="Dimension of a random projection of the factors."
    )
    robust: _FiniteFloat | None = Field(
        None,
        gt=0,
        lt=1,
        description="Share of reports that may be fake: weighs how far they move an answer; needs users.",
    )
    seed: int = Field(0, ge=0, lt=2**63, strict=True)
    effort: Effort = Field(Effort.STANDARD, description="Search effort.")
    time_limit: _FiniteFloat | None = Field(
        None, gt=0, le=86400, description="Longest planning time in seconds; then the best plan so far is used."
    )

    @classmethod
    def of(cls, **options: Any) -> Self:
        """The options by name; raises PlanError that names each one that does not fit."""
        try:
            return cls(**options)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            text = "; ".join(f"{item['loc'][0] if item['loc'] else 'options'}: {reason(item)}" for item in found)
            raise PlanError(text, options) from error

    @property
    def guarantee(self) -> PureEpsilon:
        """ε as a whole number of nano-ε, rounded up."""
        return PureEpsilon.of(self.epsilon)

    def with_time_limit(self, seconds: float) -> Self:
        """The same options with at most so many seconds."""
        return self.model_copy(update={"time_limit": min(seconds, self.time_limit or seconds)})

    def content(self, unused: Iterable[str]) -> dict[str, Any]:
        """JSON-able: all that a plan depends on but for the `unused` options; not how long it may take."""
        chosen = self.model_dump(mode="json", exclude={"time_limit", *unused})
        return chosen | {"epsilon": self.guarantee.nano}

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise PlanError where an option of these `names`, which have no default but None, is given."""
        if any(getattr(self, name) is not None for name in names):
            raise PlanError(why, self)
