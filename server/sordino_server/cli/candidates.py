"""What a plan chooses among, by name: most commands that take a name need none of the numbers behind it."""

from __future__ import annotations

from typing import Annotated

import typer

MECHANISMS = (
    *("randomized_response", "subset_selection", "subset_mixture", "hadamard_response", "haar", "hierarchy"),
    *("sampled_marginals", "fourier", "orbit_kernel", "hyperplane_codebook", "optimised_kernel", "column_generation"),
    *("factorization", "approximate_factorization"),
)
PROTOCOLS = ("one_round", "one_round_split", "two_round", "two_round_shared", "three_round")

MechanismOption = Annotated[
    str | None, typer.Option(help=f"Only this mechanism for linear queries, not the best of {', '.join(MECHANISMS)}.")
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(help=f"Only this protocol for a statistic of pairs, not the best of {', '.join(PROTOCOLS)}."),
]
