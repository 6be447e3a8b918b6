"""Campaigns as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, Field, StrictFloat, StrictInt, computed_field, model_validator
from pydantic_core import PydanticCustomError

from sordino_analysis.answers.headline import Headline
from sordino_analysis.strict_model import Listed, StrictModel
from sordino_server.campaigns.arm_terms import ArmTerms, ExperimentTerms
from sordino_server.campaigns.gate_terms import GateTerms
from sordino_server.campaigns.question import CampaignError, Question
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.series_terms import SeriesOrder
from sordino_server.campaigns.server_terms import ServerTerms
from sordino_server.campaigns.text_terms import OwnerTextTerms
from sordino_server.identifiers import RequestText
from sordino_server.kit.times import Created, Opened, iso_8601_or_none
from sordino_server.models import BatchState, Campaign, SeriesRow
from sordino_server.shuffled.schemas import RouteOrder
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import Arm, CampaignState, Manifest, ValueOf
from sordino_shared.protocol.experiments import MAX_ARMS
from sordino_shared.protocol.owner_texts import MAX_TEXTS
from sordino_shared.protocol.routes import WHOLE_ATTO, ShuffledRoute
from sordino_shared.protocol.servers import MAX_SERVERS
from sordino_shared.quantities import quantity
from sordino_shared.shuffling.composition import composed_claim

# A series may have thousands of periods; `/series` has all of them.
SHOWN_PERIODS = 60

_Reports = Annotated[int, Field(strict=True, ge=1, lt=2**53)]
_Seconds = Annotated[int, Field(strict=True, ge=1, le=366 * 86400)]


class CampaignOrder(StrictModel):
    """What a campaign is made of."""

    name: str = Field(min_length=1, max_length=200)
    purpose: str = Field(min_length=1, max_length=2000, description="Text shown to the owner of a device.")
    population: str = Field(min_length=1, max_length=200, description="Population whose devices report.")
    plan_request: RequestText = Field(description="Id of a finished plan request.")
    device_epsilon: StrictFloat | StrictInt | Annotated[str, Field(max_length=40)] | None = Field(
        None, description="Total ε of one device over all rounds; default: the plan's ε."
    )
    upload_token: bool = Field(
        False,
        description="Whether reports require the campaign's upload token, which the response then contains. Permanent.",
    )
    public: bool = Field(
        False,
        description="Whether anybody may read /status/{id}: purpose, ε, rounded counts, the estimate. Permanent.",
    )
    close_after_reports: _Reports | Listed[_Reports | None] | None = Field(
        None, description="Close a round after this number of reports: one number for all rounds, or one per round."
    )
    close_after_s: _Seconds | Listed[_Seconds | None] | None = Field(
        None, description="Close a round after this number of seconds: one number for all rounds, or one per round."
    )
    sources_deadline_s: Annotated[int, Field(strict=True, ge=0, le=366 * 86400)] = Field(
        86400, description="Seconds that a closed round waits for the sums of its sources, if the campaign has any."
    )
    series: SeriesOrder | None = Field(
        None, description="Terms of a series, whose rounds are its periods; null for a campaign that asks once."
    )
    route: RouteOrder | None = Field(
        None, description="The shuffler between devices and this server; null: devices report here."
    )
    gate: GateTerms | None = Field(
        None, description="Through what a device gets the token of its report; null: reports have no tokens."
    )
    servers: Listed[ServerTerms] = Field(
        [],
        max_length=MAX_SERVERS,
        description="The campaign's servers: this one first, then those that collect for it. Empty: one server.",
    )

    arms: Listed[ArmTerms] = Field(
        [],
        max_length=MAX_ARMS,
        description="Versions of the app that an experiment compares: none, or two and more. Each device draws one.",
    )

    texts: Listed[OwnerTextTerms] = Field(
        [], max_length=MAX_TEXTS, description="The purpose in other languages, each once: none, or up to 40."
    )

    experiment: ExperimentTerms | None = Field(
        None, description="How the arms are compared, pinned before the first report; null: without looks."
    )

    @model_validator(mode="after")
    def _check_gate(self) -> Self:
        if self.gate is not None and self.series is not None:
            raise PydanticCustomError(
                "gate_of_series",
                "gate: each round needs a key in the manifest, and nobody knows how many periods a series will have: "
                "leave gate out, or ask in one campaign for each period",
            )
        if self.gate is not None and self.servers:
            raise PydanticCustomError("gate_of_servers", "gate: a campaign with tokens has one server")
        return self

    @model_validator(mode="after")
    def _check_experiment(self) -> Self:
        """The days of an experiment close it, and nothing else does but its operator."""
        if self.experiment is None:
            return self
        if not self.arms:
            raise PydanticCustomError("no_arms", "experiment: an experiment compares arms; name them in `arms`")
        if self.close_after_s is not None or self.close_after_reports is not None:
            raise PydanticCustomError("two_ends", "experiment: its `days` close it; leave out close_after_…")
        if self.route is not None:
            # The round closes at the end of the route, which is in the manifest.
            self.experiment = self.experiment.with_one_look()
            return self
        self.close_after_s = 86_400 * self.experiment.days
        return self

    def closing(self, rounds: int) -> list[tuple[int | None, int | None]]:
        """Reports and seconds after which each round closes by itself; InvalidValue for lists of another length."""
        return list(
            zip(
                _for_each(self.close_after_reports, rounds, "close_after_reports"),
                _for_each(self.close_after_s, rounds, "close_after_s"),
                strict=True,
            )
        )


def _for_each(given: int | Sequence[int | None] | None, rounds: int, name: str) -> list[int | None]:
    if given is None or isinstance(given, int):
        return [given] * rounds
    if len(given) != rounds:
        raise InvalidValue(
            f"{name} lists {quantity(len(given), 'round')}, the campaign has {rounds}; write null for a round without"
        )
    return list(given)


def _first_sentence(stored: str | None) -> str | None:
    """Of the headline in a row, or as it is shown already."""
    if stored is None or not stored.startswith("{"):
        return stored
    return next(iter(Headline.model_validate_json(stored).sentences), None)


class CampaignEntry(Created, Opened):
    """A campaign in a list."""

    id: str
    name: str
    population: str
    state: CampaignState
    archived_at: int | None = Field(description="When it was archived; an archived campaign is no longer listed.")
    headline: Annotated[str | None, BeforeValidator(_first_sentence)] = Field(
        None, description="The first sentence of what it tells; null while it tells nothing."
    )

    @computed_field
    def archived(self) -> str | None:
        return iso_8601_or_none(self.archived_at)

    @classmethod
    def of(cls, row: Campaign) -> Self:
        """What a list shows of a row; a cancelled campaign tells nothing."""
        shown = cls.model_validate(row, from_attributes=True)
        return shown.model_copy(update={"headline": None}) if shown.state is CampaignState.CANCELLED else shown


class CollectorGuarantee(BaseModel):
    """(ε, δ) of `answers` answers of one device together, as long as the shuffler adds its random reports."""

    answers: int
    epsilon: float
    delta: float

    @classmethod
    def of(cls, route: ShuffledRoute, answers: int) -> Self:
        """By the Rényi curve of the claims in the manifest, or the sum of the answers' ε if that is less."""
        found = composed_claim(route.claims, route.claims[route.headline], answers)
        return cls(answers=answers, epsilon=found.nano_epsilon / NANO, delta=found.atto_delta / WHOLE_ATTO)


