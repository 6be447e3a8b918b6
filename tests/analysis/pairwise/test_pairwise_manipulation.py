"""Made-up reports in the real estimators: never further than published, and as far where the figure is exact.

Honest devices are so many that their reports come as often as expected: what is left is what the others did.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.mechanisms.single_query import furthest_answer
from sordino_analysis.pairwise import pairwise_manipulation as manipulation
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.one_round import OneRound, decoded_forgeries
from sordino_analysis.pairwise.pairwise_manipulation import DecodedForgeries, Manipulation
from sordino_analysis.pairwise.protocol import PairwiseProtocol, ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.two_round import TwoRound
from sordino_analysis.pairwise.two_round_shared import TwoRoundShared
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import PairwiseStatistic, QuadraticForm, parse_statistic
from sordino_analysis.request_terms import Effort, Target
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

Floats = NDArray[np.float64]

MANY = 10**9


def line(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": {"low": 0.0, "high": 1.0, "bins": bins}}


DISTANCE = parse_statistic(
    {"name": "distance", "domain": [line("value", 4)], "statistic": {"kind": "gini_mean_difference"}}
).build()
DIVERSITY = parse_statistic(
    {"name": "diversity", "domain": [line("value", 4)], "statistic": {"kind": "gini_diversity"}}
).build()
CONCORDANCE = parse_statistic(
    {
        "name": "concordance",
        "domain": [line("wait", 3), line("price", 3)],
        "statistic": {"kind": "kendall", "attributes": ["wait", "price"], "variant": "a"},
    }
).build()
AREA = parse_statistic(
    {
        "name": "area",
        "domain": [line("score", 3), {"name": "label", "kind": "categorical", "labels": ["no", "yes"]}],
        "statistic": {"kind": "auc", "score": "score", "label": "label", "positive": "yes"},
    }
).build()


def designed(
    protocol: PairwiseProtocol,
    statistic: PairwiseStatistic = DISTANCE,
    epsilon: float = 1,
    users: int = MANY,
    **terms: Any,
) -> ProtocolDesign:
    request = ProtocolRequest(statistic, PlanningOptions.of(epsilon=epsilon, users=users, effort=Effort.QUICK, **terms))
    return protocol.design(request, lambda fraction: None)


def only(protocol: PairwiseProtocol, design: ProtocolDesign) -> Manipulation:
    (figure,) = protocol.manipulation(design)
    return figure


def counted(plan: RoundPlan, histogram: Floats, share: float = 0.0, made_up: Floats | int = 0) -> ClosedRound:
    """Honest users with this histogram, and a share that sends one output, or a mixture (p,) of them."""
    kernel: Any = plan.device.randomizer
    sent = np.eye(kernel.outputs)[made_up] if isinstance(made_up, int) else made_up
    honest = (kernel_table(kernel) / 2.0**kernel.bits) @ histogram
    sums = np.rint(MANY * ((1 - share) * honest + share * sent)).astype(np.int64)
    return ClosedRound(plan, Aggregate(int(sums.sum()), sums))


def mixed(first: int, second: int, share: float, size: int) -> Floats:
    return np.asarray((1 - share) * np.eye(size)[first] + share * np.eye(size)[second])


def value(protocol: PairwiseProtocol, design: ProtocolDesign, *closed: ClosedRound) -> float:
    estimate = protocol.step(design.plan, closed)
    assert not isinstance(estimate, RoundPlan)
    return estimate.value


@pytest.mark.parametrize("target", ["pairs", "histogram"])
@pytest.mark.parametrize(
    "statistic", [DISTANCE, pytest.param(CONCORDANCE, marks=pytest.mark.slow)], ids=["distance", "concordance"]
)
def test_few_made_up_reports_do_in_one_round_what_is_published(statistic: PairwiseStatistic, target: Target) -> None:
    """Honest users of one value, and few whose worst output takes the place of another value."""
    protocol, share, size = OneRound(), 1e-4, statistic.size
    design = designed(protocol, statistic, target=target)
    outputs = design.first.device.randomizer.accumulator_size
    furthest = 0.0
    for held in range(size):
        crowd = np.eye(size)[held]
        forged = [value(protocol, design, counted(design.first, crowd, share, y)) for y in range(outputs)]
        honest = [value(protocol, design, counted(design.first, mixed(held, x, share, size))) for x in range(size)]
        furthest = max(furthest, float(np.abs(np.subtract.outer(forged, honest)).max()))
    assert 0.999 < furthest / only(protocol, design).most(share) < 1 + 1e-6


@pytest.mark.parametrize("statistic", [DISTANCE, DIVERSITY], ids=["distance", "diversity"])
def test_two_made_up_reports_alone_do_what_is_published(statistic: PairwiseStatistic) -> None:
    protocol = OneRound()
    design = designed(protocol, statistic)
    units = np.eye(design.first.device.randomizer.accumulator_size, dtype=np.int64)
    forged = [
        value(protocol, design, ClosedRound(design.first, Aggregate(2, units[y] + units[z])))
        for y, z in combinations_with_replacement(range(len(units)), 2)
    ]
    furthest = np.abs(np.subtract.outer(forged, statistic.forms[0].matrix.ravel())).max()
    assert furthest / only(protocol, design).most(1.0) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(("target", "furthest"), [("pairs", 8.2 - 1.8), ("histogram", 10 - 1.8)])
def test_own_pairs_count_where_they_belong_to_the_statistic(target: Target, furthest: float) -> None:
    """Decoded as (.1, .9) and (.9, .1), two reports make 8.2 or 1.8 of 10·I, and one beside itself 10·(.1 + .9)."""
    law = DecodedReportMoments(np.eye(2), np.array([[0.1, 0.9], [0.9, 0.1]]))
    found = DecodedForgeries(law, QuadraticForm("same", 10 * np.eye(2)), target).among_themselves
    assert found == pytest.approx(furthest)


def adversaries(seed: int, runs: int, outputs: int, size: int) -> Iterator[tuple[Floats, float, Floats]]:
    """Histograms of the honest, shares of the others and what they send, from one output to all."""
    generator = np.random.default_rng(seed)
    for _ in range(runs):
        spread = generator.choice([0.05, 0.3, 1.0])
        honest, made_up = (generator.dirichlet(np.full(n, spread)) for n in (size, outputs))
        yield honest, generator.choice([0.01, 0.1, 0.5, 0.9]), made_up


@pytest.mark.parametrize("target", ["pairs", "histogram"])
def test_nobody_does_more_in_one_round(target: Target) -> None:
    protocol = OneRound()
    for statistic in (DISTANCE, CONCORDANCE):
        design = designed(protocol, statistic, target=target)
        figure, outputs = only(protocol, design), design.first.device.randomizer.accumulator_size
        for honest, share, made_up in adversaries(1, 100, outputs, statistic.size):
            found = value(protocol, design, counted(design.first, honest, share, made_up))
            assert abs(found - statistic.of_histogram(honest)) <= figure.most(share)


def sent_values(plan: RoundPlan) -> Floats:
    """What every output of a second round is decoded to, less the middle."""
    decoder = plan.analyst.decoder
    assert isinstance(decoder, AnswerDecoder)
    return np.asarray(ndarray(decoder.matrix)[0])


def sealed_reach(plan: RoundPlan, guarantee: PureEpsilon) -> float:
    """How far outputs really stand from the middle, in halves of the values' range; never beyond what is promised."""
    queries = plan.analyst.queries
    assert isinstance(queries, MatrixQueries)
    reach = float(np.abs(sent_values(plan)).max() / (np.ptp(ndarray(queries.matrix)) / 2))
    assert reach <= furthest_answer(guarantee)
    return reach


