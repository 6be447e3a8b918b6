"""Numbers of answers as they are written for a reader."""

import pytest

from sordino_analysis.figures import SHARE, amount, figure, number_span, only_unit, rounded, span


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0"),
        (1390.26, "1,390"),
        (-0.00123456, "−0.001235"),
        (123_456.7, "123,457"),
        (999.96, "1,000"),
        (0.5, "0.5"),
        (-0.0, "0"),
        (2e20, "2.000e+20"),
        (-3e-8, "−3.000e−08"),
    ],
)
def test_four_digits_without_an_exponent(number, written):
    assert figure(number) == written


def test_shares_are_in_per_cent_and_other_numbers_in_their_unit():
    assert amount(0.12345, SHARE) == "12.35 %"
    assert amount(1393.981, "ms") == "1,394 ms"
    assert amount(-2.5, "") == "−2.5"
    assert span((0.0, 0.5), SHARE) == "0.00 % … 50.00 %"
    assert span((-1.5, 1390.2), "ms") == "−1.5 … 1,390 ms"


@pytest.mark.parametrize(
    ("ends", "written"),
    [
        ((10, 15), "10 … 15 min"),
        ((7, 7), "7 min"),
        ((None, 5.0), "≤ 5 min"),
        ((60.0, None), "from 60 min on"),
        ((None, None), "any number"),
        ((86_400.5, 10**9 + 1), "86,400.5 … 1,000,000,001 min"),
    ],
)
def test_bins_have_all_digits_of_their_ends(ends, written):
    assert number_span(ends, "min") == written


def test_numbers_of_an_axis_have_no_idle_digits():
    assert [rounded(number, SHARE) for number in (0.2, 0.30000000000000004, -0.05, 0)] == [
        "20 %",
        "30 %",
        "−5 %",
        "0 %",
    ]
    assert rounded(1390, "ms") == "1,390 ms"


def test_answers_of_several_units_have_none():
    assert (only_unit(["ms", "ms"]), only_unit(["ms", SHARE]), only_unit([])) == ("ms", "", "")
