"""The law of one report's contribution to a single answer, listed value by value where it has few of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import hypergeom

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.decoders import CharacterDecoder, ScaledHistogramDecoder, SubsetDecoder
from sordino_analysis.evaluation.accumulator_moments import (
    ExchangeableMoments,
    SizeMixtureMoments,
    accumulator_moments,
    exchangeable_moments,
    size_mixture_moments,
)
from sordino_analysis.evaluation.variance import decoded_rows
from sordino_analysis.evaluation.weighted_decoder import PlainDecoder
from sordino_analysis.questions.linear import Workload
from sordino_shared.randomizers import (
    FiniteKernel,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

Sets = RandomizedResponse | SubsetSelection | SubsetMixture

# Sets that are listed one by one where rows of any numbers leave no shorter way.
_MOST_SETS = 4096
# More values than these are gathered on a grid, that adds less than a millionth of the squared range to a variance.
_MOST_VALUES = 513


@dataclass(frozen=True)
class Cumulants:
    """Variance, skewness, excess kurtosis of what a user adds to an error; n users' mean has skewness/√n, excess/n."""

    variance: float
    skewness: float
    excess_kurtosis: float

    @classmethod
    def of(cls, second: float, third: float, fourth: float) -> Cumulants:
        """From the cumulants themselves; of no variance nothing is skewed."""
        if second <= 0:
            return cls(0.0, 0.0, 0.0)
        return cls(second, third / second**1.5, fourth / second**2)


@dataclass(frozen=True, eq=False)
class Moments:
    """`raw` (4, g) E[cʲ | class], j = 1 … 4, of one report's contribution c to an answer; `shares` (g,) of users."""

    raw: Floats
    shares: Floats

    @property
    def of_reporters(self) -> Cumulants:
        """About the reporters' own answer: the classes' cumulants, averaged."""
        return Cumulants.of(*(_cumulants(self.raw) @ self.shares).tolist())

    @property
    def of_population(self) -> Cumulants:
        """About the answer of the population that users are drawn from: cumulants of the mixture."""
        return Cumulants.of(*_cumulants((self.raw @ self.shares)[:, None])[:, 0].tolist())


def _cumulants(raw: Floats) -> Floats:
    """Second to fourth cumulants (3, g) from raw moments (4, g)."""
    first, second, third, fourth = raw
    variance = second - first**2
    central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return np.stack([variance, third - 3 * first * second + 2 * first**3, central - 3 * variance**2])


@dataclass(frozen=True, eq=False)
class ContributionLaw:
    """A report of a user of class g adds `values`[m] with chance `chances`[m, g]; `shares` (g,) of the users are of g.

    Classes are the types, or those inside and outside a query; `truth` (g,) is the query's entry for each.
    """

    values: Floats
    chances: Floats
    shares: Floats
    truth: Floats

    @cached_property
    def moments(self) -> Moments:
        """Moments of the same law, about the query's mean entry: cumulants do not change."""
        moved = self.values - float(self.truth @ self.shares)
        return Moments(np.stack([moved**power for power in range(1, 5)]) @ self.chances, self.shares)

    @cached_property
    def reach(self) -> float:
        """The furthest that a report goes from the mean answer."""
        return float(np.abs(self.values - self.truth @ self.shares).max())


def contribution_laws(
    randomizer: Randomizer, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
) -> Iterator[ContributionLaw | Moments]:
    """The law of each of the `queries` for users who are spread as the histogram; nothing where it is not known here.

    Listed for counted outputs, and for sets with rows of zeros and ones or few sets in all; moments of directions. Not
    known are pairs, characters, and many sets with rows of other numbers.
    """
    if isinstance(randomizer, SeededDirection):
        yield from _of_directions(randomizer, decoder, workload, histogram, queries)
        return
    zero_one = workload.operator.zero_one and isinstance(decoder, ScaledHistogramDecoder | SubsetDecoder)
    if zero_one and isinstance(randomizer, RandomizedResponse | SubsetSelection | SubsetMixture):
        assert isinstance(decoder, ScaledHistogramDecoder | SubsetDecoder)
        yield from _of_indicators(randomizer, decoder, workload, histogram, queries)
        return
    outputs = _outputs(randomizer)
    if outputs is None or isinstance(decoder, CharacterDecoder):
        return
    statistics, kernel = outputs
    for query in queries:
        rows, offset = decoded_rows(decoder, workload, query, query + 1)
        truth = workload.operator.take(np.array([query]))[0]
        values = rows[0] if statistics is None else rows[0] @ statistics
        yield ContributionLaw(*_gathered(values + offset[0], kernel), histogram, truth)


def _of_directions(
    randomizer: SeededDirection, decoder: PlainDecoder, workload: Workload, histogram: Floats, queries: list[int]
) -> Iterator[Moments]:
    """c = a + ⟨f, s⟩, s = ±ĝ: E⟨f,s⟩³ = E⟨f,s⟩·|f|²(3 − ρ²)/(d+1), ρ the cosine of f and the type's vector.

    For f = |f|(ρû + √(1−ρ²)ŵ) it is ρ³E|g_u|³ + 3ρ(1−ρ²)E|g_u|g_w², and moments of degree m of a sphere are those of
    normal variables over d(d+2)…, so that E|g_u|³ = 2E|g_u|/(d+1) and E|g_u|g_w² = E|g_u|/(d+1).
    """
    law, d = accumulator_moments(randomizer), randomizer.dimension
    vectors = randomizer.vectors.numpy().astype(float).T
    lengths = np.sqrt((vectors**2).sum(axis=0))
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    if isinstance(decoder, CharacterDecoder):
        return
    for query in queries:
        rows, _ = decoded_rows(decoder, workload, query, query + 1)
        mean, length = law.means(rows)[0], float(np.sqrt((rows**2).sum()))
        cosine = (rows[0] @ units) / (length or 1.0)
        third = mean * length**2 * (3 - cosine**2) / (d + 1)
        fourth = np.full_like(mean, 3 * length**4 / (d * (d + 2)))
        yield Moments(np.stack([mean, np.full_like(mean, length**2 / d), third, fourth]), histogram)


