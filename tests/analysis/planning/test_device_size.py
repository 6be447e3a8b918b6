"""A device part is at most 64 KiB at 128 types and 256 KiB at 512, whatever kernel is chosen.

The vectors of a factorization are as large as its rank asks for.
"""

import numpy as np
import pytest

from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS
from sordino_analysis.optimisation.search.schedule import SCHEDULES
from sordino_analysis.optimisation.search.tuning import SCHEDULE
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import FiniteKernel

KIB = 1024
LIMITS = {128: 64 * KIB, 512: 256 * KIB}


def size_with(types, rows):
    """Bytes of a device part for prefix sums whose kernel has so many rows."""
    low, members = np.full(rows, (1 << 59) // rows, dtype=np.uint64), np.zeros((rows, types), dtype=bool)
    kernel = FiniteKernel(60, two_level_rows(low, low, members))
    return len(DevicePart(builtin("prefix", types).domain, PureEpsilon.of(1), kernel).content)


@pytest.mark.parametrize("effort", list(Effort))
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("types", LIMITS)
def test_the_rows_that_the_search_may_have_fit(types, epsilon, effort):
    """Snapping merges rows; it adds some at a few types only."""
    schedule = SCHEDULES[effort].fitted(types - 1, types, epsilon, copies=2)
    assert size_with(types, max(SCHEDULE.fewest_rows, schedule.rows_per_type * types)) <= LIMITS[types]


@pytest.mark.parametrize("types", [128, pytest.param(512, marks=pytest.mark.slow, id="512")])
def test_what_every_candidate_proposes_fits(types):
    """All but the search, whose rows are counted above: it takes minutes here."""
    request = PlanRequest(
        builtin("prefix", types), PlanningOptions.of(epsilon=1, objective="mean", effort=Effort.QUICK)
    )
    work, sizes = SharedWork(request), {}
    for candidate in MECHANISMS:
        if candidate.name not in ("optimised_kernel", "factorization") and candidate.reason_against(work) is None:
            proposal = candidate.propose(work, lambda *told: None)
            part = DevicePart(request.workload.domain, request.guarantee, proposal.randomizer)
            sizes[candidate.name] = len(part.content)
    assert "hyperplane_codebook" in sizes
    assert {name: size for name, size in sizes.items() if size > LIMITS[types]} == {}


@pytest.mark.slow
@pytest.mark.parametrize("types", LIMITS)
def test_a_searched_kernel_fits(plan_of, types):
    plan = plan_of("prefix", types, "1", "mean", "optimised_kernel", effort=Effort.QUICK, time_limit=60.0)
    assert len(plan.device.content) <= LIMITS[types]
