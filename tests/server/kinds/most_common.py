"""A kind of question that is nowhere else: which member of a domain most users hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from sordino_analysis.answers.document import EstimateDocument, Extras, ends
from sordino_analysis.kinds.base import KindOfQuestion, SimulatedUsers, digests_of
from sordino_analysis.kinds.comparison import JudgedEstimate, TruthComparison
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, WorkloadError, WorkloadSpecification, parse_specification
from sordino_shared.domains import Domain
from sordino_shared.protocol import Manifest


class MostCommonQuestion(BaseModel):
    """A name, a domain, and that its most common member is asked for."""

    model_config = ConfigDict(extra="forbid")

    name: str
    domain: list[dict[str, Any]]
    most_common: Literal["member"]

    def histogram(self) -> WorkloadSpecification:
        return parse_specification({"name": self.name, "domain": self.domain, "queries": "histogram"})

    def canonical(self) -> dict[str, Any]:
        domain = self.histogram().canonical()["domain"]
        return {"name": self.name, "domain": domain, "most_common": self.most_common}

    def build(self) -> Workload:
        return self.histogram().build()

    def sizes(self) -> tuple[int | None, int]:
        return self.build().size, 1


class MostCommonRequest(LinearRequest):
    """The plan of the histogram."""

    @classmethod
    def of(cls, specification: Any, options: PlanningOptions) -> Self:
        return cls(specification.build(), options)


class MostCommonExtras(Extras):
    """Which member comes second, and whether the first is sure to be more common than all others."""

    runner_up: str
    is_sure: bool


class MostCommonKind(KindOfQuestion):
    """The member with the largest share; the band of the histogram holds its share, whichever it is."""

    name = "most_common"
    field = "most_common"
    form = MostCommonQuestion
    extras = MostCommonExtras
    terms = ("plan_device", "plan_analyst")
    row = "most common"
    why_unused = "they apply to pairwise statistics; a most common member is read off a histogram"

    def parse(self, document: Mapping[str, Any]) -> MostCommonQuestion:
        try:
            question = MostCommonQuestion.model_validate(document)
        except ValidationError as error:
            raise WorkloadError(str(error), document) from error
        question.histogram()
        return question

    def request_class(self) -> type[MostCommonRequest]:
        return MostCommonRequest

    def held_domain(self, question: Any) -> Domain:
        domain: Domain = question.build().domain
        return domain

    def follow(self, manifest: Manifest, plan: Any, closed: Sequence[Any], *, conclude: bool) -> EstimateDocument:
        from sordino_analysis.estimation.linear import estimate
        from sordino_analysis.questions.linear.building import build_workload

        only = closed[-1].plan
        found = estimate(only.device, only.analyst, closed[-1].aggregate)
        labels = build_workload(only.device.domain, only.analyst.queries).labels()
        first, second = found.unbiased.argsort()[::-1][:2].tolist()
        band = (float(found.band_lower[first]), float(found.band_upper[first]))
        row = {
            "kind": "most_common",
            "label": labels[first],
            "unit": "share",
            "value": float(found.value[first]),
            "standard_error": float(found.standard_error[first]),
            # The same reports chose the member: only the band holds its share.
            **ends("", band),
            **ends("band_", band),
        }
        return EstimateDocument.of_rows(
            self.name,
            [row],
            MostCommonExtras(
                warnings=found.warnings,
                runner_up=labels[second],
                is_sure=band[0] > float(found.band_upper[second]),
            ),
            campaign_id=str(manifest.campaign),
            users=found.users,
            epsilon=only.device.guarantee.epsilon,
            level=found.level,
            bias_bound=only.analyst.figures.bias_bound,
            target="reporters",
            validity="worst_case",
            mechanism=only.analyst.mechanism,
            **digests_of(only),
        )

    def statements(self, estimate: EstimateDocument) -> Sequence[str]:
        of = estimate.extras
        assert isinstance(of, MostCommonExtras)
        sure = "is the most common" if of.is_sure else "looks the most common"
        return (f"{estimate.table.cells('label')[0]} {sure}, before {of.runner_up}",)

    def truth(self, users: SimulatedUsers, estimate: EstimateDocument) -> Sequence[float]:
        workload = users.asked.build()
        shares = dict(zip(workload.labels(), workload.truth_of_codes(users.codes).tolist(), strict=True))
        return [shares[label] for label in estimate.table.cells("label")]

    def judged(self, estimate: EstimateDocument, compared: TruthComparison) -> JudgedEstimate:
        return JudgedEstimate({"most_common_share": float(compared.truth[0])}, ["compared with the drawn users"])


KIND = MostCommonKind()
