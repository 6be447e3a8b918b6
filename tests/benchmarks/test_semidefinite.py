"""What a cone solver's answer proves holds whatever its tolerance was."""

import itertools

import numpy as np
import pytest

from benchmarks.planning.semidefinite import solve_semidefinite
from sordino_analysis.optimisation.factorization import FactorizationError


@pytest.mark.parametrize(("objective", "centred"), list(itertools.product(("max", "mean"), (True, False))))
def test_a_loose_answer_still_encloses_the_value(objective, centred):
    rng = np.random.default_rng(11)
    for _ in range(4):
        matrix = rng.normal(size=(5, 6))
        tight = solve_semidefinite(matrix, objective, centred)
        loose = solve_semidefinite(matrix, objective, centred, "SCS", eps=0.1)
        assert loose.lower <= tight.upper
        assert loose.upper >= tight.lower
        assert tight.upper - tight.lower < 1e-5 < loose.upper - loose.lower


def test_constant_rows_are_answered_by_the_centre():
    found = solve_semidefinite(np.array([[1.0, 0.0], [3.0, 3.0]]))
    np.testing.assert_allclose(found.centre, [0.5, 3.0], atol=1e-5)
    assert found.value == pytest.approx(0.5, abs=1e-5)


def test_constants_alone_are_refused():
    with pytest.raises(FactorizationError, match="constant"):
        solve_semidefinite(np.ones((2, 3)))
