"""Watched strings: their half of the error, what the estimate says of them, and which strings people do not see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.stats import binom

import sordino_analysis as sa
from sordino_analysis.analyst.arguments import WrongType
from sordino_analysis.documents.string_queries import StringQueries
from sordino_analysis.kinds.strings import StringExtras, StringsKind
from sordino_analysis.kinds.strings_document import strings_document
from sordino_analysis.kinds.strings_follow_up import FollowUp, follow_up
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strings.audit import audit_strings
from sordino_analysis.strings.certification import certify, weights_of
from sordino_analysis.strings.changes import compared
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.labels import label_of
from sordino_analysis.strings.search import find_strings
from sordino_analysis.strings.specification import parse_strings
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from tests.analysis.strings.test_certification import CHANCES
from tests.drawn_strings import DrawnStrings

TEXT = {"name": "word", "kind": "text", "code": "words", "depth": 24}


def question(**terms: Any) -> Any:
    return parse_strings({"name": "words", "domain": [TEXT], "queries": {"kind": "strings", "beam": 40}, **terms})


def test_watched_strings_have_half_of_the_weight_alike_and_paths_share_the_rest() -> None:
    chances, watched = np.array([0.9, 0.3, 0.05]), np.array([False, True, False, True, True])
    weights = weights_of(chances, watched)
    found = weights_of(chances)
    assert weights.sum() == pytest.approx(1)
    assert weights.tolist() == pytest.approx([found[0] / 2, found[1] / 2 + 1 / 6, found[2] / 2, 1 / 6, 1 / 6])
    assert weights_of(chances, np.zeros(3, dtype=np.bool_)).tolist() == found.tolist()


def wrong_lists(scale: float) -> tuple[int, int]:
    """Of 1,500 lists of 4 found candidates and 30 watched ones that nobody holds: how many are wrong at an error of .2,
    and in how many an interval fails; `scale` times the error that the weights give to each."""
    rng, draws, reports = np.random.default_rng(5), 1500, 4000
    watched = np.arange(34) >= 4
    weights, wrong, failed = weights_of(np.array([0.99, 0.5, 0.1, 0.001]), watched), 0, 0
    for counts in rng.binomial(reports, float(CHANCES.other), size=(draws, 34)):
        found = certify(HeldOutCounts(counts, reports), CHANCES, weights, 0.2 * scale)
        wrong += bool(found.certified.any())
        failed += bool((found.interval[:, 0] > 0).any())
    return wrong, failed


def test_lists_with_watched_strings_are_as_often_wrong_as_the_error_says() -> None:
    """Up to 10 %: more than 190 of 1,500 once in 1,500 runs; a split whose parts have all of the error each is seen."""
    most = int(binom.isf(1 / 1500, 1500, 0.1))
    wrong, failed = wrong_lists(1)
    # Half of what an interval may miss is at its lower end.
    assert 0.05 * 1500 < wrong <= most
    assert failed <= binom.isf(1 / 1500, 1500, 0.05)
    doubled, _ = wrong_lists(2)
    assert doubled > most


def drawn() -> tuple[DrawnStrings, np.ndarray]:
    """Two common words, one of 1 % that a beam of two does not find, and one that nobody holds."""
    campaign = DrawnStrings(beam=2)
    texts = ["the", "of", "never to be", "rarer"]
    holders = np.repeat(np.arange(3), [5000, 4400, 600])
    codes = np.array([campaign.device.domain.codes(text) for text in texts], dtype=np.uint64)
    return campaign, randomize_part(campaign.device, codes[holders], SeededRandomness(3))


def document_of(campaign: DrawnStrings, payloads: np.ndarray, *watched: str, least_share: float | None = None) -> Any:
    codes = tuple(campaign.strings.text.bits_of(each).to_bytes(3, "big") for each in watched)
    plan = campaign.plan
    queries = StringQueries(campaign.beam, campaign.error, codes, least_share)
    return strings_document(campaign.device, replace(plan.analyst, queries=queries), [payloads])


def test_a_watched_string_is_in_the_table_whether_it_is_certified_or_not() -> None:
    campaign, payloads = drawn()
    estimate = document_of(campaign, payloads, "of", "if", "is")
    rows = {row["label"]: row for row in estimate.answers()}
    assert list(rows)[:2] == ["the", "of"]
    assert [rows[each]["sentence"] for each in ("the", "of", "if")] == [
        "certified",
        "certified, watched",
        "watched, not certified",
    ]
    assert rows["of"]["band_lower"] < 0.44 < rows["of"]["band_upper"]
    assert rows["if"]["band_lower"] == 0 < rows["if"]["band_upper"] < 0.2
    extras = estimate.extras
    assert isinstance(extras, StringExtras)
    assert (extras.watched, extras.candidates) == (3, 4)
    kind = StringsKind()
    (shown,) = kind.tables(estimate, None)
    told = dict(zip([row[0] for row in shown.rows], [row[-1] for row in shown.rows], strict=True))
    assert told == {label: row["sentence"] for label, row in rows.items()}
    assert not any("above 0" in row[-2] for row in shown.rows if row[0] in ("if", "is"))
    asked = follow_up(estimate, "word")
    assert asked.workload["domain"][0]["labels"] == ["the", "of"]
    assert {each.label: each.reason for each in asked.left_out}["if"] == "it is watched, and not certified"
    head, *sentences = kind.statements(estimate)
    assert head == "2 strings certified of 4 candidates"
    assert any("3 strings watched" in each and "half of the error" in each for each in sentences)


def test_found_and_watched_candidates_are_one_each_and_both_are_compared_with_a_period_before() -> None:
    campaign = DrawnStrings(beam=2)
    strings = campaign.strings
    codes = {text: strings.text.bits_of(text) for text in ("the", "is", "if", "to")}
    reports = campaign.reports(["the", "of"], np.repeat([0, 1], 2000), 4)
    terms = {"known": [codes["is"], codes["to"]], "watched": [codes["if"], codes["the"], codes["is"]]}
    found = find_strings(strings, reports, 2, 0.05, campaign.levels.sought, **terms)
    labels = [label_of(text) for text in found.texts]
    assert sorted(labels[:2]) == ["of", "the"]
    assert labels[2:] == ["is", "to", "if"]
    assert [label for label, watched in zip(labels, found.watched, strict=True) if watched] == ["the", "is", "if"]
    # What was known is read from the earlier period; what is watched is not.
    assert [labels[each] for each in compared(found)] == [*labels[:2], "is", "if"]


def test_a_question_for_what_was_found_is_read_back_with_every_character() -> None:
    labels = ["a\ufffe", "a\u00a0b", "\U0001f600", '"\\ <U+0041>']
    written = FollowUp({"name": "x", "domain": [{"name": "word", "labels": labels}]}, ()).yaml()
    assert yaml.safe_load(written)["domain"][0]["labels"] == labels
    assert "\u00a0" not in written


def test_few_reports_promise_nothing_of_a_watched_string() -> None:
    campaign = DrawnStrings(epsilon="0.5", beam=2)
    codes = np.array([campaign.device.domain.codes("the")] * 100, dtype=np.uint64)
    payloads = randomize_part(campaign.device, codes, SeededRandomness(5))
    estimate = document_of(campaign, payloads, "of")
    assert (estimate.extras.found, estimate.extras.found_watched) == (1, 1)
    said = " ".join(StringsKind().statements(estimate))
    assert "even one that all devices hold is certified with less than 90 %" in said
    assert "on the list from" not in said


def test_strings_below_the_least_share_are_not_shown_unless_they_are_watched() -> None:
    campaign, payloads = drawn()
    campaign = replace(campaign, beam=40)
    usual = document_of(campaign, payloads)
    assert list(usual.table.cells("label"))[:2] == ["the", "of"]
    assert usual.extras.least_share == pytest.approx(usual.extras.found / 2)
    every = document_of(campaign, payloads, least_share=0.0)
    assert set(usual.table.cells("label")) <= set(every.table.cells("label"))
    high = document_of(campaign, payloads, "of", least_share=0.48)
    assert list(high.table.cells("label")) == ["the", "of"]
    assert (high.extras.hidden, high.extras.seen) == (len(every.table) - 2, ())
    told = [StringsKind().statements(each)[0].partition(" certified of")[0] for each in (high, every)]
    assert told == [f"{len(every.table)} strings"] * 2
    assert any("no guarantee" in note for note in StringsKind().notes(high))
    assert not any("least_share" in note for note in StringsKind().notes(every))


def test_a_hidden_string_is_in_no_period_that_follows() -> None:
    campaign, payloads = drawn()
    plan = campaign.plan
    analyst = replace(plan.analyst, queries=StringQueries(40, 0.05, (), 0.48))
    estimate = strings_document(campaign.device, analyst, [payloads], number=0)
    assert [each.label for each in estimate.extras.listed] == ["the"]
    assert "of" not in estimate.content().decode()


def test_watched_strings_are_shares_of_devices_among_random_reports_too() -> None:
    campaign, payloads = drawn()
    blanket = draw_blanket(campaign.device.randomizer, 2000, SeededRandomness(9))
    code = campaign.strings.text.bits_of("of").to_bytes(3, "big")
    analyst = replace(campaign.plan.analyst, queries=StringQueries(2, 0.05, (code,)))
    mixed = strings_document(campaign.device, analyst, [payloads, blanket], blanket=2000)
    (row,) = [each for each in mixed.answers() if each["label"] == "of"]
    assert row["band_lower"] < 0.44 < row["band_upper"]
    assert row["sentence"] == "certified, watched"


def test_a_plan_has_the_codes_and_its_device_part_nothing_of_them() -> None:
    asked = question(watch=["the", "zu Hause", "x" * 65_536], least_share=0.01)
    plan = sa.plan(asked, epsilon=4)
    code = plan.strings.text.bits_of("zu Hause").to_bytes(3, "big")
    assert code in plan.analyst.content
    assert code not in plan.device.content
    assert "Hause" not in repr(plan.analyst.content) + repr(plan.device.content)
    assert plan.watched[0] == "the"
    assert (len(plan.watched), plan.least_share) == (3, 0.01)
    assert "3 strings" in repr(plan)
    assert "strings of 1 % or more" in repr(plan)
    assert all(check.holds for check in audit_strings(plan.device, plan.analyst))
    alone = sa.plan(question(), epsilon=4)
    # The list has half of the error left, so that it finds a little less.
    assert 1 < plan.share_found(10**6) / alone.share_found(10**6) < 1.06
    short = replace(plan.analyst, queries=replace(plan.analyst.queries, watched=(b"ab",)))
    with pytest.raises(InvalidValue, match="24 bits and then zeros"):
        list(audit_strings(plan.device, short))


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"watch": [f"text {n}" for n in range(1001)]}, "watch: List should have at most 1000 items"),
        ({"watch": []}, "watch: List should have at least 1 item"),
        ({"watch": ["the", "secret", "the"]}, "watch.2: the same text as watch.0"),
        ({"watch": ["caf\u00e9", "cafe\u0301"]}, "watch.1: the same text as watch.0, or the same in its normal form"),
        ({"watch": ["secretly a", "secretly b"]}, "watch.1: its code begins with the same 24 bits as that of watch.0"),
        ({"watch": ["secret" * 11_000]}, "watch.0: a watched string has at most 64 KiB"),
        ({"watch": ["the", 7]}, "watch.1: Input should be a valid string"),
        ({"watch": ["\ud800secret"]}, "watch.0: half of a surrogate pair is no text"),
        ({"watch": "secret"}, "watch: Input should be a valid list"),
        ({"least_share": 0.6}, "least_share: Input should be less than or equal to 0.5"),
        ({"least_share": -0.1}, "least_share: Input should be greater than or equal to 0"),
        ({"least_share": "much"}, "least_share: Input should be a valid number"),
    ],
)
def test_what_cannot_be_watched_is_refused_by_its_place(terms: dict[str, Any], said: str) -> None:
    with pytest.raises(WorkloadError) as refused:
        question(**terms)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_notebook_watches_strings() -> None:
    asked = sa.common_strings("words", name="word", depth=24, beam=40, watched=["the", "if"], least_share=0.0)
    plan = sa.plan(asked, epsilon=4)
    run = sa.simulate(plan, ["the"] * 1500 + ["of"] * 1500, seed=1)
    estimate = run.estimate
    at = estimate.strings.index("if")
    assert estimate.certified.tolist() == [label != "if" for label in estimate.strings]
    assert (run.truth[at], run.inside[at]) == (0, True)
    assert "watched, not certified" in repr(estimate)
    assert "every string listed is held" in repr(run)
    assert "if" in sa.chart(estimate).svg
    for wrong in ("the", ["the", 3]):
        with pytest.raises(WrongType, match="watch"):
            sa.common_strings(watched=wrong)  # type: ignore[arg-type]
