"""The candidates, in the order in which ties are decided: what is simpler for a device comes first."""

from __future__ import annotations

from sordino_analysis.mechanisms.approximate_factorization import ApproximateFactorizationCandidate
from sordino_analysis.mechanisms.column_generation import ColumnGenerationCandidate
from sordino_analysis.mechanisms.extreme_rows import ExtremeRowsCandidate
from sordino_analysis.mechanisms.factorization import FactorizationCandidate
from sordino_analysis.mechanisms.fourier import FourierCandidate
from sordino_analysis.mechanisms.haar import HaarCandidate
from sordino_analysis.mechanisms.hadamard_response import HadamardResponseCandidate
from sordino_analysis.mechanisms.hierarchy import HierarchyCandidate
from sordino_analysis.mechanisms.hyperplane_codebook import HyperplaneCodebookCandidate
from sordino_analysis.mechanisms.mechanism import Candidate
from sordino_analysis.mechanisms.optimised_kernel import OptimisedKernelCandidate
from sordino_analysis.mechanisms.orbit_kernel import OrbitKernelCandidate
from sordino_analysis.mechanisms.query_kernel import QueryKernelCandidate
from sordino_analysis.mechanisms.randomized_response import RandomizedResponseCandidate
from sordino_analysis.mechanisms.sampled_marginals import SampledMarginalsCandidate
from sordino_analysis.mechanisms.subset_mixture import SubsetMixtureCandidate
from sordino_analysis.mechanisms.subset_selection import SubsetSelectionCandidate

CANDIDATES: tuple[Candidate, ...] = (
    RandomizedResponseCandidate(),
    SubsetSelectionCandidate(),
    SubsetMixtureCandidate(),
    HadamardResponseCandidate(),
    HaarCandidate(),
    HierarchyCandidate(),
    SampledMarginalsCandidate(),
    FourierCandidate(),
    OrbitKernelCandidate(),
    QueryKernelCandidate(),
    ExtremeRowsCandidate(),
    HyperplaneCodebookCandidate(),
    OptimisedKernelCandidate(),
    ColumnGenerationCandidate(),
    FactorizationCandidate(),
    ApproximateFactorizationCandidate(),
)


def mechanism_names() -> tuple[str, ...]:
    """Every name that a request may give as its mechanism."""
    return tuple(candidate.name for candidate in CANDIDATES)