class SeriesStatus(BaseModel):
    """The terms of a series, and how far it is."""

    start: int
    period_s: int
    slots: int
    answers_max: int
    value_of: ValueOf
    late_s: int
    epsilon: float = Field(description="ε of one answer.")
    paused: bool
    period: int = Field(description="Number of the period that runs; below 0 before the start.")
    closed_periods: int = Field(description="So many periods take no more reports.")
    waiting_for: list[str] = Field([], description="The shuffler whose first batch is due, of which nothing has come.")
    collector: CollectorGuarantee | None = Field(
        None, description="Behind a shuffler: what all answers of a device tell this server."
    )

    @classmethod
    def of(cls, row: SeriesRow, paused: bool, now: int) -> Self:
        """What is shown of a row."""
        return cls(
            start=row.start,
            period_s=row.period_s,
            slots=row.slots,
            answers_max=row.answers_max,
            value_of=ValueOf.PREVIOUS if row.lag else ValueOf.CURRENT,
            late_s=row.late_s,
            epsilon=row.nano / NANO,
            paused=paused,
            period=(now - row.start) // row.period_s,
            closed_periods=row.closed_periods,
        )


class ArmStatus(BaseModel):
    """An arm of an experiment, and how many reports were counted in it."""

    name: str
    weight: int
    reports: int
    users: int = Field(
        description="Reports of devices: those counted, less the random ones of a shuffler once its batch is counted."
    )


