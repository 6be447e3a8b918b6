"""Datasets as JSON: their terms and their ledger, never a row, a count, or a secret number of rows."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, computed_field, model_validator
from pydantic_core import PydanticCustomError

from sordino_analysis.guarantees import GuaranteeKind
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear.attributes import AttributeSpecification, domain_of
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.strict_model import Listed, StrictModel
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.times import Created, iso_8601_or_none
from sordino_server.models import Dataset, DatasetAccount, DatasetSpending
from sordino_shared._checks import check_name
from sordino_shared.domains import Domain
from sordino_shared.guarantees import NANO, PureEpsilon

WrittenNumber = StrictFloat | StrictInt | Annotated[str, Field(max_length=40)]
_LEAST_DELTA, _USUAL_DELTA = 1e-15, 1e-6


class CapChange(StrictModel):
    """Another cap on what all releases from a dataset may spend together: `rho` or `epsilon`, as its account counts."""

    rho: WrittenNumber | None = Field(None, description="Largest total ρ, rounded down to whole nano-ρ.")
    epsilon: WrittenNumber | None = Field(
        None, description="Largest total ε, rounded down to whole nano-ε: every release is under pure ε."
    )

    @model_validator(mode="after")
    def _one_account(self) -> Self:
        if (self.rho is None) == (self.epsilon is None):
            raise PydanticCustomError("cap", "a cap is `rho` or `epsilon`, and one of them")
        return self

    @property
    def account(self) -> DatasetAccount:
        """What the cap counts."""
        return DatasetAccount.RHO if self.epsilon is None else DatasetAccount.EPSILON

    def nano(self) -> int:
        """In nano-ρ or nano-ε; raises InvalidValue."""
        if self.epsilon is not None:
            return PureEpsilon.at_most(self.epsilon).nano
        assert self.rho is not None
        return Zcdp.at_most(self.rho).nano_rho


class Cap(CapChange):
    """The cap of a new dataset, and with `rho` the δ at which ε is shown to people."""

    delta: Annotated[float, Field(ge=_LEAST_DELTA, lt=1)] | None = Field(
        None, description="δ at which ε is shown beside ρ; 1e-6 if left out."
    )

    @model_validator(mode="after")
    def _delta_of_rho(self) -> Self:
        if self.epsilon is not None and self.delta is not None:
            raise PydanticCustomError("cap", "leave out `delta`: a cap on pure ε has none")
        return self

    @property
    def shown_at(self) -> float:
        """The δ that is stored."""
        return _USUAL_DELTA if self.delta is None else self.delta


class DatasetTerms(StrictModel):
    """What a dataset is, apart from its rows: the file of `sordino datasets add --spec`."""

    # Built where rows are read, which is another process than the one that answers.
    model_config = ConfigDict(defer_build=True)

    name: str = Field(min_length=1, max_length=200)
    domain: Listed[AttributeSpecification]
    unit: str = Field("row", min_length=1, max_length=200, description="What one row stands for, such as a person.")
    neighbours: Neighbours = Field(
        "replace", description="What is protected: the content of one row, or also whether it is there."
    )
    cap: Cap

    def built(self) -> Domain:
        """The domain; raises InvalidValue for terms that contradict themselves."""
        check_name(self.unit, "unit")
        return domain_of(self.domain)

    def canonical(self) -> str:
        """Domain, unit, neighbours and δ, as they are stored and as rows are sealed to them."""
        return _canonical(self.model_dump(mode="json", exclude_none=True, exclude={"name", "cap"}) | self._delta())

    def _delta(self) -> dict[str, Any]:
        return {"delta": self.cap.shown_at}


class DatasetOrder(DatasetTerms):
    """A dataset with its rows, column by column; they are counted, and not kept."""

    columns: dict[str, list[Any]] = Field(description="Of each attribute its values, row by row: text, number, null.")


class CapDocument(BaseModel):
    """A cap on ρ or on pure ε, and how much of it is spent."""

    rho: float | None = Field(description="Null where the cap is on ε.")
    epsilon: float | None = Field(description="Null where the cap is on ρ.")
    delta: float | None = Field(description="δ at which ε is shown beside ρ; null where the cap is on ε.")
    spent: float = Field(description="ρ or ε that releases spent, those without a result included.")

    @classmethod
    def of(cls, row: Dataset, spent: int) -> Self:
        """The cap of a row, with the sum of its ledger."""
        of_rho = row.account == DatasetAccount.RHO
        return cls(
            rho=row.cap_nano / NANO if of_rho else None,
            epsilon=None if of_rho else row.cap_nano / NANO,
            delta=json.loads(row.terms)["delta"] if of_rho else None,
            spent=spent / NANO,
        )


class DatasetDocument(Created):
    """A dataset: its terms and its cap."""

    id: str = Field(description="SHA-256 of the folded name in UTF-8: NFKC, case-folded, blanks alike.")
    name: str
    domain: list[AttributeSpecification]
    unit: str
    neighbours: Neighbours
    rows: int | None = Field(description="Number of rows; null where it is secret, and once they were deleted.")
    cap: CapDocument
    version: int = Field(description="Number of changes of the cap; in quotes, the ETag.")
    deleted_at: int | None
    warnings: list[str] = Field(default=[], description="Said once, when it is added.")

    @computed_field
    def deleted(self) -> str | None:
        return iso_8601_or_none(self.deleted_at)

    @classmethod
    def of(cls, row: Dataset, spent: int, warnings: tuple[str, ...] = ()) -> Self:
        """The row with the sum of its ledger in nano-ρ or nano-ε."""
        terms = json.loads(row.terms)
        return cls(
            id=row.id,
            name=row.name,
            domain=terms["domain"],
            unit=terms["unit"],
            neighbours=terms["neighbours"],
            rows=row.rows,
            cap=CapDocument.of(row, spent),
            version=row.version,
            created_at=row.created_at,
            deleted_at=row.deleted_at,
            warnings=list(warnings),
        )


class DatasetEntry(Created):
    """A dataset in a list."""

    id: str
    name: str
    deleted_at: int | None

    @classmethod
    def of(cls, row: Dataset) -> Self:
        """What a list shows of a row."""
        return cls(id=row.id, name=row.name, created_at=row.created_at, deleted_at=row.deleted_at)


class DatasetList(BaseModel):
    """A page of datasets, newest first."""

    datasets: list[DatasetEntry]
    next_page_token: str | None


class SpentEntry(BaseModel):
    """What a release spent, whether it has a result or not."""

    release: str
    guarantee: GuaranteeKind = Field(description="Kind of the guarantee of the release.")
    rho: float | None = Field(description="Its price in ρ; null where the cap is on ε.")
    epsilon: float | None = Field(description="Its price in ε; null where the cap is on ρ.")
    spent_at: int

    @computed_field
    def spent(self) -> str:
        return iso_8601(self.spent_at)

    @classmethod
    def of(cls, row: DatasetSpending, account: str) -> Self:
        """What is shown of a row of an account."""
        price = {each.value: row.nano / NANO if each == account else None for each in DatasetAccount}
        return cls.model_validate({"release": row.id, "guarantee": row.kind, "spent_at": row.created_at, **price})


class DatasetLedger(BaseModel):
    """A page of a dataset's ledger, newest first. Entries are never changed or removed."""

    entries: list[SpentEntry]
    next_page_token: str | None


def neighbours_of(row: Dataset) -> Neighbours:
    """The relation that releases from the dataset protect."""
    found: Neighbours = json.loads(row.terms)["neighbours"]
    return found


def unit_of(row: Dataset) -> str:
    """What one row stands for."""
    return str(json.loads(row.terms)["unit"])


def delta_of(row: Dataset) -> Fraction:
    """The δ at which ε is shown."""
    return Fraction(str(json.loads(row.terms)["delta"]))


def domain_of_terms(terms: str) -> Domain:
    """The domain of stored terms."""
    written = json.loads(terms)
    return DatasetTerms(name="stored", domain=written["domain"], cap=Cap(rho=1, delta=written["delta"])).built()


def _canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
