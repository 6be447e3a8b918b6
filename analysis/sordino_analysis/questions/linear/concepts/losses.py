"""The expected loss of every rule of a class as a linear query: a combination of a few characters with the label.

For i indicators and the label, which is the domain's last attribute, a rule's loss is a table over 2^(i+1) cells. With
one cost for both mistakes it is ½ − ½y·c(x), so only characters that contain the label matter. Rules with the same
squared coefficients in each orbit make a block. Edmonds, Nikolov, Ullman 2020, §4 (the loss of a concept).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.queries import ConceptQueries
from sordino_analysis.questions.linear.characters import Characters, Integers, cas_table
from sordino_analysis.questions.linear.concepts.rules import Literals, Rule, losses_of, rules_of
from sordino_analysis.questions.linear.factors import Factor
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, Domain, Indicator
from sordino_shared.randomizers.orbit_kernel import MAX_SUMS

# Rules of a class that are listed and weighed one by one.
MOST_CONCEPTS = 1 << 20
# Energies that agree in so many digits are one.
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class ConceptClass:
    """The rules of published queries, numbered by width and support; `literals` are the texts of each indicator."""

    literals: Literals
    queries: ConceptQueries

    @classmethod
    def of(cls, domain: Domain, queries: ConceptQueries) -> ConceptClass:
        """The rules over the attributes of a domain but the last, which is the label."""
        return cls(tuple(literals_of(attribute) for attribute in domain.attributes[:-1]), queries)

    @property
    def indicators(self) -> int:
        """d, how many attributes rules may use."""
        return len(self.literals)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many indicators rules use: none for the two constants."""
        queries = self.queries
        return (0, queries.width) if queries.exactly else tuple(range(queries.width + 1))

    def rules(self, involved: int) -> tuple[Rule, ...]:
        """The rules on any given `involved` indicators."""
        return rules_of(self.queries.family, involved, self.queries.negations, self.queries.changes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first rule of each width, and how many there are at the end."""
        counts = (math.comb(self.indicators, involved) * len(self.rules(involved)) for involved in self.widths)
        return (0, *np.cumsum(list(counts)).tolist())

    @cached_property
    def supports(self) -> tuple[list[tuple[int, ...]], ...]:
        """The sets of indicators of each width."""
        return tuple(list(combinations(range(self.indicators), involved)) for involved in self.widths)

    def place(self, number: int) -> tuple[tuple[int, ...], Rule]:
        """The indicators and the form of a rule."""
        level = bisect_right(self.starts, number) - 1
        rules = self.rules(self.widths[level])
        support, row = divmod(number - self.starts[level], len(rules))
        return self.supports[level][support], rules[row]

    def text(self, number: int) -> str:
        """What a person reads for a rule."""
        support, rule = self.place(number)
        return rule.text([self.literals[attribute] for attribute in support])

    def width(self, number: int) -> int:
        """How many indicators a rule looks at."""
        return len(self.place(number)[0])

    def losses(self, positive: Mask) -> Floats:
        """(rules, 2^(i+1)) the loss at every cell of the indicators and the label, for (rules, 2^i) predictions."""
        queries = self.queries
        return losses_of(positive, queries.positive, queries.miss, queries.false_alarm)


def literals_of(attribute: Attribute) -> tuple[str, str]:
    """The texts of an indicator that is off and of one that is on."""
    if isinstance(attribute, Indicator):
        return f"not {attribute.name}", attribute.name
    return f"{attribute.name}={attribute.label(0)}", f"{attribute.name}={attribute.label(1)}"


def concepts(domain: Domain, queries: ConceptQueries) -> Factor:
    """The losses of a class; raises WorkloadError where it has too many rules, or the domain does not fit."""
    if set(domain.shape) != {2}:
        raise WorkloadError("the attributes of a concept class have two members each, the label, too", domain)
    known = ConceptClass.of(domain, queries)
    _check_extent(known)
    characters = Characters(domain.shape, queries.width + 1, known.indicators)
    blocks = [block for level in range(len(known.widths)) for block in _blocks(known, level, characters)]
    one_cost = queries.miss == queries.false_alarm
    operator = CharacterMap(
        domain.shape,
        blocks,
        characters,
        invariant=one_cost and _closed(known, or_opposite=True),
        invariant_but_pinned=_closed(known, or_opposite=False),
    )
    return Factor(operator, known.text, lambda query: QueryScope("concept", None))


def _check_extent(known: ConceptClass) -> None:
    count, width = known.starts[-1], known.queries.width
    if not 1 <= width <= known.indicators:
        raise WorkloadError(f"the width must be from 1 to the {known.indicators} indicators, not {width}", width)
    sums = _sums(known, width)
    if count <= MOST_CONCEPTS and sums <= MAX_SUMS:
        return
    fitting = [w for w in range(1, width) if _count(known, w) <= MOST_CONCEPTS and _sums(known, w) <= MAX_SUMS]
    advice = f"the largest width that fits is {fitting[-1]}" if fitting else "use fewer indicators (`over`)"
    if count > MOST_CONCEPTS:
        raise WorkloadError(f"the class has {count} rules, at most {MOST_CONCEPTS} can be asked: {advice}", count)
    raise WorkloadError(f"reports of the class are added up in {sums} sums, at most {MAX_SUMS}: {advice}", sums)


def _sums(known: ConceptClass, width: int) -> int:
    """What an aggregator keeps: each character of indicators and the label, for a row of each size."""
    return sum(math.comb(known.indicators + 1, involved) for involved in range(width + 2)) * (width + 1)


def _count(known: ConceptClass, width: int) -> int:
    widths = (0, width) if known.queries.exactly else range(width + 1)
    return sum(math.comb(known.indicators, involved) * len(known.rules(involved)) for involved in widths)


def _blocks(known: ConceptClass, level: int, characters: Characters) -> list[CharacterBlock]:
    """The rules of one width; those with the same squared coefficients in each orbit together."""
    involved, rules = known.widths[level], known.rules(known.widths[level])
    shape = (2,) * (involved + 1)
    supports = np.array([(*support, known.indicators) for support in known.supports[level]], dtype=np.intp)
    losses = known.losses(np.stack([rule.positive for rule in rules]))
    table = losses @ cas_table(shape) / losses.shape[1]
    places = characters.places(tuple(supports[0].tolist()))[1:]
    energies = np.zeros((len(rules), len(characters.orbits)))
    np.add.at(energies.T, characters.orbit_of[places - 1], table[:, 1:].T ** 2)
    _, group = np.unique(np.round(energies, _DIGITS), axis=0, return_inverse=True)
    numbers = known.starts[level] + np.arange(len(supports) * len(rules)).reshape(len(supports), len(rules))
    return [
        CharacterBlock(supports=supports, shape=shape, table=table[rows], queries=numbers[:, rows], shifted=False)
        for rows in (np.flatnonzero(group.ravel() == kind) for kind in range(int(group.max()) + 1))
    ]


def _closed(known: ConceptClass, *, or_opposite: bool) -> bool:
    """Whether turning any indicator over takes every rule to one of the class, or to the opposite of one.

    Turning the label over takes a loss to that of the opposite rule, only where both mistakes cost the same.
    """
    for involved in known.widths:
        rules = known.rules(involved)
        tables = {rule.positive.tobytes() for rule in rules}
        if or_opposite:
            tables |= {(~rule.positive).tobytes() for rule in rules}
        cubes = (rule.positive.reshape((2,) * involved) for rule in rules)
        if any(np.flip(cube, axis).tobytes() not in tables for cube in cubes for axis in range(involved)):
            return False
    return True


def predictions(known: ConceptClass, number: int, codes: Integers) -> Mask:
    """(n,) what a rule predicts for the (n, attributes) codes."""
    support, rule = known.place(number)
    place = np.zeros(len(codes), dtype=np.int64)
    for attribute in support:
        place = 2 * place + codes[:, attribute]
    return np.asarray(rule.positive[place])
