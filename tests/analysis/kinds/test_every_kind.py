"""The contract of a kind of question, on samples of every member of the registry.

Its written form is recognised and read back, its plan leads to an estimate that is stored and read without a change,
the true answers lie in what is said to hold them, and readers get a table, statements and a chart. A kind without a
sample fails the collection of this file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from sordino_analysis.answers.columns import in_order
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.svg import draw_answers_of, is_drawable
from sordino_analysis.kinds.base import KindOfQuestion, SimulatedUsers
from sordino_analysis.kinds.drawn_rounds import drawn_estimate
from sordino_analysis.kinds.reading import UnreadableEstimate, estimate_of, read_estimate
from sordino_analysis.kinds.registry import kind_named, kind_of, kinds
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Categorical, Ordinal

USERS = 20_000
# A true answer outside a band at level .95 is a false alarm of the test; widened to six standard errors it is one for
# one seed in a billion, and seeds are fixed.
WIDER = 6 / 1.96

# Of the quantile: 32 take half of the time that 64 take.
BINS = 32

ORDERED = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]
SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in ("dark", "beta", "crashed")]
NUMBERS = [{"name": "delay", "kind": "integers", "low": 0, "high": 9999, "unit": "ms"}]
CARRIER = {"name": "carrier", "kind": "categorical", "labels": ["AA", "UA"]}
CLASS = {"class": "conjunctions", "width": 2, "label": {"attribute": "crashed", "positive": "on"}}


@dataclass(frozen=True)
class Sample:
    """A question as it is written, options of its plan, and whether its estimates have a picture."""

    workload: dict[str, Any]
    options: dict[str, Any]
    has_chart: bool = True


SAMPLES: dict[str, tuple[Sample, ...]] = {
    "linear": (
        Sample({"name": "delays", "domain": ORDERED, "queries": "prefix"}, {"mechanism": "randomized_response"}),
        Sample({"name": "delays", "domain": ORDERED, "queries": "histogram"}, {"mechanism": "subset_selection"}),
    ),
    "concepts": (
        Sample({"name": "crashes", "domain": SWITCHES, "queries": CLASS}, {"mechanism": "fourier"}),
        Sample(
            {"name": "crashes", "domain": SWITCHES, "queries": CLASS | {"protocol": {"top": 3}}},
            {"mechanism": "fourier"},
        ),
    ),
    "numbers": (
        Sample({"name": "delays", "domain": NUMBERS, "queries": {"delay": "mean"}}, {}),
        Sample(
            {"name": "delays", "domain": NUMBERS, "queries": {"delay": ["sum", {"share_above": 900}, "mean"]}},
            {},
        ),
        Sample(
            {
                "name": "delays",
                "domain": [CARRIER, *NUMBERS],
                "queries": {"delay": ["mean", "sd", {"share_above": 900}]},
            },
            {},
        ),
        Sample(
            {
                "name": "delays",
                "domain": NUMBERS,
                "queries": {"delay": ["mean", {"mean_within": [0, 2000]}, {"quantile": [0.5, 0.9], "bins": 8}]},
            },
            {},
        ),
        Sample(
            {"name": "delays", "domain": NUMBERS, "queries": {"delay": {"quantile": 0.5, "bins": BINS}}},
            {},
        ),
        Sample({"name": "delays", "domain": [CARRIER, *NUMBERS], "queries": {"delay": "clipped"}}, {}),
        Sample({"name": "carriers", "domain": [CARRIER], "queries": {"carrier": "top"}}, {}),
    ),
    "strings": (
        Sample(
            {
                "name": "words",
                "domain": [{"name": "word", "kind": "text", "code": "words", "depth": 24}],
                "queries": {"kind": "strings", "beam": 50},
            },
            {},
        ),
    ),
    "pairwise": tuple(
        Sample(
            {"name": "spread", "domain": ORDERED, "statistic": {"kind": "lipschitz", "table": [0, 1, 2, 3]}},
            {"users": USERS, "protocol": protocol},
            has_chart=False,
        )
        for protocol in ("one_round", "two_round")
    ),
}
if missing := kinds().keys() - SAMPLES.keys():
    pytest.fail(f"kinds of questions without a sample: {', '.join(sorted(missing))}", pytrace=False)
ALL = [(name, number) for name in kinds() for number in range(len(SAMPLES[name]))]


@dataclass(frozen=True)
class Campaign:
    """What a sample led to."""

    kind: KindOfQuestion
    sample: Sample
    plan: FinishedPlan
    users: SimulatedUsers
    estimate: EstimateDocument


@cache
def campaign(name: str, number: int) -> Campaign:
    kind, sample = kind_named(name), SAMPLES[name][number]
    question = kind.parse(sample.workload)
    options = PlanningOptions.of(epsilon=4, effort=Effort.QUICK, seed=1, **sample.options)
    plan = kind.request_class().of(question, options).compile(lambda step: None)
    domain = plan.device.domain
    # The product of squares of uniform draws: no answer is that of uniform users.
    draws = np.random.default_rng(3).random((USERS, len(domain.shape))) ** 2
    codes = (draws * np.array(domain.shape, dtype=float)).astype(np.uint64)
    values = [
        {attribute.name: attribute.label(int(code)) for attribute, code in zip(domain.attributes, row, strict=True)}
        for row in codes
    ]
    if isinstance(domain.attributes[0], Categorical) and len(domain.attributes) == 1:
        values = [["AA", "UA"][int(row[0])] for row in codes]
    elif name == "numbers" and isinstance(domain.attributes[0], Ordinal):
        values = [int((row[0] + 0.5) * 9999 / BINS) for row in codes]
    elif name == "numbers":
        values = [
            int(row[0]) if len(row) == 1 else {"carrier": ["AA", "UA"][int(row[0])], "delay": int(row[1])}
            for row in codes
        ]
    elif name == "strings":
        # A third of the users, and a third of the others, and so on: three or four are common.
        values = [f"word {min(10, int(-np.log(1 - draw)))}" for draw in draws[:, 0] ** 0.5]
        codes = codes_many(domain, values)
    elif name != "concepts":
        values = [[-10, 10, 30, 90][int(row[0])] for row in codes]
    users = SimulatedUsers(asked=question, domain=domain, values=values, protocol=plan.protocol)
    assert np.array_equal(users.codes, codes)
    return Campaign(kind, sample, plan, users, drawn_estimate(kind, plan, values, SeededRandomness(2)))


@pytest.fixture(params=ALL, ids=lambda each: f"{each[0]}-{each[1]}")
def run(request: pytest.FixtureRequest) -> Campaign:
    return campaign(*request.param)


def test_a_written_question_is_of_one_kind_and_read_back(run: Campaign) -> None:
    written = run.sample.workload
    assert kind_of(written) is run.kind
    question = run.kind.parse(written)
    assert isinstance(question, run.kind.form)
    assert kind_of(question.canonical()) is run.kind
    assert run.kind.parse(question.canonical()) == question
    with pytest.raises(WorkloadError):
        run.kind.parse({**written, "extra": 1})


def test_attributes_may_be_called_as_a_class_is_written() -> None:
    domain = [{"name": name, "kind": "categorical", "labels": ["a", "b"]} for name in ("class", "label")]
    written = {"name": "seats", "domain": domain, "queries": {"class": "histogram", "label": "histogram"}}
    kind = kind_of(written)
    assert kind is kind_named("linear")
    assert kind_of(kind.parse(written).canonical()) is kind


def test_the_estimate_is_stored_and_read_without_a_change(run: Campaign) -> None:
    content = run.estimate.content()
    read = read_estimate(content)
    assert read.content() == content
    assert type(read.extras) is run.kind.extras
    assert (read.table.terms, read.table.columns) == (run.estimate.table.terms, run.estimate.table.columns)
    assert read.kind == run.kind.name
    assert list(json.loads(content)) == ["kind", "terms", "table", "extras"]
    assert in_order(read.columns) == list(read.columns)


def test_a_missing_field_is_named_and_so_is_an_unknown_kind(run: Campaign) -> None:
    document = json.loads(run.estimate.content())
    for field in run.kind.extras.model_fields:
        if run.kind.extras.model_fields[field].is_required():
            extras = {name: value for name, value in document["extras"].items() if name != field}
            with pytest.raises(UnreadableEstimate, match=rf"{run.kind.name}\.extras\.{field}: Field required"):
                estimate_of(document | {"extras": extras})
    for name in ("users", "level", *run.kind.terms):
        terms = {term: cell for term, cell in document["terms"].items() if term != name}
        with pytest.raises(UnreadableEstimate, match=f"{name}: Field required"):
            estimate_of(document | {"terms": terms})
    for part in document:
        with pytest.raises(UnreadableEstimate, match=f"no field '{part}'"):
            estimate_of({name: value for name, value in document.items() if name != part})
    with pytest.raises(UnreadableEstimate, match="no kind of question 'tomograms'; there are linear"):
        estimate_of(document | {"kind": "tomograms"})
    with pytest.raises(UnreadableEstimate, match="extra"):
        estimate_of(document | {"extras": document["extras"] | {"more": 1}})
    with pytest.raises(UnreadableEstimate, match="one length"):
        estimate_of(document | {"table": document["table"] | {"label": ["a"] * 99}})


def test_the_true_answers_lie_where_they_are_said_to_lie(run: Campaign) -> None:
    truth = np.array(run.kind.truth(run.users, run.estimate))
    table = run.estimate.table
    assert len(truth) == len(table)
    prefix = "band_" if "band_lower" in table.columns else "population_"
    low, high = (np.array(table.cells(f"{prefix}{end}"), dtype=float) for end in ("lower", "upper"))
    middle, reach = (low + high) / 2, (high - low) / 2
    assert (np.abs(truth - middle) <= WIDER * reach).all()
    # And a wrong answer does not.
    wrong = truth + 0.5 * np.maximum(np.abs(truth), getattr(run.estimate.extras, "scale", 1.0))
    assert (np.abs(wrong - middle) > WIDER * reach).any()


def test_readers_get_a_table_statements_and_a_chart(run: Campaign) -> None:
    rows = run.kind.shown(run.estimate)
    assert 0 < len(set(rows)) == len(rows) <= len(run.estimate.table)
    readable = run.kind.readable(run.estimate, rows)
    assert readable.headings[0] == run.kind.row
    assert readable.headings[1] in ("answer", "best guess")
    assert [row[0] for row in readable.rows] == [run.estimate.table.cells("label")[row] for row in rows]
    assert all(isinstance(line, str) for line in (*run.kind.statements(run.estimate), *run.kind.notes(run.estimate)))
    assert is_drawable(run.estimate.table) == run.sample.has_chart
    assert run.kind.has_band or not run.sample.has_chart
    if run.sample.has_chart:
        drawn = draw_answers_of(run.estimate.table, "a <title>", "20,000 users", run.kind.base(run.estimate))
        assert drawn.startswith("<svg")
        assert "a &lt;title&gt;" in drawn


def test_a_summary_and_a_campaign_are_of_the_kind(run: Campaign) -> None:
    # Another plan of the same strings has another salt.
    assert run.plan.complete == (run.kind.name != "strings")
    assert run.estimate.users > 0
    assert FinishedPlan.read(run.plan.content).summary == run.plan.summary
