"""Planning a statistic obeys its time limit and interruptions, and tells all the while how far it is.

Work is counted, not timed: every evaluation of a search and every linear program of a second round moves the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sordino_analysis.mechanisms import single_query
from sordino_analysis.optimisation import deadline
from sordino_analysis.optimisation.search.objectives import AveragedVariance
from sordino_analysis.pairwise.one_round import OneRound
from sordino_analysis.pairwise.pairwise_request import PairwiseRequest
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import parse_statistic
from sordino_analysis.request_terms import Effort
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# As at 256 types: an evaluation, and a linear program at ε = 4.
EVALUATION_S, PROGRAM_S = 0.1, 0.5
# What may follow the limit: the rest of a descent's step and the predictions of one protocol.
GRACE_S = 5.0
LINE = {"kind": "ordinal", "edges": [1, 2, 3]}
TAU = {
    "name": "τ",
    "domain": [{"name": "x", **LINE}, {"name": "y", **LINE}],
    "statistic": {"kind": "kendall", "attributes": ["x", "y"], "variant": "a"},
}
OPEN = {
    "name": "spread",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": {"low": 0, "high": 60, "bins": "auto"}}],
    "statistic": {"kind": "gini_mean_difference"},
}


class Work:
    """A clock that work moves, and what was told of it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.silences: list[float] = []
        self.fractions: list[float] = []
        self._last = 0.0

    def tell(self, told: Any) -> None:
        self.silences.append(self.seconds - self._last)
        self._last = self.seconds
        self.fractions.append(told.fraction)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts from here on."""
    counted = Work()

    def costing(call: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            counted.seconds += seconds
            return call(*arguments, **named)

        return called

    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: counted.seconds))
    monkeypatch.setattr(AveragedVariance, "__call__", costing(AveragedVariance.__call__, EVALUATION_S))
    monkeypatch.setattr(single_query, "linprog", costing(single_query.linprog, PROGRAM_S))
    return counted


def asked(document: dict[str, Any], **terms: Any) -> PairwiseRequest:
    terms = {"effort": Effort.QUICK} | terms
    return PairwiseRequest(parse_statistic(document), PlanningOptions.of(epsilon=1, users=1000, **terms))


@pytest.mark.parametrize("document", [TAU, OPEN], ids=["bins given", "bins open"])
def test_the_time_limit_is_that_of_the_whole(work: Work, document: dict[str, Any]) -> None:
    finished = asked(document, time_limit=20.0).compile(work.tell)
    assert 15.0 < work.seconds < 20.0 + GRACE_S
    assert finished.summary.cut_short == "time limit"
    assert_usable(finished)


def test_every_protocol_has_a_share_of_it(work: Work) -> None:
    finished = asked(TAU, time_limit=20.0).compile(work.tell)
    assert all(row.predicted_rmse is not None for row in finished.summary.protocols)


@pytest.mark.parametrize(
    ("effort", "least_s"), [(Effort.QUICK, 10), pytest.param(Effort.STANDARD, 60, marks=pytest.mark.slow)]
)
def test_something_is_told_at_least_every_second(work: Work, effort: Effort, least_s: float) -> None:
    finished = asked(TAU, protocol="two_round", effort=effort).compile(work.tell)
    assert finished.complete
    assert work.seconds > least_s
    assert max(work.silences) <= 1.0
    assert work.fractions == sorted(work.fractions)
    assert work.fractions[-1] == 1.0


@pytest.mark.parametrize("document", [TAU, OPEN], ids=["bins given", "bins open"])
def test_an_interruption_takes_the_best_so_far(work: Work, document: dict[str, Any]) -> None:
    finished = asked(document).compile(work.tell, lambda: work.seconds >= 10.0)
    assert work.seconds < 10.0 + GRACE_S
    assert (finished.complete, finished.summary.cut_short) == (False, "interrupted")
    reasons = {row.name: row.reason for row in finished.summary.protocols}
    assert reasons["two_round_shared"] == "the time was over before its turn"
    assert_usable(finished)


def test_an_interruption_before_anything_was_found_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any) -> None:
        raise InvalidValue("no kernel was found")

    monkeypatch.setattr(OneRound, "design", nothing)
    request = asked(TAU, protocol="one_round")
    with pytest.raises(PairwiseError, match="no protocol applies to this request:\n- one_round: no kernel was found"):
        request.compile(lambda told: None)

    def late(protocol: OneRound, request: Any, progress: Any) -> None:
        assert request.deadline.passed()
        nothing()

    monkeypatch.setattr(OneRound, "design", late)
    with pytest.raises(
        PairwiseError, match=r"no protocol was designed before the end \(interrupted\): allow more time"
    ):
        request.compile(lambda told: None, lambda: True)


def assert_usable(finished: FinishedPlan) -> None:
    """The plan travels, and its ε is proved again where it arrives."""
    again = FinishedPlan.read(finished.content)
    assert again.protocol.predicted_rmse == finished.summary.predicted_rmse > 0
    assert again.device.guarantee == PureEpsilon.of(1)
