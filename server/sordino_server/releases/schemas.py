"""Releases as JSON: what was asked, how far it is, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, computed_field, model_validator
from pydantic_core import PydanticCustomError

from sordino_analysis.answers.document import Extras
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_analysis.strict_model import StrictModel
from sordino_server.datasets.schemas import WrittenRho
from sordino_server.estimates.schemas import schema_of
from sordino_server.identifiers import DigestText
from sordino_server.kit.times import Created, iso_8601_or_none
from sordino_server.models import Release
from sordino_shared.guarantees import NANO


class ReleaseOrder(StrictModel):
    """A release to make: a registered workload about attributes of the dataset, and the ρ that it may spend."""

    workload: DigestText
    rho: WrittenRho = Field(description="ρ of this release, rounded up to whole nano-ρ.")
    objective: Objective = Field("max", description="Minimise the variance of the worst query, or the mean.")

    @model_validator(mode="before")
    @classmethod
    def _refuse_seed(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "seed" in given:
            raise PydanticCustomError(
                "seed", "leave out `seed`: the noise of a release is drawn from the operating system, once"
            )
        return given

    def guarantee(self) -> Zcdp:
        """What the release spends; raises InvalidValue."""
        return Zcdp.of(self.rho)


class ReleaseStatus(Created):
    """A release: what was asked and how far it is."""

    id: str
    dataset: str
    workload: str
    objective: Objective
    rho: float
    state: Literal["queued", "spent", "released", "failed", "lost"] = Field(
        description="`lost`: ρ is spent, and there is no result and never will be. `failed`: nothing is spent."
    )
    error: str | None
    digest: str | None = Field(description="SHA-256 of the answers.")
    finished_at: int | None

    @computed_field
    def finished(self) -> str | None:
        return iso_8601_or_none(self.finished_at)

    @classmethod
    def of(cls, row: Release) -> Self:
        """What is shown of a row."""
        return cls.model_validate(
            {
                "id": row.id,
                "dataset": row.dataset_id,
                "workload": row.workload_id,
                "objective": row.objective,
                "rho": row.nano_rho / NANO,
                "state": row.state,
                "error": row.error,
                "digest": row.digest,
                "created_at": row.created_at,
                "finished_at": row.finished_at,
            }
        )


class ReleaseList(BaseModel):
    """A page of a dataset's releases, newest first."""

    releases: list[ReleaseStatus]
    next_page_token: str | None


class ReleaseGuarantee(BaseModel):
    """What the release is proved to keep."""

    kind: Literal["zcdp"]
    rho: float
    neighbours: Neighbours
    unit: str = Field(description="What one row stands for.")
    epsilon: float = Field(description="Of the (ε, δ) that ρ implies; never below the true one.")
    delta: float


class NumberOfRows(BaseModel):
    """The secret number of rows, as it was measured with noise in the same release."""

    value: float
    standard_error: float


class UnbiasedBound(BaseModel):
    """Ratios of variances to lower bounds for unbiased mechanisms of this ρ; null where none holds for so many rows.

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
    predicted_rmse_max: float = Field(description="Standard error of the worst query, as planned.")
    unbiased_bound: UnbiasedBound
    squared_sensitivity: int = Field(description="Exact, of the integers that were measured.")
    noise_variance: float = Field(description="Of the discrete Gaussian that was added to each of them.")


KIND = "release"
ReleaseDocument = schema_of("Release", KIND, ReleaseExtras)
