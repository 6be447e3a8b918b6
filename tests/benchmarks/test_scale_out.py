"""The model of adding up: what it is fitted to comes back, and what it cannot fit shows as residual."""

from __future__ import annotations

import pytest

from benchmarks.scale_out.archives import direction, random_archive, response
from benchmarks.scale_out.model import fitted


def test_costs_that_are_linear_are_found_again() -> None:
    reports, parts = (10**6, 4 * 10**6, 10**5), (1, 4, 100)
    cost = fitted(reports, parts, [1e-6 * n + 2e-3 * m for n, m in zip(reports, parts, strict=True)])
    assert (cost.report, cost.part) == pytest.approx((1e-6, 2e-3))
    assert cost.residual < 1e-9
    assert cost.seconds(10**9, 1000, 16) == pytest.approx((1000 + 2) / 16)
    assert fitted(reports, parts, [1.0, 1.0, 1.0]).residual > 0.1
    with pytest.raises(ValueError, match="two measurements"):
        fitted([1], [1], [1.0])


@pytest.mark.parametrize("randomizer", [direction(), response()], ids=["17 bytes", "1 byte"])
def test_random_payloads_are_those_of_devices(randomizer, tmp_path) -> None:
    archive = random_archive(str(tmp_path), randomizer, 2, 50)
    assert archive.sums(archive.chosen()).count == 100
