"""What the mechanisms trade, quality against time, memory or bytes.

`python -m benchmarks.tuning mechanisms` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sordino_analysis.mechanisms.grid_maximum_tuning import GRID_MAXIMUM as GRID_MAXIMUM
from sordino_analysis.mechanisms.plane_category_tuning import PLANE_CATEGORY_GRIDS as PLANE_CATEGORY_GRIDS
from sordino_analysis.mechanisms.plane_category_tuning import PLANE_CATEGORY_LEVELS as PLANE_CATEGORY_LEVELS
from sordino_analysis.questions.linear.workload import MOST_PLANNED_BINS, MOST_PLANNED_TYPES
from sordino_analysis.request_terms import Objective


@dataclass(frozen=True, kw_only=True)
class CategoryGridLevelsTuning:
    """Levels of grids on categories and one ordered attribute: `category_grid_levels.py`. Measured: `python -m
    benchmarks.tuning mechanisms.category_levels`."""

    chosen_at: int = 256
    """Levels are chosen at up to so many bins, and their chances found once more at twice as many."""
    wide: float = 0.25
    """From this share of the bins on many widths are tried, below it powers of 2."""
    widest: float = 2.0
    """The widest cells over the bins; a device takes no wider ones."""
    ratio: float = 1.15
    """Of one wide width to the next: smaller tries more of them."""
    steps: tuple[int, ...] = (20, 10, 10)
    """Steps of the chances, after each of which levels of a small chance go."""
    last_steps: int = 12
    """Steps of the chosen levels at twice as many bins."""
    least_chance: float = 1e-3
    """A level of a smaller chance is left out: it costs bytes of the device part."""
    compared: int = 17
    """Queries of each part whose largest variances are made alike for the maximum."""
    worst_rounds: int = 8
    """Times that their weights are changed; the best chances met are kept."""
    worst_steps: int = 8
    """Steps of the chances for each."""
    worst_power: float = 4.0
    """Weights go with this power of the variances: larger is faster, and overshoots."""
    shares_of_mean: tuple[float, ...] = (0.0, 0.25, 0.5)
    """Densities tried: the geometric means of the one for the worst type and the one for the mean with these shares."""
    worst_label_bits: int = 6
    """Bits of a label at most; each is a word of the report."""
    near_density: float = 0.07
    """A density so near to the best one is taken where it has fewer bits."""
    most_joined: int = 4
    """Up to so many sets of attributes told apart, levels that tell the attributes of two sets apart are tried."""


@dataclass(frozen=True, kw_only=True)
class CategoryGridsTuning:
    """Grids on categories and one ordered attribute as a mechanism: `category_grids.py`. Measured: `python -m
    benchmarks.tuning mechanisms.category_grids`."""

    fewest_types: int = 256
    """Below, dense designs are better and take seconds."""
    most_types: int = MOST_PLANNED_TYPES
    """An aggregator holds tables of 2^25 entries: of so many types those of 32 levels, and plans have 24 to 30."""
    most_told: int = 8
    """Sets of attributes that parts of a stack tell apart. Each takes levels of its own from the others."""


@dataclass(frozen=True, kw_only=True)
class CoarsenedHistogramTuning:
    """Hashes of items: `coarsened_histogram.py`. Measured: `python -m benchmarks.tuning mechanisms.hashes`."""

    fewest_items: int = 64
    """Below, sets of one size have less variance and are as small to send."""
    most_label_bits: int = 12
    """Each further bit doubles the work of adding reports up: 4096 steps a report are half a minute for a million."""
    enough: Mapping[Objective, float] = field(default_factory=lambda: {"mean": 0.0025, "max": 0.0095})
    """A density is good enough within so much of the best one up to ε = 2, and within (ε/2)² times as much beyond:
    fewer bits of labels for a little more variance."""


@dataclass(frozen=True, kw_only=True)
class ColumnGenerationTuning:
    """Rows for the mean variance: `column_generation.py`. Measured: `python -m benchmarks.tuning
    mechanisms.column_generation`."""

    max_types: int = 32
    """Up to here it takes a second; beyond, the joint search does most of the work faster and ends with the same
    rounds."""
    rounds: int = 120
    """Rounds at most; they end sooner, once nothing is left to gain."""
    at_rest: float = 2e-3
    """What the worst type's variance may be above the average of all before cone programs end the search."""
    largest_program: int = 3000
    """Numbers in the cones of such a program: 5,000 take a second."""


