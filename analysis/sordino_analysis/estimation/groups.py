"""Answers among the users of a group: shares as ratios of two answers of one round, and quantiles without a ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from sordino_analysis.estimation.answer_on_demand import (
    Answerer,
    Ends,
    GroupQuantileAnswer,
    OnDemand,
    RatioAnswer,
    ShareAnswer,
)
from sordino_analysis.estimation.cumulative import quantile_answer
from sordino_analysis.estimation.fieller import JointErrors, RatioSet, enough_users, fieller_set
from sordino_analysis.estimation.group_guesses import guessed_ratios, with_guess
from sordino_analysis.estimation.intervals import bonferroni_quantile, normal_quantile
from sordino_analysis.estimation.linear_estimate import EstimationError
from sordino_analysis.estimation.sums_of_boxes import SumErrors
from sordino_analysis.figures import SHARE, amount
from sordino_analysis.questions.linear.boxes import Box, meet
from sordino_analysis.questions.linear.on_demand import (
    BoxKind,
    parse_boxes,
    parse_group,
    parse_quantiles,
)
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain
from sordino_shared.quantities import quantity


def group_answers(
    answerer: Answerer,
    domain: Domain,
    kind: BoxKind | Literal["quantile"],
    texts: Sequence[str],
    given: str,
    level: float,
) -> OnDemand:
    """Answers to the questions of one kind among the users that `given` names, as "country=DE".

    Raises WorkloadError for anything but a question and a group of the domain, EstimationError where the reports do not
    determine an answer.
    """
    box = parse_group(domain, given)
    try:
        group = _Group.of(answerer, box, level)
    except EstimationError as error:
        raise EstimationError(f"the plan cannot tell who is in the group {given!r}: {error}") from error
    if kind == "quantile":
        return _quantiles(group, domain, texts)
    return _shares(group, domain, kind, parse_boxes(domain, kind, texts))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Group:
    """A group of the users of a closed round, and its share of them."""

    answerer: Answerer
    box: Box
    share: ShareAnswer
    users: int
    bias: float
    level: float
    warnings: tuple[str, ...]
    no_best: str | None

    @classmethod
    def of(cls, answerer: Answerer, box: Box, level: float) -> _Group:
        found = answerer.shares([box], 1, level)
        (share,) = found.answers
        assert isinstance(share, ShareAnswer)
        return cls(
            answerer=answerer,
            box=box,
            share=share,
            users=found.users,
            bias=found.bias_bound,
            level=level,
            warnings=found.warnings,
            no_best=found.no_best,
        )

    @property
    def is_told(self) -> bool:
        """Whether the reports show that the group is not empty: its share is more than z standard errors above 0."""
        return self.share.uncut - self.bias > normal_quantile(self.level) * self.share.standard_error

    def enough_users(self) -> int | None:
        """How many users would show that the group is not empty, by its share's variance; None where none would."""
        # Of a share that seems to be 0 or less, the largest that it may be.
        share = self.share.uncut if self.share.uncut > 0 else self.share.interval[1]
        if share <= 0:
            return None
        return enough_users(self.users, share, self.share.standard_error, normal_quantile(self.level))

    def terms(self, sentence: str | None) -> dict[str, Any]:
        """What an answer about the group says of it; `sentence` is there where it has no number."""
        return {
            "given": self.box.label,
            "group": self.share.uncut,
            "group_interval": self.share.interval,
            "enough_users": None if sentence is None else self.enough_users(),
            "sentence": sentence,
        }

    def not_enough(self) -> str:
        """That the group may be empty, and how many users would show that it is not."""
        enough = self.enough_users()
        would = "" if enough is None else f": about {quantity(enough, 'user')} in all would be enough"
        if self.share.uncut <= 0 and enough is not None:
            would = f": it takes {quantity(enough, 'user')} in all or more"
        return f"not enough users in {self.box.label}{would}"

    def done(self, answers: Sequence[RatioAnswer | GroupQuantileAnswer], warnings: Sequence[str] = ()) -> OnDemand:
        """The answers with what they have in common."""
        return OnDemand(
            answers=tuple(answers),
            compared=len(answers),
            users=self.users,
            level=self.level,
            bias_bound=self.bias,
            warnings=tuple(dict.fromkeys((*self.warnings, *warnings))),
        )


