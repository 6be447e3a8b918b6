"""Numbers of answers as they are written for a reader."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_analysis.figures import (
    SHARE,
    amount,
    chosen,
    figure,
    number_span,
    only_unit,
    places,
    rounded,
    span,
    with_error,
)


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
        (2e20, "2e+20"),
        (-3.25e-8, "−3.25e-08"),
    ],
)
def test_four_digits_without_an_exponent(number, written):
    assert figure(number) == written


def test_what_somebody_chose_has_its_digits():
    assert [chosen(number) for number in (1, 0.25, 1e-6, 16.0, 0.123456)] == ["1", "0.25", "1e-06", "16", "0.123456"]


@pytest.mark.parametrize(
    ("error", "decimals"),
    [
        (0.12, 2),
        (0.29, 2),
        (0.296, 1),
        (0.3, 1),
        (0.94, 1),
        (0.096, 2),
        (1.0, 1),
        (3.4, 0),
        (9.96, 0),
        (34, -1),
        (120, -1),
    ],
)
def test_an_error_has_one_figure_or_two_after_1_and_2(error, decimals):
    assert places(error) == decimals


def test_an_answer_has_the_decimals_of_its_error():
    assert amount(0.61803, SHARE, 0.0123) == "61.8 %"
    assert amount(0.0123, SHARE, 0.0123) == "1.2 %"
    assert amount(0.61803, SHARE, 0.031) == "62 %"
    assert span((0.58567, 0.63549), SHARE, 0.0123) == "58.6 … 63.5 %"
    assert amount(1393.981, "ms", 34) == "1,390 ms"
    assert span((-15.31, 1390.2), "ms", 1.4) == "−15.3 … 1,390.2 ms"
    assert amount(-0.0004, SHARE, 0.03) == "0 %"
    assert with_error(0.61803, 0.0123, SHARE) == "61.8 % ± 1.2"
    assert with_error(1393.981, 34, "ms") == "1,390 ± 30 ms"


def test_without_an_error_a_share_has_two_decimals_and_an_exact_one_all_its_digits():
    assert amount(0.12345, SHARE) == "12.35 %"
    assert amount(1393.981, "ms") == "1,394 ms"
    assert amount(-2.5, "") == "−2.5"
    assert span((0.0, 0.5), SHARE) == "0.00 … 50.00 %"
    assert amount(1.0, SHARE, 0.0) == "100 %"
    assert amount(0.30000000000000004, SHARE, 0.0) == "30 %"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_what_is_written_is_within_half_a_unit_of_the_last_decimal(number, error):
    written = amount(number, "", error)
    assert re.fullmatch(r"−?[0-9,]+(\.[0-9]+)?", written)
    read = float(written.replace(",", "").replace("−", "-"))
    unit = 10.0 ** -places(error)
    assert abs(read - number) <= unit / 2 * (1 + 1e-6) + 1e-9
    # The last decimal is between a thirtieth of the error and a third of it.
    assert 2.9 <= error / unit <= 30.1
    assert written != "−0"


@pytest.mark.parametrize(
    ("ends", "written"),
    [
        ((10, 15), "10 … 15 min"),
        ((7, 7), "7 min"),
        ((None, 5.0), "≤ 5 min"),
        ((60.0, None), "from 60 min on"),
        ((None, None), "any number"),
        ((86_400.5, 10**9 + 1), "86,400.5 … 1,000,000,001 min"),
        ((6445.3125, 6503.90625), "6,445.31 … 6,503.91 min"),
        ((None, 60000 / 7), "≤ 8,571.43 min"),
        ((1_800_000_000.25, 1_800_000_000.75), "1,800,000,000.25 … 1,800,000,000.75 min"),
        ((0.0, 0.125), "0 … 0.125 min"),
    ],
)
def test_bins_have_the_digits_of_ends_that_somebody_chose_and_no_more(ends, written):
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
