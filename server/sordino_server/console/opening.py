"""What the page that opens a question says: what is learnt, what each device spends, when it ends, and the price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.figures import chosen, figure
from sordino_server.campaigns.progress import CampaignProgress
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.console.budget_words import date_of
from sordino_server.console.inline_lines import plus_minus
from sordino_server.console.privacy_words import WEAK_FROM, odds_of, true_of_100
from sordino_server.console.running_campaign import Fact, lasting
from sordino_server.experiments.schemas import ExperimentDocument
from sordino_server.populations.service import CapUse
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import Manifest
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.quantities import quantity

_NOTHING = "–"


@dataclass(frozen=True, kw_only=True)
class Meter:
    """One limit as a bar, in ε; `left` is below 0 where it does not allow the question."""

    spent: float
    asks: float
    left: float
    text: str


def facts(
    campaign: CampaignStatus,
    progress: CampaignProgress,
    manifest: Manifest,
    uses: Sequence[CapUse],
    experiment: ExperimentDocument | None,
) -> list[Fact]:
    """What the question brings, costs each device, and ends with."""
    learnt = _learnt(campaign, progress) if experiment is None else _verdict(experiment)
    return [learnt, _spent(campaign, uses), _end(campaign, manifest)]


def _learnt(campaign: CampaignStatus, progress: CampaignProgress) -> Fact:
    word, question = "You learn", campaign.question
    if question is None:
        return Fact(word, _NOTHING, "the plan is of an earlier version")
    each = "one answer" if question.queries == 1 else f"all {quantity(question.queries, 'answer')} at once"
    if progress.band_wanted is not None:
        devices = quantity(progress.wanted or 0, "device")
        return Fact(word, plus_minus(progress.band_wanted, progress), f"{each}, at most, with {devices}")
    known = next(iter(progress.devices_for), None)
    if known is not None:
        return Fact(word, question.name, f"± {figure(100 * known.margin)} with {quantity(known.devices, 'device')}")
    return Fact(word, question.name, each)


def _verdict(experiment: ExperimentDocument) -> Fact:
    arms = " or ".join(experiment.arms)
    return Fact("You learn", arms, f"by {experiment.primary}, over {quantity(experiment.days, 'day')}")


def _spent(campaign: CampaignStatus, uses: Sequence[CapUse]) -> Fact:
    word = "Each device spends"
    if campaign.series is not None:
        most = (
            f"each answer, up to {quantity(campaign.series.answers_max, 'answer')}: ε {chosen(campaign.epsilon)} in all"
        )
        return Fact(word, f"ε {chosen(campaign.series.epsilon)}", most)
    tightest = min(uses, key=lambda use: use.left, default=None)
    once = "once" if campaign.planned_rounds == 1 else f"in {quantity(campaign.planned_rounds, 'round')}"
    if tightest is None:
        return Fact(word, f"ε {chosen(campaign.epsilon)}", f"{once}; there is no limit")
    left = chosen(max(0, tightest.left) / NANO)
    note = f"{once}; leaves ε {left} of {chosen(tightest.cap / NANO)} {tightest.span}"
    return Fact(word, f"ε {chosen(campaign.epsilon)}", note if not tightest.exceeded else f"{once}; more than is left")


def _end(campaign: CampaignStatus, manifest: Manifest) -> Fact:
    word = "Ends"
    if campaign.series is not None:
        return Fact(word, "when you close it", f"each period of {lasting(campaign.series.period_s)} by itself")
    if isinstance(manifest.route, ShuffledRoute) and manifest.route.end is not None:
        return Fact(word, date_of(manifest.route.end), "the shuffler hands over all reports then")
    rules = campaign.rounds[0] if campaign.rounds else None
    seconds, reports = (None, None) if rules is None else (rules.close_after_s, rules.close_after_reports)
    counted = None if reports is None else f"with {quantity(reports, 'device')}"
    if seconds is not None:
        return Fact(word, f"after {lasting(seconds)}", f"or {counted}" if counted else "or when you close it")
    if counted is not None:
        return Fact(word, counted, "or when you close it")
    return Fact(word, "when you close it", "no number of devices or time closes it")


def meters(uses: Sequence[CapUse]) -> list[Meter]:
    """A bar for each limit of who is asked."""
    return [
        Meter(
            spent=use.asked / NANO,
            asks=use.asks / NANO,
            left=use.left / NANO,
            text=f"Limit {use.span}, ε {chosen(use.cap / NANO)}: {chosen(use.asked / NANO)} spent · "
            f"{chosen(use.asks / NANO)} for this question · {_left(use)}",
        )
        for use in uses
    ]


def _left(use: CapUse) -> str:
    if use.exceeded:
        return f"{chosen(-use.left / NANO)} too much: the server refuses to open it"
    return f"{chosen(use.left / NANO)} left"


def price(campaign: CampaignStatus) -> str:
    """What one answer says of its owner, in words.

    A yes-or-no answer by randomised response is true with e^ε/(1 + e^ε), and no report changes odds by more than e^ε.
    """
    epsilon = campaign.epsilon if campaign.series is None else campaign.series.epsilon
    what = "One answer" if campaign.series is not None or campaign.planned_rounds == 1 else "All answers of a device"
    weak = " That is weak protection." if epsilon > WEAK_FROM else ""
    return (
        f"{what} of ε {chosen(epsilon)} is as sure as a yes or no that is true {true_of_100(epsilon)} times in "
        f"100: it changes the odds of what the owner holds by a factor of {figure(odds_of(epsilon), 2)} at most.{weak}"
    )
