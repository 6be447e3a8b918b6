"""One value or more of every document type, small and fixed, with all that a reader must get from the bytes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from dithering import dithered_parts
from log import entries
from routes import TASK_SECRET, manifests_of_routes
from sealing import shuffled_documents
from series import series_manifests
from signature_rule import signature_rule
from strings import STRINGS, WIDE_DOMAINS
from tokens import token_documents

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.documents.analyst_part import AnalystPart, ErrorFigures, Factors
from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.documents.certificate import (
    Bound,
    Certificate,
    CharacterBound,
    IntervalBound,
    ListedRowsBound,
    LowerBound,
    MixedTypesBound,
    OddBound,
    OddCharacterBound,
    OwnTypesBound,
    PairBound,
    PinnedBound,
    SomeTypesBound,
    StackBound,
    SubsetBound,
)
from sordino_analysis.documents.decoders import (
    AnswerDecoder,
    CharacterDecoder,
    Decoder,
    GridDecoder,
    HistogramDecoder,
    ScaledHistogramDecoder,
    SubsetDecoder,
    WeightedDecoder,
)
from sordino_analysis.documents.number_queries import AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.documents.queries import (
    ConceptQueries,
    IndicatorQueries,
    MarginalQueries,
    MatrixQueries,
    OrderedConceptQueries,
    ParityQueries,
    ProductQueries,
    Queries,
    StackedQueries,
    StackQueries,
)
from sordino_analysis.documents.string_queries import StringQueries, StringsDecoder
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_analysis.vectorized.orbits import base_row
from sordino_shared.arrays import Array
from sordino_shared.domains import Categorical, Domain, EvenEdges, Hashed, Indicator, Integers, Ordinal, Span
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    CampaignId,
    CampaignServer,
    CampaignState,
    DevicePart,
    Digest,
    Document,
    DrawOneRound,
    EveryRound,
    KeySignature,
    Manifest,
    ManifestSignatures,
    OpenCampaigns,
    PlanReference,
    Refusal,
    RefusedReport,
    ReportBatch,
    ReportOutcomes,
    RetryWindow,
    RoundTerms,
    Task,
    signed_message,
)
from sordino_shared.protocol.documents import PROTOCOL_VERSION
from sordino_shared.protocol.routes import PrivacyClaim
from sordino_shared.protocol.schema import to_plain
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    DenseRows,
    FieldLabel,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    ResidueLabel,
    SeededDirection,
    SubsetMixture,
    SubsetPartition,
    SubsetSelection,
)

EPSILON = PureEpsilon.of(1)
PRODUCT = Domain(
    (
        Ordinal("delay", (-0.5, 0.1, 15.0), unit="minutes", missing=True),
        Categorical("carrier", ("AA", "Ünited"), other=True),
    )
)
UNLISTED = Domain(
    (
        Integers("delay", -(2**63), -(2**62) - 2, unit="ms", missing=True, other=True),
        Ordinal("size", EvenEdges(-0.5, 0.1, 2**48), unit="MB", missing=True),
        Hashed("url", 64, bytes(range(16))),
        Hashed("city", 1, bytes(range(16, 32)), missing=True, other=True),
    )
)
SMALL = Domain((Categorical("answer", ("no", "yes", "perhaps")),))


def small_kernel() -> FiniteKernel:
    """Three rows over three types whose columns leave equal deficits, within a ratio of 2."""
    table = np.array([[2, 1, 1], [1, 2, 1], [1, 1, 2]], dtype=np.uint64) << np.uint64(57)
    return FiniteKernel(60, DenseRows(array_of(table, "<u8")))


def two_level_kernel() -> FiniteKernel:
    """Two complementary rows of two levels; columns sum to one without a null output."""
    members = np.array([[True, False, True], [False, True, False]])
    low, high = np.full(2, 1 << 58, dtype=np.uint64), np.full(2, 3 << 58, dtype=np.uint64)
    return FiniteKernel(60, two_level_rows(low, high, members))


def small_directions() -> SeededDirection:
    """Three vectors in the plane, the last one zero: its bit is a fair coin."""
    keep = SeededDirection.largest_keep_weight(EPSILON)
    vectors = array_of(np.array([[1000, 0], [-600, 800], [0, 0]]), "<i4")
    return SeededDirection(60, vectors, array_of(np.array([keep, keep, 1 << 59], dtype=np.uint64), "<u8"))


def small_orbits() -> OrbitKernel:
    """A row over one attribute and one over both, within a ratio of 5/2."""
    one = base_row(np.array([True, False, False]))
    both = base_row((np.arange(15) % 4 == 1).reshape(3, 5))
    return OrbitKernel(
        shape=PRODUCT.shape,
        width=2,
        overlaps=False,
        bits=60,
        low=1 << 50,
        high=5 << 49,
        row_weights=(1 << 58, 3 << 58),
        rows=(one, both),
    )


def pinned_orbits() -> OrbitKernel:
    """Rows whose first slot is the first attribute's."""
    levels = {"bits": 60, "low": 1 << 50, "high": 5 << 49}
    rows = (base_row(np.array([True, False])), base_row(np.array([[1, 0], [0, 1]], dtype=np.bool_)))
    weights = (1 << 58, 3 << 58)
    return OrbitKernel(shape=FLAGS.shape, width=2, overlaps=False, **levels, row_weights=weights, rows=rows, pinned=0)