@dataclass(frozen=True, kw_only=True)
class DrawnFamiliesTuning:
    """Chances of families of rows: `drawn_families.py`. Measured: `python -m benchmarks.tuning
    mechanisms.drawn_families`."""

    max_types: int = 1024
    """Types of the table of all rows at most."""
    operations: float = 2e10
    """Multiplications of all passes: a second of them is about 10^10 on one core."""
    fewest_passes: int = 4
    """Passes that move chances at least, however long one takes."""
    most_passes: int = 40
    """Passes at most; the best chances met are kept."""
    least_chance: float = 1e-4
    """A family that no query needs keeps so much, so that the whole histogram can be decoded."""


@dataclass(frozen=True, kw_only=True)
class ExtremeRowsTuning:
    """All extreme rows of few types: `extreme_rows.py`. Measured: `python -m benchmarks.tuning
    mechanisms.extreme_rows`."""

    max_types: int = 9
    """511 rows take half a second for the mean, 1023 take five."""
    most_cones: int = 10_000
    """For the maximum it is queries times rows that count, and 10,000 take three seconds."""


@dataclass(frozen=True, kw_only=True)
class GridLevelsTuning:
    """Levels of shifted grids: `grid_levels.py`. Measured: `python -m benchmarks.tuning mechanisms.grid_levels`."""

    chosen_at: int = 256
    """Levels are chosen at up to so many types, and their chances found once more at twice as many."""
    plateau: int = 8
    """Octaves between this width and the wide ones are alike."""
    combs: int = 10
    """Combs that are kept: each is a level more to send the name of."""
    comb_periods: tuple[float, float] = (0.25, 4.0)
    """Periods of combs over the size of the domain, from the first to the second."""
    ratio: float = 1.35
    """Of one period to the next: smaller tries more of them."""
    comb_shares: tuple[tuple[int, int], ...] = (
        (1, 2),
        (2, 5),
        (1, 3),
        (2, 7),
        (1, 4),
        (1, 5),
        (1, 6),
        (1, 8),
        (1, 12),
        (1, 16),
        (1, 24),
        (1, 32),
    )
    """(members, labels) of combs in lowest terms; other sets of neighbours are a wider comb of these."""
    least_information: float = 0.4
    """Of the largest information of any density; a comb of less is never chosen."""
    hash_information: float = 0.99
    """A hash with as much of the largest information has bits enough in its labels."""
    largest_label_bits: int = 8
    """Bits of a label at most: a byte of the report."""
    first_steps: int = 30
    """Steps of the chances of all levels."""
    pruning_steps: int = 3
    """Steps after some combs were left out."""
    last_steps: int = 12
    """Steps of the chosen levels at twice as many types."""
    least_chance: float = 3e-4
    """A level of a smaller chance is left out: it costs bytes of the device part."""
    exact_from: float = 1.25
    """Above this ε the exact variance is descended, too; below it gains less than 3 per mille."""
    exact_steps: int = 10
    """Steps of that descent at most."""
    worst_power: int = 8
    """The mean over types of this power stands for the worst type: larger is closer to it, and harder to descend."""
    compared: int = 33
    """Queries whose exact variances are compared for the maximum."""


@dataclass(frozen=True, kw_only=True)
class HyperplaneCodebookTuning:
    """Half-spaces of random directions: `hyperplane_codebook.py`. Measured: `python -m benchmarks.tuning
    mechanisms.codebook`."""

    rows_per_type: int = 32
    """Rows for each type at most: more have less variance and larger device parts."""
    fewest_rows_per_type: int = 4
    """Rows for each type at least: fewer leave no weights that balance the columns."""
    least_bytes: int = 1 << 16
    """Bytes of a device part that rows may take. Twice the bytes would have 6 to 10 % less variance on prefix sums,
    k = 128, ε = 1."""
    bytes_per_type: int = 1 << 9
    """The same for each type of a large domain."""
    max_types: int = 1024
    """Types of its table at most."""
    reweighting_operations: float = 6e10
    """Reweighting the types is worth its time up to so many multiplications in all: six seconds on one core."""
    most_reweightings: int = 20
    """Reweightings at most; the best weights met are kept."""
    share_of_singles: float = 0.05
    """The probability at the start of each row for a single type: it tells every type from the others."""


