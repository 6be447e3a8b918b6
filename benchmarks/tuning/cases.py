"""Plans that together read every constant of the searches and bounds. Each takes seconds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sordino_analysis.curator.plan import plan_release
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.linear_request import LinearRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.questions.pairwise import parse_statistic


@dataclass(frozen=True)
class Outcome:
    """What a plan is worth: its standard error, the certified bound on it or None, and the digest of its documents."""

    error: float
    bound: float | None
    digest: str


def _line(name: str, types: int) -> dict[str, Any]:
    return {"name": name, "kind": "integers", "low": 0, "high": types - 1}


def _bins(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"low": 0, "high": bins, "bins": bins}}


def _linear(queries: Any, *sides: int, **options: Any) -> Callable[[], Outcome]:
    domain = [_line(f"a{number}", side) for number, side in enumerate(sides)]
    return partial(_planned, {"name": "case", "domain": domain, "queries": queries}, options)


def _beside_categories(members: int, *bins: int, **options: Any) -> Callable[[], Outcome]:
    category = {"name": "c", "kind": "categorical", "labels": [f"v{member}" for member in range(members)]}
    lines = [_line(f"x{number}", size) for number, size in enumerate(bins)]
    queries = {"c": "histogram"} | {line["name"]: "prefix" for line in lines}
    mechanism = "category_grids" if len(bins) == 1 else "plane_category_grids"
    document = {"name": "case", "domain": [category, *lines], "queries": queries}
    return partial(_planned, document, {"mechanism": mechanism, **options})


def _planned(document: dict[str, Any], options: dict[str, Any]) -> Outcome:
    specification = parse_specification(document)
    finished = LinearRequest.of(specification, PlanningOptions.of(**options)).compile()
    summary = finished.summary
    assert isinstance(summary, LinearSummary)
    figures, certificate = finished.analyst.figures, finished.analyst.certificate
    worst = options.get("objective", "max") == "max"
    error = figures.max_variance if worst else figures.mean_variance
    if "users" in options:
        error += figures.bias_bound**2 * options["users"]
    bound = certificate.max.value if worst else certificate.mean.value
    return Outcome(error**0.5, bound**0.5, _digest(finished))


def _pairwise(statistic: dict[str, Any], *sides: int, **options: Any) -> Callable[[], Outcome]:
    domain = [_bins(f"a{number}", side) for number, side in enumerate(sides)]
    return partial(_predicted, {"name": "case", "domain": domain, "statistic": statistic}, options)


def _predicted(document: dict[str, Any], options: dict[str, Any]) -> Outcome:
    finished = PairwiseRequest.of(parse_statistic(document), PlanningOptions.of(**options)).compile()
    assert finished.protocol is not None
    return Outcome(finished.protocol.predicted_rmse, None, _digest(finished))


def _digest(finished: FinishedPlan) -> str:
    return hashlib.sha256(b"".join(part.content for part in finished.parts().values())).hexdigest()[:16]


def _released(queries: Any, *sides: int, objective: Any, neighbours: Any) -> Outcome:
    domain = [_line(f"a{number}", side) for number, side in enumerate(sides)]
    workload = parse_specification({"name": "case", "domain": domain, "queries": queries}).build()
    guarantee = Zcdp(5 * 10**8)
    plan = plan_release(workload, guarantee, objective, neighbours=neighbours)
    variances = plan.strategy.variances(guarantee)
    error = variances.max() if objective == "max" else float(plan.design.weights @ variances)
    certificate = plan.design.max_certificate if objective == "max" else plan.design.mean_certificate
    digest = hashlib.sha256(repr(plan.strategy.published()).encode() + variances.tobytes()).hexdigest()[:16]
    return Outcome(float(error) ** 0.5, None if certificate is None else certificate.norm, digest)


def _thresholds(bins: int) -> list[list[float]]:
    """The rows of rules about a line and a label, in which an exchange of labels turns every sign."""
    return [
        [sign for place in range(bins) for sign in ((1.0, -1.0) if place >= cut else (-1.0, 1.0))]
        for cut in range(bins)
    ]


_MARGINALS = {"kind": "marginals", "width": 2}
_PREFIX_AND_CELLS = {"stack": [{"queries": "prefix"}, {"queries": "histogram"}]}
CASES: Mapping[str, Callable[[], Outcome]] = {
    "quick codebook search, prefix 8, ε = 2": _linear(
        "prefix", 8, epsilon=2, mechanism="optimised_kernel", effort="quick"
    ),
    "codebook search, prefix 12, ε = 3": _linear("prefix", 12, epsilon=3, mechanism="optimised_kernel"),
    "codebook search, mean, prefix 12, ε = 2": _linear(
        "prefix", 12, epsilon=2, objective="mean", mechanism="optimised_kernel"
    ),
    "column generation, mean, prefix 10, ε = 2": _linear(
        "prefix", 10, epsilon=2, objective="mean", mechanism="column_generation"
    ),
    "hyperplane codebook, prefix 16, ε = 1": _linear("prefix", 16, epsilon=1, mechanism="hyperplane_codebook"),
    "factorization, prefix 16, ε = 1": _linear("prefix", 16, epsilon=1, mechanism="factorization"),
    "codebook search, prefix 24, ε = 1": _linear("prefix", 24, epsilon=1, mechanism="optimised_kernel"),
    "codebook search, prefix 24, ε = 4": _linear("prefix", 24, epsilon=4, mechanism="optimised_kernel"),
    "codebook search, mean, prefix 24, ε = 2": _linear(
        "prefix", 24, epsilon=2, objective="mean", mechanism="optimised_kernel"
    ),
    "codebook search, ranges 12, ε = 2": _linear("ranges", 12, epsilon=2, mechanism="optimised_kernel"),
    "quick codebook search, prefix 100, ε = 4": _linear(
        "prefix", 100, epsilon=4, mechanism="optimised_kernel", effort="quick"
    ),
    "thorough codebook search, prefix 16, ε = 3": _linear(
        "prefix", 16, epsilon=3, mechanism="optimised_kernel", effort="thorough"
    ),
    "column generation, mean, prefix 20, ε = 2": _linear(
        "prefix", 20, epsilon=2, objective="mean", mechanism="column_generation"
    ),
    "extreme rows, prefix 6, ε = 2": _linear("prefix", 6, epsilon=2, mechanism="extreme_rows"),
    "hyperplane codebook, prefix 48, ε = 1": _linear("prefix", 48, epsilon=1, mechanism="hyperplane_codebook"),
    "factorization, prefix 48, ε = 1": _linear("prefix", 48, epsilon=1, mechanism="factorization"),
    "approximate factorization, prefix 32, ε = 1": _linear(
        "prefix", 32, epsilon=1, users=400, mechanism="approximate_factorization"
    ),
    "sign vectors, thresholds of 6 × 2, ε = 1": _linear(
        {"matrix": _thresholds(6)}, 6, 2, epsilon=1, mechanism="sign_vectors"
    ),
    "orbits, marginals of 6 bits, ε = 1": _linear(_MARGINALS, *[2] * 6, epsilon=1, mechanism="orbit_kernel"),
    "orbits, mean, marginals of 3 × 4 × 5, ε = 2": _linear(
        _MARGINALS, 3, 4, 5, epsilon=2, objective="mean", mechanism="orbit_kernel"
    ),
    "drawn marginals of 6 bits, ε = 1": _linear(_MARGINALS, *[2] * 6, epsilon=1, mechanism="sampled_marginals"),
    "best of marginals of 4 × 4 × 4, ε = 2": _linear(_MARGINALS, 4, 4, 4, epsilon=2, effort="quick"),
    "hierarchy, prefix 24, ε = 1": _linear("prefix", 24, epsilon=1, mechanism="hierarchy"),
    "histogram 100, ε = 2": _linear("histogram", 100, epsilon=2, effort="quick", mechanism="subset_selection"),
    "histogram 16, set families, ε = 2": _linear("histogram", 16, epsilon=2, mechanism="subset_mixture"),
    "bounds of some types, prefix 20 × 30 × histogram 5, ε = 1": _linear(
        {"a0": "prefix", "a1": "prefix", "a2": "histogram"}, 20, 30, 5, epsilon=1, mechanism="subset_selection"
    ),
    "bounds of a plan that is cut short, prefix 40, ε = 1": _linear("prefix", 40, epsilon=1, time_limit=1e-9),
    "coarsened histogram 256, ε = 3": _linear("histogram", 256, epsilon=3, mechanism="coarsened_histogram"),
    "coarsened histogram 256, mean, ε = 1": _linear(
        "histogram", 256, epsilon=1, objective="mean", mechanism="coarsened_histogram"
    ),
    "shifted grids, prefix 600, ε = 1": _linear("prefix", 600, epsilon=1, mechanism="shifted_grids"),
    "shifted grids, mean, prefix 600, ε = 4": _linear(
        "prefix", 600, epsilon=4, objective="mean", mechanism="shifted_grids"
    ),
    "shifted grids, max, prefix 600, ε = 4": _linear("prefix", 600, epsilon=4, mechanism="shifted_grids"),
    "stacked grids, mean, prefix and histogram 600, ε = 1": _linear(
        _PREFIX_AND_CELLS, 600, epsilon=1, objective="mean", mechanism="shifted_grids"
    ),
    "stacked grids, max, prefix and histogram 300, ε = 1": _linear(
        _PREFIX_AND_CELLS, 300, epsilon=1, mechanism="shifted_grids"
    ),
    "plane grids, 24 × 24, ε = 1": _linear("prefix", 24, 24, epsilon=1, objective="mean", mechanism="plane_grids"),
    "category grids, 3 × 256, ε = 1": _beside_categories(3, 256, epsilon=1, objective="mean"),
    "category grids, max, 3 × 256, ε = 1": _beside_categories(3, 256, epsilon=1),
    "plane and category grids, 3 × 16 × 16, ε = 1": _beside_categories(3, 16, 16, epsilon=1, objective="mean"),
    "plane and category grids, max, 3 × 16 × 16, ε = 1": _beside_categories(3, 16, 16, epsilon=1),
    "a plan far from its bound, ranges 600, ε = 4": _linear("ranges", 600, epsilon=4, mechanism="subset_selection"),
    "one query of 5 types, ε = 1": _linear({"matrix": [[1, 2, 0, -1, 0]]}, 5, epsilon=1, mechanism="query_kernel"),
    "one query of 24 types, ε = 4": _linear(
        {"matrix": [[number**2 for number in range(24)]]}, 24, epsilon=4, mechanism="query_kernel"
    ),
    "bounds of prefix 10, ε = 4": _linear("prefix", 10, epsilon=4, mechanism="hierarchy"),
    "bounds of prefix 24, ε = 1": _linear("prefix", 24, epsilon=1, mechanism="hierarchy"),
    "bounds of prefix 24, ε = 7": _linear("prefix", 24, epsilon=7, mechanism="hierarchy"),
    "bounds of prefix 40, mean, ε = 3": _linear("prefix", 40, epsilon=3, objective="mean", mechanism="hierarchy"),
    "bounds of ranges 600, ε = 1": _linear("ranges", 600, epsilon=1, mechanism="shifted_grids"),
    "biased characters, conjunctions of 4 bits, ε = 1": _linear(
        {"class": "conjunctions", "width": 3, "label": {"attribute": "a3", "positive": "1"}, "bias": "allowed"},
        2,
        2,
        2,
        2,
        epsilon=1,
        users=3_000,
        mechanism="biased_characters",
    ),
    "bounds of parities of 5 bits, ε = 1": _linear(
        {"kind": "parities", "width": 2}, *[2] * 5, epsilon=1, mechanism="fourier"
    ),
    "bounds of marginals of 3 bits, ε = 4": _linear(
        {"kind": "marginals", "width": 2, "exactly": True}, *[2] * 3, epsilon=4, mechanism="fourier"
    ),
    "diversity of 5, ε = 4": _pairwise({"kind": "gini_diversity"}, 5, epsilon=4, users=10_000, protocol="one_round"),
    "diversity of 12, ε = 1": _pairwise({"kind": "gini_diversity"}, 12, epsilon=1, users=10_000),
    "mean difference of 6 for the worst users, ε = 4": _pairwise(
        {"kind": "gini_mean_difference"}, 6, epsilon=4, users=10_000, protocol="one_round_worst"
    ),
    "mean difference of 12, ε = 2": _pairwise({"kind": "gini_mean_difference"}, 12, epsilon=2, users=10_000),
    "Kendall's τ of 4 × 4, ε = 2": _pairwise(
        {"kind": "kendall", "attributes": ["a0", "a1"], "variant": "b"}, 4, 4, epsilon=2, users=5_000
    ),
    "three rounds, mean difference of 8, ε = 2": _pairwise(
        {"kind": "gini_mean_difference"}, 8, epsilon=2, users=10_000, protocol="three_round"
    ),
    "release of prefix 32": partial(_released, "prefix", 32, objective="max", neighbours="replace"),
    "release of prefix 24, people secret": partial(_released, "prefix", 24, objective="mean", neighbours="add-remove"),
    "release of marginals of 6 bits": partial(_released, _MARGINALS, *[2] * 6, objective="max", neighbours="replace"),
}
