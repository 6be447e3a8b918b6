"""The answers of a release: linear queries about rows that a trusted curator holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.document import EstimateDocument, Extras
from sordino_analysis.documents.projected_summary import SimulatedErrors
from sordino_analysis.documents.shown_noise import ShownNoise
from sordino_analysis.figures import chosen, figure, with_error
from sordino_analysis.guarantees import GuaranteeKind
from sordino_analysis.kinds.base import KindOfAnswers
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.quantities import quantity


class ReleaseGuarantee(BaseModel):
    """What the release is proved to keep."""

    kind: GuaranteeKind
    rho: float | None = Field(description="Null under pure ε.")
    neighbours: Neighbours
    unit: str = Field(description="What one row stands for.")
    epsilon: float = Field(description="Pure, or of the (ε, δ) that ρ implies; never below the true one.")
    delta: float = Field(description="0 under pure ε.")


class NumberOfRows(BaseModel):
    """The secret number of rows, as it was measured with noise in the same release."""

    value: float
    standard_error: float


class UnbiasedBound(BaseModel):
    """Ratios of variances to lower bounds for unbiased mechanisms of this guarantee; null where none holds.

    For rows that leave cells empty less is proved: the true ratio to what is possible may be larger.
    """

    ratio_max: float | None = Field(description="Of the worst query's variance.")
    ratio_mean: float | None = Field(description="Of the mean variance.")
    holds_from_n: int | None = Field(description="The cells of so many people can have a member of each weighted pair.")
    premise: str | None = Field(
        description="What the bound needs of the rows, such as `every cell has a row`, which a release does not "
        "tell; null where it holds for all rows."
    )


class ReleaseExtras(Extras):
    """The answers of one release; they never change. `users` is null where the number of rows is secret."""

    workload: str
    plan: str = Field(description="Digest of the plan, which `sordino audit` proves.")
    objective: Objective
    guarantee: ReleaseGuarantee
    scale: Literal["share", "count"] = Field(description="Of the answers: counts where the number of rows is secret.")
    rows: NumberOfRows | None = Field(description="Where the number of rows is secret: what was measured of it.")
    unbiased: bool
    predicted_rmse_max: float | None = Field(
        description="Standard error of the worst query, as planned; null where answers are biased."
    )
    simulated_errors: SimulatedErrors | None = Field(
        None, description="Where answers are biased, as those of JL-Release: their errors, for two examples of rows."
    )
    unbiased_bound: UnbiasedBound
    noise: ShownNoise


class ReleaseKind(KindOfAnswers):
    """Linear queries with noise that was drawn once; counts where the number of rows is secret."""

    name = "release"
    extras = ReleaseExtras
    terms = ("release", "dataset", "users", "compared", "rho", "delta", "neighbours", "bias_bound")

    def notes(self, estimate: EstimateDocument) -> Sequence[str]:
        """Where the answers come from, how far they are from the best, and what the release keeps."""
        of, terms = estimate.extras, estimate.terms
        assert isinstance(of, ReleaseExtras)
        users = terms["users"]
        return (
            f"release {terms['release']} from {terms['dataset']}: "
            + (quantity(users, "row") if isinstance(users, int) else _noisy(of.rows))
            + _bound(of.unbiased_bound),
            guarantee_text(of.guarantee),
            *_biased(of.simulated_errors),
        )


def guarantee_text(own: ReleaseGuarantee) -> str:
    """What is kept, and of what."""
    kept = (
        f"the content of one {own.unit}" if own.neighbours == "replace" else f"one {own.unit}, and whether it is there"
    )
    if own.rho is None:
        return f"ε = {chosen(own.epsilon)} (pure: δ = 0) protects {kept}"
    return f"ρ = {chosen(own.rho)} (ε = {figure(own.epsilon)} at δ = {chosen(own.delta)}) protects {kept}"


def _biased(errors: SimulatedErrors | None) -> Sequence[str]:
    """What stands in place of standard errors."""
    if errors is None:
        return ()
    return (
        "answers of the nearest histogram: they are biased and have no intervals; root mean squared errors of "
        f"{figure(errors.uniform)} for rows spread evenly and {figure(errors.zipf)} as 1/rank^1.2, simulated",
    )


def _noisy(rows: NumberOfRows | None) -> str:
    return "" if rows is None else f"counts, of about {with_error(rows.value, rows.standard_error, '')} rows"


def _bound(unbiased: UnbiasedBound) -> str:
    """How far from the best; nothing where no bound is proved."""
    if unbiased.ratio_max is None:
        return ""
    premise = f", if {unbiased.premise}" if unbiased.premise else ""
    return f"; worst variance {figure(unbiased.ratio_max)} × the lower bound for unbiased releases{premise}"
