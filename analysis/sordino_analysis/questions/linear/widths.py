"""Parities and marginals: all queries of one kind about a few attributes at a time, multiplied through characters."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.characters import Characters, cas_table
from sordino_analysis.questions.linear.factors import Factor
from sordino_analysis.questions.linear.operators import Indices, LinearMap, Symmetry
from sordino_analysis.questions.linear.scopes import QueryScope, sides_of_cell
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.orbit_kernel import MAX_SUMS

# Queries whose characters are listed: 32 MiB.
_MOST_QUERIES = 1 << 22
# The table of one marginal has the square of its cells.
_MOST_CELLS = 2048
# Numbers this close to a whole one are meant to be whole.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class CharacterBlock:
    """Queries alike up to which attributes they are about: a row of `table` (rows, K) on each of the `supports` (n, m).

    Query (s, a) is Σ_r table[a, r] cas_r(x_s), r in C order over the sizes `shape` of the m attributes; `queries`
    (n, rows) are the numbers of the queries; their variances count `weight` times in an objective. Where `shifted`
    there is a row a cell, and row a is row 0 moved by a.
    """

    supports: Indices
    shape: tuple[int, ...]
    table: Floats
    queries: Indices
    shifted: bool
    weight: float = 1.0

    @cached_property
    def values(self) -> Floats:
        """(rows, K) the queries at every cell of a support; what is whole but for rounding is whole."""
        values = np.asarray(self.table @ cas_table(self.shape))
        whole = np.rint(values)
        return np.where(np.abs(values - whole) < _ROUNDING, whole + 0.0, values)


class CharacterMap(LinearMap):
    """A map whose rows are combinations of a few characters, symmetric under shifts and exchanges of attributes.

    Shifts may also take a query to the opposite of one. Without `invariant` exchanges alone take queries to queries,
    and where they are `invariant_but_pinned` shifts of all attributes but the pinned one.
    """

    symmetry = Symmetry.ATTRIBUTES

    def __init__(
        self,
        shape: Sequence[int],
        blocks: Sequence[CharacterBlock],
        characters: Characters | None = None,
        *,
        invariant: bool = True,
        invariant_but_pinned: bool = False,
    ) -> None:
        self.blocks, self.invariant = tuple(blocks), invariant
        self.invariant_but_pinned = invariant_but_pinned
        self.characters = characters or Characters(shape, max(block.supports.shape[1] for block in self.blocks))
        self.zero_one = all(np.isin(block.values, (0.0, 1.0)).all() for block in self.blocks)

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(block.queries.size for block in self.blocks), math.prod(self.characters.shape)

    def query_weights(self) -> Floats:
        weights = np.empty(self.shape[0])
        for block in self.blocks:
            weights[block.queries] = block.weight
        return weights

    @cached_property
    def _places(self) -> tuple[Indices, ...]:
        """(n, K) for each block: the coefficients, a leading constant among them, that its supports use."""
        places = self.characters.places
        return tuple(np.stack([places(tuple(s)) for s in block.supports.tolist()]) for block in self.blocks)

    @cached_property
    def homes(self) -> Indices:
        """(Q, 3) block, support and row of every query."""
        homes = np.empty((self.shape[0], 3), dtype=np.intp)
        for number, block in enumerate(self.blocks):
            supports, rows = np.indices(block.queries.shape)
            homes[block.queries] = np.stack([np.full_like(rows, number), supports, rows], axis=-1)
        return homes

    def matvec(self, histogram: Floats) -> Floats:
        coefficients = np.concatenate([histogram.sum(axis=0, keepdims=True), self.characters.transform(histogram)])
        return self.answers([coefficients] * len(self.blocks))

    def answers(self, coefficients: Sequence[Floats]) -> Floats:
        """(Q, …) answers, each block's from its own total and p character sums, (1 + p, …)."""
        result = np.zeros((self.shape[0], *coefficients[0].shape[1:]))
        for block, places, sums in zip(self.blocks, self._places, coefficients, strict=True):
            result[block.queries] = np.einsum("ar,sr...->sa...", block.table, sums[places])
        return result

    def marginals(self, histogram: Floats) -> Iterator[Floats]:
        """For each block the (n, K) shares of every cell of its supports."""
        coefficients = np.concatenate([histogram.sum(keepdims=True), self.characters.transform(histogram)])
        for block, places in zip(self.blocks, self._places, strict=True):
            yield coefficients[places] @ cas_table(block.shape) / math.prod(block.shape)

    def rmatvec(self, weights: Floats) -> Floats:
        coefficients = np.zeros((1 + self.characters.count, *weights.shape[1:]))
        for block, places in zip(self.blocks, self._places, strict=True):
            np.add.at(coefficients, places, np.einsum("ar,sa...->sr...", block.table, weights[block.queries]))
        return self.characters.spread(coefficients[1:], coefficients[0])

    def squared_matvec(self, histogram: Floats) -> Floats:
        if self.zero_one:
            return self.matvec(histogram)
        squares = [replace(b, table=b.values**2 @ cas_table(b.shape) / math.prod(b.shape)) for b in self.blocks]
        return CharacterMap(self.characters.shape, squares).matvec(histogram)

    def take(self, rows: Indices) -> Floats:
        result = np.zeros((len(rows), self.shape[1]))
        homes, cells = self.homes[rows], np.unravel_index(np.arange(self.shape[1]), self.characters.shape)
        for number, place in np.unique(homes[:, :2], axis=0):
            block = self.blocks[number]
            local = np.ravel_multi_index([cells[a] for a in block.supports[place]], block.shape)
            here = np.flatnonzero((homes[:, :2] == (number, place)).all(axis=1))
            result[here] = block.values[homes[here, 2]][:, local]
        return result

    def shares(self) -> NDArray[np.bool_]:
        found = np.empty(self.shape[0], dtype=bool)
        for block in self.blocks:
            found[block.queries] = np.isin(block.values, (0.0, 1.0)).all(axis=1)
        return found

    def entry_range(self) -> tuple[Floats, Floats]:
        if self.zero_one:
            return super().entry_range()
        low, high = np.empty(self.shape[0]), np.empty(self.shape[0])
        for block in self.blocks:
            low[block.queries], high[block.queries] = block.values.min(axis=1), block.values.max(axis=1)
        return low, high

    def answers_of_codes(self, codes: NDArray[np.uint64], shape: tuple[int, ...]) -> Floats:
        """Set of attributes by set, so that cells need no numbers. `codes` (n, attributes) → (Q,)."""
        result, held = np.zeros(self.shape[0]), np.ascontiguousarray(codes.T.astype(np.int64))
        for block in self.blocks:
            cells = math.prod(block.shape)
            for support, queries in zip(block.supports, block.queries, strict=True):
                found = np.bincount(np.ravel_multi_index(tuple(held[support]), block.shape), minlength=cells)
                result[queries] = block.values @ found / len(codes)
        return result

    def column(self, cell: int) -> Floats:
        held = np.array(np.unravel_index(cell, self.characters.shape))
        result = np.zeros(self.shape[0])
        for block in self.blocks:
            local = np.ravel_multi_index(tuple(held[block.supports].T), block.shape)
            result[block.queries] = block.values[:, local].T
        return result


