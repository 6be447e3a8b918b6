"""The kernel for the worst population: at the bound of one round, and unbiased; by its name alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.optimisation.bounds.pair_game import slopes
from sordino_analysis.pairwise.form_bounds import audit_form_bounds
from sordino_analysis.pairwise.one_round_worst import OneRoundWorst
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.pairwise.protocol_planner import CompiledProtocol
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.pairwise.worst_kernel import WorstCase, worst_kernel
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.audit import check_guarantee
from sordino_shared.guarantees import PureEpsilon


def line(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"low": 0, "high": bins, "bins": bins}}


def gini(kind: str, bins: int) -> dict[str, Any]:
    return {"name": "g", "domain": [line("v", bins)], "statistic": {"kind": kind, "attribute": "v"}}


TAU = {
    "name": "tau",
    "domain": [line("x", 2), line("y", 3)],
    "statistic": {"kind": "kendall", "attributes": ["x", "y"], "variant": "b"},
}


def compiled(document: dict[str, Any], protocol: str, **options: Any) -> CompiledProtocol:
    chosen = {"epsilon": 1, "users": 20_000, "effort": "quick", "protocol": protocol} | options
    return PairwiseRequest(parse_statistic(document), PlanningOptions.of(**chosen)).compare()


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("document", [gini("gini_diversity", 4), gini("gini_mean_difference", 6)], ids=["4", "6"])
def test_the_variance_of_the_worst_users_is_at_the_bound_of_one_round(document: dict[str, Any], epsilon: int) -> None:
    """It is 1.0004 to 1.020 times it, and 1.11 to 1.63 times with the kernel that is best on average."""
    worst = compiled(document, "one_round_worst", epsilon=epsilon)
    [bound] = worst.design.plan.bounds
    assert bound.ratio is not None
    assert 1 - 1e-6 <= bound.ratio <= 1.03
    checks = list(audit_form_bounds(worst.design, find_protocol("one_round_worst")))
    assert all(check.holds for check in checks)
    check_guarantee(worst.design.first.device)
    mean = compiled(document, "one_round", epsilon=epsilon)
    [other] = mean.design.plan.bounds
    assert other.ratio is not None
    assert other.ratio > bound.ratio
    assert mean.design.plan.predicted_rmse <= worst.design.plan.predicted_rmse * 1.01


def test_a_ratio_of_forms_has_a_bound_for_each_and_answers() -> None:
    plan = compiled(TAU, "one_round_worst").design.plan
    assert len(plan.bounds) > 1
    assert all(bound.variance is not None and bound.variance >= bound.value for bound in plan.bounds)


def test_the_decoder_is_unbiased_and_another_one_has_more_variance() -> None:
    matrix = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    case = WorstCase(queries=slopes(matrix, np.eye(5), 1000, "pairs"), populations=np.eye(5), scales=np.ones(5))
    kernel, decoder = worst_kernel(case, PureEpsilon.of("2"))
    table, values = probabilities(kernel), ndarray(decoder.matrix)
    assert np.allclose(values @ table, np.eye(5), atol=1e-9)
    least = case.variances(table, values).max()
    # Other unbiased decoders: that of least squares, and one that adds what no type sees.
    assert case.variances(table, np.linalg.pinv(table)).max() >= least * (1 - 1e-9)
    unseen = np.eye(len(table)) - table @ np.linalg.pinv(table)
    other = values + 0.1 * np.random.default_rng(0).normal(size=values.shape) @ unseen
    assert np.allclose(other @ table, np.eye(5), atol=1e-9)
    assert case.variances(table, other).max() > 1.0001 * least


def test_it_is_for_few_types_and_is_not_compared() -> None:
    with pytest.raises(PairwiseError, match="at most 8"):
        compiled(gini("gini_mean_difference", 9), "one_round_worst")
    names = [report.name for report in compiled(gini("gini_diversity", 3), "one_round_split").reports]
    assert OneRoundWorst.name not in names
    with pytest.raises(PairwiseError, match="one_round_worst"):
        find_protocol("worst")
