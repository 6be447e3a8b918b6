"""Changes between periods of a series: what is said holds where nothing changed, and what changed is found.

The campaigns are drawn with seeds. Where a verdict errs with 5 % in 26 periods, one of 40 campaigns in which nothing
changed has a verdict with chance 1 − .9981^40 = 7 %; two have one in .3 %.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.string_queries import PERIODS_AT_ONCE
from sordino_analysis.strings.certification import weights_of
from sordino_analysis.strings.changes import change_between, changes_since
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.search import find_strings, held_out_counts
from tests.drawn_strings import DrawnStrings, listed

CAMPAIGN = DrawnStrings(depth=20, beam=30)
TEXTS = ["old", "new", "rare", None]


def reports(shares: list[float], users: int, seed: int):  # type: ignore[no-untyped-def]
    """Of devices that are drawn from a population in which texts have these shares."""
    holders = np.random.default_rng(seed).choice(len(TEXTS), size=users, p=shares)
    return CAMPAIGN.reports(TEXTS, holders, seed + 1)


def verdicts(earlier: list[float], later: list[float], users: int, seed: int) -> dict[str | None, str]:
    before, after = reports(earlier, users, seed), reports(later, users, seed + 2)
    found = CAMPAIGN.find(after)
    changes = changes_since(CAMPAIGN.strings, found, before, 0.05)
    named = [None if not text.shown and text.end.name == "NO_TEXT" else text.shown for text in found.texts]
    sure = found.certified.certified.tolist()
    return {name: each for name, each, yes in zip(named, changes.verdicts, sure, strict=False) if yes}


def test_a_string_that_comes_is_higher_and_one_that_fades_is_lower() -> None:
    found = verdicts([0.4, 0.0, 0.0, 0.6], [0.2, 0.3, 0.0, 0.5], 6000, 1)
    assert found == {"old": "lower", "new": "higher", None: found[None]}


def test_where_nothing_changed_nothing_is_said_to() -> None:
    shares = [0.3, 0.2, 0.1, 0.4]
    told = [verdicts(shares, shares, 1500, 10 * seed) for seed in range(40)]
    assert sum(set(each.values()) != {"undecided"} for each in told) < 2


def test_intervals_hold_the_change_and_one_of_a_change_that_is_off_does_not() -> None:
    """At an error of .5 a period, so that some would fail by chance: of 60 campaigns at least half hold."""
    earlier, later, users = np.array([0.3, 0.0, 0.1, 0.6]), np.array([0.2, 0.2, 0.1, 0.5]), 2000
    held, off = 0, 0
    codes = [CAMPAIGN.strings.text.bits_of(text) for text in TEXTS]
    errors = np.full(len(codes), 0.5 / 2 / len(codes))
    for seed in range(60):
        found = [
            held_out_counts(CAMPAIGN.strings, reports(list(shares), users, 1000 + 4 * seed + number), codes)
            for number, shares in enumerate((earlier, later))
        ]
        low, high = change_between(CAMPAIGN.strings, *found, errors).interval.T
        held += bool(((low <= later - earlier) & (later - earlier <= high)).all())
        off += bool(((low <= later - earlier + 0.15) & (later - earlier + 0.15 <= high)).all())
    assert held >= 30
    assert off <= 6


def test_the_interval_is_of_both_ends_and_the_weights_of_the_paths_alone() -> None:
    before, after = reports([0.4, 0.0, 0.0, 0.6], 3000, 5), reports([0.2, 0.3, 0.0, 0.5], 3000, 7)
    known = [CAMPAIGN.strings.text.bits_of("rare")]
    found = find_strings(CAMPAIGN.strings, after, CAMPAIGN.beam, 0.05, CAMPAIGN.levels.sought, known=known)
    changes = changes_since(CAMPAIGN.strings, found, before, 0.05)
    own = len(found.paths.codes)
    assert len(found.codes) in (own, own + 1)
    assert len(changes.value) == own
    errors = 0.05 / PERIODS_AT_ONCE / 2 * weights_of(found.paths.chances)
    each = [held_out_counts(CAMPAIGN.strings, when, found.codes[:own]) for when in (before, after)]
    (low_before, high_before), (low, high) = (one.intervals(CAMPAIGN.strings.chances, errors).T for one in each)
    np.testing.assert_array_equal(changes.interval, np.stack([low - high_before, high - low_before], axis=-1))


def test_what_was_known_is_a_candidate_whatever_the_paths_say() -> None:
    """A string below what paths find is listed where it was known; the list of unknown ones is not shorter for it."""
    campaign = replace(CAMPAIGN, depth=48, beam=20)
    rng, texts = np.random.default_rng(3), [None, "rare", *(f"t{number}" for number in range(40))]
    shares = np.array([0.53, 0.03, *([0.011] * 40)])
    found, told = 0, 0
    for seed in range(12):
        drawn = campaign.reports(texts, rng.choice(len(texts), size=4000, p=shares), 50 + seed)
        code = campaign.strings.text.bits_of("rare")
        with_it = find_strings(campaign.strings, drawn, 20, 0.05, campaign.levels.sought, known=[code])
        found += "rare" in listed(with_it)
        told += "rare" in listed(campaign.find(drawn))
    assert found >= told + 3


def test_random_reports_of_a_shuffler_spread_shares_and_ends() -> None:
    chances = CAMPAIGN.strings.chances
    plain, spread = HeldOutCounts(np.array([40]), 100), HeldOutCounts(np.array([40]), 100, 1.25)
    assert spread.shares(chances) == pytest.approx(1.25 * plain.shares(chances))
    assert spread.standard_errors(chances) == pytest.approx(1.25 * plain.standard_errors(chances))
