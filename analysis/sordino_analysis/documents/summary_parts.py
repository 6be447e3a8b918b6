"""Parts of the summaries of plans: what was compared, what a plan promises, and digests."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_shared.guarantees import NANO
from sordino_shared.protocol.routes import WHOLE_ATTO


def is_none(value: object) -> bool:
    """For fields that are left out where a request did not ask for them."""
    return value is None


class SummaryPart(BaseModel):
    """A part of a summary: immutable, with the fields that it names and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PartDigests(SummaryPart):
    """Digests of what is stored of a plan."""

    device: str
    analyst: str
    protocol: str | None = Field(None, exclude_if=is_none)


class MechanismRow(SummaryPart):
    """One mechanism that was compared: its figures where it was evaluated, a reason where it was not taken.

    `manipulation` is how far a share of fake reports moves an answer, divided by the share. `least_variance` is known
    by a formula of what was not built because it cannot win: the objective's variance is at least that, or with
    users n times the mean squared error is. `snapping_cost` is by which share rows of two levels made the objective
    worse, where a search moved softer ones; below 0 where rows that joined later gained more.
    """

    name: str
    max_variance: float | None
    mean_variance: float | None
    bias_bound: float | None
    manipulation: float | None = None
    least_variance: float | None = None
    snapping_cost: float | None
    applies: bool
    reason: str | None
    seconds: float


class PredictedError(SummaryPart):
    """Root mean squared error of one answer for the worst population of the users expected."""

    label: str
    rmse: float
    unit: str | None = Field(None, exclude_if=is_none, description="Of numbers; null for shares and other answers.")


class ShuffledPrivacy(SummaryPart):
    """(ε, δ) of every user for anyone who sees no more than the multiset of `reports` reports, `honest` of them honest.

    Such are readers of the published counts, or a server behind a separate shuffler; nothing is said about a server
    that takes reports from devices itself. `fake` is the share of the others. ε is the device's own, and δ null, where
    shuffling proves nothing better.
    """

    reports: int
    fake: float
    honest: int
    epsilon: float
    delta: float | None


class ClaimedPrivacy(SummaryPart):
    """(ε, δ) of one report against the collector."""

    epsilon: float
    delta: float


class BlanketSummary(SummaryPart):
    """The random reports that a shuffler adds to a round, and what they hide even if all others are fake.

    ε of the plan is what holds where the shuffler works with the collector.
    """

    reports: int = Field(description="Random reports a round.")
    epsilon: float = Field(description="Of one report against the collector, at delta.")
    delta: float
    variance: float = Field(description="Of one random report, in the answer that it harms most.")
    claims: tuple[ClaimedPrivacy, ...] = Field(description="Points of the privacy profile that the plan claims.")

    @classmethod
    def of(cls, terms: BlanketTerms, variance: float) -> Self:
        """In numbers."""
        claims = tuple(
            ClaimedPrivacy(epsilon=each.nano_epsilon / NANO, delta=each.atto_delta / WHOLE_ATTO)
            for each in terms.claims
        )
        headline = claims[terms.headline]
        return cls(
            reports=terms.reports,
            epsilon=headline.epsilon,
            delta=headline.delta,
            variance=variance,
            claims=claims,
        )

    def noise(self, users: int) -> float:
        """Variance that it adds to an answer of so many users, times their number."""
        return self.reports * self.variance / users


class AverageCaseFigures(SummaryPart):
    """Users for one known rule of `width` of `indicators`, right on average over databases, not for each of them.

    At error α and chance of failure β; `margin_users` and `lemma_users` are the paper's bound for its own scheme, with
    the true margin and with that of its lemma.
    """

    width: int
    indicators: int
    error: float
    failure: float
    variance: float = Field(description="Of one report about the rule: a random indicator by randomised response.")
    strong_users: int
    weak_users: int = Field(description="To tell databases that the rule says no to from those it says yes to.")
    laplace_users: int = Field(description="As strong_users, with Laplace noise on every indicator.")
    margin_users: int
    lemma_users: int
    worst_case_users: int = Field(description="As strong_users, for answers that hold for each database.")
    forster_bound: float
    least_users: int = Field(description="Below it no scheme is weakly useful, by the Hellinger distance.")
    least_users_of_paper: int = Field(description="The same by the paper's bound.")


class ProtocolRow(SummaryPart):
    """One protocol that was compared: its predicted error, or the reason why it has none."""

    name: str
    applies: bool
    reason: str | None
    predicted_rmse: float | None
    seconds: float


class FormBoundSummary(SummaryPart):
    """n times the least variance of an unbiased estimate of a form, and n times that of the plan, of the same users."""

    lower_bound: float = Field(description="n times the least variance, of the worst users.")
    variance: float | None = Field(description="Of the plan: exact for one round, predicted for two, null for others.")
    standard_error: float | None = Field(description="Of a variance that draws predict; 0 where it is exact.")
    ratio: float | None = Field(description="The variance over the bound.")
    any_rounds: bool = Field(description="Whether the bound holds for any number of rounds; else for one.")


class DrawnManipulation(SummaryPart):
    """A share f of fake reports with tokens, whose coins are drawn, moves an answer by at most mean·f, in the mean.

    `over` says of which queries that holds, unless of all: it is no bound on the others. Without `has_coin` reports
    have no public coin, and tokens change nothing.
    """

    mean: float
    over: str | None = Field(None, exclude_if=is_none)
    has_coin: bool


class FormManipulation(SummaryPart):
    """A share f of fake reports in every round moves the value of a form by at most linear·f + quadratic·f²."""

    linear: float
    quadratic: float
