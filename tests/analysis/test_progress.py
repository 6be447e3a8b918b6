"""Progress knows how far the best so far is from its bound."""

import pytest

from sordino_analysis.progress import Progress


def test_the_ratio_needs_a_variance_and_a_bound_above_zero():
    assert Progress("searching", 0.5, 3.0, 2.0).ratio == pytest.approx(1.5)
    assert Progress("searching", 0.5, 3.0).ratio is None
    assert Progress("searching", 0.5, bound=2.0).ratio is None
    assert Progress("searching", 0.5, 3.0, 0.0).ratio is None
