"""A round about a few listed rules: a device draws one of them, and says by randomised response whether it is wrong.

The plan is about the attributes that the rules look at, and the label. For M rules with one cost the second moment of
an estimated loss less half the cost is M·cost²/(4·tanh²(ε/2)) for every type: M times that of one rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.certificate import Certificate
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.estimation.concepts import ClassOfRules
from sordino_analysis.evaluation.integer_kernels import integer_kernel, probabilities
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.planning.rounds import RoundPlan
from sordino_analysis.planning.some_type_certificates import some_types_certificate
from sordino_analysis.planning.tuning import SOME_TYPES
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.concepts.losses import ConceptClass, predictions
from sordino_analysis.questions.linear.concepts.rules import losses_of
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.audit import check_guarantee
from sordino_shared.domains import Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import FiniteKernel

# With the label: a device part of 32 rules then has some 130 kB.
MOST_CELLS = 1 << 14


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedRules:
    """Rules of a class by number, over a domain of the attributes that they look at and the label.

    `wrong` (M, cells) tells where each is wrong, `positive` (cells,) where the label is yes.
    """

    name: str
    domain: Domain
    rules: tuple[int, ...]
    texts: tuple[str, ...]
    wrong: Mask
    positive: Mask
    miss: float
    false_alarm: float

    @classmethod
    def of(cls, name: str, known: ClassOfRules, domain: Domain, rules: Sequence[int]) -> ListedRules:
        """The rules with these numbers; `domain` is that of the class."""
        kept = looked_at(known, rules)
        attributes = (*(domain.attributes[place] for place in kept), domain.attributes[-1])
        queries = known.queries
        wrong = losses_of(_predicted(known, rules, kept), queries.positive, 1.0, 1.0) > 0
        return cls(
            name=name,
            domain=Domain(attributes),
            rules=tuple(rules),
            texts=tuple(known.text(rule) for rule in rules),
            wrong=wrong,
            positive=np.arange(wrong.shape[1]) % 2 == queries.positive,
            miss=queries.miss,
            false_alarm=queries.false_alarm,
        )

    @property
    def losses(self) -> Floats:
        """(M, cells) of each rule."""
        return np.asarray(self.wrong * np.where(self.positive, self.miss, self.false_alarm))

    def plan(self, guarantee: PureEpsilon, seed: int) -> RoundPlan:
        """The round's plan, proved in integers; raises GuaranteeNotMet or KernelError where that fails."""
        kernel, decoder = drawn_rules(self, guarantee)
        device = DevicePart(self.domain, guarantee, kernel)
        check_guarantee(device)
        published = MatrixQueries(array_of(self.losses, "<f8"), self.texts)
        workload = build_workload(self.domain, published, self.name)
        analyst = AnalystPart(
            device_digest=device.digest,
            workload=self.name,
            queries=published,
            mechanism="drawn_rules",
            objective="max",
            seed=seed,
            decoder=decoder,
            factors=None,
            certificate=Certificate(
                *(
                    some_types_certificate(workload, guarantee.epsilon, objective, SOME_TYPES.most_types)
                    for objective in ("max", "mean")
                )
            ),
            figures=answer_moments(kernel, decoder, workload).profile().figures(),
        )
        return RoundPlan(device, analyst)


def looked_at(known: ClassOfRules, rules: Sequence[int]) -> tuple[int, ...]:
    """The places of the attributes that the rules look at."""
    if isinstance(known, ConceptClass):
        return tuple(sorted({place for rule in rules for place in known.place(rule)[0]}))
    return tuple(range(len(known.attributes)))


def drawn_rules(listed: ListedRules, guarantee: PureEpsilon) -> tuple[FiniteKernel, AnswerDecoder]:
    """A rule is drawn, and with unequal costs one of its two mistakes by its cost; then randomised response.

    The decoder is unbiased for the kernel's integers.
    """
    sets, costs, rule = _mistakes(listed)
    chances = costs / costs.sum()
    kernel = integer_kernel(np.tile(chances, 2) / (1 + np.exp(guarantee.epsilon)), np.vstack([sets, ~sets]), guarantee)
    table = probabilities(kernel)[: len(sets)]
    told, middle = np.zeros((len(listed.rules), len(sets))), np.zeros(len(listed.rules))
    told[rule, np.arange(len(sets))] = costs / (2 * (table.max(axis=1) - table.min(axis=1)))
    np.add.at(middle, rule, costs / 2)
    # Both answers about a set have the same two levels, so the middle is right whatever is drawn, also the null output.
    rows = np.hstack([told, -told, np.zeros((len(told), kernel.outputs - 2 * len(sets)))])
    return kernel, AnswerDecoder(array_of(rows, "<f8"), array_of(middle, "<f8"))


def _mistakes(listed: ListedRules) -> tuple[Mask, Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Sets of cells (J, cells) with a cost (J,) and a rule (J,) each; a rule's loss is the costs of its sets."""
    numbers = np.arange(len(listed.rules))
    if listed.miss == listed.false_alarm:
        return listed.wrong, np.full(len(numbers), listed.miss), numbers
    sets = np.vstack([listed.wrong & listed.positive, listed.wrong & ~listed.positive])
    costs = np.repeat([listed.miss, listed.false_alarm], len(numbers))
    there = sets.any(axis=1)
    return sets[there], costs[there], np.tile(numbers, 2)[there]


def _predicted(known: ClassOfRules, rules: Sequence[int], kept: tuple[int, ...]) -> Mask:
    """(M, cells of the kept attributes) what the rules say."""
    if not isinstance(known, ConceptClass):
        return known.predicted()[list(rules)]
    codes = np.zeros((2 ** len(kept), known.indicators), dtype=np.int64)
    codes[:, kept] = np.indices((2,) * len(kept)).reshape(len(kept), -1).T if kept else np.zeros((1, 0))
    return np.stack([predictions(known, rule, codes) for rule in rules])