FLAGS = Domain(tuple(Categorical(name, tuple("xyz"[:size])) for name, size in zip("abcd", (2, 3, 2, 2), strict=True)))


HOUR = Ordinal(name="hour", edges=(5.0, 14.0, 21.0), unit="h", missing=True)
CARRIER = Categorical("carrier", ("EV", "B6", "UA"), other=True)
INDICATORS = Domain(
    (
        Indicator("hour > 14", HOUR, (Span(2, 3),)),
        Indicator("night", HOUR, (Span(0, 0), Span(3, 4))),
        Indicator("carrier=B6", CARRIER, (Span(1, 1),)),
        Categorical("late", ("no", "yes")),
    )
)


def indicator_orbits() -> OrbitKernel:
    """The label times one of three indicators of two attributes."""
    levels = {"bits": 60, "low": 1 << 50, "high": 5 << 49, "row_weights": (1 << 60,)}
    row = base_row(np.eye(2, dtype=np.bool_))
    return OrbitKernel(shape=INDICATORS.shape, width=2, overlaps=False, **levels, rows=(row,), pinned=3)


def small_grids() -> Coarsened:
    """Grids on both attributes or one, with linear labels, and a comb on both."""
    levels = (
        Level(1 << 30, GridPartition((2, 3)), LinearLabel(2), b"\x01"),
        Level(1 << 30, GridPartition((0, 6)), LinearLabel(2), b"\x01"),
        Level(1 << 31, GridPartition((3, 1)), ResidueLabel((2, 3)), b"\x11"),
    )
    return Coarsened.for_guarantee(PRODUCT.shape, levels, EPSILON)


def small_histogram() -> Coarsened:
    """Every cell for itself, its label three bits of its multiple in GF(2^4)."""
    level = Level(1 << 32, GridPartition((1, 1)), FieldLabel(3), b"\x07")
    return Coarsened.for_guarantee(PRODUCT.shape, (level,), EPSILON)


def small_strings() -> Coarsened:
    """One level for the text and one for each of its prefixes, with labels of two bits in GF(2^64)."""
    levels = tuple(
        Level(1 << bits, GridPartition(tuple(int(place == looked) for place in range(3))), FieldLabel(2), b"\x01")
        for looked, bits in enumerate((31, 30, 30))
    )
    return Coarsened.for_guarantee(STRINGS.shape, levels, EPSILON)


def small_subsets() -> Coarsened:
    """Two random attributes of two members, or one of three members and one of two."""
    levels = (
        Level(1 << 31, SubsetPartition((2, 2)), LinearLabel(1), b"\x02"),
        Level(1 << 31, SubsetPartition((3, 2)), ResidueLabel((3, 2)), b"\x15"),
    )
    return Coarsened.for_guarantee(FLAGS.shape, levels, EPSILON)