def character_map(operator: LinearMap) -> CharacterMap:
    """The map itself; raises InvalidValue where the queries are not parities or marginals."""
    if not isinstance(operator, CharacterMap):
        raise InvalidValue("the queries are not parities or marginals", operator)
    return operator


def parities(domain: Domain, width: int, *, exactly: bool) -> Factor:
    """(−1)^(Σ x_i over S) for the sets S of up to, or exactly, `width` attributes of two members, S = ∅ left out.

    Raises WorkloadError for other attributes.
    """
    if set(domain.shape) != {2}:
        raise WorkloadError(
            "a parity needs attributes of two members each, and the domain has attributes of "
            f"{', '.join(str(size) for size in sorted(set(domain.shape)))}: ask for marginals",
            domain,
        )
    supports = _supports(domain, width, exactly)
    _check_extent(domain, width, len(supports))
    # The last frequency is one on every attribute: the parity itself.
    labels = _labels_of_parities(domain, supports)
    operator = _map(domain, supports, lambda shape: np.eye(2 ** len(shape))[-1:], shifted=False)
    return Factor(operator, labels, lambda query: QueryScope("parity", None))


def marginals(domain: Domain, width: int, *, exactly: bool) -> Factor:
    """The share of every cell of every set of up to, or exactly, `width` attributes.

    Raises WorkloadError for marginals of too many cells.
    """
    supports = _supports(domain, width, exactly)
    cells = [math.prod(domain.shape[a] for a in support) for support in supports]
    if max(cells) > _MOST_CELLS:
        raise WorkloadError(
            f"a marginal of width {width} has up to {max(cells)} cells, at most {_MOST_CELLS} can be asked: "
            "use a smaller width or fewer members",
            width,
        )
    _check_extent(domain, width, sum(cells))
    starts = np.cumsum([0, *cells]).tolist()

    def cell_of(query: int) -> _Cell:
        place = bisect_right(starts, query) - 1
        return _Cell.at(domain, supports[place], query - starts[place])

    operator = _map(domain, supports, lambda shape: cas_table(shape) / math.prod(shape), shifted=True)
    return Factor(operator, lambda query: cell_of(query).label, lambda query: cell_of(query).scope)


