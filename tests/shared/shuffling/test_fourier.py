"""The transform against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_shared.shuffling.profile import inverse_transform, transform


@pytest.mark.parametrize("count", [1, 2, 8, 1024])
def test_it_is_numpys_and_its_inverse_undoes_it(count: int):
    random = np.random.default_rng(count)
    points = random.normal(size=count) + 1j * random.normal(size=count)
    waves = transform(points.tolist())
    assert np.allclose(waves, np.fft.fft(points), rtol=0, atol=1e-10)
    assert np.allclose(inverse_transform(waves), points, rtol=0, atol=1e-12)
