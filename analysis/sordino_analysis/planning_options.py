"""What a plan is asked for besides its question: one value, from the API and the command line to the search."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import ConfigDict, Field, StrictInt, ValidationError

from sordino_analysis.guarantees.written_chance import chance_of
from sordino_analysis.request_terms import Effort, Objective, Target
from sordino_analysis.strict_model import StrictModel
from sordino_analysis.validation_messages import reason
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

if TYPE_CHECKING:
    from sordino_analysis.guarantees.approximate import Approximate

# ε of a device where a shuffler hides it and nobody names another: ε is what remains where both operators collude.
DEFAULT_DEVICE_EPSILON = 4
# Claims are above what is proved by 10⁻¹², so that no rounding decides.
LEAST_CLAIMED_DELTA = Fraction(1, 10**11)
# Above this a count of users no longer is an exact double.
MAX_USERS = 2**53
# JSON readers take 1e400 and NaN for numbers; JSON writers turn them into null, and the kept order could not be read.
_FiniteFloat = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class PlanError(InvalidValue):
    """No plan can be made as asked; the message says what to change."""

    code = "plan-error"
    advice = "change the option or the workload that the message names"


class CollectorTarget(StrictModel):
    """(ε, δ) of one report against the collector, even if all others are fake: a shuffler adds random ones."""

    model_config = ConfigDict(frozen=True)

    epsilon: _FiniteFloat | StrictInt | Annotated[str, Field(max_length=40)] = Field(
        description="A number, or its decimal digits as text."
    )
    delta: _FiniteFloat | Annotated[str, Field(max_length=40)] = Field(
        description="From 1e-11 to below 1: a number, or text."
    )

    @property
    def bound(self) -> Approximate:
        """As a guarantee: δ is the decimal that was written. Raises InvalidValue for what is none."""
        # The API reads options without scipy.
        from sordino_analysis.guarantees.approximate import Approximate

        return Approximate(self.nano_epsilon, chance_of(self.delta))

    @property
    def nano_epsilon(self) -> int:
        """ε in nano-ε; raises InvalidValue."""
        return PureEpsilon.of(self.epsilon).nano

    @classmethod
    def written(cls, text: str) -> Self:
        """From `EPS,DELTA`, such as `1,1e-6`; raises PlanError for other texts."""
        epsilon, comma, delta = text.partition(",")
        if not comma:
            raise PlanError(f"ε and δ against the collector are written as 1,1e-6, not {text!r}", text)
        try:
            return cls(epsilon=epsilon.strip(), delta=delta.strip())
        except ValidationError as error:
            raise PlanError(f"ε and δ against the collector are written as 1,1e-6, not {text[:80]!r}", text) from error


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
    collector: CollectorTarget | None = Field(
        None,
        description="(ε, δ) against the collector, by random reports of a shuffler: ε of the round is then the most "
        "that a device may spend, and what takes the fewest users for target_error is chosen.",
    )
    target_error: _FiniteFloat | None = Field(
        None, gt=0, description="Root mean squared error that collector chooses by, in units of the answers."
    )
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

    def check_collector(self) -> None:
        """Raise PlanError where what is asked for with `collector` does not fit together, or δ is none."""
        if self.collector is None:
            if self.target_error is not None:
                raise PlanError("target_error is what collector chooses by: give collector, too", self.target_error)
            return
        if self.target_error is None:
            raise PlanError(
                "collector chooses by the users that an error takes: state the error, such as target_error .01", self
            )
        if self.users is not None:
            raise PlanError("collector chooses the number of users: give target_error and not users", self.users)
        self.check_claim()

    def check_claim(self) -> None:
        """Raise PlanError where nothing is proved at the δ against a collector, or nothing more than ε says."""
        if self.collector is None:
            return
        if chance_of(self.collector.delta) < LEAST_CLAIMED_DELTA:
            raise PlanError(
                f"δ against the collector is from {float(LEAST_CLAIMED_DELTA):g} to below 1, got "
                f"{self.collector.delta}: a smaller one is not proved in double precision",
                self.collector,
            )
        if self.collector.nano_epsilon >= self.guarantee.nano:
            raise PlanError(
                f"ε {self.collector.nano_epsilon / NANO:g} against the collector holds without a shuffler where a "
                f"device spends {self.guarantee.epsilon:g}: allow devices more, or leave collector out",
                self.collector,
            )

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise PlanError where an option of these `names`, which have no default but None, is given."""
        if any(getattr(self, name) is not None for name in names):
            raise PlanError(why, self)