def _gathered(values: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """Many values moved to an even grid, each to its two neighbours so that its mean stays."""
    if len(values) <= _MOST_VALUES:
        return values, chances
    grid = np.linspace(values.min(), values.max(), _MOST_VALUES)
    place = (values - grid[0]) / (grid[1] - grid[0])
    below = np.clip(np.floor(place).astype(int), 0, _MOST_VALUES - 2)
    upper = place - below
    shared = csr_array(
        (np.concatenate([1 - upper, upper]), (np.concatenate([below, below + 1]), np.tile(np.arange(len(values)), 2))),
        shape=(_MOST_VALUES, len(values)),
    )
    return grid, np.asarray(shared @ chances)


def _sizes(randomizer: Sets) -> tuple[int, ...]:
    if isinstance(randomizer, SubsetMixture):
        return randomizer.subset_sizes
    return (randomizer.subset_size,) if isinstance(randomizer, SubsetSelection) else (1,)


def _parts(randomizer: Sets) -> Iterator[tuple[float, int, ExchangeableMoments]]:
    """Chance, size and law of every size of set."""
    law = (
        size_mixture_moments(randomizer) if isinstance(randomizer, SubsetMixture) else exchangeable_moments(randomizer)
    )
    if isinstance(law, SizeMixtureMoments):
        yield from zip(law.chances, _sizes(randomizer), law.parts, strict=True)
    else:
        yield 1.0, _sizes(randomizer)[0], law


def _of_indicators(
    randomizer: Sets,
    decoder: ScaledHistogramDecoder | SubsetDecoder,
    workload: Workload,
    histogram: Floats,
    queries: list[int],
) -> Iterator[ContributionLaw]:
    """A set of d cells holds the own one with chance p, and j of the others in a query as an urn gives them."""
    cells = np.rint(workload.operator.matvec(np.ones(workload.size))).astype(int)
    held = np.clip(workload.operator.matvec(histogram), 0.0, 1.0)
    by_cells: dict[int, tuple[Floats, Floats]] = {}
    for query in queries:
        count = int(cells[query])
        if count not in by_cells:
            by_cells[count] = _intersections(randomizer, decoder, workload.size, count)
        values, chances = by_cells[count]
        yield ContributionLaw(values, chances, np.array([1 - held[query], held[query]]), np.array([0.0, 1.0]))


def _intersections(
    randomizer: Sets, decoder: ScaledHistogramDecoder | SubsetDecoder, types: int, cells: int
) -> tuple[Floats, Floats]:
    """Values slope·j + offset·(…) of sets with j of the query's cells, and their chances for a type out of or in it."""
    values, chances = [], []
    for number, (chance, size, law) in enumerate(_parts(randomizer)):
        own, j = float(law.own), np.arange(size + 1)
        if isinstance(decoder, SubsetDecoder):
            slope, offset = decoder.slopes.numpy()[number], decoder.offsets.numpy()[number] * size
        else:
            slope, offset = decoder.slope, decoder.offset
        values.append(slope * j + offset * cells)
        # The own cell is one of none of the query's cells, or of all of them: the others are an urn of one fewer.
        outside = own * hypergeom.pmf(j, types - 1, cells, size - 1) + (1 - own) * hypergeom.pmf(
            j, types - 1, cells, size
        )
        inside = own * hypergeom.pmf(j - 1, types - 1, cells - 1, size - 1) if cells else np.zeros(size + 1)
        inside = inside + ((1 - own) * hypergeom.pmf(j, types - 1, cells - 1, size) if cells else 0.0)
        chances.append(chance * np.nan_to_num(np.stack([outside, inside], axis=1)))
    return np.concatenate(values), np.concatenate(chances)


def _outputs(randomizer: Randomizer) -> tuple[Floats | None, Floats] | None:
    """The statistic (p, m) of every output, None where outputs are counted, and K (m, k); None where too many."""
    if isinstance(randomizer, FiniteKernel):
        kernel = randomizer.table / float(1 << randomizer.bits)
        return None, np.asarray(kernel)
    if not isinstance(randomizer, RandomizedResponse | SubsetSelection | SubsetMixture):
        return None
    parts = list(_parts(randomizer))
    if sum(comb(randomizer.size, size) for _, size, _ in parts) > _MOST_SETS:
        return None
    statistics, kernels = [], []
    for number, (chance, size, law) in enumerate(parts):
        sets = np.array(list(combinations(range(randomizer.size), size)))
        members = np.zeros((len(sets), len(parts), randomizer.size))
        members[np.arange(len(sets))[:, None], number, sets] = 1.0
        inside, own = members[:, number], float(law.own)
        with_own = comb(randomizer.size - 1, size - 1)
        kernels.append(chance * np.where(inside == 1, own / with_own, (1 - own) / (len(sets) - with_own)))
        statistics.append(members.reshape(len(sets), -1).T)
    return np.hstack(statistics), np.vstack(kernels)