def _shares(group: _Group, domain: Domain, kind: BoxKind, boxes: Sequence[Box]) -> OnDemand:
    answers = []
    joints = [_within(box, group.box, domain) for box in boxes]
    guesses = guessed_ratios(group.answerer, group.share, joints, group.level)
    for box, joint, guess in zip(boxes, joints, guesses, strict=True):
        # N, D and N + D, whose variances have the covariance of N and D.
        rows = [[(1.0, joint)], [(1.0, group.box)], [(1.0, joint), (1.0, group.box)]]
        found = _ratio(group, box.label, group.answerer.sums(rows, group.level), len(boxes))
        answers.append(with_guess(found, guess))
    return replace(group.done(answers), no_best=group.no_best)


def _within(box: Box, group: Box, domain: Domain) -> Box:
    """The users of the group who are in the box; raises WorkloadError where that is nobody or all of them."""
    joint = meet(box, group)
    if joint is None:
        raise WorkloadError(f"nobody given {group.label} can be in {box.label!r}: ask about another attribute", box)
    if joint.sides == group.sides:
        raise WorkloadError(f"all users given {group.label} are in {box.label!r}: ask about another attribute", box)
    return joint


def _ratio(group: _Group, label: str, found: SumErrors, compared: int) -> RatioAnswer:
    """N/D for the rows N, D and N + D, with a band over so many of them, however they depend (Bonferroni)."""
    numerator, denominator = found.answers[:2].tolist()
    z = normal_quantile(group.level)
    noise, drawn = (_joint_errors(found, sampled=sampled) for sampled in (False, True))
    whole = [fieller_set(numerator, denominator, each, z) for each in (noise, drawn)]
    whole.append(fieller_set(numerator, denominator, noise, bonferroni_quantile(group.level, compared)))
    sets = [each.within((0.0, 1.0)) for each in whole]
    told = sets[0].shape == "interval" and denominator > 0
    value = min(max(numerator / denominator, 0.0), 1.0) if told else None
    return RatioAnswer(
        label=f"{label} given {group.box.label}",
        unit=SHARE,
        value=value,
        standard_error=_error(noise, value, denominator),
        interval=_ends(sets[0]) if told else None,
        band=_ends(sets[2]) if told else None,
        population_standard_error=_error(drawn, value, denominator),
        population_interval=_ends(sets[1]) if told else None,
        not_ruled_out=whole[0],
        **group.terms(None if told else _in_words(group, sets[0])),
    )


def _joint_errors(found: SumErrors, *, sampled: bool) -> JointErrors:
    """Of N and D, with Cov(N, D) = (Var(N + D) − Var N − Var D)/2."""
    numerator, denominator, both = ((found.noise + (found.drawn if sampled else 0.0)) / found.users).tolist()
    biases = found.notable_bias.tolist()
    return JointErrors(
        numerator=numerator,
        covariance=(both - numerator - denominator) / 2,
        denominator=denominator,
        numerator_bias=biases[0],
        denominator_bias=biases[1],
    )


def _ends(found: RatioSet) -> Ends | None:
    return (found.low, found.high) if found.shape == "interval" else None


def _error(errors: JointErrors, value: float | None, denominator: float) -> float | None:
    """√Var(N − rD)/D at the ratio, for the digits that are shown; intervals are not made of it."""
    return None if value is None else math.sqrt(errors.variance(value)) / denominator


def _in_words(group: _Group, found: RatioSet) -> str:
    """The ratios that are not ruled out where they are no interval."""
    return f"{rays_in_words(found)}; {group.not_enough()}" if found.shape == "rays" else group.not_enough()


def rays_in_words(found: RatioSet) -> str:
    """Shares on either side of what is ruled out: "below 3.10 % or above 40.00 %"."""
    low, high = (amount(end, SHARE) for end in (found.low, found.high))
    return " or ".join([f"below {low}"] * (found.low > 0) + [f"above {high}"] * (found.high < 1))


def _quantiles(group: _Group, domain: Domain, texts: Sequence[str]) -> OnDemand:
    answers = []
    for question in parse_quantiles(domain, texts):
        attribute = domain.attributes[question.attribute]
        if group.box.sides[question.attribute] != (0, attribute.size - 1):
            raise WorkloadError(
                f"a quantile of {attribute.name!r} is not given {group.box.label}, which is about the same attribute: "
                "ask for a range",
                question,
            )
        found = quantile_answer(domain, question, group.answerer.group_quantile(question, group.box, group.level))
        sentence = found.sentence if group.is_told else group.not_enough()
        plain = {each.name: getattr(found, each.name) for each in fields(found)}
        label = f"{found.label} given {group.box.label}"
        terms = group.terms(sentence) | {"enough_users": None if group.is_told else group.enough_users()}
        answers.append(GroupQuantileAnswer(**plain | {"label": label} | terms))
    return group.done(answers)
