"""The search for a form's kernel: its gradient, its promises, and that it beats kernels made for something else."""

import numpy as np
import pytest

from sordino_analysis.evaluation.integer_kernels import KernelError, histogram_decoder, integer_kernel
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.form_kernel import Aim, FormGoal, centred, search_form_kernel
from sordino_analysis.request_terms import Effort
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

SIZE = 8
PLACES = np.arange(SIZE) / (SIZE - 1)
DISTANCES = np.abs(np.subtract.outer(PLACES, PLACES))
EVEN = np.full(SIZE, 1 / SIZE)


def search(goal, epsilon=1.0):
    return search_form_kernel(
        goal,
        PureEpsilon.of(epsilon),
        effort=Effort.QUICK,
        seed=0,
        deadline=Deadline(),
        progress=lambda fraction: None,
    )


def randomised_response(epsilon):
    guarantee = PureEpsilon.of(epsilon)
    kernel = integer_kernel(np.full(SIZE, 1 / (np.exp(epsilon) + SIZE - 1)), np.eye(SIZE, dtype=bool), guarantee)
    return DecodedReportMoments.of(kernel, histogram_decoder(kernel, EVEN))


def test_the_kernel_is_better_than_randomised_response_and_keeps_epsilon():
    lean = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02])
    goal = FormGoal((Aim(DISTANCES, EVEN), Aim(DISTANCES, lean)), users=2000)
    found = search(goal)
    assert found.value == goal.value(found.law)
    assert found.value < 0.5 * goal.value(randomised_response(1.0))
    proved = prove_epsilon(found.kernel)
    assert proved is not None
    assert proved <= PureEpsilon.of(1)
    assert found.law.misses(DISTANCES) < 1e-9


def test_a_form_of_rank_one_is_decoded_too():
    slope = PLACES - PLACES.mean()
    goal = FormGoal((Aim(-np.outer(slope, slope), EVEN),), users=2000)
    assert search(goal).law.misses(centred(goal.aims[0].matrix)) < 1e-6


def test_the_quadratic_part_of_the_gradient_is_its_derivative():
    generator = np.random.default_rng(0)
    goal = FormGoal((Aim(DISTANCES, EVEN),), users=50.0, linear=0.0, quadratic=1.0)
    root, direction = generator.standard_normal((2, SIZE, SIZE))
    form = centred(DISTANCES)
    covariance, moved = root @ root.T, 1e-6 * (direction + direction.T)

    def value(sigma):
        return 2.0 * np.trace(sigma @ form @ sigma @ form) / goal.users**2

    slope = (value(covariance + moved) - value(covariance - moved)) / 2
    assert np.sum(goal.gradient([covariance]) * moved) == pytest.approx(slope, rel=1e-6)


def test_the_search_is_the_same_for_the_same_seed():
    goal = FormGoal((Aim(DISTANCES, EVEN),), users=500)
    assert search(goal).kernel == search(goal).kernel


def test_a_form_that_is_the_same_for_all_pairs_is_refused():
    with pytest.raises((InvalidValue, KernelError)):
        search(FormGoal((Aim(np.ones((SIZE, SIZE)), EVEN),), users=500))


def test_reports_are_decoded_to_nothing_that_no_form_asks():
    """Kendall's form on a 2 × 3 grid has rank 4 of 6: along the rest the decoder had entries of 10⁹."""
    rows, columns = np.divmod(np.arange(6), 3)
    form = np.sign(np.subtract.outer(rows, rows)) * np.sign(np.subtract.outer(columns, columns)).astype(float)
    goal = FormGoal((Aim(form, np.full(6, 1 / 6)),), 1000)
    found = search_form_kernel(
        goal,
        PureEpsilon.of(1),
        effort=Effort.QUICK,
        seed=0,
        deadline=Deadline(),
        progress=lambda fraction: None,
    )
    assert found.law.misses(form) < 1e-12
    assert found.law.decoder.sum(axis=0) == pytest.approx(1, abs=1e-5)
    assert np.abs(found.law.decoder).max() < 10
    # Two reports in the U-statistic, whose own pairs are taken out of the square of their sum.
    first, second = found.law.decoder[:, 0], found.law.decoder[:, 1]
    total = first + second
    without_own = (total @ form @ total - first @ form @ first - second @ form @ second) / 2
    assert without_own == pytest.approx(first @ form @ second, rel=1e-9, abs=1e-9)