RANDOMIZERS: dict[str, tuple[Domain, PureEpsilon, AnyRandomizer]] = {
    **dithered_parts(),
    "randomized_response": (PRODUCT, EPSILON, RandomizedResponse.for_guarantee(PRODUCT.size, EPSILON)),
    "subset_selection": (PRODUCT, EPSILON, SubsetSelection.for_guarantee(PRODUCT.size, 4, EPSILON)),
    "subset_mixture": (
        PRODUCT,
        EPSILON,
        SubsetMixture.for_guarantee(PRODUCT.size, (3, 4), (0.25, 0.75), EPSILON),
    ),
    "orbit_kernel": (PRODUCT, EPSILON, small_orbits()),
    "orbit_kernel_pinned": (FLAGS, EPSILON, pinned_orbits()),
    "indicators": (INDICATORS, EPSILON, indicator_orbits()),
    "coarsened_grids": (PRODUCT, EPSILON, small_grids()),
    "coarsened_histogram": (PRODUCT, EPSILON, small_histogram()),
    "coarsened_subsets": (FLAGS, EPSILON, small_subsets()),
    "strings": (STRINGS, EPSILON, small_strings()),
    "finite_kernel_dense": (SMALL, EPSILON, small_kernel()),
    "finite_kernel_two_level": (SMALL, PureEpsilon.of("1.1"), two_level_kernel()),
    "seeded_direction": (SMALL, EPSILON, small_directions()),
    "pair_of_directions": (SMALL, PureEpsilon.of(2), Pair(small_directions(), small_directions())),
    "pair_with_kernel": (SMALL, PureEpsilon.of(2), Pair(small_directions(), small_kernel())),
}


@cache
def device_parts() -> dict[str, DevicePart]:
    return {name: DevicePart(*parts) for name, parts in RANDOMIZERS.items()}


def _reals(*values: Any) -> Array:
    return array_of(np.array(values, dtype=np.float64), "<f8")


def analyst_part(
    device: str, workload: str, queries: Queries, mechanism: str, decoder: Decoder, figures: ErrorFigures, **rest: Any
) -> AnalystPart:
    """For the device part of that name; without factors, of seed 0, for the maximum, with `small_certificate`."""
    defaults: dict[str, Any] = {"objective": "max", "seed": 0, "factors": None, "certificate": small_certificate()}
    return AnalystPart(
        device_digest=device_parts()[device].digest,
        workload=workload,
        queries=queries,
        mechanism=mechanism,
        decoder=decoder,
        figures=figures,
        **defaults | rest,
    )


def small_bound() -> LowerBound:
    return LowerBound(2.5, _reals(0.5, 0.25, 0.25), _reals(1 / 3, 1 / 3, 1 / 3))


def small_certificate() -> Certificate:
    bound = small_bound()
    return Certificate(bound, LowerBound(0, bound.query_weights, bound.type_weights))


@cache
def analyst_parts() -> dict[str, AnalystPart]:
    """One for each decoder and each kind of queries, with and without factors."""
    matrix = MatrixQueries(_reals(*np.tri(3)), ("first", "second", "third"))
    product = ProductQueries(("histogram",))
    scaled, histogram = ScaledHistogramDecoder(3, -0.25), HistogramDecoder(_reals(*np.eye(3)), _reals(*np.zeros(3)))
    weighted = WeightedDecoder(_reals([0.5, 0.25, 0.25], [0, 1, 0]), array_of(np.array([0, 1, 0]), "<i4"))
    figures = ErrorFigures(2.75, 2.5, 0)
    for_kernel = ("finite_kernel_dense", "answers", product, "kernel", histogram, figures)
    return {
        "scaled_histogram": analyst_part(
            *("randomized_response", "delays", ProductQueries(("prefix", "histogram")), "randomized_response"),
            *(scaled, ErrorFigures(4.5, 3, 0)),
        ),
        "histogram": analyst_part(*for_kernel),
        **factorized_analyst_parts(matrix),
        "pairs": analyst_part(*for_kernel, certificate=Certificate(pair_bound(), small_bound())),
        "blanket": analyst_part(
            *for_kernel,
            blanket=BlanketTerms(343, (PrivacyClaim(500_000_000, 10**15), PrivacyClaim(10**9, 10**12)), 1),
        ),
        "numbers": analyst_part("finite_kernel_dense", "delays", asked_numbers(), "kernel", histogram, figures),
        "type_weights": analyst_part("finite_kernel_dense", "three sums", matrix, "kernel", weighted, figures),
        "strings": strings_analyst_part(),
        **symmetric_analyst_parts(),
        **odd_analyst_parts(),
    }


