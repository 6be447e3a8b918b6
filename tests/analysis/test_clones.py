"""δ of shuffled reports against sums over every multiset, and against the published table."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from sordino_analysis.guarantees import clones as module
from sordino_analysis.guarantees.clones import ROUNDED_UP, Clones, ShuffledReports, binomial_window
from sordino_analysis.guarantees.shuffled import honest_floor, honest_needed, shuffled_of
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon, exp_lower_bound

DELTA = Fraction(1, 10**6)
# ε at δ = 10⁻⁶ of n shuffled reports of ε₀, for any randomizer and for two values whose reports tell nothing else.
TABLE = {
    (1, 10**3): (0.182412, 0.148671),
    (1, 10**4): (0.053005, 0.043206),
    (1, 10**6): (0.004335, 0.003514),
    (2, 10**3): (0.545498, 0.397087),
    (2, 10**4): (0.155045, 0.114400),
    (2, 10**6): (0.012958, 0.009517),
    (4, 10**3): (3.98996, 1.852907),
    (4, 10**4): (0.600909, 0.410812),
    (4, 10**6): (0.049307, 0.034280),
}


def exponential(epsilon: float) -> Fraction:
    """e^ε, from below by less than 2⁻¹⁹²."""
    return Fraction(exp_lower_bound(round(epsilon * NANO)), 1 << 192)


def farthest(ratio: Fraction) -> Fraction:
    """The largest total variation that reports of this ratio have."""
    return (ratio - 1) / (ratio + 1)


def exact_delta(clones: Clones, users: int, epsilon: float) -> float:
    """Σ over the counts of the others' clones, to which the user adds one report, of [P − e^ε P′]₊."""
    own = [float(chance) for chance in (clones.own * clones.ratio, clones.own, clones.even)]
    floors = [float(chance) for chance in (clones.floor, clones.floor, clones.even_floor, 1 - clones.blanket)]
    found: dict[tuple[int, ...], list[float]] = {}
    for counts in product(range(users), repeat=3):
        rest = users - 1 - sum(counts)
        if rest < 0:
            continue
        others = float(math.factorial(users - 1))
        for count, floor in zip((*counts, rest), floors, strict=True):
            others *= floor**count / math.factorial(count)
        for kind, mirrored in ((0, 1), (1, 0), (2, 2)):
            view = tuple(count + (place == kind) for place, count in enumerate(counts))
            both = found.setdefault(view, [0.0, 0.0])
            both[0] += others * own[kind]
            both[1] += others * own[mirrored]
    return math.fsum(max(0.0, one - math.exp(epsilon) * other) for one, other in found.values())


def kinds(ratio: Fraction) -> list[Clones]:
    part = Clones.of_pair(ratio, farthest(ratio) * Fraction(2, 5))
    return [
        Clones.of_any(ratio),
        Clones.of_pair(ratio, farthest(ratio)),
        part,
        Clones(ratio=ratio, even=part.even, floor=part.floor, even_floor=part.even),
        Clones.of_pairs(ratio, farthest(ratio) / 4, farthest(ratio) / 2),
    ]


