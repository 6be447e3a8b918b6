"""Common strings in a notebook: the question, its plan, simulations, estimates of reports, frames and pictures."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sordino_analysis as sa
from sordino_analysis.analyst.arguments import WrongType
from sordino_analysis.kinds.drawn_rounds import drawn_reports
from sordino_analysis.kinds.strings import StringsKind
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.strings.request import StringsRequest
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

# Whole codes of at most 24 bits.
COMMON = {"the": 3000, "of": 1500, "is": 900}
RARE = [f"{number * 7919 % 1000:03}" for number in range(600)]
HOSTILE = {"<script>alert(1)</script>": 900, "a\u202eb": 800, "=1+1": 700, "zero\u200bwidth": 700, "x" * 10_000: 900}


@cache
def words() -> sa.StringPlan:
    # A list errs once in 1,000 salts.
    return sa.plan(sa.common_strings("words", name="word", depth=24, beam=100, error=0.001), epsilon=4)


@cache
def run() -> sa.StringSimulation:
    return sa.simulate(words(), texts(), seed=1)


def texts() -> list[str]:
    return [text for text, count in COMMON.items() for _ in range(count)] + RARE


def test_a_plan_says_which_share_it_finds() -> None:
    plan = words()
    assert (plan.depth, plan.beam, plan.error, plan.epsilon) == (24, 100, 0.001, 4.0)
    users = plan.users_needed(0.01)
    assert plan.share_found(users) <= 0.01 < plan.share_found(users - 1)
    assert plan.share_found(1) == 1
    assert plan.standard_error(4 * users) == pytest.approx(plan.standard_error(users) / 2)
    assert "common strings of word" in repr(plan)
    assert "ε = 4" in repr(plan)
    assert all(check.holds for check in plan.audit())
    assert plan._repr_html_().startswith("<table")


def test_a_simulation_finds_what_is_common() -> None:
    found = run()
    assert dict(zip(found.estimate.strings, found.estimate.kinds, strict=True)) == dict.fromkeys(COMMON, "string")
    assert found.truth.tolist() == [count / len(texts()) for count in COMMON.values()]
    assert found.inside.all()
    assert found.missed == {}
    frame = found.to_pandas()
    assert frame["label"].tolist() == list(COMMON)
    assert frame["truth"].tolist() == found.truth.tolist()
    assert found.to_polars()["inside"].to_list() == [True] * 3
    printed = repr(found)
    assert "3 of 3 intervals hold the truth" in printed
    assert "held by at least one device that reported" in printed
    assert "quote the interval" in printed


def test_the_same_reports_in_any_form_give_the_same_estimate() -> None:
    estimate, reports = run().estimate, run().reports
    as_bytes = [each.tobytes() for each in reports]
    for form in (as_bytes, pd.Series(as_bytes), pl.Series(as_bytes), reports[::-1]):
        again = sa.estimate(words(), form)
        assert again.document.content() == estimate.document.content()
    assert estimate.users == len(texts())
    assert estimate.level == 0.999
    assert estimate.values.tolist() == estimate.table.cells("value")
    assert estimate.band.shape == (3, 2)
    assert (estimate.uncut >= estimate.band[:, 0]).all()
    assert (estimate.standard_errors > 0).all()
    assert 0 < estimate.share_found < 0.2
    assert estimate.candidates == estimate.table.terms["compared"]


def test_single_strings_are_answered_from_the_same_reports() -> None:
    asked = run().estimate.answer("the", "never", "a text that is longer than its code")
    assert asked.table.cells("label")[:2] == ["the", "never"]
    assert asked.table.cells("kind")[2] == "begins with"
    low, high = asked.intervals[0]
    assert low < 0.5 < high
    assert asked.values[1] == pytest.approx(0, abs=0.05)
    assert (asked.band[:, 0] <= asked.intervals[:, 0]).all()
    assert asked.to_pandas()["label"].tolist() == asked.columns()["label"]
    with pytest.raises(WrongType, match="ask for a string"):
        run().estimate.answer(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="64 KiB"):
        run().estimate.answer("x" * 65_537)


def test_a_plan_is_kept_in_a_folder(tmp_path: Path) -> None:
    words().save(tmp_path)
    read = sa.read_string_plan(tmp_path)
    assert read.device == words().device
    assert sa.estimate(read, run().reports).strings == run().estimate.strings
    with pytest.raises(InvalidValue, match="read_string_plan"):
        sa.read_plan(tmp_path)
    other = sa.plan(sa.histogram(3), epsilon=1)
    other.save(tmp_path / "other")
    with pytest.raises(InvalidValue, match="read_plan"):
        sa.read_string_plan(tmp_path / "other")


def test_a_code_of_public_texts(tmp_path: Path) -> None:
    code = sa.text_code(["a crash in paint", "a crash in draw", "a crash in load"] * 5, tokens=8)
    plan = sa.plan(sa.common_strings(code, name="crash", beam=20, error=0.001), epsilon=4, cache=tmp_path)
    assert plan.depth == code.depth
    again = sa.plan(sa.common_strings(code, name="crash", beam=20, error=0.001), epsilon=4, cache=tmp_path)
    # The salt is drawn for each plan, so that no cache answers.
    assert again.device != plan.device
    assert sa.simulate(plan, ["a crash in paint"] * 2000, seed=3).estimate.strings == ["a crash in paint"]


@pytest.mark.parametrize("form", ["list", "frame", "series", "mapping", "array", "file"])
def test_values_of_users_in_any_form(form: str, tmp_path: Path) -> None:
    held = ["the"] * 1500 + ["of"] * 500
    path = tmp_path / "words.csv"
    pd.DataFrame({"word": held}).to_csv(path, index=False)
    forms: dict[str, Any] = {
        "list": held,
        "frame": pd.DataFrame({"word": held, "other": 1}),
        "series": pd.Series(held),
        "mapping": {"word": held},
        "array": np.array(held),
        "file": sa.read_csv(path, words()),
    }
    found = sa.simulate(words(), forms[form], seed=5)
    assert found.reports.tobytes() == sa.simulate(words(), held, seed=5).reports.tobytes()
    assert found.truth.tolist()[:2] == [0.75, 0.25]


def test_who_has_no_text_answers_too() -> None:
    held = ["the"] * 1500 + [None] * 700
    with pytest.raises(InvalidValue, match=r"takes texts, and .* is none.*strict=False"):
        sa.simulate(words(), held, seed=1)
    found = sa.simulate(words(), held, seed=1, strict=False)
    assert dict(zip(found.estimate.strings, found.estimate.kinds, strict=True)) == {
        "the": "string",
        "(no text)": "no text",
    }
    assert found.truth.tolist() == [1500 / 2200, 700 / 2200]


def test_a_listed_string_is_above_0_where_its_interval_begins_there() -> None:
    document = run().estimate.document
    columns = {**document.columns, "band_lower": [*document.columns["band_lower"][:-1], 0.0]}
    shown = StringsKind().readable(replace(document, columns=columns), range(3))
    assert [("above 0 … " in row[-1]) for row in shown.rows] == [False, False, True]
    assert shown.rows[:2] == StringsKind().readable(document, range(3)).rows[:2]


def test_hostile_strings_stay_texts() -> None:
    plan = sa.plan(sa.common_strings("bytes", name="page", depth=60, beam=60, error=0.001), epsilon=4)
    held = [text for text, count in HOSTILE.items() for _ in range(count)]
    found = sa.simulate(plan, held, seed=2).estimate
    assert set(found.strings) == {"<script…[0011]", "a<U+202E>b", "=1+1", "zero<U+200B>…[0111]", "xxxxxxx…[0111]"}
    page = found._repr_html_()
    assert "<script" not in page
    assert "&lt;script" in page
    assert "\u202e" not in page + repr(found) + sa.chart(found).svg
    assert "<script" not in sa.chart(found).svg
    csv = found.to_pandas().to_csv()
    assert pd.read_csv(io.StringIO(csv))["label"].tolist() == found.strings


def test_few_or_no_reports_say_so() -> None:
    with pytest.raises(sa.EstimationError, match="no report was counted"):
        sa.estimate(words(), np.empty((0, words().device.randomizer.payload_bytes), dtype=np.uint8))
    with pytest.raises(sa.EstimationError, match="reports themselves"):
        sa.estimate(words(), sa.Aggregate(3, np.zeros(3, dtype=np.int64)))
    with pytest.raises(InvalidValue, match="uint8"):
        sa.estimate(words(), np.zeros((4, 3), dtype=np.uint8))
    with pytest.raises(InvalidValue, match="its own level"):
        sa.estimate(words(), run().reports, 0.9)  # type: ignore[call-overload]
    codes = np.array([words().domain.codes(text) for text in RARE[:40]], dtype=np.uint64)
    (few,) = drawn_reports(words().device, codes, SeededRandomness(1))
    found = sa.estimate(words(), few)
    assert found.strings == []
    assert found.band.shape == (0, 2)
    assert "0 strings certified" in repr(found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"code": "letters"}, "code"),
        ({"depth": 7}, "depth"),
        ({"depth": 513}, "depth"),
        ({"beam": 0}, "beam"),
        ({"beam": 10_001}, "beam"),
        ({"error": 0.6}, "error"),
        ({"normal": "nfkc"}, "normal"),
        ({"name": ""}, "name"),
    ],
)
def test_a_question_out_of_range_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(sa.WorkloadError, match=said):
        sa.common_strings(**change)


def test_options_of_other_questions_are_refused() -> None:
    question = sa.common_strings("words", depth=24)
    for option in ({"mechanism": "grids"}, {"robust": 0.01, "users": 10_000}):
        with pytest.raises(InvalidValue):
            sa.plan(question, epsilon=4, **option)  # type: ignore[call-overload]
    for epsilon, users, said in ((4, 50, "50 users certify nothing"), (1, 300, "more than half of the devices")):
        with pytest.raises(sa.PlanError, match=said) as refused:
            StringsRequest.of(question, PlanningOptions.of(epsilon=epsilon, users=users))
        # The number that the sentence asks for is enough, and one less is not.
        needed = int(re.search(r"expect ([\d,]+) users", str(refused.value))[1].replace(",", ""))  # type: ignore[index]
        StringsRequest.of(question, PlanningOptions.of(epsilon=epsilon, users=needed))
        with pytest.raises(sa.PlanError, match="expect"):
            StringsRequest.of(question, PlanningOptions.of(epsilon=epsilon, users=needed - 1))
    with pytest.raises(InvalidValue, match="above 0"):
        words().users_needed(0)
    with pytest.raises(InvalidValue, match="at least 1"):
        words().share_found(0)
    with pytest.raises(WrongType, match="plan must be"):
        sa.aggregate(words(), run().reports)  # type: ignore[arg-type]
