"""ε in words: never less than e^ε, at most a unit of the last digit more."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import MAX_NANO, NANO, PureEpsilon, exp_lower_bound
from sordino_shared.odds import odds, sentence, share


def value(text: str) -> Fraction:
    number, _, power = text.partition(" · 10^")
    return Fraction(number) * 10 ** int(power or 0)


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [("0.1", "1.11"), ("0.5", "1.65"), (1, "2.72"), (2, "7.39"), (4, "54.6"), (5, "149"), (16, "8.89 · 10^6"),
     (40, "2.36 · 10^17"), ("0.001", "1.01"), (10, "22100"), (1000, "1.98 · 10^434")],
)  # fmt: skip
def test_odds_are_rounded_up_to_three_digits(epsilon: float | str, told: str) -> None:
    assert odds(PureEpsilon.of(epsilon).nano) == told


def test_no_number_is_below_e_to_the_epsilon_nor_a_unit_above() -> None:
    """3,000 ε of all sizes, and those around every change of digits, with bounds of e^ε from both sides."""
    rng = random.Random(1)
    found = [int(10 ** rng.uniform(0, math.log10(MAX_NANO))) for _ in range(3000)]
    changes = [round(math.log(each) * NANO) for each in (9.995, 10, 99.95, 100, 999.5, 1000, 999500, 10**6, 10**7)]
    found += [nano + near for nano in changes for near in (-2, -1, 0, 1, 2)]
    for nano in found:
        lower = Fraction(exp_lower_bound(nano, 256), 1 << 256)
        told = value(odds(nano))
        digits = re.sub(r"\D", "", odds(nano).partition(" ")[0])[:3]
        assert len(digits) == 3
        assert lower < told <= lower * Fraction(101, 100) + Fraction(1, 1 << 250), nano
        # The number before of three digits is below e^ε: this one is the least.
        step = Fraction(10) ** (len(str(int(told))) - 3)
        assert told - step <= lower + Fraction(2, 1 << 256), nano


def test_nothing_spent_changes_nothing() -> None:
    assert (odds(0), share(0)) == ("1.00", "50.0")


def test_a_share_is_rounded_up_and_below_100() -> None:
    assert [share(e * NANO) for e in (1, 2, 4, 5, 10)] == ["73.2", "88.1", "98.3", "99.4", "99.996"]
    for nano in (1, NANO // 3, 7 * NANO, 16 * NANO, 30 * NANO):
        exact = 1 / (1 + math.exp(-nano / NANO)) * 100
        assert exact <= float(share(nano)) + 1e-12
        assert float(share(nano)) < 100
    assert share(50 * NANO).startswith("99.99999")
    assert [share(nano) for nano in (51 * NANO, 100 * NANO, MAX_NANO)] == ["100"] * 3


def test_the_sentence_says_both_and_warns() -> None:
    assert PureEpsilon.of(1).sentence() == (
        "Anyone who sees the report: their odds about your answer change at most 2.72-fold. "
        "From fifty-fifty at most to 73.2 %."
    )
    assert "2,72-Fache" in sentence(NANO, "de-CH")
    for nano, warning in ((5 * NANO - 1, None), (5 * NANO, "little protection"), (10 * NANO - 1, "little protection"),
                          (10 * NANO, "next to none"), (40 * NANO, "next to none")):  # fmt: skip
        said = sentence(nano)
        assert said.endswith("%.") if warning is None else warning in said


@pytest.mark.parametrize("language", ["fr", "", None, "english"])
def test_another_language_says_which_there_are(language: str) -> None:
    with pytest.raises(InvalidValue, match="in en and de"):
        sentence(NANO, language)