@pytest.mark.parametrize("local", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("users", [1, 2, 5, 12])
def test_delta_is_that_of_every_multiset_and_never_below(local: float, users: int) -> None:
    for clones in kinds(exponential(local)):
        reports = ShuffledReports(clones, users, 1e-15)
        for share in (0.0, 0.1, 0.5, 0.9):
            nano = round(share * local * NANO)
            exact = exact_delta(clones, users, nano / NANO)
            assert exact - 1e-12 <= reports.delta(nano) <= exact * 1.000001 + 1e-10


def test_values_that_are_taken_together_give_no_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two values of each sum for 400 users, where the sums take dozens."""
    for clones in kinds(exponential(1.0)):
        fine = ShuffledReports(clones, 400, 1e-12)
        monkeypatch.setattr(module, "_COARSE", 2)
        coarse = ShuffledReports(clones, 400, 1e-12, coarse=True)
        for nano in (0, NANO // 20, NANO // 5):
            assert fine.delta(nano) <= coarse.delta(nano)
        assert fine.delta(NANO // 5) < 0.9 * coarse.delta(NANO // 5)


@pytest.mark.parametrize(("local", "users"), TABLE)
def test_the_published_table(local: int, users: int) -> None:
    ratio, published = exponential(local), TABLE[local, users]
    for clones, epsilon in zip((Clones.of_any(ratio), Clones.of_pair(ratio, farthest(ratio))), published, strict=True):
        found = shuffled_of(PureEpsilon.of(local), [clones], users, DELTA)
        assert found.epsilon == pytest.approx(epsilon, rel=6e-5, abs=6e-7)


def test_nearer_pairs_and_smaller_floors_never_tell_more_than_any_randomizer_may() -> None:
    """Proved for each distance: its reports are drawn from the general ones. Rounding is below one in a thousand."""
    ratio = exponential(1.0)
    general = ShuffledReports(Clones.of_any(ratio), 300, 1e-12)
    for share in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        pair = ShuffledReports(Clones.of_pair(ratio, farthest(ratio) * share), 300, 1e-12)
        assert pair.delta(NANO // 4) <= general.delta(NANO // 4) * 1.001


def test_a_window_of_a_binomial_is_never_below_it() -> None:
    for trials, likely in ((1, Fraction(1, 3)), (40, Fraction(1, 50)), (400, Fraction(1, 2)), (90, Fraction(29, 30))):
        window = binomial_window(trials, likely, 1e-9)
        exact = [
            math.comb(trials, value) * likely**value * (1 - likely) ** (trials - value) for value in range(trials + 1)
        ]
        inside = exact[window.first : window.last + 1]
        assert all(
            value <= Fraction(float(found)) * Fraction(ROUNDED_UP)
            for value, found in zip(inside, window.chances, strict=True)
        )
        assert sum(exact) - sum(inside) <= Fraction(window.outside) <= Fraction(1, 10**8)


def test_few_reports_are_no_better_than_the_local_guarantee() -> None:
    local, clones = PureEpsilon.of(2), [Clones.of_any(exponential(2))]
    for honest in (0, 1, 20):
        found = shuffled_of(local, clones, honest, DELTA)
        assert not found.amplified
        assert str(found) == "ε = 2"
    assert str(shuffled_of(local, clones, 10_000, DELTA)).endswith("at δ = 1e-06")
    assert shuffled_of(local, [], 100, DELTA).nano_epsilon == 0


def test_the_floor_leaves_out_fake_reports() -> None:
    assert honest_floor(4_999) == 4_499
    assert honest_floor(4_999, Fraction(0)) == 4_999
    with pytest.raises(InvalidValue, match="share of fake reports"):
        honest_floor(10, Fraction(1))


@pytest.mark.parametrize("local", [1, 2, 4])
def test_devices_that_are_needed_suffice_and_few_less_do_not(local: int) -> None:
    clones, guarantee, nano = Clones.of_any(exponential(local)), PureEpsilon.of(local), NANO // 2
    needed = honest_needed([clones], nano, DELTA)
    assert shuffled_of(guarantee, [clones], needed, DELTA).nano_epsilon <= nano * (1 + 2**-16)
    assert shuffled_of(guarantee, [clones], needed * 99 // 100, DELTA).nano_epsilon > nano


def test_four_thousand_devices_hide_an_epsilon_of_four() -> None:
    assert honest_needed([Clones.of_any(exponential(4))], NANO, DELTA) == pytest.approx(4332, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ratio": Fraction(1)},
        {"floor": Fraction(0)},
        {"floor": Fraction(2, 3)},
        {"even": Fraction(1)},
        {"even": Fraction(1, 2)},
    ],
)
def test_chances_that_are_none_are_refused(wrong: dict[str, Fraction]) -> None:
    good = {"ratio": Fraction(2), "even": Fraction(0), "floor": Fraction(1, 4), "even_floor": Fraction(0)}
    with pytest.raises(InvalidValue):
        Clones(**(good | wrong))
    with pytest.raises(InvalidValue, match="at least one report"):
        ShuffledReports(Clones(**good), 0, 1e-9)
    with pytest.raises(InvalidValue, match="δ must be"):
        shuffled_of(PureEpsilon.of(1), [Clones(**good)], 10, Fraction(0))
