"""A drawn kernel shows every set that is sent, as high as it is frequent."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.accuracy import kernels
from sordino_analysis.vectorized.kernels import two_level_rows


def test_a_set_is_a_band_over_its_bins_with_the_height_of_its_chance():
    members = np.array([[False, False, True, True], [True, True, False, False], [True, False, True, False]])
    low = np.array([10, 30, 10], dtype=np.uint64)
    drawn = ElementTree.fromstring(kernels.draw([1.0], [two_level_rows(low, 2 * low, members)], 4))
    (path,) = (element for element in drawn.iter() if element.get("class") == "set")
    bands = [tuple(map(float, band)) for band in re.findall(r"M(\S+) (\S+?)h(\S+?)v(\S+?)h", path.get("d"))]
    left, top = kernels._LEFT, kernels._TOP
    # Sorted by the middle of the set: {0, 1}, then {0, 2} in two pieces, then {2, 3}.
    assert [(x - left, width) for x, _, width, _ in bands] == [(0, 128), (0, 64), (128, 64), (128, 128)]
    assert [height for *_, height in bands] == pytest.approx([336, 112, 112, 112])
    assert [y - top for _, y, _, _ in bands] == pytest.approx([0, 336, 336, 448])