def strings_analyst_part() -> AnalystPart:
    """Common strings, two of them watched, of 20 bits of code: a search, of which no bound above 0 is proved."""
    decoder = StringsDecoder(variance=0.75, held_out=0.25, found=10.5, sought=12.5)
    nothing = LowerBound(0, _reals(0), _reals(0))
    queries = StringQueries(1000, 0.05, (bytes.fromhex("616210"), bytes.fromhex("ff0000")), 0.0025)
    return analyst_part(
        *("strings", "pages", queries, "prefix_levels", decoder, ErrorFigures(1.5, 1.25, 0)),
        certificate=Certificate(nothing, nothing),
    )


def asked_numbers() -> NumberQueries:
    """Every measure, some with a weight; the parts of two attributes are read alike."""
    measures = tuple(NumberMeasure(name, (), 2.0) for name in ("mean", "sum", "variance", "sd", "top", "clipped"))
    above, within = NumberMeasure("share_above", (12.5,)), NumberMeasure("mean_within", (0.0, 12.5), 0.5)
    asked = (*measures, above, within, NumberMeasure("quantile", (0.95,)))
    return NumberQueries((AskedNumber("delay", 17, 32, asked), AskedNumber("load_ms", 2, 1, (above,))))


def factorized_analyst_parts(matrix: MatrixQueries) -> dict[str, AnalystPart]:
    """Three sums as three answers, of factors without and with a reduction."""
    identity, zeros = _reals(*np.eye(3)), _reals(*np.zeros(3))
    answers = AnswerDecoder(_reals(*np.ones((3, 2))), zeros)
    asked = ("seeded_direction", "three sums", matrix, "factorization", answers)
    reduction = _reals([1, 0, 0.5])
    return {
        "answers": analyst_part(*asked, ErrorFigures(20.5, 1e-7, 0), factors=Factors(identity, identity, zeros, None)),
        "reduced": analyst_part(
            *asked, ErrorFigures(18.5, 15.1, 0.125), factors=Factors(identity, identity, zeros, reduction)
        ),
    }


def pair_bound() -> PairBound:
    """Three queries, and three types of more: the pairs are (0, 2), (0, 5), (2, 5)."""
    thirds = _reals(1 / 3, 1 / 3, 1 / 3)
    return PairBound(
        value=2.25,
        query_weights=_reals(0.5, 0.25, 0.25),
        types=array_of(np.array([0, 2, 5]), "<i4"),
        type_weights=thirds,
        levels=_reals(0.375, 0.25, 0.375),
        pairs=_reals(0, 0.125, 1e-3),
    )


def own_types_bound() -> OwnTypesBound:
    """Two thresholds on three types in the order 0, 2, 1, with windows of one type: what is left of it comes first."""
    return OwnTypesBound(
        value=2.5,
        order=array_of(np.array([0, 2, 1]), "<i4"),
        queries=array_of(np.array([1, 0]), "<i4"),
        weights=_reals([0.25, 0.125, 0.0625], [0, 0.25, 0.125]),
        numerators=_reals([0.5, -0.25, -0.125], [0, 1, -0.75]),
        multipliers=_reals(1, 1.5, 1),
    )


def mixed_types_bound() -> MixedTypesBound:
    """Two thresholds on three types, with one interval between two nodes and one group of types."""
    return MixedTypesBound(
        value=2.5,
        order=array_of(np.array([0, 1, 2]), "<i4"),
        queries=array_of(np.array([0, 1]), "<i4"),
        type_weights=_reals([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]),
        shares=_reals([0.375, 0.125], [0.125, 0.375]),
        knots=array_of(np.array([0, 2]), "<i4"),
        numerators=_reals([0.5, 0.25, -0.25, -0.125], [0.25, 0.125, -0.5, -0.25]),
        multipliers=_reals(1, 1.5, 1),
        nodes=_reals(0.25, 0.75),
        slopes=_reals([-0.5, 0, 0.5]),
        levels=_reals([1, 1, 0.5], [0.5, 1, 1]),
        spans=_reals(0.25, 0.25),
        pairs=_reals([0.125], [0]),
    )


def listed_rows_bound() -> ListedRowsBound:
    """Two queries on three types; the second counts at one of them alone."""
    return ListedRowsBound(
        value=2.5,
        weights=_reals([0.25, 0.125, 0.125], [0, 0.5, 0]),
        numerators=_reals([0.5, -0.25, -0.125], [-0.25, 1, -0.75]),
        multipliers=_reals(1, 1.5, 1),
    )


