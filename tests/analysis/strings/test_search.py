"""The search finds what is common, lists nothing else, and no report that chooses a string also counts it.

Everything is seeded; thresholds have the stated false-alarm rate for a correct program.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chisquare, norm

from sordino_analysis.strings.beam import Paths, PathSearch
from sordino_analysis.strings.certification import certify, weights_of
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.text_codes.reading import End, ReadBits
from sordino_analysis.vectorized.coarsened.levels import LevelReports
from sordino_shared.domains import Text
from sordino_shared.errors import InvalidValue
from tests.drawn_strings import DrawnStrings, listed

# Whole codes of at most 24 bits, so that a listed text is the string itself.
COMMON = ["the", "of", "is", "to", "and", "for", "in", "if"]


def of_own_salt(campaign: DrawnStrings, seed: int) -> DrawnStrings:
    return replace(campaign, salt=np.random.default_rng(seed).bytes(16))


def test_common_strings_are_listed_with_their_shares() -> None:
    campaign, users = DrawnStrings(), 20_000
    shares = np.array([0.3, 0.1, 0.05, 0.05, *[0.5 / 2000] * 2000])
    texts = [*COMMON[:4], *(f"rare {number}" for number in range(2000))]
    holders = np.random.default_rng(1).choice(len(texts), size=users, p=shares)
    found = campaign.find(campaign.reports(texts, holders, 2))
    assert set(COMMON[:4]) <= set(listed(found))
    true = {text: float((holders == number).mean()) for number, text in enumerate(texts)}
    for text, (low, high) in zip(found.texts, found.certified.interval.tolist(), strict=True):
        if text.end is End.ENDED:
            assert low <= true.get(text.shown, 0.0) <= high
    assert sum(found.reports) == users


def test_reports_in_another_order_give_the_same() -> None:
    campaign = DrawnStrings(depth=34)
    holders = np.random.default_rng(3).integers(0, 12, size=4000)
    reports = campaign.reports([*COMMON, "one", "two", None, ""], holders, 4)
    mixed = tuple(
        each.some(np.random.default_rng(number).permutation(len(each))) for number, each in enumerate(reports.levels)
    )
    first, second = campaign.find(reports), campaign.find(StringReports(reports.randomizer, mixed))
    assert first.texts == second.texts
    assert first.seen == second.seen
    assert first.paths.chances.tobytes() == second.paths.chances.tobytes()
    assert first.certified.interval.tobytes() == second.certified.interval.tobytes()
    assert {None, ""} & {None if text.end is End.NO_TEXT else text.shown for text in first.texts}


def test_the_held_out_level_chooses_nothing_and_others_count_nothing() -> None:
    campaign = DrawnStrings()
    holders = np.random.default_rng(5).integers(0, 10, size=6000)
    reports = campaign.reports([*COMMON, "one", "two"], holders, 6)
    other = campaign.reports(["never"], np.zeros(8000, dtype=np.intp), 7)
    as_many = other.levels[HELD_OUT].some(slice(len(reports.levels[HELD_OUT])))
    swapped = StringReports(reports.randomizer, (as_many, *reports.levels[1:]))
    found, changed = campaign.find(reports), campaign.find(swapped)
    # The same candidates with the same odds, and so the same weights; counts of the other devices alone.
    assert changed.texts == found.texts
    assert len(as_many) == len(reports.levels[HELD_OUT])
    assert changed.paths.chances.tobytes() == found.paths.chances.tobytes()
    weights, chances = weights_of(found.paths.chances), campaign.strings.chances
    for each in (found, changed):
        again = certify(each.counts, chances, weights, campaign.error)
        assert again.interval.tobytes() == each.certified.interval.tobytes()
    assert not listed(changed)
    assert len(listed(found)) == 10
    members = [campaign.strings.text.index_of(code) for code in _leaves(campaign, reports)]
    counted = swapped.held_counts(HELD_OUT, np.array(members, dtype=np.uint64))
    assert np.array_equal(counted, changed.counts.counts)


def _leaves(campaign: DrawnStrings, reports: StringReports) -> tuple[int, ...]:
    strings, paths = campaign.strings, Paths.root()
    share = campaign.levels.sought * campaign.unit(reports.count)
    search = PathSearch(
        text=strings.text, reader=strings.reader, chances=strings.chances, beam=campaign.beam, sought=share
    )
    for number, prefix in enumerate(strings.prefixes):
        paths = search.extended(paths, prefix, reports.rows(number + 1))
    return paths.codes


def test_a_path_that_has_ended_has_one_child() -> None:
    campaign = DrawnStrings(depth=40, beam=50)
    holders = np.zeros(3000, dtype=np.intp)
    found = campaign.find(campaign.reports(["the"], holders, 8))
    ended = [text for text in found.texts if text.text == b"the" and text.end is End.ENDED]
    assert len(ended) == 1
    assert listed(found) == ["the"]
    assert not any(text.end is End.IMPOSSIBLE for text in found.texts)
    ((low, high),) = found.certified.interval[found.certified.certified].tolist()
    assert 0.7 < low < high == 1


def test_children_of_a_path_that_has_ended_take_no_place() -> None:
    """One that is sure and has ended, and one of small odds: each has a child, by the prior odds of a level of none."""
    campaign = DrawnStrings(code="bytes", beam=2)
    strings, text = campaign.strings, campaign.strings.text
    ended, going = text.code.first_bits(b"a", 20), text.code.first_bits(b"ab\0", 20)
    reads = tuple(strings.reader.read(code, 20) for code in (ended, going))
    assert [read.end for read in reads] == [End.ENDED, End.OPEN]
    paths = Paths((ended, going), np.array([40.0, -30.0]), reads)
    search = PathSearch(text=text, reader=strings.reader, chances=strings.chances, beam=2, sought=0.1)
    none = StringReports.of(strings.randomizer, []).rows(2)
    found = search.extended(paths, strings.prefixes[1], none)
    assert found.codes == (ended << 4, going << 4)
    assert [read.end for read in found.reads] == [End.ENDED, End.OPEN]
    # All of the chance, up to 10^-12, and a sixteenth.
    assert found.odds == pytest.approx([np.log(1e12), -30 - np.log(16)], rel=1e-4)


def test_odds_are_those_of_the_sought_share_against_none() -> None:
    """By the counts of every child of one level: the ratio of the normal densities, and prior odds of 2^-s."""
    campaign, users = DrawnStrings(depth=8, beam=1 << 8, code="bytes"), 500
    reports = campaign.reports(["a", "b"], np.arange(users) % 2, 12)
    strings, level = campaign.strings, reports.rows(1)
    share = campaign.levels.sought * campaign.unit(users)
    search = PathSearch(text=strings.text, reader=strings.reader, chances=strings.chances, beam=256, sought=share)
    (prefix,) = strings.prefixes
    found = search.extended(Paths.root(), prefix, level)
    members = [prefix.index_of(strings.text, code) for code in found.codes]
    counts = reports.held_counts(1, np.array(members, dtype=np.uint64))
    other, span = float(strings.chances.other), float(strings.chances.own - strings.chances.other)
    error = np.sqrt(strings.chances.variance / len(level))
    estimates = (counts / len(level) - other) / span
    ratios = norm.logpdf(estimates, share, error) - norm.logpdf(estimates, 0, error)
    # The root is sure up to 10^-12.
    assert found.odds == pytest.approx(ratios - np.log(255), rel=1e-6)
    assert {chr(code) for code in found.codes[:2]} == {"a", "b"}


@pytest.mark.parametrize("beam", [1, 3])
def test_narrow_beams_keep_the_best(beam: int) -> None:
    campaign = DrawnStrings(depth=34, beam=beam)
    holders = np.random.default_rng(9).choice(2, size=4000, p=[0.7, 0.3])
    found = campaign.find(campaign.reports(["the", "of"], holders, 9))
    assert len(found.texts) <= beam
    assert listed(found)[0] == "the"


def test_one_level_and_levels_without_reports() -> None:
    alone = DrawnStrings(depth=12, beam=1 << 12)
    holders = np.zeros(500, dtype=np.intp)
    assert listed(alone.find(alone.reports(["the"], holders, 10))) == ["the"]
    campaign = DrawnStrings(beam=20)
    reports = campaign.reports(["the"], holders, 11)
    none = LevelReports([], [np.empty(0, dtype=np.uint64)], np.empty(0, dtype=np.uint64))
    one = reports.levels[0].some(slice(0, 1))
    assert not listed(campaign.find(StringReports(reports.randomizer, (one, none, reports.levels[2]))))
    with pytest.raises(InvalidValue, match="no report certifies"):
        campaign.find(StringReports(reports.randomizer, (none, *reports.levels[1:])))
    with pytest.raises(InvalidValue, match="no report was counted"):
        campaign.find(StringReports(reports.randomizer, (none, none, none)))


def test_counts_of_a_string_follow_the_shipped_chances() -> None:
    """Over 200 salts: N of a string that nobody holds against Bin(n, q), that of everybody's against Bin(n, p).

    χ² at 1 − 10⁻⁴: a false alarm for one seed in ten thousand; a chance that is off by a fifth is refused.
    """
    campaign, reports_each = DrawnStrings(epsilon="2", depth=16), 64
    own, other = float(campaign.strings.chances.own), float(campaign.strings.chances.other)
    held, never = [], []
    for seed in range(200):
        drawn = of_own_salt(campaign, seed)
        level = drawn.reports(["the"], np.zeros(400, dtype=np.intp), seed).levels[HELD_OUT].some(slice(reports_each))
        text: Text = drawn.strings.text
        members = [text.encode(each, strict=True) for each in ("the", "of")]
        counts = StringReports(drawn.strings.randomizer, (level,)).held_counts(
            HELD_OUT, np.array(members, dtype=np.uint64)
        )
        held.append(int(counts[0]))
        never.append(int(counts[1]))
    assert _fits(held, reports_each, own)
    assert _fits(never, reports_each, other)
    assert not _fits(held, reports_each, 1.2 * own)
    assert not _fits(never, reports_each, 1.2 * other)


def _fits(counts: list[int], draws: int, chance: float) -> bool:
    edges = np.unique(binom.ppf(np.arange(1, 8) / 8, draws, chance).astype(int))
    bins = np.searchsorted(edges, counts, side="left")
    expected = np.diff(np.concatenate([[0.0], binom.cdf(edges, draws, chance), [1.0]])) * len(counts)
    return bool(chisquare(np.bincount(bins, minlength=len(expected)), expected).pvalue > 1e-4)


def nothing_common(campaign: DrawnStrings, campaigns: int, users: int, first_seed: int) -> tuple[int, int]:
    """Of campaigns whose devices hold 3,000 alike strings: with a false list, and with a wrong interval."""
    false, wrong = 0, 0
    for seed in range(first_seed, first_seed + campaigns):
        drawn, rng = of_own_salt(campaign, seed), np.random.default_rng(seed)
        texts = ["".join(map(chr, each)) for each in rng.integers(33, 127, size=(3000, 4)).tolist()]
        holders = rng.integers(0, len(texts), size=users)
        found = drawn.find(drawn.reports(texts, holders, seed))
        true: Counter[ReadBits] = Counter()
        for text, count in zip(texts, np.bincount(holders, minlength=len(texts)).tolist(), strict=True):
            true[drawn.strings.read(drawn.strings.text.bits_of(text))] += count
        shares = np.array([true[read] / users for read in found.texts])
        low, high = found.certified.interval.T
        false += bool((found.certified.certified & (shares == 0)).any())
        wrong += bool(((shares < low) | (shares > high)).any())
    return false, wrong


def test_where_nothing_is_common_lists_are_empty() -> None:
    """20 campaigns at .025 each for list and intervals: 4 or more false ones in 1 of 400 seeds."""
    false, wrong = nothing_common(DrawnStrings(depth=16, code="bytes"), 20, 3000, 100)
    assert false <= 3
    assert wrong <= 3


@pytest.mark.slow
def test_where_nothing_is_common_lists_are_empty_200_times() -> None:
    """At most 11 of 200 campaigns, the 99.5 % point of Bin(200, .025)."""
    false, wrong = nothing_common(DrawnStrings(code="bytes"), 200, 20_000, 1000)
    assert false <= 11
    assert wrong <= 11


def power(campaign: DrawnStrings, users: int, runs: int, planted: int = 24) -> float:
    """The share, in units of √(V/n), that is found and certified with 90 %, by a probit line.

    `planted` strings have from .6 to 1.25 times the planned share.
    """
    from scipy.optimize import minimize

    unit = campaign.unit(users)
    grid = np.linspace(0.6, 1.25, planted) * campaign.levels.found
    hits = np.zeros(planted)
    for run in range(runs):
        drawn = of_own_salt(campaign, run)
        # Seven random bits of each eight, so that paths differ within 24 bits, too.
        rng = np.random.default_rng(run)
        letters = rng.integers(1, 128, size=(planted + 4000, 12)).tolist()
        everything = ["".join(map(chr, each)) for each in letters]
        shares = np.concatenate([grid * unit, np.full(4000, (1 - grid.sum() * unit) / 4000)])
        holders = rng.choice(len(shares), size=users, p=shares)
        found = drawn.find(drawn.reports(everything, holders, run))
        reads = [drawn.strings.read(drawn.strings.text.bits_of(text)) for text in everything[:planted]]
        assert len(set(reads)) == planted
        certified = {text for text, sure in zip(found.texts, found.certified.certified, strict=True) if sure}
        hits += [read in certified for read in reads]

    def loss(line: np.ndarray) -> float:
        chance = norm.cdf(line[0] + np.exp(line[1]) * (grid - campaign.levels.found)).clip(1e-9, 1 - 1e-9)
        return -float((hits * np.log(chance) + (runs - hits) * np.log(1 - chance)).sum())

    level, slope = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return float(campaign.levels.found + (norm.ppf(0.9) - level) / np.exp(slope))


def test_strings_of_the_planned_share_are_found() -> None:
    """One cell at 24 bits: f90 within a quarter of the plan, with 48 strings; 20 runs have it within a tenth."""
    campaign = DrawnStrings(beam=300, code="bytes")
    assert power(campaign, 20_000, 2) == pytest.approx(campaign.levels.found, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "epsilon", "users"),
    [
        (24, "1", 600_000),
        (24, "4", 60_000),
        (48, "1", 1_000_000),
        (48, "4", 200_000),
        (90, "1", 1_500_000),
        (90, "4", 200_000),
    ],
)
def test_strings_of_the_planned_share_are_found_at_any_depth(depth: int, epsilon: str, users: int) -> None:
    campaign = DrawnStrings(epsilon=epsilon, depth=depth, beam=1000, code="bytes")
    assert power(campaign, users, 20) == pytest.approx(campaign.levels.found, rel=0.1)
