"""Strings behind a shuffler: what random reports hide, what a plan claims, and shares that they do not shift."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from sordino_analysis.analyst.string_plans import StringPlan
from sordino_analysis.kinds.strings import StringExtras
from sordino_analysis.kinds.strings_document import strings_document
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.strings.audit import audit_strings
from sordino_analysis.strings.chances import least_variance
from sordino_analysis.strings.request import StringsRequest
from sordino_analysis.strings.specification import parse_strings
from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.shuffling.laws import of_random_labels
from sordino_shared.shuffling.profile import delta_of
from tests.drawn_strings import DrawnStrings

QUESTION = parse_strings(
    {"name": "words", "domain": [{"name": "word", "kind": "text", "code": "words", "depth": 24}], "queries": "strings"}
)
BOUND = {"epsilon": "1", "delta": "1e-6"}


def planned(**options):  # type: ignore[no-untyped-def]
    return StringsRequest.of(QUESTION, PlanningOptions.of(**{"epsilon": 4, "collector": BOUND} | options)).compile()


def test_a_plan_says_what_it_takes_and_an_audit_proves_it() -> None:
    plan = planned(users=100_000)
    terms, summary = plan.analyst.blanket, plan.summary.strings
    assert terms is not None
    assert summary is not None
    assert summary.blanket is not None
    checks = [each for each in audit_strings(plan.device, plan.analyst) if "random report" in each.name]
    assert len(checks) == len(terms.claims) >= 8
    assert all(each.holds for each in checks)
    fewer = replace(plan.analyst, blanket=replace(terms, reports=terms.reports * 19 // 20))
    assert not all(each.holds for each in audit_strings(plan.device, fewer))
    # 100,000 devices and a few hundred random reports: shares spread by (n + m)/n, and errors by its root.
    spread = 1 + terms.reports / 100_000
    alone = planned(users=100_000, collector=None).summary.strings
    assert alone is not None
    assert summary.share_found(100_000) == pytest.approx(alone.share_found(100_000) * math.sqrt(spread))
    share = summary.share_found(100_000)
    assert summary.users_for(share) == pytest.approx(100_000, abs=1)
    assert summary.users_without(100_000) == pytest.approx(
        100_000 * least_variance(1) / summary.report_variance / spread, abs=1
    )
    assert alone.users_without(100_000) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 1}, "holds without a shuffler"),
        ({"target_error": 0.01}, "target_error is of answers that are listed"),
        ({"collector": {"epsilon": "1", "delta": "1e-18"}}, "δ against the collector"),
        ({"collector": {"epsilon": "0.001", "delta": "1e-6"}}, "random reports, and a shuffler adds at most"),
    ],
)
def test_what_nothing_is_proved_of_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        planned(**options)


def test_two_texts_of_other_pieces_are_hidden_as_the_claim_says_and_two_that_share_one_better() -> None:
    """Random reports hold both, one or neither of two texts: χ² at 10⁻⁴ of the law that the claim is proved with.

    `abb` and `abc` share their first 20 bits, so that a report of that level holds both or neither.
    """
    campaign = DrawnStrings(epsilon="2", code="bytes")
    domain, g = campaign.device.domain, campaign.strings.chances.label_bits
    reports = draw_blanket(campaign.strings.randomizer, 60_000, SeededRandomness(9))
    levels = of_random_labels(1, 1 << g, math.exp(2))
    both, one = levels.overlap, 2 * (levels.share - levels.overlap)
    law = np.array([both, one, 1 - both - one])

    def counted(texts: tuple[str, str]) -> np.ndarray:
        codes = np.array([domain.codes(text) for text in texts], dtype=np.uint64)
        holds = np.array([_holders(campaign, reports, index) for index in codes])
        return np.bincount(holds.sum(axis=0), minlength=3)[::-1]

    far, near = (counted(texts) for texts in (("one", "two"), ("abb", "abc")))
    assert chisquare(far, law * far.sum()).pvalue > 1e-4
    assert chisquare(near, law * near.sum()).pvalue < 1e-4


def _holders(campaign: DrawnStrings, reports: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Whether each report holds the text whose members are `codes`, of whatever level it is."""
    from sordino_analysis.evaluation.coarsened.membership import label_rows
    from sordino_analysis.vectorized.coarsened.binary_field import parity
    from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened

    randomizer, held = campaign.strings.randomizer, []
    for number, found in unpack_coarsened(randomizer, reports):
        level = randomizer.levels[number]
        labels = np.zeros(len(found.shifted), dtype=np.uint64)
        for bit, row in enumerate(label_rows(level, randomizer.sizes, found)):
            labels |= parity(row & codes[number]).astype(np.uint64) << np.uint64(bit)
        held.append(labels == found.shifted)
    return np.concatenate(held)