@pytest.mark.parametrize("protocol", [TwoRound(), TwoRoundShared()], ids=lambda protocol: str(protocol.name))
def test_few_made_up_reports_do_in_two_rounds_what_is_published(
    protocol: PairwiseProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is left is how far the second round's outputs stand out, which its own plan says once it is sealed."""
    design, share = designed(protocol), 1e-3
    guarantee = design.plan.round_guarantees()[1]
    published, furthest, reach = only(protocol, design).most(share), 0.0, 0.0
    for output in range(design.first.device.randomizer.accumulator_size):
        first = counted(design.first, np.eye(4)[0], share, output)
        second = protocol.step(design.plan, (first,))
        assert isinstance(second, RoundPlan)
        reach = max(reach, sealed_reach(second, guarantee))
        sent = sent_values(second)
        for extreme in (int(sent.argmin()), int(sent.argmax())):
            found = value(protocol, design, first, counted(second, np.eye(4)[0], share, extreme))
            furthest = max(furthest, abs(found))
    assert furthest <= published
    monkeypatch.setattr(manipulation, "furthest_answer", lambda guarantee: reach)
    assert 0.93 < furthest / only(protocol, design).most(share) <= 1


@pytest.mark.parametrize("protocol", [TwoRound(), TwoRoundShared()], ids=lambda protocol: str(protocol.name))
def test_nobody_does_more_in_two_rounds(protocol: PairwiseProtocol) -> None:
    design = designed(protocol)
    figure, generator = only(protocol, design), np.random.default_rng(2)
    for honest, share, made_up in adversaries(2, 8, design.first.device.randomizer.accumulator_size, 4):
        first = counted(design.first, honest, share, made_up)
        second = protocol.step(design.plan, (first,))
        assert isinstance(second, RoundPlan)
        for output in range(second.device.randomizer.accumulator_size):
            # What they send in the second round may be a smaller share.
            fewer = share * generator.choice([0.0, 0.5, 1.0])
            found = value(protocol, design, first, counted(second, honest, fewer, output))
            assert abs(found - DISTANCE.of_histogram(honest)) <= figure.most(share)


def test_the_noise_of_a_first_round_widens_what_is_asked_by_no_more_than_is_counted() -> None:
    """In the mean over drawn first rounds: half the range of s = Wĥ."""
    users, step, guarantee = 100, 0.9, PureEpsilon.of(1)
    (forgeries,) = decoded_forgeries(designed(OneRound()))
    kernel, slopes = forgeries.law.kernel, forgeries.form.matrix @ forgeries.law.decoder
    few, many = (forgeries.in_two_rounds(step, guarantee, number) for number in (users, 10**15))
    counted_in = (few.linear - many.linear) / (2 * step * (furthest_answer(guarantee) + 1))
    honest = np.full(4, 0.25)
    drawn = np.random.default_rng(3).multinomial(users, kernel @ honest / (kernel @ honest).sum(), size=4000) / users
    widened = np.mean(np.ptp(slopes @ drawn.T, axis=0) / 2) - np.ptp(slopes @ kernel @ honest) / 2
    assert 0.2 * counted_in < widened < counted_in


def test_a_step_that_no_plan_has_is_refused() -> None:
    (forgeries,) = decoded_forgeries(designed(OneRound()))
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        forgeries.in_two_rounds(1.5, PureEpsilon.of(1), 100)


def test_a_function_of_several_forms_has_the_figure_of_each() -> None:
    for protocol in (OneRound(), TwoRound()):
        figures = protocol.manipulation(designed(protocol, AREA))
        assert [each.form for each in figures] == [form.name for form in AREA.forms]
        assert all(each.linear > 0 and each.quadratic >= 0 for each in figures)
