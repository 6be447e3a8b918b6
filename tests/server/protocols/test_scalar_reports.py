"""Numbers with folded geometric noise: exact in every moment, from the shipped integers."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_server.protocols.scalar_reports import ScalarReports
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon


@pytest.mark.parametrize("epsilon", ["0.01", "0.25", "1", "4", "16"])
def test_every_type_is_unbiased_with_the_stated_variance_and_epsilon(epsilon: str) -> None:
    reports = ScalarReports(-1, 3, PureEpsilon.of(epsilon))
    values = np.array([-1, -0.73, 0, 1, 2.999, 3])
    kernel = reports.kernel(values)
    law, decoded = kernel.table / 2.0**kernel.bits, reports.decoded()
    assert np.allclose(decoded @ law + reports.middle, values, rtol=0, atol=1e-10 * np.abs(decoded).max())
    assert np.allclose(decoded**2 @ law - (decoded @ law) ** 2, reports.variances(values), rtol=1e-9)
    proved = prove_epsilon(kernel)
    assert proved is not None
    assert proved.nano <= PureEpsilon.of(epsilon).nano


def test_it_has_less_variance_than_laplace_noise_and_at_least_that_of_two_points() -> None:
    for epsilon in (0.1, 1.0):
        reports = ScalarReports(0, 1, PureEpsilon.of(epsilon))
        worst = reports.variances(np.linspace(0, 1, 11)).max()
        assert 0.25 / np.tanh(epsilon / 2) ** 2 - 0.25 < worst < 0.7 * 2 / epsilon**2


def test_a_value_outside_the_range_and_an_empty_range_are_refused() -> None:
    with pytest.raises(InvalidValue, match="clip it first"):
        ScalarReports(0, 1, PureEpsilon.of(1)).kernel(np.array([0.5, 1.5]))
    with pytest.raises(InvalidValue, match="from low to high"):
        ScalarReports(1, 1, PureEpsilon.of(1))