def test_random_reports_hide_as_few_devices_more_than_they_are() -> None:
    """δ falls with every random report, and m of the plan are the least within .1 %."""
    plan = planned()
    assert plan.analyst.blanket is not None
    from sordino_shared.shuffling.laws import loss_of

    law, m = loss_of(plan.device.randomizer, math.e), plan.analyst.blanket.reports
    assert delta_of(law, m) < 1e-6 < delta_of(law, m * 98 // 100)


def test_shares_are_of_the_devices_and_hold_among_random_reports() -> None:
    """200 devices, 60 % of them with one text, among 300 random reports: without the spread shares are .24."""
    campaign, shares, plain = DrawnStrings(epsilon="4", depth=20, beam=20), [], []
    plan = campaign.plan
    texts = ["one", None]
    codes = np.array([plan.device.domain.codes(text) for text in texts], dtype=np.uint64)
    inside = 0
    for seed in range(30):
        held = np.arange(200) >= 120
        own = randomize_part(plan.device, codes[held.astype(int)], SeededRandomness(seed))
        random = draw_blanket(plan.device.randomizer, 300, SeededRandomness(1000 + seed))
        pages = [own, random]
        document = strings_document(plan.device, plan.analyst, pages, blanket=300, campaign_id="c")
        extras = document.extras
        assert isinstance(extras, StringExtras)
        assert (document.users, extras.blanket) == (200, 300)
        rows = {row["label"]: row for row in document.answers()}
        if "one" in rows:
            row = rows["one"]
            shares.append(row["uncut"])
            inside += row["band_lower"] <= 0.6 <= row["band_upper"]
        unspread = strings_document(plan.device, plan.analyst, pages, campaign_id="c")
        plain += [row["uncut"] for row in unspread.answers() if row["label"] == "one"]
    assert len(shares) >= 25
    # Of 30 intervals of 95 % all at once, four or more fail in 3 of 1,000 such tests.
    assert inside >= len(shares) - 3
    error = np.std(shares) / math.sqrt(len(shares))
    assert abs(np.mean(shares) - 0.6) < 4 * error
    assert np.mean(plain) == pytest.approx(np.mean(shares) * 200 / 500)


def test_a_round_of_random_reports_alone_says_so() -> None:
    plan = planned()
    pages = [draw_blanket(plan.device.randomizer, 50, SeededRandomness(1))]
    with pytest.raises(Exception, match="no device is left to ask about"):
        strings_document(plan.device, plan.analyst, pages, blanket=50)


def test_a_notebook_draws_the_random_reports_too() -> None:
    import sordino_analysis as sa

    plan = sa.plan(sa.common_strings("words", depth=24), 4, collector=(1, "1e-6"))
    assert isinstance(plan, StringPlan)
    found = sa.simulate(plan, ["one"] * 3000 + ["two"] * 1000, seed=1)
    assert plan.blanket is not None
    assert found.estimate.document.users == 4000
    assert found.estimate.document.extras.blanket == plan.blanket.reports
    assert found.inside.all()
    # What the plan promises of 4,000 users is what their estimate says, and what the server's summary does.
    direct, summary = sa.plan(sa.common_strings("words", depth=24), 4), planned(users=4000).summary.strings
    assert summary is not None
    share = plan.share_found(4000)
    assert found.estimate.share_found == pytest.approx(share)
    assert summary.share_found(4000) == pytest.approx(share)
    assert share == pytest.approx(direct.share_found(4000) * math.sqrt(1 + plan.blanket.reports / 4000))
    assert plan.standard_error(4000) / direct.standard_error(4000) == pytest.approx(share / direct.share_found(4000))
    assert plan.users_needed(share) == pytest.approx(4000, abs=1)
    given = sa.estimate(plan, found.reports, blanket=plan.blanket.reports)
    assert given.document.content() == found.estimate.document.content()
    with pytest.raises(InvalidValue, match="at least 0 reports"):
        sa.estimate(plan, found.reports, blanket=-1)