@dataclass(frozen=True, kw_only=True)
class SharedWorkTuning:
    """What mechanisms share: `mechanism.py`. Measured: `python -m benchmarks.tuning mechanisms.shared_work`."""

    share_of_step: float = 0.15
    """Of the time that is left: there are two factorizations and two bounds before the first candidate. Plans
    without a time limit do not depend on it."""


@dataclass(frozen=True, kw_only=True)
class OptimisedKernelTuning:
    """The joint search as a mechanism: `optimised_kernel.py`. Measured: `python -m benchmarks.tuning
    mechanisms.optimised_kernel`."""

    max_types: int = 1024
    """One descent step of the search at 1024 types and four rows a type takes seconds on one core."""
    few_types: int = 16
    """Decoders of orbits know characters and overlaps only, which costs the maximum up to 3.5 % over nine types at
    ε = 4; a search over so few types takes a second and gains that. Over 32 types it ended 11 to 15 % above them at
    ε = 2 and 4."""
    fit: float = 1 + 2e-3
    """Type weights are no worse than the matrix that they replace but for this factor."""


@dataclass(frozen=True, kw_only=True)
class OrbitKernelTuning:
    """Decoders of orbits: `orbit_kernel.py`. Measured: `python -m benchmarks.tuning mechanisms.orbit_kernel`."""

    least_for_overlaps: float = 1.0
    """Beyond this ε decoders tell overlaps apart: they gain 3 % on marginals of 3 of 8 attributes at ε = 1, for
    several times as many sums."""


