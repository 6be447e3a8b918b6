"""What a plan is chosen from and by, without importing it: numerical libraries load slowly."""

from __future__ import annotations

from typing import Annotated

import typer

from sordino_analysis.request_terms import Objective

MECHANISMS = (
    *("randomized_response", "subset_selection", "subset_mixture", "coarsened_histogram", "shifted_grids"),
    *("plane_grids", "category_grids", "plane_category_grids", "hadamard_response", "haar", "hierarchy"),
    *("sampled_marginals", "fourier", "orbit_kernel", "query_kernel", "sign_vectors", "extreme_rows"),
    *("hyperplane_codebook", "optimised_kernel", "column_generation", "factorization", "approximate_factorization"),
    "biased_characters",
)
# The last two are biased, and planned by simulation.
PROJECTIONS = ("jl", "coarse_jl")
CURATOR_MECHANISMS = ("gaussian", "laplace", "blocks", "isotropic", "ntz", *PROJECTIONS)
PROTOCOLS = ("one_round", "one_round_split", "two_round", "two_round_shared", "three_round", "one_round_worst")

MechanismOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Use this mechanism, not the best for linear queries: {', '.join(MECHANISMS)}; of a curator: "
        f"{', '.join(CURATOR_MECHANISMS)}.",
    ),
]
ObjectiveOption = Annotated[
    Objective,
    typer.Option(metavar="max|mean", help="Minimise the variance of the worst query, or the mean over queries."),
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"Use this protocol, not the best for a pairwise statistic: {', '.join(PROTOCOLS)}."
    ),
]
