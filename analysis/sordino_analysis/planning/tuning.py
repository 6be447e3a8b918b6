"""When a bound is worth its time trade, quality against time, memory or bytes.

`python -m benchmarks.tuning planning` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sordino_analysis.optimisation.bounds.tuning import LARGEST_TYPES
from sordino_analysis.request_terms import Effort


@dataclass(frozen=True, kw_only=True)
class MixedTypeCertificatesTuning:
    """When the bound over mixed types is made: `mixed_type_certificates.py`. Measured: `python -m
    benchmarks.tuning planning.mixed_types`."""

    fewest_types: int = 17
    """Few types fit into a window, whose weights are free."""
    largest_epsilons: tuple[tuple[int, float], ...] = ((32, 1.5), (64, 2.2), (LARGEST_TYPES, 3.0))
    """By numbers of types, up to which ε it proved more than windows."""
    least_epsilon: float = 0.7
    """Below it the variances of a query hardly depend on the type, and the trace bound proves as much."""
    many_types: int = 64
    """Beyond it the coarser of the two grids that follow is taken, on which a step takes up to a second."""
    intervals: Mapping[Effort, tuple[int, int]] = field(
        default_factory=lambda: {Effort.STANDARD: (2, 1), Effort.THOROUGH: (4, 2)}
    )
    """Half of the intervals between nodes, where types are few and where they are many."""
    growth: Mapping[Effort, tuple[int, int]] = field(
        default_factory=lambda: {Effort.STANDARD: (2, 1), Effort.THOROUGH: (2, 2)}
    )
    """The growth of distances between nodes."""
    share_of_time: float = 0.15
    """Of the time that is left. Plans without a time limit do not depend on it."""
    steps: int = 50
    """Newton steps that an ascent takes, for its progress alone."""


@dataclass(frozen=True, kw_only=True)
class OwnTypeCertificatesTuning:
    """When the bound over windows is made: `own_type_certificates.py`. Measured: `python -m benchmarks.tuning
    planning.own_types`."""

    lengths: Mapping[Effort, int] = field(
        default_factory=lambda: {Effort.QUICK: 2, Effort.STANDARD: 4, Effort.THOROUGH: 8}
    )
    """The longest windows by effort."""
    steps: Mapping[Effort, int] = field(
        default_factory=lambda: {Effort.QUICK: 40, Effort.STANDARD: 60, Effort.THOROUGH: 100}
    )
    """Steps at each temperature."""
    states: Mapping[Effort, float] = field(
        default_factory=lambda: {Effort.QUICK: 2e4, Effort.STANDARD: 2.5e6, Effort.THOROUGH: 3e7}
    )
    """States of all windows: a million take 40 ms a step."""
    thorough_steps: int = 3200
    """Few types need many steps, which are cheap there: so many over their number."""
    least_of_enumerated: int = 150
    """Where rows are enumerated, so many steps take up to a quarter of a second."""
    least_epsilons: tuple[tuple[int, float], ...] = ((32, 0.5), (64, 2.0), (LARGEST_TYPES, 3.0))
    """By numbers of types, below which ε sets are longer than any window: the bounds with common weights prove more
    there."""
    least_of_some_types: float = 3.0
    """Where some types stand for more of them: below it the trace bound of all of them proves more."""
    largest_epsilon: float = 11.0
    """Beyond this ε the ascent ends at zero."""
    share_of_time: float = 0.15
    """Of the time that is left. Plans without a time limit do not depend on it."""


@dataclass(frozen=True, kw_only=True)
class ListedRowCertificatesTuning:
    """When the bound over all extreme rows is made: `listed_row_certificates.py`. Measured: `python -m
    benchmarks.tuning planning.listed`."""

    most_entries: int = 16384
    """Queries times types: both tables of them are published, 16 bytes for each entry."""
    most_rows: int = 4096
    """Rows that are not alike: those of 12 types without any symmetry take seconds."""
    most_numbers: int = 200
    """Entries of W that are not alike: each has two variables of the cone programs."""
    share_of_time: float = 0.15
    """Of the time that is left. Plans without a time limit do not depend on it."""
    gain: float = 1e-3
    """Of another bound: with less the other one is published, which has fewer numbers."""


@dataclass(frozen=True, kw_only=True)
class PairCertificatesTuning:
    """When the bound over pairs is made: `pair_certificates.py`. Measured: `python -m benchmarks.tuning
    planning.pairs`."""

    evaluations: Mapping[Effort, int] = field(
        default_factory=lambda: {Effort.QUICK: 1500, Effort.STANDARD: 5000, Effort.THOROUGH: 15000}
    )
    """One takes 6 ms at 128 types, and some hundreds are enough at ε ≤ 4."""
    share_of_time: float = 0.15
    """Of the time that is left, as for the steps before it. Plans without a time limit do not depend on it."""
    least_epsilons: tuple[tuple[int, float], ...] = ((16, 0.5), (LARGEST_TYPES, 1.0))
    """By numbers of types, up to which ε it gained less than 2 per mille on the trace bound of prefix sums and
    ranges."""
    least_of_some_types: float = 2.5
    """Where some types stand for more of them: below it the trace bound of all of them proves more."""
    largest_epsilon: float = 11.0
    """Beyond it neither proved more than the trace bound."""


@dataclass(frozen=True, kw_only=True)
class StackCertificatesTuning:
    """The bound of stacks on one attribute: `stack_certificates.py`. Measured: `python -m benchmarks.tuning
    planning.stacks`."""

    most_types: int = 1024
    """Where the parts have no spectrum in common, so many types stand for all: their eigenvalues take .3 s."""
    at_a_time: int = 64
    """Rows of a Gram matrix that are in memory together, of 65,536 types 32 MiB."""
    mixtures: tuple[float, ...] = (0.25, 0.5, 0.75, 0.9, 0.95, 0.98)
    """Shares of one part, the rest being the next one's, that are tried for the worst query."""


@dataclass(frozen=True, kw_only=True)
class SomeTypeCertificatesTuning:
    """The bound for some of very many types: `some_type_certificates.py`. Measured: `python -m benchmarks.tuning
    planning.some_types`."""

    most_types: int = 128
    """More types prove more, and each is a column of all queries."""
    least_types: int = 4
    """Where queries are so many that fewer would fit: two that differ in the first query, and two others."""
    cut_short: int = 16
    """Of a plan whose time is over: some milliseconds."""
    most_queries: int = 1024
    """Queries that may have weight, those that vary most over the types."""
    most_numbers: int = 1 << 24
    """Entries of W that are held: with more queries there are fewer types."""


@dataclass(frozen=True, kw_only=True)
class CoarserQuestionsTuning:
    """What is advised in place of a question whose plan is far from its bound: `coarser_questions.py`. Measured:
    `python -m benchmarks.tuning planning.coarser`."""

    worth: float = 0.5
    """A coarser question is worth its loss of detail where it has at most this share of the variance."""
    most_bins: int = 4096
    """Of the finest question whose figure is worked out: a second or two, and the next ones take half of it each."""
    bins_of_a_histogram: int = 8
    """Of each ordered attribute but one: more tell more, and the variance hardly rises with them."""


COARSER = CoarserQuestionsTuning()
LISTED = ListedRowCertificatesTuning()
MIXED_TYPES = MixedTypeCertificatesTuning()
OWN_TYPES = OwnTypeCertificatesTuning()
PAIRS = PairCertificatesTuning()
STACKS = StackCertificatesTuning()
SOME_TYPES = SomeTypeCertificatesTuning()
