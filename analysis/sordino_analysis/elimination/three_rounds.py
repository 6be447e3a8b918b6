"""Three rounds: the losses of the whole class, those of the best rules of it, and the loss of the one that is left.

Every device answers one round. The last round is designed after the rule was chosen, so its interval is an ordinary
one, whatever chose the rule; the band and the set of best rules are those of the first round, whose reports are
independent of the others. Later rounds ask about M rules and pay M where the first pays γ₂² of the class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.elimination_plan import ROUNDS, RoundShares
from sordino_analysis.elimination.listed_rules import MOST_CELLS, ListedRules, looked_at
from sordino_analysis.estimation.concept_errors import errors_of
from sordino_analysis.estimation.concepts import ClassOfRules, ConceptEstimate, ConceptEstimator
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_shared.domains import Domain


@dataclass(frozen=True, eq=False, kw_only=True)
class CertifiedRule:
    """The rule that the rounds chose, `first.chosen`, and what is sure of it.

    `loss` is the estimate of the last round, and `interval` holds the true loss at the level of `first`; both are None
    where that round was never closed. `first` has what is sure of the class, by the first round alone. `users` are the
    reports of each round. `warnings` are about the last round; those about the first are in `first`.
    """

    first: ConceptEstimate
    loss: float | None
    interval: tuple[float, float] | None
    certified_by_round: int | None
    users: tuple[int, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ThreeRounds:
    """What follows from the closed rounds of a campaign whose round 0 is about a whole class.

    It is a function of these rounds alone: the same ones give the same plans.
    """

    shares: RoundShares

    def step(self, closed: Sequence[ClosedRound]) -> RoundPlan | CertifiedRule:
        """The next round's plan after `closed`, or the estimate after all three.

        Raises InvalidValue where the class has too few rules, EstimationError where a round has no reports.
        """
        if len(closed) >= ROUNDS:
            return self.conclude(closed)
        first = _ClosedFirst.of(closed)
        self.shares.check_rules(len(first.estimate.losses))
        rules = first.shortlist(self.shares.top) if len(closed) == 1 else (first.best_of(closed[1], self.shares.top),)
        listed = ListedRules.of(closed[0].plan.analyst.workload, first.known, first.domain, rules)
        return listed.plan(closed[0].plan.device.guarantee, closed[0].plan.analyst.seed)

    def conclude(self, closed: Sequence[ClosedRound], level: float = 0.95) -> CertifiedRule:
        """The estimate of the rounds there are; after one or two of them no interval, as the same reports chose.

        A round without reports counts as one that there was not. Raises EstimationError where the first has none.
        """
        while len(closed) > 1 and closed[-1].aggregate.count == 0:
            closed = closed[:-1]
        first = _ClosedFirst.of(closed, level)
        chosen = first.estimate.chosen if len(closed) < 2 else first.best_of(closed[1], self.shares.top)
        loss, interval, warnings = None, None, tuple[str, ...]()
        if len(closed) == ROUNDS:
            last = closed[-1]
            found = LinearEstimator.of(last.plan.device, last.plan.analyst).estimate(last.aggregate, level)
            loss = float(found.unbiased[0])
            interval = (float(found.population_lower[0]), float(found.population_upper[0]))
            warnings = found.warnings
        return CertifiedRule(
            first=first.about(chosen),
            loss=loss,
            interval=interval,
            certified_by_round=None if interval is None else ROUNDS - 1,
            users=tuple(each.aggregate.count for each in closed),
            warnings=warnings,
        )

    def certified_reach(self, users: int, epsilon: float, cost: float = 1.0, level: float = 0.95) -> float:
        """Half the width of the last interval at most, for so many users in all and one cost of both mistakes."""
        answering = users * self.shares.shares[-1]
        return float(ndtri((1 + level) / 2)) * cost / (2 * math.tanh(epsilon / 2) * math.sqrt(answering))


@dataclass(frozen=True, eq=False)
class _ClosedFirst:
    """The first round, decoded."""

    estimator: ConceptEstimator
    closed: ClosedRound
    estimate: ConceptEstimate

    @classmethod
    def of(cls, closed: Sequence[ClosedRound], level: float = 0.95) -> _ClosedFirst:
        if not closed:
            raise EstimationError("no round is closed yet: there is nothing to choose rules by")
        first = closed[0]
        estimator = ConceptEstimator.of(first.plan.device, first.plan.analyst)
        return cls(estimator, first, estimator.estimate(first.aggregate, level))

    @property
    def known(self) -> ClassOfRules:
        """The rules by number."""
        return self.estimator.known

    @property
    def domain(self) -> Domain:
        """That of the class."""
        return self.closed.plan.device.domain

    def about(self, chosen: int) -> ConceptEstimate:
        """The same estimate with the excess of a rule that later rounds chose."""
        if chosen == self.estimate.chosen:
            return self.estimate
        return self.estimator.estimate(self.closed.aggregate, self.estimate.level, chosen)

    def shortlist(self, top: int) -> tuple[int, ...]:
        """At most `top` rules by estimated loss; one whose attributes would be too many with those before is left."""
        chosen: list[int] = []
        for rule in self.estimate.losses.argsort(kind="stable").tolist():
            if _cells(self.known, self.domain, [*chosen, rule]) <= MOST_CELLS:
                chosen.append(rule)
            if len(chosen) == top:
                break
        return tuple(chosen)

    def best_of(self, second: ClosedRound, top: int) -> int:
        """The rule of the second round with the least combined loss, rounds weighed by inverse mean squared errors.

        That of the first has the square of the bias bound: answers to a class may be biased, those to listed rules not.
        """
        estimator = LinearEstimator.of(second.plan.device, second.plan.analyst)
        later, users = estimator.unbiased(second.aggregate), second.aggregate.count
        spread = errors_of(estimator.law, estimator.workload.operator).standard(later, users) ** 2
        rules = np.array(self.shortlist(top))
        before = self.estimate.standard_errors[rules] ** 2 + self.estimator.biases[rules] ** 2
        return int(rules[combined(self.estimate.losses[rules], before, later, spread).argmin()])


def combined(first: Floats, first_errors: Floats, second: Floats, second_errors: Floats) -> Floats:
    """(M,) losses by two independent rounds with these mean squared errors, (M,) each, weighed by their inverses."""
    total = first_errors + second_errors
    return np.asarray((first * second_errors + second * first_errors) / np.where(total > 0, total, 1.0))


def _cells(known: ClassOfRules, domain: Domain, rules: Sequence[int]) -> int:
    return math.prod(domain.shape[place] for place in looked_at(known, rules)) * 2