def some_types_bound() -> SomeTypesBound:
    """Two of the cells of two attributes, and two queries."""
    return SomeTypesBound(
        value=2.5,
        types=array_of(np.array([[0, 1], [1, 0]]), "<i8"),
        type_weights=_reals(0.5, 0.5),
        queries=array_of(np.array([0, 2]), "<i8"),
        query_weights=_reals(0.25, 0.75),
    )


CHARACTERS = CharacterBound(
    value=9.25,
    query_weights=_reals(0.25, 0.75),
    spectrum=_reals(1, 1, 0.5),
    multipliers=_reals(1, 1, 1, 0.25),
    level=-0.125,
)
FIGURES = ErrorFigures(11.5, 9.5, 0)


def symmetric_analyst_parts() -> dict[str, AnalystPart]:
    """What symmetric queries have of their own: decoders, bounds, parities, marginals and stacks."""
    subsets, numbers = SubsetBound(3.5, 0.75), _reals(0.5, 2)
    parts = (
        StackedQueries(MarginalQueries(2, False), 1),
        StackedQueries(ParityQueries(1, True), 2.5),
        StackedQueries(ProductQueries(("total", "histogram")), 0.5),
        StackedQueries(MatrixQueries(_reals(range(15)), ("weighted",)), 1),
    )
    stacked = CharacterDecoder(_reals([1, 2, 3, 4], [5, 6, 7, 8]), _reals([0, 0.5], [-1, 0]))
    spread = {"max_variance_over": "5 of 7 intervals", "mean_variance_over": "3 of 7 intervals"}
    of_some = ErrorFigures(6.5, 5.5, 0, **spread, uniform_mean_variance=5.25)
    return {
        "subsets": analyst_part(
            *("subset_mixture", "delays", ProductQueries(("histogram", "histogram")), "subset_mixture"),
            *(SubsetDecoder(numbers, _reals(-0.25, -1)), ErrorFigures(3.5, 3.25, 0)),
            certificate=Certificate(subsets, SubsetBound(3.25, 1 / 15)),
        ),
        "characters": analyst_part(
            *("orbit_kernel", "delays", StackQueries(parts), "orbit_kernel", stacked, FIGURES),
            objective="mean",
            seed=1,
            certificate=Certificate(CHARACTERS, CHARACTERS),
        ),
        "grids": analyst_part(
            *("coarsened_grids", "delays", ProductQueries(("total", "prefix")), "shifted_grids"),
            *(GridDecoder(), of_some),
            objective="mean",
            certificate=Certificate(
                IntervalBound(4.5, _reals(1, 2, 1), _reals(0.5, 1)), IntervalBound(4, _reals(1), _reals(1))
            ),
        ),
        "grids_of_factors": analyst_part(
            *("coarsened_grids", "delays", ProductQueries(("total", "prefix")), "shifted_grids"),
            *(GridDecoder(_reals(0.5, 1, 0.25)), of_some),
        ),
        "parities": analyst_part(
            *("orbit_kernel", "delays", ParityQueries(3, False), "orbit_kernel"),
            *(CharacterDecoder(_reals([1, 2]), _reals([0, 0.5])), FIGURES),
            objective="mean",
            certificate=Certificate(CHARACTERS, subsets),
        ),
    }


