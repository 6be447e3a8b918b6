"""Releases as JSON: what was asked, how far it is, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, computed_field, model_validator
from pydantic_core import PydanticCustomError

from sordino_analysis.answers.columns import Cell, cells_of_bounds
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_analysis.strict_model import StrictModel
from sordino_server.datasets.schemas import WrittenRho
from sordino_server.estimates.schemas import Interval, canonical_bytes, ends, joined
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


class ReleasedAnswer(BaseModel):
    """One query's answer, with the fields that estimates from devices have."""

    label: str
    kind: str = Field(description="prefix, ranges, histogram, marginal, parity, matrix or a product of them.")
    bounds: list[AttributeBounds] = Field(description="The values that the query counts, of each restricted attribute.")
    unit: str = Field(
        default="", description="`share` of the rows, the unit of an attribute, or empty for a count or another number."
    )
    value: float = Field(description="The answer: `uncut`, for a share cut to [0, 1] as its ends are.")
    uncut: float | None = Field(
        default=None,
        description="The unbiased answer: a share of the rows, or a count where that is secret; null in releases of "
        "older versions.",
    )
    standard_error: float = Field(description="For the answer about the rows.")
    interval: Interval = Field(description="Contains that answer with the stated level.")
    band: Interval = Field(description="The bands of all queries together contain all answers with the stated level.")
    population_standard_error: float | None = Field(
        description="For the answer in the population that the rows came from; null for counts."
    )
    population_interval: Interval | None = Field(description="Contains the population's answer; null for counts.")
    consistent: float = Field(description="The answer of the nearest valid histogram: biased.")
    share_interval: Interval | None = Field(
        description="Of counts: contains the answer as a share of the secret number of rows (Fieller 1954); else null."
    )
    coverage: None = Field(default=None, description="Null: the noise has the stated law for any number of rows.")

    def cells(self) -> dict[str, Cell]:
        """Its row of a table."""
        return {
            "kind": self.kind,
            "label": self.label,
            **cells_of_bounds(self.bounds),
            "unit": self.unit or None,
            "value": self.value,
            "uncut": self.uncut,
            "standard_error": self.standard_error,
            **ends("", self.interval),
            **ends("band_", self.band),
            "population_standard_error": self.population_standard_error,
            **ends("population_", self.population_interval),
            **ends("share_", self.share_interval),
            "consistent": self.consistent,
        }


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


class ReleaseDocument(BaseModel):
    """The answers of one release; they never change."""

    kind: Literal["release"] = "release"
    release: str
    dataset: str
    workload: str
    plan: str = Field(description="Digest of the plan, which `sordino audit` proves.")
    mechanism: str
    objective: Objective
    guarantee: ReleaseGuarantee
    scale: Literal["share", "count"] = Field(description="Of the answers: counts where the number of rows is secret.")
    users: int | None = Field(description="Number of rows; null where it is secret.")
    rows: NumberOfRows | None = Field(description="Where the number of rows is secret: what was measured of it.")
    level: float
    target: Literal["dataset"] = Field(description="The rows that `value` and `interval` refer to.")
    validity: Literal["worst_case"] = Field(description="Holds whatever the rows are.")
    unbiased: bool
    bias_bound: float
    predicted_rmse_max: float = Field(description="Standard error of the worst query, as planned.")
    unbiased_bound: UnbiasedBound
    squared_sensitivity: int = Field(description="Exact, of the integers that were measured.")
    noise_variance: float = Field(description="Of the discrete Gaussian that was added to each of them.")
    warnings: list[str]
    queries: list[ReleasedAnswer]
    unlisted: int
    compared: int = Field(description="Number of answers whose bands hold at once, the number of rows included.")

    def table(self) -> AnswerTable:
        """A row for each query."""
        return AnswerTable.of_rows(
            [query.cells() for query in self.queries],
            dataset=self.dataset,
            release=self.release,
            users=self.users,
            unlisted=self.unlisted,
            compared=self.compared,
            epsilon=self.guarantee.epsilon,
            rho=self.guarantee.rho,
            delta=self.guarantee.delta,
            neighbours=self.guarantee.neighbours,
            level=self.level,
            bias_bound=self.bias_bound,
            target=self.target,
            validity=self.validity,
            mechanism=self.mechanism,
            warnings=joined(self.warnings),
        )

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)