def marginal(domain: Domain, attributes: tuple[int, ...], characters: Characters) -> Factor:
    """The share of every cell of these attributes, in increasing order, through characters that cover them."""
    shape = tuple(domain.shape[a] for a in attributes)
    cells = math.prod(shape)
    block = CharacterBlock(
        supports=np.array([attributes]),
        shape=shape,
        table=cas_table(shape) / cells,
        queries=np.arange(cells)[None],
        shifted=True,
    )
    return Factor(
        CharacterMap(domain.shape, [block], characters),
        lambda cell: _Cell.at(domain, attributes, cell).label,
        lambda cell: _Cell.at(domain, attributes, cell).scope,
    )


@dataclass(frozen=True)
class _Cell:
    """A cell of a marginal: one member of each attribute of its support."""

    domain: Domain
    support: tuple[int, ...]
    members: tuple[int, ...]

    @classmethod
    def at(cls, domain: Domain, support: tuple[int, ...], number: int) -> Self:
        held = np.unravel_index(number, [domain.shape[a] for a in support])
        return cls(domain, support, tuple(int(member) for member in held))

    @property
    def label(self) -> str:
        attributes = [self.domain.attributes[a] for a in self.support]
        return ", ".join(f"{a.name}: {a.label(v)}" for a, v in zip(attributes, self.members, strict=True))

    @property
    def scope(self) -> QueryScope:
        return QueryScope("marginal", sides_of_cell(self.domain, self.support, self.members))


def check_width(domain: Domain, width: int) -> None:
    """Raise WorkloadError unless there are so many attributes that tell users apart."""
    wide = sum(size > 1 for size in domain.shape)
    if not 1 <= width <= wide:
        raise WorkloadError(
            f"the width must be from 1 to the {wide} attributes of more than one member, not {width}", width
        )


def _supports(domain: Domain, width: int, exactly: bool) -> list[tuple[int, ...]]:
    check_width(domain, width)
    wide = [attribute for attribute, size in enumerate(domain.shape) if size > 1]
    involved = range(width if exactly else 1, width + 1)
    count = sum(math.comb(len(wide), number) for number in involved)
    if count > _MOST_QUERIES:
        raise WorkloadError(f"{count} sets of attributes are too many: use a smaller width", width)
    return [support for number in involved for support in combinations(wide, number)]


def _check_extent(domain: Domain, width: int, queries: int) -> None:
    characters = Characters(domain.shape, width).count
    if queries > _MOST_QUERIES or characters > MAX_SUMS:
        raise WorkloadError(
            f"{queries} queries on {characters} characters are too many, at most {_MOST_QUERIES} and "
            f"{MAX_SUMS} can be asked: use a smaller width",
            width,
        )


def _map(
    domain: Domain, supports: list[tuple[int, ...]], table: Callable[[tuple[int, ...]], Floats], *, shifted: bool
) -> CharacterMap:
    """Supports with attributes of the same sizes, in the same order, make a block; queries keep their order."""
    members: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    numbers: dict[tuple[int, ...], list[Indices]] = {}
    tables: dict[tuple[int, ...], Floats] = {}
    start = 0
    for support in supports:
        shape = tuple(domain.shape[attribute] for attribute in support)
        if shape not in tables:
            tables[shape], members[shape], numbers[shape] = table(shape), [], []
        members[shape].append(support)
        numbers[shape].append(np.arange(start, start + len(tables[shape])))
        start += len(tables[shape])
    blocks = [
        CharacterBlock(
            supports=np.array(members[shape]),
            shape=shape,
            table=tables[shape],
            queries=np.stack(numbers[shape]),
            shifted=shifted,
        )
        for shape in tables
    ]
    return CharacterMap(domain.shape, blocks)


def _labels_of_parities(domain: Domain, supports: list[tuple[int, ...]]) -> Callable[[int], str]:
    names = [attribute.name for attribute in domain.attributes]
    return lambda query: f"parity of {', '.join(names[attribute] for attribute in supports[query])}"
