"""Decision lists on average over databases: their class means, and what the worst list of a length needs.

A list of w indicators is a half-space of them (Aldà and Simon, Theorem 9), so that its class means are never the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from sordino_analysis.arrays import Mask
from sordino_analysis.average_case.rule_classes import ClassMeans, means_of_table
from sordino_analysis.average_case.usefulness import response_variance
from sordino_analysis.optimisation.arrangements.margins import users_of_scheme
from sordino_analysis.optimisation.arrangements.separators import HalfSpace, decision_list, largest_list_weight
from sordino_analysis.optimisation.symmetry.programs import evenest_chances
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.errors import InvalidValue

_ANSWERS = {"yes": True, "no": False}
_FORM = "write a decision list as NAME:VALUE=yes,NAME:VALUE=no,else=yes"


@dataclass(frozen=True)
class DecisionList:
    """The answer of the first item (place, wanted, answer) whose indicator has the wanted value, else `otherwise`."""

    items: tuple[tuple[int, bool, bool], ...]
    otherwise: bool

    def __post_init__(self) -> None:
        places = [place for place, _, _ in self.items]
        if not places or len(set(places)) < len(places):
            raise InvalidValue("a list looks at one indicator at least, and at each of them once", self.items)

    def half_space(self) -> HalfSpace:
        """The list as a half-space of its own indicators, in the order of the items."""
        items = [(at, int(wanted), int(answer)) for at, (_, wanted, answer) in enumerate(self.items)]
        return decision_list(len(items), items, int(self.otherwise))

    def positive(self) -> Mask:
        """(2^w,) whether the list says yes at each cell of its indicators, in C order."""
        return self.half_space().predicts(_cells(len(self.items)))

    def means(self, indicators: int) -> ClassMeans:
        """Means of k indicators in both classes; raises InvalidValue for a list that says the same of all users."""
        return means_of_table(self.positive(), tuple(place for place, _, _ in self.items), indicators)


def parse_list(text: str) -> tuple[list[tuple[str, bool]], bool]:
    """The tests of a list in words, each with its answer, and what it says else; raises WorkloadError.

    >>> parse_list("wifi:on=yes,beta:off=no,else=yes")
    ([('wifi:on', True), ('beta:off', False)], True)
    """
    found = []
    for part in text.split(","):
        test, _, word = part.rpartition("=")
        if word not in _ANSWERS or not test:
            raise WorkloadError(f"{part[:100]!r} has no answer: {_FORM}", text)
        found.append((test, _ANSWERS[word]))
    *tests, (last, otherwise) = found
    if last != "else" or not tests:
        raise WorkloadError(f"a list ends with what it says else: {_FORM}", text)
    return tests, otherwise


def list_separation(length: int) -> float:
    """The least ‖m₁ − m₀‖² of a list that looks at exactly so many indicators."""
    return min(each.means(length).separation for each in every_list(length))


def worst_case_list_variance(indicators: int, length: int, epsilon: float) -> float:
    """Variance of one report for unbiased answers to all lists of w of k indicators, for every population.

    A report tells one random character by randomised response. Of j indicators it has the chance θ_j/C(k,j), and the
    variance is the least over θ of max Σ_j a_j C(k,j)/θ_j /tanh²(ε/2) over all lists, with a_j the squares of a list's
    characters of j indicators.
    """
    cells = _cells(length)
    characters = 1.0 - 2 * (cells.astype(int) @ cells.T.astype(int) % 2)
    tables = np.stack([each.positive() for each in every_list(length)])
    squares = (tables @ characters / len(cells)) ** 2
    sizes = cells.sum(axis=1)
    by_size = np.stack([squares[:, sizes == size].sum(axis=1) for size in range(1, length + 1)], axis=1)
    costs = np.unique(by_size, axis=0) * [math.comb(indicators, size) for size in range(1, length + 1)]
    return float((costs / evenest_chances(costs)).sum(axis=1).max() / math.tanh(epsilon / 2) ** 2)


def list_response_variance(indicators: int, length: int, epsilon: float) -> float:
    """The same where a report is randomised response over all 2^k cells: the most of all lists of w of k indicators."""
    shares = {float(each.positive().mean()) for each in every_list(length)}
    return max(response_variance(indicators, share, epsilon) for share in shares)


def list_margin(indicators: int, length: int) -> float:
    """The least (γ₀ + γ₁)/2 of the unit vectors (24) of Aldà and Simon, over lists of w of k bits, by counting bits."""
    return min(_margin(each.half_space(), indicators) for each in every_list(length))


def list_lemma_users(indicators: int, length: int, epsilon: float, error: float, failure: float) -> int:
    """Users by the paper's bound (20), with the margin 1/(4kP) of Lemma 9 for the weights P of Theorem 9."""
    margin = 1 / (4 * indicators * largest_list_weight(indicators, length))
    return users_of_scheme(indicators + 1, margin, epsilon, error, failure)


@cache
def every_list(length: int) -> tuple[DecisionList, ...]:
    """All lists that test the indicators 0, …, `length` − 1 in this order and depend on each of them.

    Every other list of this length exchanges indicators of one of these.
    """
    found = []
    for wanted in product((True, False), repeat=length):
        for answers in product((True, False), repeat=length + 1):
            items = tuple(zip(range(length), wanted, answers, strict=False))
            listed = DecisionList(items, answers[-1])
            if _depends_on_all(listed.positive()):
                found.append(listed)
    return tuple(found)


def _depends_on_all(positive: Mask) -> bool:
    cube = positive.reshape((2,) * (len(positive).bit_length() - 1))
    return all((cube.take(0, axis) != cube.take(1, axis)).any() for axis in range(cube.ndim))


def _margin(half_space: HalfSpace, indicators: int) -> float:
    """(γ₀ + γ₁)/2 of one list; the bits that it does not look at are summed by how many of them are on."""
    own = _cells(len(half_space.weights))
    free = indicators - own.shape[1]
    on = np.arange(free + 1)
    shares = np.array([math.comb(free, count) * 0.5**free for count in on])
    threshold, weights = float(half_space.threshold), np.array(half_space.weights, dtype=float)
    length = math.sqrt(float(weights @ weights) + threshold**2 / indicators)
    lengths = np.sqrt(own.sum(axis=1)[:, None] + on + indicators)
    products = (own @ weights - threshold) / length * (shares / lengths).sum(axis=1)
    positive = half_space.predicts(own)
    return float(products[positive].mean() - products[~positive].mean()) / 2


def _cells(length: int) -> Mask:
    return np.array(list(product((False, True), repeat=length)), dtype=bool).reshape(2**length, length)


def list_of(names: Sequence[str], items: Sequence[tuple[str, bool, bool]], otherwise: bool) -> DecisionList:
    """The list whose items name their indicators; raises InvalidValue for a name that is not among `names`."""
    for name, _, _ in items:
        if name not in names:
            raise InvalidValue(f"there is no indicator {name!r}; there are {', '.join(names)[:1000]}", items)
    return DecisionList(tuple((names.index(name), wanted, answer) for name, wanted, answer in items), otherwise)
