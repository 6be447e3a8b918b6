"""Designs for prefix sums of two attributes: their figures, and answers from simulated devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import norm

from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.evaluation.grids.plane_answers import PlaneAnswers
from sordino_analysis.evaluation.grids.plane_prefixes import plane_of
from sordino_analysis.mechanisms.plane_grid_levels import designed_plane
from sordino_analysis.mechanisms.plane_grids import shipped_plane
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened
from sordino_shared.randomness import SeededRandomness

# So many that devices a tenth off are several standard errors away.
REPORTS = 1_600_000


def plane(first: int, second: int) -> Workload:
    sizes = {"delay": first, "size": second}
    domain = [{"name": name, "kind": "integers", "low": 0, "high": size - 1} for name, size in sizes.items()]
    return parse_specification({"name": "plane", "domain": domain, "queries": "prefix"}).build()


def test_a_design_of_64_by_64_types_is_within_twice_the_bound() -> None:
    workload = plane(64, 64)
    asked = plane_of(workload.operator)
    assert asked is not None
    randomizer = shipped_plane(designed_plane((64, 64), 1.0), (64, 64), PureEpsilon.of(1.0))
    figures = PlaneAnswers.of(randomizer, workload, asked).profile().figures()
    assert figures.mean_variance < 83
    assert figures.bias_bound < 1e-9
    assert figures.max_variance_over == "36 of 4095 prefix sums spread over all, as is the mean, and 13 at the ends"
    assert randomizer.payload_bytes <= 12


def test_answers_of_simulated_devices_are_as_far_off_as_stated_and_another_law_is_not() -> None:
    workload = plane(64, 64)
    asked = plane_of(workload.operator)
    assert asked is not None
    guarantee = PureEpsilon.of(1.0)
    randomizer = shipped_plane(designed_plane((64, 64), 1.0), (64, 64), guarantee)
    answers = PlaneAnswers.of(randomizer, workload, asked)
    random = np.random.default_rng(3)
    members = (random.beta(2, 5, (2, REPORTS)) * 64).astype(np.int64)
    cells = members[0] * 64 + (members[0] + members[1]) % 64
    histogram = np.bincount(cells, minlength=4096) / REPORTS
    truth = answers.workload.operator.matvec(histogram)
    error = np.sqrt(answers.mixed_variances(histogram) / REPORTS)

    def scores(devices: Coarsened) -> np.ndarray:
        reports = devices.randomize_many(cells, SeededRandomness(4))
        return np.asarray((answers.decode(accumulate(randomizer, reports) / REPORTS) - truth) / error)

    # A right plan fails one seed in a thousand at most: Bonferroni over the 36 listed queries.
    threshold = norm.isf(0.5e-3 / len(truth))
    assert np.abs(scores(randomizer)).max() < threshold
    # Devices that hold the other weight back by a tenth shrink every answer.
    assert np.abs(scores(replace(randomizer, high=int(randomizer.high * 0.9)))).max() > threshold
