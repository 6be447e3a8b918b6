"""The lower bounds that the plan of a protocol publishes, one for each form, and their recheck."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import FormBound, ProtocolPlan
from sordino_analysis.optimisation.bounds.pair_game import PairGame, recheck_pair_game
from sordino_analysis.optimisation.bounds.pair_game_program import best_pair_game
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.pairwise.forms import planned_statistic
from sordino_analysis.pairwise.protocol import PairwiseProtocol, ProtocolDesign
from sordino_analysis.pairwise.tuning import FORM_BOUNDS
from sordino_analysis.planning.audit import Check, computing_what_was_published
from sordino_analysis.progress import ProgressCallback, progress_of_steps
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_analysis.request_terms import Target
from sordino_shared.errors import InvalidValue

# Significant digits of a published value: a value that differs by one in the last is refused.
_DIGITS = 9
# Figures that differ by more are of another plan.
_RELATIVE = 1e-8


def bounded(
    design: ProtocolDesign, protocol: PairwiseProtocol, deadline: Deadline, progress: ProgressCallback
) -> ProtocolDesign:
    """The design whose plan has a bound for each form that differs between pairs.

    A form has none where the solver finds none, as at ε = .001. Once the time is over bounds are quick ones, beside
    which no variance is predicted.
    """
    statistic, step = planned_statistic(design.plan), progress_of_steps(progress, FORM_BOUNDS.expected_steps)

    def goes_on() -> bool:
        step()
        return not deadline.passed()

    found = (_bound(form, design, protocol, deadline, goes_on) for form in statistic.forms)
    plan = replace(design.plan, bounds=tuple(bound for bound in found if bound is not None))
    return replace(design, plan=plan)


def audit_form_bounds(design: ProtocolDesign, protocol: PairwiseProtocol) -> Iterator[Check]:
    """Each bound of the plan, and what it publishes of the plan's own variance, made again."""
    plan = design.plan
    forms = {form.name: form for form in planned_statistic(plan).forms}
    for bound in plan.bounds:
        name, published = f"lower bound of {bound.form}", f"{bound.value:.{_DIGITS}g}"
        try:
            with computing_what_was_published():
                proved = recheck_form_bound(bound, forms.get(bound.form), plan)
                claimed = partial(bool, bound.variance is not None)
                again = _with_variance(bound, forms[bound.form], design, protocol, claimed)
        except InvalidValue as error:
            yield Check(name, False, published, str(error))
            continue
        yield Check(name, bound.value <= proved < bound.value + _unit(bound.value), published, f"{proved:.12g}")
        for what in ("variance", "standard_error"):
            figures = getattr(bound, what), getattr(again, what)
            yield Check(f"{what.replace('_', ' ')} of {bound.form}", _same(*figures), *map(_shown, figures))


def _same(published: float | None, recomputed: float | None) -> bool:
    if published is None or recomputed is None:
        return published is recomputed
    return math.isclose(published, recomputed, rel_tol=_RELATIVE)


def recheck_form_bound(bound: FormBound, form: QuadraticForm | None, plan: ProtocolPlan) -> float:
    """n times the least variance that the published numbers prove; raises InvalidValue for what is no certificate."""
    if form is None:
        raise InvalidValue(f"the statistic has no form {bound.form!r}", bound.form)
    types = np.array(bound.types)
    if len(np.unique(types)) != len(types) or not 0 <= types.min() <= types.max() < len(form.matrix):
        raise InvalidValue(f"the types of a bound differ and are from 0 to {len(form.matrix) - 1}", bound.types)
    if len(bound.populations) > 1 and len(plan.rounds) > 1:
        raise InvalidValue("the bound of a protocol of several rounds is about one population", bound.populations)
    matrix = form.matrix[np.ix_(types, types)]
    game = PairGame(
        populations=np.array(bound.populations, dtype=float),
        weights=np.array(bound.weights, dtype=float),
        numerators=np.array(bound.numerators, dtype=float),
        multipliers=np.array(bound.multipliers, dtype=float),
    )
    return recheck_pair_game(matrix, plan.guarantee / 1e9, plan.users, plan.target, game)


def _bound(
    form: QuadraticForm,
    design: ProtocolDesign,
    protocol: PairwiseProtocol,
    deadline: Deadline,
    goes_on: Callable[[], bool],
) -> FormBound | None:
    if np.ptp(form.matrix) == 0:
        return None
    games = _Games(form.matrix, design.plan)
    found = [games.of_any_rounds()]
    if len(design.plan.rounds) == 1 and not deadline.passed():
        found.append(games.of_one_round(deadline))
    best = _best(found)
    if best is None:
        return None
    _, types, game = best
    kept = game.weights > 0
    bound = FormBound(
        form=form.name,
        value=1.0,
        variance=None,
        standard_error=None,
        types=tuple(types.tolist()),
        populations=_tuples(game.populations[kept]),
        weights=tuple(game.weights[kept].tolist()),
        numerators=_tuples(game.numerators[kept]),
        multipliers=tuple(game.multipliers.tolist()),
    )
    return _with_variance(_rounded(bound, form, design.plan), form, design, protocol, goes_on)


