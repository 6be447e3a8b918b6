"""Releases as JSON: what was asked and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, computed_field, model_validator
from pydantic_core import PydanticCustomError

from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.guarantees.releases import check_epsilon
from sordino_analysis.request_terms import Objective
from sordino_analysis.strict_model import StrictModel
from sordino_server.datasets.schemas import WrittenNumber
from sordino_server.identifiers import DigestText
from sordino_server.kit.times import Created, iso_8601_or_none
from sordino_server.models import Release
from sordino_shared.guarantees import NANO, PureEpsilon


class ReleaseOrder(StrictModel):
    """A release to make: a registered workload about attributes of the dataset, and the ρ or pure ε that it keeps."""

    workload: DigestText
    rho: WrittenNumber | None = Field(None, description="ρ of this release, rounded up to whole nano-ρ.")
    epsilon: WrittenNumber | None = Field(
        None, description="Instead: pure ε of this release, rounded up to whole nano-ε; with `delta` (ε, δ)."
    )
    delta: WrittenNumber | None = Field(
        None, description="With `epsilon`: the release keeps the largest ρ that is proved to imply (ε, δ)."
    )
    mechanism: Literal["gaussian", "laplace", "blocks", "isotropic", "ntz", "jl", "coarse_jl"] | None = Field(
        None, description="Use this mechanism, not the best for the workload."
    )
    objective: Objective = Field("max", description="Minimise the variance of the worst query, or the mean.")

    @model_validator(mode="before")
    @classmethod
    def _refuse_seed(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "seed" in given:
            raise PydanticCustomError(
                "seed", "leave out `seed`: the noise of a release is drawn from the operating system, once"
            )
        return given

    @model_validator(mode="after")
    def _one_guarantee(self) -> Self:
        if (self.rho is None) == (self.epsilon is None):
            raise PydanticCustomError("guarantee", "a release keeps `rho` or `epsilon`, and one of them")
        if self.delta is not None and self.epsilon is None:
            raise PydanticCustomError("guarantee", "`delta` belongs to `epsilon`: a release keeps `rho` at every δ")
        of_rho = self.epsilon is None or self.delta is not None
        if self.mechanism in (("laplace", "blocks") if of_rho else ("gaussian", "isotropic")):
            raise PydanticCustomError(
                "mechanism",
                "`gaussian` and `isotropic` keep `rho` or `epsilon` with `delta`, `laplace` and `blocks` keep "
                "`epsilon` alone, and `ntz`, `jl` and `coarse_jl` either",
            )
        return self

    def keeping(self, rho: str) -> Self:
        """The same order with the ρ that its (ε, δ) was turned into."""
        return self.model_copy(update={"rho": rho, "epsilon": None, "delta": None})

    def guarantee(self) -> Guarantee:
        """What the release keeps, once `delta` was turned into ρ; raises InvalidValue."""
        if self.epsilon is None:
            assert self.rho is not None
            return Zcdp.of(self.rho)
        pure = PureEpsilon.of(self.epsilon)
        check_epsilon(pure)
        return pure


class ReleaseStatus(Created):
    """A release: what was asked and how far it is."""

    id: str
    dataset: str
    workload: str
    objective: Objective
    mechanism: str | None = Field(description="That was asked for by name.")
    rho: float | None = Field(description="Null under pure ε.")
    epsilon: float | None = Field(description="Pure; null under ρ.")
    state: Literal["queued", "spent", "released", "failed", "lost"] = Field(
        description="`lost`: its price is spent, and there is no result and never will be. `failed`: nothing is spent."
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
                "mechanism": row.mechanism,
                "rho": row.nano / NANO if row.kind == Zcdp.kind else None,
                "epsilon": row.nano / NANO if row.kind == PureEpsilon.kind else None,
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
