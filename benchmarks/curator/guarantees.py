"""Pure ε = 1 beside Gaussian noise at (1, 10⁻⁶): the best release of each kind that the planner finds."""

import math
import time
from collections.abc import Iterator
from fractions import Fraction

from benchmarks.curator.workloads import named
from sordino_analysis.curator.certificate import largest_chi_square
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.guarantees.approximate import Approximate
from sordino_shared.guarantees import NANO, PureEpsilon

_NAMES = (
    *("histogram 64", "histogram 512", "prefix 64", "prefix 512", "ranges 128"),
    *("marginals 2 8", "marginals 2 20", "marginals 2 100", "marginals 3 8", "signs 16 256", "signs 1024 128"),
)
_ASKED = Approximate(NANO, Fraction(1, 10**6))


def table(*, quick: bool) -> Iterator[str]:
    """A line a workload: standard errors of counts for `replace` neighbours, root mean squared over queries."""
    yield "| workload | pure ε = 1 | by | Gaussian at (1, 10⁻⁶) | lower bound for pure ε | seconds of processor |"
    yield "|---" * 6 + "|"
    for name in ("histogram 16", "prefix 16", "marginals 2 6") if quick else _NAMES:
        begun = time.process_time()
        plan = plan_release(named(name), _ASKED, "mean")
        best = {}
        for each in reversed(plan.considered):
            best[each.guarantee] = each
        pure, gaussian = best["pure_epsilon"], best["zcdp"]
        certificate = plan.design.mean_certificate
        assert certificate is not None
        bound = certificate.norm / math.sqrt(largest_chi_square(PureEpsilon(NANO)))
        errors = [math.sqrt(each.mean_variance) for each in (pure, gaussian)]
        yield (
            f"| {name} | {errors[0]:.4g} | {pure.mechanism} | {errors[1]:.4g} | {bound:.3g} "
            f"| {time.process_time() - begun:.1f} |"
        )