@dataclass(frozen=True, kw_only=True)
class PlaneGridLevelsTuning:
    """Levels of grids of two attributes: `plane_grid_levels.py`. Measured: `python -m benchmarks.tuning
    mechanisms.plane_levels`."""

    designed_at: int = 16
    """Levels are chosen at up to so many types of an attribute."""
    plateau: int = 2
    """Octaves from this width on are alike on an attribute."""
    most_levels: int = 40
    """Levels that are kept: each is bytes of the device part."""
    steps: tuple[int, ...] = (11, 10, 5, 5)
    """Steps of the chances between two cuts to half of the levels."""
    last_steps: int = 9
    """Steps of the levels that are left."""
    combs_of_one: tuple[int, ...] = (2, 3, 4, 5)
    """Residues of combs of one attribute."""
    combs_of_both: tuple[tuple[int, int], ...] = ((2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (3, 3))
    """Residues of combs of both."""
    periods: tuple[float, ...] = (0.5, 0.7, 1.0, 1.4, 2.0)
    """Periods of combs over the size of the domain."""
    least_information: float = 0.4
    """Of the largest information of any density; a comb of less is never chosen."""
    least_chance: float = 1e-5
    """A level of a smaller chance is left out: it costs bytes of the device part."""


@dataclass(frozen=True, kw_only=True)
class PlaneGridsTuning:
    """Grids of two attributes as a mechanism: `plane_grids.py`. Measured: `python -m benchmarks.tuning
    mechanisms.plane_grids`."""

    fewest_types: int = 256
    """Below, dense designs are better and take seconds."""
    most_types: int = MOST_PLANNED_BINS
    """An exact variance takes most of a second at 65,536 types, and a plan needs about fifty."""
    smallest_share: float = 1e-5
    """Of the largest chance; a level of a smaller one costs bytes only."""


@dataclass(frozen=True, kw_only=True)
class RandomizedResponseTuning:
    """The one-of-k answer and sets: `randomized_response.py`. Measured: `python -m benchmarks.tuning
    mechanisms.response`."""

    largest_set: int = 1024
    """Sets of more types are more than 128 bytes to send."""
    largest_epsilon: float = 4.0
    """Up to this ε there is something as good as large sets that is smaller to send."""


@dataclass(frozen=True, kw_only=True)
class SampledMarginalsTuning:
    """One of the marginals each: `sampled_marginals.py`. Measured: `python -m benchmarks.tuning
    mechanisms.sampled_marginals`."""

    most_subsets: int = 1 << 13
    """Of larger sizes there are too many subsets of the cells to write out."""
    most_sets: int = 60
    """And of those in other positions to ship."""


@dataclass(frozen=True, kw_only=True)
class SetFamiliesTuning:
    """Hyperplanes over a finite field: `set_families.py`. Measured: `python -m benchmarks.tuning
    mechanisms.set_families`."""

    most_sets_per_point: int = 4
    """A tree over 512 types, all its levels together, has at most five rows a type by this: under 200 KiB."""


@dataclass(frozen=True, kw_only=True)
class ShiftedGridsTuning:
    """Grids of one attribute as a mechanism: `shifted_grids.py`. Measured: `python -m benchmarks.tuning
    mechanisms.shifted_grids`."""

    fewest_types: int = 64
    """Below, dense designs are better and take seconds."""
    most_types: int = MOST_PLANNED_BINS
    """An exact variance takes most of a second at so many types, and a plan some hundred of them."""


@dataclass(frozen=True, kw_only=True)
class SignsTuning:
    """Rows of two signs as a mechanism: `sign_vectors.py`. Measured: `python -m benchmarks.tuning
    mechanisms.signs`."""

    most_pairs: int = 64
    """Of each pair of types one: thresholds of 16 bins take a second, all boxes on 25 cells some twenty."""
    share_of_time: float = 0.5
    """Of a limited time; the mechanisms after it have the rest."""


@dataclass(frozen=True, kw_only=True)
class SingleQueryTuning:
    """The program of one query: `single_query.py`. Measured: `python -m benchmarks.tuning
    mechanisms.single_query`."""

    points: int = 17
    """Values on the grid. Twice as fine at ε = 1 is .2 % less variance and ten times the seconds."""
    outputs: int = 33
    """Outputs on the grid."""
    fine_points: int = 33
    """The same from `fine_from` on, where twice as fine is 2 % less variance, at ε = 8 it is 20 %."""
    fine_outputs: int = 65
    """Outputs of that grid."""
    fine_from: float = 3.0
    """From this ε on the grid is finer."""
    own_points: int = 21
    """Values that are their own grid for the worst type: 1 % less variance at ε = 4 than on the grid of 33."""
    worst_points: int = 33
    """Values on the grid for the worst type."""
    worst_outputs: int = 129
    """Twice as many outputs are .1 % less variance at ε = 2, .3 % at ε = 4, and thrice the seconds."""
    few_outputs: int = 65
    """Outputs where the values are a grid themselves."""
    reach: float = 1.75
    """Outputs beyond the two points that are enough, ±coth(ε/2) for values in ±1, by this factor; none was used
    above 1.5."""


@dataclass(frozen=True, kw_only=True)
class SubsetSelectionTuning:
    """The size of a set: `subset_selection.py`. Measured: `python -m benchmarks.tuning
    mechanisms.subset_selection`."""

    coarse_step: float = 1.5
    """A first look at sizes this factor apart; then downhill from the best, in steps that halve."""


@dataclass(frozen=True, kw_only=True)
class ApproximateFactorizationTuning:
    """Biased factors as a mechanism: `approximate_factorization.py`. Measured: `python -m benchmarks.tuning
    mechanisms.biased_factors`."""

    max_types: int = 256
    """An approximation of prefix sums over 256 types takes seconds on one core, and three or four of them are made."""


CATEGORY_LEVELS = CategoryGridLevelsTuning()
CATEGORY_GRIDS = CategoryGridsTuning()
HASHES = CoarsenedHistogramTuning()
COLUMN_GENERATION = ColumnGenerationTuning()
DRAWN_FAMILIES = DrawnFamiliesTuning()
EXTREME_ROWS = ExtremeRowsTuning()
GRID_LEVELS = GridLevelsTuning()
CODEBOOK = HyperplaneCodebookTuning()
SHARED_WORK = SharedWorkTuning()
OPTIMISED_KERNEL = OptimisedKernelTuning()
ORBIT_KERNEL = OrbitKernelTuning()
PLANE_LEVELS = PlaneGridLevelsTuning()
PLANE_GRIDS = PlaneGridsTuning()
RESPONSE = RandomizedResponseTuning()
SAMPLED_MARGINALS = SampledMarginalsTuning()
SET_FAMILIES = SetFamiliesTuning()
SHIFTED_GRIDS = ShiftedGridsTuning()
SIGNS = SignsTuning()
SINGLE_QUERY = SingleQueryTuning()
SUBSET_SELECTION = SubsetSelectionTuning()
BIASED_FACTORS = ApproximateFactorizationTuning()