def _rounded(bound: FormBound, form: QuadraticForm, plan: ProtocolPlan) -> FormBound:
    """The bound with the value that its numbers prove, rounded down; ν is raised where rounding could go either way."""
    for _ in range(FORM_BOUNDS.most_nudges):
        proved = recheck_form_bound(bound, form, plan)
        unit = _unit(proved)
        units, part = divmod(proved / unit, 1.0)
        if FORM_BOUNDS.margin < part < 1 - FORM_BOUNDS.margin:
            break
        raised = tuple(number * (1 + FORM_BOUNDS.nudge) for number in bound.multipliers)
        bound = replace(bound, multipliers=raised)
    return replace(bound, value=float(f"{units * unit:.{_DIGITS}g}"))


def _unit(value: float) -> float:
    """One in the last of the digits of a value."""
    return 10.0 ** (math.floor(math.log10(value)) + 1 - _DIGITS) if value > 0 else 0.0


def _with_variance(
    bound: FormBound,
    form: QuadraticForm,
    design: ProtocolDesign,
    protocol: PairwiseProtocol,
    goes_on: Callable[[], bool],
) -> FormBound:
    """The bound with n times the plan's variance at the worst of its populations, where that is known."""
    whole = np.zeros((len(bound.populations), len(form.matrix)))
    whole[:, list(bound.types)] = bound.populations
    worst = protocol.worst_variance(design, form, whole, goes_on)
    if worst is None:
        return replace(bound, variance=None, standard_error=None)
    variance, error = (design.plan.users * each for each in worst)
    return replace(bound, variance=variance, standard_error=error)


# n times the variance, the types, and the certificate.
_Proved = tuple[float, Indices, PairGame]


def _best(found: Iterable[_Proved | None]) -> _Proved | None:
    """The largest bound, the first of equal ones; None where all are 0, which says nothing."""
    return max((one for one in found if one is not None and one[0] > 0), key=lambda one: one[0], default=None)


class _Games:
    """Bounds on one form at a plan's ε and number of users; None where the solver finds none."""

    def __init__(self, matrix: Floats, plan: ProtocolPlan) -> None:
        self.matrix, self.plan, self.epsilon = matrix, plan, plan.guarantee / 1e9

    def of_any_rounds(self) -> _Proved | None:
        """The best of a few populations, nearly all of one type, with the types that differ most from it."""
        centred = self.matrix - np.diag(self.matrix)[:, None]
        found = []
        for row in np.argsort(-np.abs(centred).max(axis=1), kind="stable")[: FORM_BOUNDS.first_types]:
            # The row's type is named first.
            others = dict.fromkeys((int(row), int(np.argmax(centred[row])), int(np.argmin(centred[row]))))
            types = np.array(list(others))
            found += [self._solved(types, population[None, :]) for population in self._near_first(len(types))]
        return _best(found)

    def of_one_round(self, deadline: Deadline) -> _Proved | None:
        """The game over all types, or over some that are chosen one by one."""
        types = np.arange(len(self.matrix))
        if len(types) > FORM_BOUNDS.most_types:
            types = self._chosen(deadline)
        found = [self._solved(types, np.eye(len(types)))]
        if self._inside:
            few = types[: FORM_BOUNDS.most_inside]
            found.append(self._solved(few, near_populations(len(few), self.epsilon, self.plan.target)))
        return _best(found)

    @property
    def _inside(self) -> bool:
        """Whether populations of several types may prove more: not below ε = 2, and only of pairs."""
        return _inside(self.epsilon, self.plan.target)

    def _near_first(self, count: int) -> Iterator[Floats]:
        units = np.eye(count)
        yield units[0]
        for share in _shares(self.epsilon) if self._inside else ():
            for other in units[1:]:
                yield (1 - share) * units[0] + share * other

    def _chosen(self, deadline: Deadline) -> Indices:
        """Types (m,) that start at the two which differ most, each of the next with the largest bound of a few."""
        size = len(self.matrix)
        candidates = np.unique(np.linspace(0, size - 1, FORM_BOUNDS.candidates).astype(np.intp))
        centred = self.matrix - np.diag(self.matrix)[:, None]
        types = [int(place) for place in np.unravel_index(np.argmax(np.abs(centred)), centred.shape)]
        while len(types) < FORM_BOUNDS.most_types and not deadline.passed():
            found = [
                (one[0], int(other))
                for other in candidates
                if other not in types and (one := self._solved(np.array([*types, other]), np.eye(len(types) + 1)))
            ]
            if not found:
                break
            types.append(max(found)[1])
        return np.array(types)

    def _solved(self, types: Indices, populations: Floats) -> _Proved | None:
        matrix, plan = self.matrix[np.ix_(types, types)], self.plan
        game = best_pair_game(matrix, self.epsilon, plan.users, plan.target, populations)
        if game is None:
            return None
        return recheck_pair_game(matrix, self.epsilon, plan.users, plan.target, game), types, game


def near_populations(types: int, epsilon: float, target: Target) -> Floats:
    """(P, types) users of one type each, and of few types, where they may prove more, those nearly all of one type."""
    units = np.eye(types)
    if types > FORM_BOUNDS.most_inside or not _inside(epsilon, target):
        return units
    near = [
        (1 - share) * units[first] + share * units[other]
        for share in _shares(epsilon)
        for first in range(types)
        for other in range(types)
        if other != first
    ]
    return np.vstack([units, *near])


def _inside(epsilon: float, target: Target) -> bool:
    return target == "pairs" and epsilon > FORM_BOUNDS.least_inside


def _shares(epsilon: float) -> list[float]:
    """Of a second type."""
    return [factor * math.exp(-epsilon) for factor in FORM_BOUNDS.inside]


def _tuples(table: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in table.tolist())


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.9g}"