class CampaignStatus(CampaignEntry):
    """A campaign with its rounds, and the reports that were refused, by reason."""

    question: Question | None = Field(description="Null for a campaign of an earlier version.")
    epsilon: float = Field(description="Total ε of one device.")
    predicted: CampaignError | None = Field(description="Null without a `question`.")
    protocol: str | None = Field(
        description="Digest of the protocol plan, which combines the rounds into one estimate."
    )
    planned_rounds: int
    needs_token: bool = Field(description="Whether reports require the campaign's upload token.")
    public: bool = Field(description="Whether anybody may read the page /status/{id}.")
    sources_deadline_s: int = Field(description="Seconds that a closed round waits for the sums of its sources.")
    rounds: list[RoundStatus] = Field(
        description=f"The rounds with a sealed plan; of a series the last {SHOWN_PERIODS} periods that have reports."
    )
    refusals: dict[str, int]
    series: SeriesStatus | None = Field(None, description="Terms of a series; null for any other campaign.")
    arms: list[ArmStatus] = Field([], description="Arms of an experiment in their order; empty for other campaigns.")
    shuffler: str | None = Field(None, description="Name of the shuffler that devices report to, if there is one.")
    gate: GateTerms | None = Field(
        None, description="Through what a device gets the token of its report, if it has one."
    )
    servers: list[str] = Field(
        [], description="Names of the campaign's servers, the home first; empty where the manifest names none."
    )
    mirrored_at: int | None = Field(
        None, description="On a collector: when its home last said what it decided, in Unix seconds."
    )

    @classmethod
    def with_counts(
        cls,
        row: Campaign,
        rounds: list[RoundStatus],
        refusals: dict[str, int],
        series: SeriesStatus | None,
        reports_of_arms: Mapping[int, int],
    ) -> Self:
        """The row with what was counted."""
        manifest = Manifest.read(row.manifest)
        question = None if row.question is None else Question.model_validate_json(row.question)
        closes_after = rounds[0].close_after_reports if rounds and len(manifest.rounds) == 1 else None
        # Every period of a series is answered by itself.
        asked = rounds if series is None else rounds[-1:]
        users = sum(each.users for each in asked)
        counted = any(each.batch is not None and each.batch.state is BatchState.COUNTED for each in rounds)
        return cls(
            **CampaignEntry.of(row).model_dump(),
            question=question,
            epsilon=manifest.device_guarantee.epsilon,
            predicted=question and CampaignError.of(question, users, closes_after),
            protocol=None if manifest.protocol is None else str(manifest.protocol),
            planned_rounds=len(manifest.rounds),
            needs_token=row.needs_token,
            public=row.public,
            sources_deadline_s=row.sources_deadline_s,
            rounds=rounds,
            refusals=refusals,
            series=series,
            arms=[
                _arm_status(arm, reports_of_arms.get(place, 0), manifest.blanket_of_arm if counted else 0)
                for place, arm in enumerate(manifest.arms)
            ],
            shuffler=manifest.route.shuffler.name if isinstance(manifest.route, ShuffledRoute) else None,
            gate=None if manifest.gate is None else GateTerms.of(manifest.gate),
            servers=[server.name for server in manifest.servers],
            mirrored_at=row.mirrored_at,
        )


def _arm_status(arm: Arm, reports: int, blanket: int) -> ArmStatus:
    return ArmStatus(name=arm.name, weight=arm.weight, reports=reports, users=max(0, reports - blanket))


class NewCampaign(CampaignStatus):
    """A campaign just made."""

    upload_token: str | None = Field(
        description="The upload token, shown only once; null without one and when the request is replayed."
    )
    reports_days: int | None = Field(
        None,
        description="Days after its end that the campaign's reports are kept, where answers are counted in them; null "
        "where its sums answer, and where reports are kept without an end.",
    )
    reports_until: int | None = Field(
        None,
        description="When these answers end, in Unix seconds, if the campaign opens now and closes by its rules; null "
        "where they name no time.",
    )


class CampaignList(BaseModel):
    """A page of campaigns, newest first."""

    campaigns: list[CampaignEntry]
    next_page_token: str | None


class SignatureOrder(StrictModel):
    """An operator's signature of a manifest, in hexadecimal digits."""

    key: str = Field(pattern="^[0-9a-f]{64}$", description="An Ed25519 public key.")
    signature: str = Field(
        pattern="^[0-9a-f]{128}$",
        description="Of `sordino manifest v1`, a zero byte, SHA-256(population) and the campaign's id: 84 bytes.",
    )