def odd_analyst_parts() -> dict[str, AnalystPart]:
    """What workloads that an involution turns over have of their own, and bounds of their own on thresholds."""
    concepts = ConceptQueries(
        family="lists",
        width=3,
        exactly=False,
        negations=True,
        changes=2,
        positive=1,
        miss=5,
        false_alarm=1,
        bias_allowed=False,
    )
    ordered = OrderedConceptQueries(family="boxes", positive=0, miss=5, false_alarm=1, bias_allowed=True)
    decoder = CharacterDecoder(_reals([1, 2]), _reals([0, 0.5]))
    of_characters = OddCharacterBound(4.5, _reals(0.25, 0.75))
    return {
        "concepts": analyst_part(
            *("orbit_kernel", "what crashes", concepts, "fourier", decoder, FIGURES),
            certificate=Certificate(of_characters, CHARACTERS),
        ),
        "ordered_concepts": analyst_part(
            *("randomized_response", "late flights", ordered, "randomized_response"),
            *(ScaledHistogramDecoder(2, -0.25), FIGURES),
            certificate=Certificate(OddBound(4, _reals(0.5, 0.5), _reals(1, 0)), CHARACTERS),
        ),
        "odd_parities": analyst_part(
            *("orbit_kernel", "delays", ParityQueries(1, True), "orbit_kernel"),
            *(decoder, FIGURES),
            certificate=Certificate(of_characters, OddBound(4, _reals(0.5, 0.5), _reals(1, 0))),
        ),
        "indicators": analyst_part(
            *("orbit_kernel", "delays", IndicatorQueries("clauses", 2), "orbit_kernel"),
            *(decoder, FIGURES),
            certificate=Certificate(of_characters, of_characters),
        ),
    } | {name: bounded_analyst_part(*bounds) for name, bounds in own_bounds().items()}


def bounded_analyst_part(of_max: Bound, of_mean: Bound) -> AnalystPart:
    """Thresholds by randomized response with these bounds."""
    return analyst_part(
        *("randomized_response", "delays", ProductQueries(("total", "prefix")), "randomized_response"),
        *(ScaledHistogramDecoder(2, -0.25), FIGURES),
        certificate=Certificate(of_max, of_mean),
    )


def own_bounds() -> dict[str, tuple[Bound, Bound]]:
    """Bounds with weights of each query's own, of some types, and of stacks: for the maximum and for the mean."""
    some = some_types_bound()
    return {
        "own_types": (own_types_bound(), PinnedBound(2, _reals(0.5, 0.5), 0.98)),
        "mixed_types": (mixed_types_bound(), pair_bound()),
        "listed_rows": (listed_rows_bound(), pair_bound()),
        "some_types": (some, replace(some, value=1.5, queries=None, query_weights=None)),
        "stacks": (StackBound(value=2.5, shares=_reals(0.25, 0.75)), StackBound(value=1.5, shares=_reals(0.5, 0.5))),
    }


SERVERS = (
    CampaignServer("eu", ("https://eu.telemetry.example", "https://backup.telemetry.example:8443/eu")),
    CampaignServer("us-2", ("https://us.telemetry.example",)),
    CampaignServer("9", ("http://[::1]:8000", "http://127.0.0.1:8000/v.1/~a_b-c")),
)


def _server_at_limits(number: int) -> CampaignServer:
    """The longest name, and four addresses, the longest and the shortest among them."""
    letter = "abcdefghijklmnop"[number]
    urls = (f"http://{letter}", f"https://{letter}", f"https://{letter}:65535", f"https://{letter}/".ljust(200, "x"))
    return CampaignServer(letter.ljust(24, "-"), urls)


@cache
def manifests() -> dict[str, Manifest]:
    reference = PlanReference(device_parts()["randomized_response"].digest, analyst_parts()["scaled_histogram"].digest)
    first = RoundTerms(EPSILON, reference)
    one_round = Manifest(
        name="delays",
        purpose="Your last arrival delay,\nwith noise that hides it.",
        population="travellers",
        created_at=1_800_000_000,
        domain=PRODUCT,
        device_guarantee=EPSILON,
        rounds=(first,),
        assignment=EveryRound(),
    )
    return {
        "one_round": one_round,
        **_manifests_of_several_rounds(one_round),
        "unlisted": replace(one_round, name="urls", created_at=0, domain=UNLISTED),
        **{name: replace(one_round, name=name, domain=domain) for name, domain in WIDE_DOMAINS.items()},
        "servers": replace(one_round, created_at=0, servers=SERVERS),
        **series_manifests(first, PRODUCT),
        "at_limits": _manifest_at_limits(one_round),
        **manifests_of_routes(one_round),
    }


def _manifests_of_several_rounds(one_round: Manifest) -> dict[str, Manifest]:
    (first,), later = one_round.rounds, RoundTerms(PureEpsilon.of("0.5"), None)
    return {
        "two_rounds": replace(
            one_round,
            name="délais ✈",
            purpose="One of two questions.",
            created_at=0,
            rounds=(first, later),
            assignment=DrawOneRound((2**31, 2**31)),
            protocol=Digest(bytes(range(32, 64))),
        ),
        "three_rounds": replace(
            one_round,
            name="rules",
            created_at=0,
            rounds=(first, later, later),
            assignment=DrawOneRound((2**31, 2**30, 2**30)),
        ),
    }


