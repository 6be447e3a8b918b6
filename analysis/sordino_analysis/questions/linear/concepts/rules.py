"""The rules of each class on exactly so many indicators: which cells they predict to be positive, and their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Protocol

import numpy as np

from sordino_analysis.arrays import Floats, Mask

# The first two rules of every class.
CONSTANTS = ("never", "always")

# What a person reads for an indicator that is off and for one that is on.
Literals = Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Rule:
    """`positive` (2^i,) over the cells of i indicators in C order; `text` writes it with their literals."""

    positive: Mask
    text: Callable[[Literals], str]


class RuleClass(Protocol):
    """The rules on i indicators, all of which matter; with `negations` an indicator may count when it is off."""

    def __call__(self, involved: int, *, negations: bool, changes: int | None) -> tuple[Rule, ...]:
        """`changes` limits how often the label changes along a decision list."""


def _cells(involved: int) -> Mask:
    """(2^i, i) the cells."""
    return np.array(list(product((False, True), repeat=involved)), dtype=bool).reshape(2**involved, involved)


def _signs(involved: int, negations: bool) -> Iterator[tuple[bool, ...]]:
    """The literals that a rule may take, those that are on first."""
    return product((True, False), repeat=involved) if negations else iter([(True,) * involved])


def _joined(word: str, signs: Sequence[bool]) -> Callable[[Literals], str]:
    return lambda literals: f" {word} ".join(pair[sign] for pair, sign in zip(literals, signs, strict=True))


def conjunctions(involved: int, *, negations: bool, changes: int | None) -> tuple[Rule, ...]:
    """All literals hold."""
    cells = _cells(involved)
    return tuple(Rule((cells == signs).all(axis=1), _joined("and", signs)) for signs in _signs(involved, negations))


def clauses(involved: int, *, negations: bool, changes: int | None) -> tuple[Rule, ...]:
    """At least one literal holds."""
    cells = _cells(involved)
    return tuple(Rule((cells == signs).any(axis=1), _joined("or", signs)) for signs in _signs(involved, negations))


def parities(involved: int, *, negations: bool, changes: int | None) -> tuple[Rule, ...]:
    """An odd number of indicators is on; with `negations` an even number too."""
    odd = _cells(involved).sum(axis=1) % 2 == 1

    def rule(name: str, positive: Mask) -> Rule:
        return Rule(positive, lambda literals: f"{name} number of {', '.join(on for _, on in literals)}")

    return (rule("odd", odd), rule("even", ~odd)) if negations else (rule("odd", odd),)


def juntas(involved: int, *, negations: bool, changes: int | None) -> tuple[Rule, ...]:
    """Every function of the indicators."""
    tables = (np.array(table, dtype=bool) for table in product((False, True), repeat=2**involved))
    return tuple(Rule(table, _listed(table)) for table in tables if _matters(table, involved))


def lists(involved: int, *, negations: bool, changes: int | None) -> tuple[Rule, ...]:
    """If one literal then one answer, else if the next then another, …, else the last answer."""
    cells, found = _cells(involved), dict[bytes, Rule]()
    for order in permutations(range(involved)):
        for signs in _signs(involved, negations):
            for answers in product((True, False), repeat=involved + 1):
                if changes is not None and sum(map(bool.__ne__, answers, answers[1:])) > changes:
                    continue
                table = np.full(len(cells), answers[-1])
                for place in reversed(range(involved)):
                    table = np.where(cells[:, order[place]] == signs[place], answers[place], table)
                if _matters(table, involved):
                    found.setdefault(table.tobytes(), Rule(table, _as_list(order, signs, answers)))
    return tuple(found.values())


def _as_list(order: Sequence[int], signs: Sequence[bool], answers: Sequence[bool]) -> Callable[[Literals], str]:
    words = ["yes" if answer else "no" for answer in answers]

    def text(literals: Literals) -> str:
        tests = (f"if {literals[at][sign]} {word}" for at, sign, word in zip(order, signs, words, strict=False))
        return f"{', else '.join(tests)}, else {words[-1]}"

    return text


def _listed(table: Mask) -> Callable[[Literals], str]:
    """The cells that are positive, each a conjunction."""
    cells = _cells(len(table).bit_length() - 1)[table]
    return lambda literals: " or ".join(f"({_joined('and', cell.tolist())(literals)})" for cell in cells)


def _matters(table: Mask, involved: int) -> bool:
    """Whether the table depends on every indicator."""
    cube = table.reshape((2,) * involved)
    return all((cube.take(0, axis) != cube.take(1, axis)).any() for axis in range(involved))


CLASSES: Mapping[str, RuleClass] = {
    "conjunctions": conjunctions,
    "clauses": clauses,
    "parities": parities,
    "juntas": juntas,
    "lists": lists,
}
# Wider ones have more rules than a workload may have, or take minutes to list.
WIDEST: Mapping[str, int] = {"conjunctions": 8, "clauses": 8, "parities": 8, "juntas": 3, "lists": 4}


@cache
def rules_of(family: str, involved: int, negations: bool, changes: int | None) -> tuple[Rule, ...]:
    """The rules of a class on exactly so many indicators; the two constants for none."""
    if involved == 0:
        return (
            Rule(np.array([False]), lambda literals: CONSTANTS[0]),
            Rule(np.array([True]), lambda literals: CONSTANTS[1]),
        )
    return CLASSES[family](involved, negations=negations, changes=changes)


def losses_of(predicted: Mask, positive: int, miss: float, false_alarm: float) -> Floats:
    """(rules, 2p) the loss at every cell of p, and of the label after them, for (rules, p) predictions."""
    truth = np.arange(2) == positive
    missed = miss * (~predicted[:, :, None] & truth)
    alarmed = false_alarm * (predicted[:, :, None] & ~truth)
    return np.asarray((missed + alarmed).reshape(len(predicted), -1))
