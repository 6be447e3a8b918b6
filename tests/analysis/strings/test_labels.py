"""What readers see of strings: nothing hides, no two values look alike, and cut strings are called so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.strings import StringExtras, StringsKind
from sordino_analysis.kinds.strings_document import true_shares
from sordino_analysis.strings.asked import asked_strings
from sordino_analysis.strings.labels import kind_of, label_of, legible
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.text_codes.reading import CodeReader, End
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.drawn_strings import DrawnStrings


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a<U+202E>b"),
        ("a\x00\n\u2028", "a<U+0000><U+000A><U+2028>"),
        # Of letters, marks and blanks some show nothing.
        ("a\u3164\u034f\ufe0f\u00a0\u3000", "a<U+3164><U+034F><U+FE0F><U+00A0><U+3000>"),
        ("\ue000\u0378", "<U+E000><U+0378>"),
        ("<U+202E>", "<U+003C>U+202E>"),
        ("a b \u00e9 \u20ac <b>", "a b \u00e9 \u20ac <b>"),
    ],
)
def test_nothing_hides(text: str, shown: str) -> None:
    assert legible(text) == shown


def test_no_two_codes_look_alike() -> None:
    """All codes of 20 bits behind a letter, whole and cut, of a code whose words have eight bits or nine."""
    reader, depth = CodeReader(shipped_code("bytes").code), 20
    reads = [reader.read(ord("a") << 12 | bits, depth) for bits in range(1 << 12)]
    possible = [read for read in reads if read.end is not End.IMPOSSIBLE]
    assert len({(kind_of(read), label_of(read)) for read in possible}) == len(possible) > 3000
    text = reader.code
    assert label_of(reader.read(text.first_bits("a\u20ac".encode(), 28), 28)) == "a\u2026[e2 82 1010]"
    assert label_of(reader.read(text.first_bits(b"ab", 16), 16)) == "ab\u2026"
    assert label_of(reader.read(text.first_bits(None, 16), 16)) == "(no text)"


def test_the_truth_of_a_beginning_is_that_of_its_bits() -> None:
    campaign = DrawnStrings(depth=20, code="bytes")
    values = ["abc", "abd", "abq", "(no text)", None, None]
    shares = true_shares(campaign.device.domain, values)
    # c and d begin with 0110, q with 0111.
    assert shares["begins with", "ab\u2026[0110]"] == 2 / 6
    assert shares["begins with", "ab\u2026[0111]"] == 1 / 6
    assert shares["no text", "(no text)"] == 2 / 6


def test_asked_strings_that_are_cut_are_answered_as_beginnings() -> None:
    campaign = DrawnStrings(depth=20, code="bytes")
    domain = campaign.device.domain
    codes = np.array([domain.codes(text) for text in ["abc"] * 300 + ["x"] * 100], dtype=np.uint64)
    payloads = randomize_part(campaign.device, codes, SeededRandomness(1))
    found = asked_strings(campaign.strings, [payloads], ["abd", "x", "y"])
    assert found["kind"] == ["begins with", "string", "string"]
    assert found["label"] == ["ab\u2026[0110]", "x", "y"]
    lower, upper = np.array(found["band_lower"]), np.array(found["band_upper"])
    assert (lower <= [0.75, 0.25, 0]).all()
    assert (upper >= [0.75, 0.25, 0]).all()
    # For all texts at once, and still not the whole range.
    assert upper[2] < 1
    assert lower[0] > 0
    # From the count of the held-out level: of one text that was fixed before, and of 2^64.
    reports = len(StringReports.of(campaign.strings.randomizer, [payloads]).levels[HELD_OUT])
    chances = campaign.strings.chances
    own, other = float(chances.own), float(chances.other)
    count = (found["uncut"][0] * (own - other) + other) * reports
    assert count == pytest.approx(round(count))
    for prefix, error in (("", 0.05), ("band_", 0.05 / 2**64)):
        low, high = (found[f"{prefix}{end}"][0] * (own - other) + other for end in ("lower", "upper"))
        assert binom.sf(round(count) - 1, reports, low) == pytest.approx(error / 2, rel=1e-6)
        if high < own - 1e-9:
            assert binom.cdf(round(count), reports, high) == pytest.approx(error / 2, rel=1e-6)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (0.25, "a string that 25.00 % of the devices hold is listed with 90 %"),
        (1.0, "of so few reports even a string that all devices hold is listed with less than 90 %"),
    ],
)
def test_nobody_is_told_that_few_reports_find_what_they_do_not(found: float, said: str) -> None:
    extras = StringExtras(
        warnings=(),
        workload="words",
        beam=10,
        candidates=10,
        reports=(5, 5),
        found=found,
        forged=2.0,
        forged_held_out=8.0,
        seen=(),
    )
    estimate = EstimateDocument.of_columns("strings", {}, extras, users=10, level=0.95)
    statements = StringsKind().statements(estimate)
    assert statements[0] == "0 strings certified of 10 candidates"
    assert any(said in each for each in statements)