def _manifest_at_limits(one_round: Manifest) -> Manifest:
    """The longest names, the most rounds and servers, and the largest numbers."""
    # Lengths count code points: these take four bytes each in UTF-8, and two units in UTF-16.
    longest = "\N{COMET}\N{SHOOTING STAR}" * 100
    most = Domain(
        (
            Categorical(longest, ("missing", longest), other=True),
            Ordinal(name="x", edges=(), unit=longest, missing=True),
        )
    )
    return replace(
        one_round,
        name=longest,
        purpose=longest * 10,
        population=longest,
        created_at=2**40,
        domain=most,
        device_guarantee=PureEpsilon(10**12),
        rounds=one_round.rounds * 16,
        servers=tuple(_server_at_limits(number) for number in range(16)),
    )


def tasks() -> dict[str, Task]:
    campaign, device = manifests()["one_round"].campaign, device_parts()["randomized_response"].digest
    usual = _open_task(campaign, device)
    return {
        "open": usual,
        "at_limits": replace(
            usual,
            round=15,
            device_parts=(device,) * 16,
            epoch=65535,
            retry=RetryWindow(604800, 604800),
            answer_until=2**40,
            accept_until=2**40,
        ),
        "no_end": replace(usual, epoch=0, retry=RetryWindow(0, 1), answer_until=0, accept_until=None),
        "online_only": replace(usual, epoch=0, retry=RetryWindow(0, 1), answer_until=None),
        "signed": signed_task(campaign, device, 1),
        "signed_at_limits": signed_task(campaign, device, 2**40),
        "closed": Task(
            campaign=CampaignId(bytes(range(32))),
            state=CampaignState.CLOSED,
            round=None,
            device_parts=(device,),
            epoch=65535,
            retry=RetryWindow(0, 0),
            answer_until=None,
            accept_until=None,
        ),
    }


def _open_task(campaign: CampaignId, device: Digest) -> Task:
    return Task(
        campaign=campaign,
        state=CampaignState.OPEN,
        round=0,
        device_parts=(device,),
        epoch=7,
        retry=RetryWindow(60, 3600),
        answer_until=1_800_403_200,
        accept_until=1_800_604_800,
    )


def signed_task(campaign: CampaignId, device: Digest, number: int) -> Task:
    """An open task with the signature of the key whose secret is 32 times the byte 9."""
    unsigned = Task(
        campaign=campaign,
        state=CampaignState.OPEN,
        round=0,
        device_parts=(device,),
        epoch=0,
        retry=RetryWindow(60, 3600),
        answer_until=1_800_403_200,
        accept_until=1_800_604_800,
        number=number,
        signature=bytes(64),
    )
    return replace(unsigned, signature=TASK_SECRET.sign(unsigned.signed_message))


def open_campaigns() -> dict[str, OpenCampaigns]:
    known = sorted({each.campaign for each in manifests().values()})
    most = tuple(CampaignId(number.to_bytes(32, "big")) for number in range(256))
    return {
        "none": OpenCampaigns(population="travellers", number=0, campaigns=()),
        "some": OpenCampaigns(population="travellers", number=7, campaigns=tuple(known[:2])),
        "at_limits": OpenCampaigns(population="r" * 200, number=2**40, campaigns=most),
    }


def manifest_signatures() -> dict[str, ManifestSignatures]:
    """By the keys whose secret is 32 times the same byte, as in good/signatures.json."""
    manifest = manifests()["one_round"]
    signed = sorted((signature_of(secret, manifest) for secret in (1, 2, 3, 4)), key=lambda each: each.key)
    return {
        "one": ManifestSignatures(manifest.campaign, (signature_of(1, manifest),)),
        "four": ManifestSignatures(manifest.campaign, tuple(signed)),
    }


def signature_of(secret: int, manifest: Manifest) -> KeySignature:
    private = Ed25519PrivateKey.from_private_bytes(bytes([secret]) * 32)
    return KeySignature(private.public_key().public_bytes_raw(), private.sign(signed_message(manifest)))


