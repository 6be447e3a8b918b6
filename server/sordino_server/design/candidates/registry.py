"""The candidates, in the order in which ties are decided: what is simpler for a device comes first."""

from __future__ import annotations

from sordino_server.design.candidates.approximate_factorization import ApproximateFactorizationCandidate
from sordino_server.design.candidates.base import Candidate
from sordino_server.design.candidates.column_generation import ColumnGenerationCandidate
from sordino_server.design.candidates.extreme_rows import ExtremeRowsCandidate
from sordino_server.design.candidates.factorization import FactorizationCandidate
from sordino_server.design.candidates.fourier import FourierCandidate
from sordino_server.design.candidates.haar import HaarCandidate
from sordino_server.design.candidates.hadamard_response import HadamardResponseCandidate
from sordino_server.design.candidates.hierarchy import HierarchyCandidate
from sordino_server.design.candidates.hyperplane_codebook import HyperplaneCodebookCandidate
from sordino_server.design.candidates.optimised_kernel import OptimisedKernelCandidate
from sordino_server.design.candidates.orbit_kernel import OrbitKernelCandidate
from sordino_server.design.candidates.query_kernel import QueryKernelCandidate
from sordino_server.design.candidates.randomized_response import RandomizedResponseCandidate
from sordino_server.design.candidates.sampled_marginals import SampledMarginalsCandidate
from sordino_server.design.candidates.subset_mixture import SubsetMixtureCandidate
from sordino_server.design.candidates.subset_selection import SubsetSelectionCandidate

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
