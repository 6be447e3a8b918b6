"""The contract of documents of answers that follow from no question of a campaign's own, on samples of every kind.

They are stored and read without a change, each missing field is named, and readers get tables, notes and a caption. A
kind without a sample fails the collection of this file; `test_every_kind.py` has the kinds of questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.answers.csv_text import as_csv
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.svg import draw_answers_of, is_drawable
from sordino_analysis.comparisons.columns import columns_of_difference
from sordino_analysis.comparisons.difference import Side, difference
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.curator.release import measure
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.kinds.arms import ArmReports, document_of_arms
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.kinds.on_demand import OnDemandExtras
from sordino_analysis.kinds.reading import UnreadableEstimate, estimate_of, read_estimate
from sordino_analysis.kinds.registry import kind_of_answers, kinds, kinds_of_answers
from sordino_analysis.kinds.release_document import ReleaseSource, release_document
from sordino_analysis.kinds.series import SeriesStates
from sordino_analysis.kinds.series_document import SeriesRange, series_document
from sordino_analysis.kinds.string_series_document import string_series_document
from sordino_analysis.kinds.strings import ListedString, StringChange, StringExtras
from sordino_analysis.kinds.two_campaigns import ComparedCampaign, ComparisonExtras
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.drawn_strings import DrawnStrings

DELAYS = {
    "name": "delays",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}],
    "queries": "prefix",
}


def of_series() -> EstimateDocument:
    """Five days with reports, one without and one that is open."""
    plan = sa.plan(sa.histogram(3), epsilon=1, mechanism="randomized_response")
    days = {day: sa.Aggregate(60, np.array([30, 20, 10 + day])) for day in range(6) if day != 3}
    states = dict.fromkeys(range(7), "estimated") | {3: "missing", 6: "open"}
    terms = SeriesStates(
        campaign="c", start=0, period_s=86_400, of_previous=False, states=states, warnings=["few"],
        reports=dict.fromkeys(days, 60),
    )  # fmt: skip
    return series_document(sa.series(plan, days, slots=7), SeriesRange(first=0, last=6, window=3, trend=True), terms)


def of_release(neighbours: Neighbours) -> EstimateDocument:
    counts = np.array([400, 300, 200, 100])
    users = int(counts.sum()) if neighbours == "replace" else None
    plan = plan_release(parse_specification(DELAYS).build(), Zcdp.of("0.02"), "mean", users, neighbours=neighbours)
    noise = CuratorNoise(SeededRandomness(5), seeded_for_tests=True)
    source = ReleaseSource(
        release="r", plan="p", dataset="flights", unit="flight", delta=Fraction(1, 10**6), users=users
    )
    return release_document(source, plan, measure(plan, counts, noise))


def on_demand() -> EstimateDocument:
    rows = [
        {"kind": "range", "label": "delay ≤ 15 min", "unit": "share", "value": 0.5, "standard_error": 0.01,
         "lower": 0.48, "upper": 0.52, "band_lower": 0.47, "band_upper": 0.53},
    ]  # fmt: skip
    terms = {"epsilon": 1.0, "level": 0.95, "bias_bound": 0.0, "compared": 9, "mechanism": "m", "target": "reporters"}
    names = {"campaign_id": "c", "plan_device": "d", "plan_analyst": "a"}
    return EstimateDocument.of_rows("answers", rows, OnDemandExtras(warnings=(), round=0), users=9, **terms, **names)


def of_two_campaigns() -> EstimateDocument:
    plan = sa.plan(sa.histogram(3), epsilon=1, mechanism="randomized_response")
    sums = ([3000, 2000, 1000], [2000, 3000, 1000])
    sides = [Side.of_plan(plan.device, plan.analyst, sa.Aggregate(6000, np.array(each)), 0.95) for each in sums]
    found = difference(*sides)
    named = [
        ComparedCampaign(campaign_id=name, name=name, users=6000, epsilon=1.0, mechanism=plan.mechanism)
        for name in ("may", "june")
    ]
    extras = ComparisonExtras(warnings=(), left=named[0], right=named[1], population=False)
    columns = columns_of_difference(found, "may", "june")
    return EstimateDocument.of_columns(
        "comparison", columns, extras, users=12_000, compared=3, level=0.95, bias_bound=0.0
    )


def of_arms() -> EstimateDocument:
    plan = sa.plan(sa.histogram(3), epsilon=1, mechanism="randomized_response")
    found = []
    for name, sums in (("A", [3000, 2000, 1000]), ("B", [20, 30, 10])):
        linear = sa.estimate(plan, sa.Aggregate(sum(sums), np.array(sums)))
        columns = {"kind": ["histogram"] * 3} | dict(linear.table.columns)
        terms = {"campaign_id": "c", "plan_device": "d", "plan_analyst": "a", "target": "reporters"}
        terms |= {"validity": "worst_case"}
        extras = {
            "workload": "w",
            "objective": "max",
            "unbiased": True,
            "predicted_rmse_max": 0.1,
            "warnings": ("few",),
        }
        document = EstimateDocument.of_columns(
            "linear", columns, LinearExtras.model_validate(extras), **(dict(linear.table.terms) | terms)
        )
        found.append((ArmReports(name=name, weight=2**15, reports=sum(sums)), document))
    return document_of_arms([*found, (ArmReports(name="C", weight=1, reports=0), None)])


def of_strings() -> EstimateDocument:
    """Two days with a list each, where the second one has a string more, and one day that is open."""
    listed = ListedString(kind="string", label="old", code="00", first=0, last=1)
    change = StringChange(
        kind="string", label="new", earlier=0.0, later=0.3, standard_error=0.01, lower=0.2, upper=0.4, verdict="higher"
    )
    terms = {"campaign_id": "c", "epsilon": 4.0, "level": 0.95, "bias_bound": 0.0, "mechanism": "prefix_levels"}
    names = {"plan_device": "d", "plan_analyst": "a", "target": "reporters", "validity": "worst_case"}
    same = {"beam": 9, "workload": "w", "candidates": 9, "reports": (5, 4), "found": 0.1, "forged": 1.0}
    days = {}
    for day, labels in enumerate((["old"], ["old", "new"])):
        extras = StringExtras(
            warnings=("few",), forged_held_out=3.0, seen=(), period=day, since=day - 1 if day else None,
            listed=(listed, listed.model_copy(update={"label": "new", "first": 1})), changes=(change,) * day, **same,
        )  # fmt: skip
        rows = [
            {"kind": "string", "label": label, "unit": "share", "value": 0.3, "uncut": 0.3, "standard_error": 0.01,
             "band_lower": 0.2, "band_upper": 0.4}
            for label in labels
        ]  # fmt: skip
        days[day] = EstimateDocument.of_rows("strings", rows, extras, users=9, compared=9, **terms, **names)
    states = SeriesStates(
        campaign="c", start=0, period_s=86_400, of_previous=False, states={0: "estimated", 1: "estimated", 2: "open"},
        warnings=[], reports={0: 9, 1: 9, 2: 3},
    )  # fmt: skip
    plan = DrawnStrings().plan
    return string_series_document(days, states, device=plan.device, analyst=plan.analyst, slots=7)


SAMPLES: dict[str, tuple[Callable[[], EstimateDocument], ...]] = {
    "answers": (on_demand,),
    "series": (of_series,),
    "string_series": (of_strings,),
    "comparison": (of_two_campaigns,),
    "arms": (of_arms,),
    "release": (lambda: of_release("replace"), lambda: of_release("add-remove")),
}
if missing := kinds_of_answers().keys() - kinds().keys() - SAMPLES.keys():
    pytest.fail(f"kinds of answers without a sample: {', '.join(sorted(missing))}", pytrace=False)


@pytest.fixture(
    scope="module",
    params=[(name, number) for name, samples in SAMPLES.items() for number in range(len(samples))],
    ids=lambda each: f"{each[0]}-{each[1]}",
)
def estimate(request: pytest.FixtureRequest) -> EstimateDocument:
    name, number = request.param
    return SAMPLES[name][number]()


def test_it_is_stored_and_read_without_a_change(estimate: EstimateDocument) -> None:
    read = read_estimate(estimate.content())
    assert read.content() == estimate.content()
    assert type(read.extras) is kind_of_answers(estimate.kind).extras
    assert read.table == estimate.table


def test_a_missing_field_is_named(estimate: EstimateDocument) -> None:
    document, kind = json.loads(estimate.content()), kind_of_answers(estimate.kind)
    for field in kind.extras.model_fields:
        if kind.extras.model_fields[field].is_required():
            extras = {name: value for name, value in document["extras"].items() if name != field}
            with pytest.raises(UnreadableEstimate, match=rf"{kind.name}\.extras\.{field}: Field required"):
                estimate_of(document | {"extras": extras})
    for name in (*kind.common_terms, *kind.terms):
        terms = {term: cell for term, cell in document["terms"].items() if term != name}
        with pytest.raises(UnreadableEstimate, match=f"{name}: Field required"):
            estimate_of(document | {"terms": terms})
    with pytest.raises(UnreadableEstimate, match="one length"):
        estimate_of(document | {"table": document["table"] | {"label": ["a"] * 99}})


def test_readers_get_tables_notes_and_a_picture(estimate: EstimateDocument) -> None:
    kind = kind_of_answers(estimate.kind)
    tables = kind.tables(estimate, kind.printed)
    assert all(len(row) == len(shown.headings) for shown in tables for row in shown.rows)
    assert all(shown.rows for shown in tables)
    assert tables[-1].notes
    assert as_csv(estimate.table).count("\n") == len(estimate.table) + 1
    assert is_drawable(estimate.table)
    drawn = draw_answers_of(estimate.table, "a <title>", kind.caption(estimate, "9 users"), kind.base(estimate))
    assert "a &lt;title&gt;" in drawn


def test_a_series_is_three_tables_with_its_answers_side_by_side() -> None:
    found = of_series()
    periods, windows, changes = kind_of_answers("series").tables(found, None)
    assert [shown.title for shown in (periods, windows, changes)] == ["Periods", "Windows", "Changes"]
    assert [row[0] for row in periods.rows] == list("0123456")
    assert periods.rows[3][2:] == ("missing", "0", "", "", "")
    assert [row[:2] for row in windows.rows][:2] == [("0 to 2", "0"), ("1 to 3", "1")]
    assert len(changes.rows) == 1
    assert changes.rows[0][0] == "periods 0 to 2 to periods 3 to 5"
    assert "* differs from 0 among 3 comparisons" in changes.notes
    assert changes.warnings[0] == "few"
    assert {row["part"] for row in found.answers()} == {"period", "window", "change", "trend"}


def test_a_release_says_what_it_keeps() -> None:
    whole, counted = (kind_of_answers("release").notes(of_release(each)) for each in ("replace", "add-remove"))
    assert whole[0].startswith("release r from flights: 1,000 rows; worst variance ")
    assert whole[1].endswith("protects the content of one flight")
    assert counted[0].startswith("release r from flights: counts, of about ")
    assert counted[1].endswith("protects one flight, and whether it is there")


def test_arms_are_tables_of_their_own_and_one_without_reports_is_named() -> None:
    found = of_arms()
    first, second = kind_of_answers("arms").tables(found, 2)
    assert (first.title, second.title) == ("A: 6,000 users", "B: 60 users")
    assert len(first.rows) == 2
    assert second.warnings == ("A: few", "B: few", "C: no reports, so no answers")
    assert (found.table.cells("arm"), found.table.cells("users")) == (["A"] * 3 + ["B"] * 3, [6000] * 3 + [60] * 3)


def test_a_string_that_is_first_listed_and_more_common_than_before_is_new() -> None:
    found = of_strings()
    periods, strings, changes = kind_of_answers("string_series").tables(found, None)
    assert [row[0] for row in periods.rows] == list("210")
    assert periods.rows[1][2:] == ("estimated", "9", "2", "1")
    assert (strings.title, [row[0] for row in strings.rows]) == ("Strings of period 1", ["old", "new"])
    assert [row[-1] for row in strings.rows] == ["since period 0", "new"]
    assert changes.rows == (("period 0 to 1", "new", "0.0 %", "30.0 %", "20.0 … 40.0 %", "higher"),)
    assert changes.warnings == ("period 0: few", "period 1: few")
