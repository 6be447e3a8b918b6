"""Which rule of a class predicts the label best, from one round of reports, and what is sure of it.

The winner was chosen by the same reports, so its own interval would be too narrow: of it, as of every rule, the band is
given, which holds all losses of the class at once. The set of best rules holds the best one at the stated level (Hsu's
comparison with the best): a rule stays while no rule of a shortlist is better by more than z standard errors of the
difference; a shorter list only makes the set larger. By the same event the winner's loss exceeds the least one by no
more than the largest Λ̂ − Λ̂_c + z·se over all rules c (Edmonds, Nikolov, Ullman 2020, Theorem 24, with known noise).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.queries import ConceptQueries, OrderedConceptQueries, RuleQueries
from sordino_analysis.estimation.concept_errors import ConceptErrors, errors_of
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.estimation.rule_reaches import RuleReaches, rule_reaches
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.questions.linear.concepts.losses import ConceptClass
from sordino_analysis.questions.linear.concepts.ordered import OrderedClass
from sordino_analysis.questions.linear.operators import Indices
from sordino_shared.domains import Domain
from sordino_shared.protocol import DevicePart

# Rules against which every other is compared: the ones with the least estimated losses.
_SHORTLIST = 64
NEVER, ALWAYS = 0, 1

ClassOfRules = ConceptClass | OrderedClass


def rules_of_plan(domain: Domain, queries: RuleQueries) -> ClassOfRules:
    """The rules by number, as the plan publishes them."""
    match queries:
        case ConceptQueries():
            return ConceptClass.of(domain, queries)
        case OrderedConceptQueries():
            return OrderedClass.of(domain, queries)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConceptEstimate:
    """Losses (Q,) of all rules with standard errors and a simultaneous band, about the population of the reporters.

    An estimate of a loss has a bias of at most `bias_bound`, by which band, set and excess are widened. `chosen` is the
    rule with the least estimated loss, unless later rounds chose another one, and `base` the better
    constant; `best` are the rules that may be the best, by estimated loss, at `level`; the loss of `chosen` exceeds the
    least by at most `excess`, at `level`.
    """

    known: ClassOfRules
    losses: Floats
    standard_errors: Floats
    band_low: Floats
    band_high: Floats
    chosen: int
    base: int
    best: Indices
    excess: float
    bias_bound: float
    users: int
    level: float
    warnings: tuple[str, ...]

    @property
    def beats_base(self) -> bool:
        """Whether no constant rule may be the best."""
        return not {NEVER, ALWAYS} & set(self.best.tolist())

    @property
    def statement(self) -> str:
        """What is sure at `level`, in one sentence or two."""
        if self.bias_bound == 0:
            return self._of_the_best
        allowed = f"estimated losses have a bias of {self.bias_bound:.3g} at most, which this allows for"
        return f"{self._of_the_best}; {allowed}"

    @property
    def _of_the_best(self) -> str:
        if not self.beats_base:
            constants = [self.known.text(rule) for rule in (NEVER, ALWAYS) if rule in self.best]
            return f"no rule of the class is shown to beat saying {' or '.join(constants)}"
        if len(self.best) == 1:
            best = self.known.text(int(self.best[0]))
            return f"{best} is the best of {len(self.losses)} rules, and beats never and always"
        return f"one of {len(self.best)} rules is the best of {len(self.losses)}, and beats saying never and always"


@dataclass(frozen=True, eq=False)
class ConceptEstimator:
    """A plan of a concept class, made ready to decode rounds."""

    known: ClassOfRules
    estimator: LinearEstimator
    errors: ConceptErrors
    biases: Floats

    @classmethod
    def of(cls, device: DevicePart, analyst: AnalystPart) -> ConceptEstimator:
        """Raises EstimationError where the plan is not about a concept class, or its parts are not of one plan."""
        if not isinstance(analyst.queries, RuleQueries):
            raise EstimationError(f"{analyst.workload} asks about no concept class")
        estimator = LinearEstimator.of(device, analyst)
        return cls(
            rules_of_plan(device.domain, analyst.queries),
            estimator,
            errors_of(estimator.law, estimator.workload.operator),
            _biases(estimator),
        )

    def estimate(self, aggregate: Aggregate, level: float = 0.95, chosen: int | None = None) -> ConceptEstimate:
        """Statements from the aggregate of a closed round, about the rule `chosen` if later rounds chose another one.

        Raises EstimationError where there are no reports, or the aggregate is of another plan.
        """
        if not 0 < level < 1:
            raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
        losses, users = self.estimator.unbiased(aggregate), aggregate.count
        reaches = rule_reaches(self.errors, users, level, self._widths)
        reach = reaches.of_losses(losses)
        chosen = int(losses.argmin()) if chosen is None else chosen
        best, excess = self._best(losses, reaches, chosen)
        return ConceptEstimate(
            known=self.known,
            losses=losses,
            standard_errors=self.errors.standard(losses, users),
            band_low=losses - reach - self.biases,
            band_high=losses + reach + self.biases,
            chosen=chosen,
            base=NEVER if losses[NEVER] <= losses[ALWAYS] else ALWAYS,
            best=best,
            excess=excess,
            bias_bound=float(self.biases.max()),
            users=users,
            level=level,
            warnings=reaches.doubts,
        )

    def _widths(self) -> Floats:
        """(Q,) the largest contribution of a report less the least."""
        half = for_randomizer(self.estimator.device.randomizer)
        low, high = half.extreme_contributions(self.estimator.decoder, self.estimator.workload)
        return high - low

    def _best(self, losses: Floats, reaches: RuleReaches, chosen: int) -> tuple[Indices, float]:
        """The rules that may be the best, by their losses, and a bound on what the chosen one exceeds the least by.

        For each rule against the chosen one and every rule of the shortlist, the reach of the error of their
        difference: the event is that of the true best rule against all others, whichever of them is chosen.
        """
        order = np.argsort(losses, kind="stable")
        stays = np.ones(len(losses), dtype=bool)
        excess = 0.0
        for rival in {chosen, *order[:_SHORTLIST].tolist()}:
            reach = reaches.of_differences(rival) + self.biases + self.biases[rival]
            reach[rival] = 0.0
            stays &= losses - losses[rival] <= reach
            if rival == chosen:
                excess = max(0.0, float((losses[rival] - losses + reach).max()))
        return order[stays[order]], excess


def _biases(estimator: LinearEstimator) -> Floats:
    """(Q,) bounds on the bias of each loss, from the shipped integers; 0 where the plan counts as unbiased."""
    if counts_as_unbiased(estimator.analyst.figures):
        return np.zeros(estimator.workload.operator.shape[0])
    return estimator.law.profile().bias
