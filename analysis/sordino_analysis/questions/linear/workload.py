"""A workload: linear queries over a domain, with labels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.documents.queries import Queries
from sordino_analysis.questions.linear.dithering import Dithering
from sordino_analysis.questions.linear.items import AnyItem
from sordino_analysis.questions.linear.operators import Indices, LinearMap, Symmetry
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_shared.domains import Domain, Ordered
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest
from sordino_shared.protocol.codec import encode_value
from sordino_shared.protocol.schema import to_plain
from sordino_shared.quantities import quantity

# What is listed for every query must fit into memory; a plan takes fewer still.
MAX_LISTED_QUERIES = 1 << 24
# Of ordered attributes alone, and of one beside categories.
MOST_PLANNED_BINS, MOST_PLANNED_TYPES = 1 << 18, 1 << 20


class WorkloadError(InvalidValue):
    """The workload is invalid; the message gives advice, `value` is the given value."""

    code = "workload-error"
    advice = "correct the workload where the message points"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Workload:
    """Q linear queries W h of the normalised histogram h over a domain of size k.

    `published` are the queries as a plan publishes them, from which `build_workload` makes the same workload again. The
    built-in kinds leave constant queries out; a matrix may hold some, and `varying_rows` marks those that vary. With
    `dithering` devices hold members of another domain, which they round to the types of this one.
    """

    name: str
    domain: Domain
    published: Queries
    operator: LinearMap
    name_query: Callable[[int], str]
    scope: Callable[[int], QueryScope]
    dithering: Dithering | None = None

    def __post_init__(self) -> None:
        queries, size = self.operator.shape
        if size != self.domain.size:
            raise WorkloadError(
                f"the matrix has {quantity(size, 'column')} and the domain {quantity(self.domain.size, 'cell')}: "
                "give one column a cell",
                self.operator,
            )
        if queries > MAX_LISTED_QUERIES and self.operator.intervals is None:
            raise WorkloadError(
                f"the workload has {queries} queries, at most {MAX_LISTED_QUERIES} can be listed: ask parities or "
                "marginals of a small width, `total` for attributes that need not be told apart, or prefix in place of "
                f"ranges, whose plan answers for any rectangle{self._wider_bins}",
                queries,
            )
        if queries == 0 or not self.operator.varies():
            raise WorkloadError(
                "every query has the same answer whatever the users hold: ask at least one that depends on them",
                self.operator,
            )

    @property
    def _wider_bins(self) -> str:
        """How many bins are planned, where ordered attributes are asked alone, or one of them beside categories."""
        attributes = self.domain.attributes
        ordered = [one for one in attributes if isinstance(one, Ordered)]
        if len(ordered) == len(attributes) == 2:
            return f"; or use wider bins: {MOST_PLANNED_BINS} types, as 512 × 512, are planned at most"
        if len(ordered) != 1:
            return ""
        (attribute,) = ordered
        most = MOST_PLANNED_TYPES // (self.size // attribute.size) if len(attributes) > 1 else MOST_PLANNED_BINS
        bins = most - (attribute.size - attribute.bins)
        if not 1 < bins < attribute.bins:
            return ""
        return f"; or use wider bins of {attribute.name!r}, of which {bins} are planned at most"

    def __repr__(self) -> str:
        cells = quantity(self.held_domain.size, "cell")
        return f"Workload {self.name}: {quantity(self.queries, 'query')} over {cells}"

    @property
    def held_domain(self) -> Domain:
        """What devices hold: the domain of the queries, unless numbers are rounded to its types."""
        return self.domain if self.dithering is None else self.dithering.domain

    @property
    def has_units(self) -> bool:
        """Whether the scope of each query says in what unit its answer is."""
        return isinstance(self.published, NumberQueries)

    @property
    def digest(self) -> Digest:
        """Of name, domain and queries, as canonical CBOR."""
        content = {"name": self.name, "domain": to_plain(self.held_domain), "queries": to_plain(self.published)}
        return Digest.of(encode_value(content))

    @property
    def queries(self) -> int:
        """Q, the number of queries, constant ones of a matrix included."""
        return self.operator.shape[0]

    @property
    def is_listed(self) -> bool:
        """Whether every query has a name and an answer of its own; else the one query stands for any item."""
        return not isinstance(self.operator, AnyItem)

    @property
    def asked(self) -> int:
        """How many queries are asked, listed or not."""
        return self.queries if self.is_listed else self.size

    @property
    def size(self) -> int:
        """k, the number of user types."""
        return self.domain.size

    @cached_property
    def varying_rows(self) -> Indices:
        """Indices of the queries that depend on the histogram; only these count in an objective. Shape (m,)."""
        return self.operator.varying()

    @property
    def shares_of_mean(self) -> Floats:
        """(Q,) what each query counts in the mean: 0 where it is constant, and the same elsewhere."""
        shares = np.zeros(self.queries)
        shares[self.varying_rows] = 1 / len(self.varying_rows)
        return shares

    def are_shares_of_mean(self, weights: Floats) -> bool:
        """Whether `weights` (Q,) are `shares_of_mean`, up to rounding."""
        shares = self.shares_of_mean
        return weights.shape == shares.shape and bool(np.allclose(weights, shares, rtol=SUM_TOLERANCE, atol=0))

    @cached_property
    def query_weights(self) -> Floats:
        """(Q,) w: objectives, figures and bounds are about w_q Var_q; 1 on average over the varying rows."""
        return self.operator.query_weights()

    def weighted_matrix(self) -> Floats:
        """diag(√w) W, dense: its plain variances are those of W that count w times; raises TooLargeForDense.

        Shape (Q, k).
        """
        return np.asarray(np.sqrt(self.query_weights)[:, None] * self.operator.dense())

    @property
    def scale(self) -> float:
        """Of measures of numbers: the scale of a row, its largest less least entry, times the root of its weight.

        It is the same for all rows that vary.
        """
        row, (low, high) = self.varying_rows[0], self.operator.entry_range()
        return float((high - low)[row] * np.sqrt(self.query_weights[row]))

    @property
    def symmetry(self) -> Symmetry:
        """Which relabellings of the types map queries to queries."""
        return self.operator.symmetry

    def label(self, query: int) -> str:
        """What a person reads for a query; raises WorkloadError for a number that is no query's."""
        if not 0 <= query < self.queries:
            raise WorkloadError(f"the workload has queries 0 to {self.queries - 1}, not {query}", query)
        return self.name_query(query)

    def labels(self) -> list[str]:
        """Names of all queries in order."""
        return [self.name_query(query) for query in range(self.queries)]

    def truth_of_codes(self, codes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The exact answers W h for users whose members have these indices, (n, attributes) → (Q,)."""
        if self.dithering is not None:
            return self.operator.matvec(self.dithering.shares_of_types(codes))
        return self.operator.answers_of_codes(codes, self.domain.shape)

    def truth(self, cells: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """The exact answers W h for users who hold these cells, (Q,)."""
        if self.dithering is not None:
            return self.truth_of_codes(np.stack(np.unravel_index(cells, self.held_domain.shape), axis=1).astype("<u8"))
        counts = np.bincount(cells, minlength=self.size).astype(float)
        return self.operator.matvec(counts / len(cells))