def signatures() -> dict[str, Any]:
    """Ed25519 signatures of a manifest: what is signed, by which key, and whether it holds."""
    manifest = manifests()["one_round"]
    good, message = signature_of(1, manifest), signed_message(manifest)
    other = signature_of(1, replace(manifest, population="others"))
    flipped = bytes([good.signature[0] ^ 1]) + good.signature[1:]
    cases = {
        "good": (good.key, good.signature, True),
        "another_key": (signature_of(2, manifest).key, good.signature, False),
        "another_population": (good.key, other.signature, False),
        "changed": (good.key, flipped, False),
        "empty_key": (bytes(32), bytes(64), False),
    }
    vectors = [
        {"name": name, "key": key.hex(), "signature": signature.hex(), "holds": holds}
        for name, (key, signature, holds) in cases.items()
    ]
    about = "the Ed25519 signature of the message by the key, verified as in RFC 8032 section 5.1.7"
    head = {"about": about, "manifest": manifest.content.hex(), "message": message.hex()}
    return {"good/signatures.json": head | {"vectors": vectors, "rule": signature_rule()}}


def batches() -> dict[str, ReportBatch]:
    device = device_parts()["randomized_response"].digest
    first, second = (b"\x00\x07" + bytes([number]) * 14 for number in (1, 2))
    return {
        "one_report": ReportBatch(device, first, b"\x05"),
        "last_arm": ReportBatch(device, first + second, b"\x05\x07", 15),
        "two_reports": ReportBatch(Digest(b"\xff" * 32), first + second, bytes(range(34))),
    }


def outcomes() -> dict[str, ReportOutcomes]:
    places = (0, 2, 24, 25, 26, 4095)
    refused = tuple(RefusedReport(index, reason) for index, reason in zip(places, Refusal, strict=True))
    return {"accepted": ReportOutcomes(1, 0, ()), "refused": ReportOutcomes(4087, 3, refused)}


def aggregates() -> dict[str, AggregateDocument]:
    """Sums that name a source, and sums of two parts of an archive whose source is not said."""
    device = device_parts()["randomized_response"].digest
    whole = AggregateDocument(
        campaign=CampaignId(Digest.of(b"campaign")),
        round=1,
        device_digest=device,
        source="eu-west",
        number=2**53 - 1,
        count=7,
        sums=np.array([4, 0, 3], dtype="<i8").tobytes(),
        manifest=None,
        parts=(),
        parts_in_all=0,
    )
    negative = np.array([-(2**62), 2**62, -1], dtype="<i8").tobytes()
    parts = {"manifest": Digest.of(b"manifest"), "parts": (0, 3), "parts_in_all": 4}
    return {
        "whole": whole,
        "parts": replace(whole, source=None, number=0, sums=negative, **parts),
        "of_an_arm": replace(whole, count=10**7, arm=15, blanket=10**7),
    }


@cache
def documents() -> dict[str, dict[str, Document]]:
    """Every example by document type and name."""
    return {
        "manifest": {**manifests()},
        "task": {**tasks()},
        "open_campaigns": {**open_campaigns()},
        "manifest_signatures": {**manifest_signatures()},
        "device_part": {**device_parts()},
        "analyst_part": {**analyst_parts()},
        "report_batch": {**batches()},
        "report_outcomes": {**outcomes()},
        "aggregate": {**aggregates()},
        **shuffled_documents(),
        **token_documents(),
        "log_entry": {**entries(manifests())},
    }


def meaning(plain: Any) -> Any:
    """A plain value in JSON: {"bytes": hex} for bytes, {"integer": decimal} for integers no double holds."""
    if isinstance(plain, dict):
        return {key: meaning(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [meaning(item) for item in plain]
    if isinstance(plain, bytes):
        return {"bytes": plain.hex()}
    if type(plain) is int and abs(plain) > 2**53:
        return {"integer": str(plain)}
    return plain


def good_documents() -> dict[str, Any]:
    """Files of good document vectors, by path."""
    files = {}
    for document, examples in documents().items():
        entries = []
        for name, value in examples.items():
            plain = {"document": document, "version": PROTOCOL_VERSION} | to_plain(value)
            entry = {"name": name, "meaning": meaning(plain), "hex": value.content.hex(), "sha256": str(value.digest)}
            entries.append(entry)
        files[f"good/{document}.json"] = {"document": document, "vectors": entries}
    return files
