"""JL-Release: signs from a seed, privacy by the integers, plans that hold, answers of the nearest histogram."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from hashlib import shake_256
from itertools import permutations

import numpy as np
import pytest

from sordino_analysis.curator.audit import audit_curator, part_of
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.curator.projected_errors import projected_summary
from sordino_analysis.curator.projected_plan import ProjectedPlan, plan_projection
from sordino_analysis.curator.release import measure
from sordino_analysis.curator.signed_sums import projection_of, signs
from sordino_analysis.documents.curator_part import BlockNoise, CuratorPart, GaussianNoise, NoiseBlock, SignedSums
from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.approximate import Approximate
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.questions.linear.specification import builtin_specification
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.guarantees import NANO, PureEpsilon

ONE, RHO = PureEpsilon.of("1"), Zcdp.of("0.024356")
PREFIX = builtin_specification("prefix", 8).build()
BITS = [{"name": f"a{number}", "kind": "categorical", "labels": ["0", "1"]} for number in range(24)]
MANY = {"name": "m", "domain": BITS, "queries": {"kind": "marginals", "width": 2}}


def plan(guarantee: Guarantee, name: str = "jl") -> ProjectedPlan:
    return plan_projection(name, PREFIX, guarantee, 300)


def failed(part: CuratorPart) -> list[str]:
    return [check.name for check in audit_curator(part) if not check.holds]


def test_signs_are_the_bits_that_the_page_says() -> None:
    drawn = int.from_bytes(shake_256(b"sordino signed sums 7").digest(8), "little")
    expected = [2 * (drawn >> place & 1) - 1 for place in range(60)]
    assert signs(7, 5, 12).tolist() == np.reshape(expected, (5, 12)).tolist()
    # 10,000 fair signs: six standard errors are 600, with a false alarm of 2e-9.
    assert abs(signs(1, 100, 100).sum()) < 600


@pytest.mark.parametrize("name", ["jl", "coarse_jl"])
def test_what_is_measured_is_private_by_its_integers(name: str) -> None:
    """Over all pairs of types: Σ over blocks of ‖R̂(e_x − e_x′)‖∞/s, and max ‖R̂(e_x − e_x′)‖² of the Gaussian."""
    found = plan(ONE, name)
    rows = found.projection.rows
    pairs = [rows[:, x] - rows[:, y] for x, y in permutations(range(8), 2)]
    [block] = found.part().noise.blocks  # type: ignore[union-attr]
    assert max(Fraction(int(np.abs(each).max())) / block.exact_scale for each in pairs) == 1
    gaussian = plan(RHO, name)
    rows = gaussian.projection.rows
    squared = max(int(each @ each) for each in (rows[:, x] - rows[:, y] for x, y in permutations(range(8), 2)))
    noise = gaussian.part().noise
    assert isinstance(noise, GaussianNoise)
    assert Fraction(noise.variance) == squared / (2 * RHO.exact)


@pytest.mark.parametrize("guarantee", [ONE, RHO], ids=["epsilon", "rho"])
@pytest.mark.parametrize("name", ["jl", "coarse_jl"])
def test_a_plan_holds_and_one_unit_more_is_found(name: str, guarantee: Guarantee) -> None:
    part = part_of(plan(guarantee, name))
    assert failed(part) == []
    assert CuratorPart.read(part.content) == part
    if isinstance(guarantee, PureEpsilon):
        assert failed(replace(part, guarantee=PureEpsilon(NANO - 1))) == ["ε"]
        assert isinstance(part.noise, BlockNoise)
        [block] = part.noise.blocks
        smaller = NoiseBlock(block.rows, block.norm, (block.scale[0] * NANO - 1, block.scale[1] * NANO))
        assert failed(replace(part, noise=BlockNoise((smaller,)))) == ["ε"]
    else:
        assert failed(replace(part, guarantee=Zcdp(RHO.nano_rho + 1))) == ["σ²"]
    assert isinstance(part.strategy, SignedSums)
    fewer = replace(part.strategy, sums=part.strategy.sums - 1)
    # Blocks of other dimensions do not cover the sums, and Δ² of fewer sums is another.
    if isinstance(guarantee, PureEpsilon):
        with pytest.raises(InvalidValue, match="cover"):
            failed(replace(part, strategy=fewer))
    else:
        assert "Δ²" in failed(replace(part, strategy=fewer))


def test_the_law_of_a_release_is_that_of_the_ball() -> None:
    """χ² of 2,000 draws of one sum by its exact law: P(z) ∝ e^(−|z|/s) in one dimension; a false alarm of 1e-6."""
    projection = projection_of(SignedSums(1, 1, 0.0), PREFIX.operator.dense())
    counts = np.arange(8)
    law = projection.law(ONE)
    noise = CuratorNoise(SeededRandomness(4), seeded_for_tests=True)
    drawn = np.array([int(law.drawn(noise)[0]) for _ in range(2000)])
    [block] = law.blocks  # type: ignore[attr-defined]

    def statistic(scale: float) -> float:
        places = np.arange(-12, 13)
        a = np.exp(-1 / scale)
        inner = (1 - a) / (1 + a) * a ** np.abs(places)
        expected = 2000 * np.append(inner, 1 - inner.sum())
        seen = np.array([*(np.count_nonzero(drawn == place) for place in places), np.count_nonzero(np.abs(drawn) > 12)])
        return float(((seen - expected) ** 2 / expected).sum())

    assert statistic(float(block.exact_scale)) < 79.9
    assert statistic(1.3 * float(block.exact_scale)) > 79.9
    assert projection.exact(counts).tolist() == [int(projection.rows[0] @ counts)]


def test_answers_are_those_of_a_histogram_and_beside_the_best_release() -> None:
    found = plan(ONE)
    counts = np.array([100, 80, 60, 30, 20, 5, 4, 1])
    noise = CuratorNoise(SeededRandomness(2), seeded_for_tests=True)
    answers = found.projection.answers(measure(found, counts, noise), found.law, 300)
    assert (np.diff(answers) >= -1e-9).all()
    assert 0 <= answers.min() <= answers.max() <= 1 + 1e-9
    summary = projected_summary(found, plan_release(PREFIX, ONE, "mean", 300))
    assert summary.best_errors is not None
    # JL lost by 1.2 to 8 times wherever it was tried, and here it knows more than nothing.
    assert summary.best_errors.zipf < summary.errors.zipf < summary.knowing_nothing.zipf


def test_with_delta_the_noise_of_less_error_is_taken() -> None:
    both = plan_projection("jl", PREFIX, Approximate(NANO, Fraction(1, 10**6)), 300)
    each = [plan(ONE), plan_projection("jl", PREFIX, both.guarantee, 300)]
    assert both.errors.zipf + both.errors.uniform == min(one.errors.zipf + one.errors.uniform for one in each)


def test_types_may_be_more_than_an_unbiased_release_takes() -> None:
    """50 queries about 4,096 types."""
    generator = np.random.default_rng(0)
    matrix = generator.integers(0, 2, (50, 4096)).tolist()
    workload = parse_specification({"name": "many", "domain": BITS[:12], "queries": {"matrix": matrix}}).build()
    found = plan_projection("jl", workload, ONE, 400)
    assert failed(part_of(found)) == []
    assert projected_summary(found, None).best_errors is None


def of(queries: object, size: int = 2) -> Workload:
    domain = [{"name": "a", "kind": "ordinal", "edges": list(range(1, size))}]
    return parse_specification({"name": "w", "domain": domain, "queries": queries}).build()


@pytest.mark.parametrize(
    ("workload", "guarantee", "users", "neighbours", "said"),
    [
        (of("prefix", 8), ONE, None, "replace", "give --users"),
        (of("prefix", 8), ONE, 0, "replace", "at least one user"),
        (of("prefix", 8), ONE, 9, "add-remove", "known number of people"),
        (of("prefix", 8), PureEpsilon(1), 9, "replace", "from 0.001 to 64"),
        (of("prefix", 8), Zcdp(0), 9, "replace", "releases nothing"),
        (of({"matrix": [[0.1, 0.3]]}), ONE, 9, "replace", "multiple of 2\\^-20"),
        (of({"matrix": [[2.0**60, 0.0]]}), ONE, 9, "replace", "pass 2\\^52"),
        (
            parse_specification(MANY).build(),
            ONE,
            9,
            "replace",
            "ask about fewer attributes",
        ),
    ],
)
def test_wrong_requests_are_answered_by_a_sentence(workload, guarantee, users, neighbours, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        plan_projection("jl", workload, guarantee, users, neighbours)


def test_types_that_are_nearer_than_the_coarse_release_tells_apart_are_said() -> None:
    close = of({"matrix": [[0.125, 0.25]]})
    with pytest.raises(InvalidValue, match="take jl"):
        plan_projection("coarse_jl", close, ONE, 9)
    assert plan_projection("jl", close, ONE, 9).projection.matrix.tolist() == [[0.125, 0.25]]


@pytest.mark.parametrize(
    "changes",
    [
        {"max_variance": 1.0},
        {"neighbours": "add-remove"},
        {"strategy": {"seed": -1}},
        {"strategy": {"sums": 0}},
        {"strategy": {"separation": -0.5}},
        {"strategy": {"separation": float("nan")}},
    ],
)
def test_a_malformed_part_is_refused(changes) -> None:
    part = part_of(plan(ONE))
    of_strategy = changes.get("strategy")
    with pytest.raises((InvalidValue, MalformedDocument)):
        _ = replace(part.strategy, **of_strategy) if of_strategy else replace(part, **changes)
