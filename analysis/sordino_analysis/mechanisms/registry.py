"""The candidates, in the order in which ties are decided: what is simpler for a device comes first."""

from __future__ import annotations

from sordino_analysis.mechanisms.approximate_factorization import ApproximateFactorizationMechanism
from sordino_analysis.mechanisms.biased_characters import BiasedCharactersMechanism
from sordino_analysis.mechanisms.category_grids import CategoryGridsMechanism
from sordino_analysis.mechanisms.coarsened_histogram import CoarsenedHistogramMechanism
from sordino_analysis.mechanisms.column_generation import ColumnGenerationMechanism
from sordino_analysis.mechanisms.extreme_rows import ExtremeRowsMechanism
from sordino_analysis.mechanisms.factorization import FactorizationMechanism
from sordino_analysis.mechanisms.fourier import FourierMechanism
from sordino_analysis.mechanisms.haar import HaarMechanism
from sordino_analysis.mechanisms.hadamard_response import HadamardResponseMechanism
from sordino_analysis.mechanisms.hierarchy import HierarchyMechanism
from sordino_analysis.mechanisms.hyperplane_codebook import HyperplaneCodebookMechanism
from sordino_analysis.mechanisms.mechanism import Mechanism
from sordino_analysis.mechanisms.optimised_kernel import OptimisedKernelMechanism
from sordino_analysis.mechanisms.orbit_kernel import OrbitKernelMechanism
from sordino_analysis.mechanisms.plane_category_grids import PlaneCategoryGridsMechanism
from sordino_analysis.mechanisms.plane_grids import PlaneGridsMechanism
from sordino_analysis.mechanisms.query_kernel import QueryKernelMechanism
from sordino_analysis.mechanisms.randomized_response import RandomizedResponseMechanism
from sordino_analysis.mechanisms.sampled_marginals import SampledMarginalsMechanism
from sordino_analysis.mechanisms.shifted_grids import ShiftedGridsMechanism
from sordino_analysis.mechanisms.sign_vectors import SignVectorsMechanism
from sordino_analysis.mechanisms.subset_mixture import SubsetMixtureMechanism
from sordino_analysis.mechanisms.subset_selection import SubsetSelectionMechanism

MECHANISMS: tuple[Mechanism, ...] = (
    RandomizedResponseMechanism(),
    SubsetSelectionMechanism(),
    SubsetMixtureMechanism(),
    CoarsenedHistogramMechanism(),
    ShiftedGridsMechanism(),
    PlaneGridsMechanism(),
    CategoryGridsMechanism(),
    PlaneCategoryGridsMechanism(),
    HadamardResponseMechanism(),
    HaarMechanism(),
    HierarchyMechanism(),
    SampledMarginalsMechanism(),
    FourierMechanism(),
    OrbitKernelMechanism(),
    QueryKernelMechanism(),
    SignVectorsMechanism(),
    ExtremeRowsMechanism(),
    HyperplaneCodebookMechanism(),
    OptimisedKernelMechanism(),
    ColumnGenerationMechanism(),
    FactorizationMechanism(),
    ApproximateFactorizationMechanism(),
    BiasedCharactersMechanism(),
)

# Made for what the queries have in common, so nothing else is built where its formula says that it cannot win.
_FIRST = (
    "coarsened_histogram",
    "shifted_grids",
    "plane_grids",
    "category_grids",
    "plane_category_grids",
    "orbit_kernel",
)


def in_order_of_evaluation() -> tuple[Mechanism, ...]:
    """Structured candidates first, then the others as they are listed."""
    return tuple(sorted(MECHANISMS, key=lambda candidate: candidate.name not in _FIRST))


def mechanism_names() -> tuple[str, ...]:
    """Every name that a request may give as its mechanism."""
    return tuple(candidate.name for candidate in MECHANISMS)
