"""Pure ε = 1 in place of ρ: Laplace noise and the ball of ℓ∞, beside the bound and figures that prove nothing."""

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.curator.workloads import RHO, named
from benchmarks.references.figures import determinant_figure, volume_figure
from sordino_analysis.curator.plan import plan_release

_NAMES = ("prefix 256", "histogram 64", "marginals 2 8", "parities 2 8", "signs 16 256", "signs 1024 128")


def table(*, quick: bool) -> Iterator[str]:
    """A line a workload: standard errors of counts for `replace` neighbours, root mean squared over queries."""
    yield (
        "| workload | Laplace on the queries | Laplace on the cells | ball of ℓ∞ | proved bound | volume figure | "
        "determinant figure |"
    )
    yield "|---" * 7 + "|"
    for name in ("parities 2 6",) if quick else _NAMES:
        workload = named(name)
        matrix = workload.operator.dense()
        apart = np.array([np.abs(matrix - matrix[:, [cell]]).sum(axis=0).max() for cell in range(workload.size)])
        range_ = float((matrix.max(axis=1) - matrix.min(axis=1)).max())
        cells = 2 * math.sqrt(2 * float((matrix**2).sum(axis=1).mean()))
        ball = range_ * math.sqrt((len(matrix) + 1) * (len(matrix) + 2) / 3)
        certificate = plan_release(workload, RHO, "mean").design.mean_certificate
        assert certificate is not None
        # Between ε-private distributions χ² is at most 4 sinh²(ε/2).
        bound = certificate.norm / (2 * math.sinh(0.5))
        figures = (
            math.sqrt(2) * apart.max(),
            cells,
            ball,
            bound,
            volume_figure(matrix, 1.0),
            determinant_figure(matrix),
        )
        yield f"| {name} | " + " | ".join(f"{figure:.3g}" for figure in figures) + " |"
