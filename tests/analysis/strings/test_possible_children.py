"""What can follow a path: every child of several paths of three codes, read one by one; and beams of such alone."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.strings.possible_children import PossibleChildren
from sordino_analysis.text_codes.reading import CodeReader, End
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_shared.domains import TextCode
from tests.drawn_strings import DrawnStrings

# Words of one bit for END, and of two for NONE: half of all children have ended.
SHORT = TextCode((), bytes([10] * 256 + [1, 2]))


@pytest.mark.parametrize("code", [SHORT, shipped_code("words").code, shipped_code("bytes").code], ids=lambda _: "")
@pytest.mark.parametrize(("text", "cut"), [(b"", 0), (b"", 3), (b"the", 6), (b"ab", 17), (b"the", 60), (None, 40)])
def test_children_are_those_whose_bits_can_be_read(code: TextCode, text: bytes | None, cut: int) -> None:
    reader, piece = CodeReader(code), 9
    path = code.first_bits(text, cut) if cut else 0
    possible = PossibleChildren(code).of(reader.read(path, cut), piece)
    for child in range(1 << piece):
        read = reader.read(path << piece | child, cut + piece)
        if possible[child]:
            # Parts of a token are found by reading alone.
            assert read.end is not End.IMPOSSIBLE or any(token in read.text for token in code.tokens)
        else:
            assert read.end is End.IMPOSSIBLE


def test_a_beam_is_full_of_what_devices_may_hold() -> None:
    """Without it 29 % of this beam were children after END, and a fifth of the rest split a token."""
    campaign = DrawnStrings(code="words", depth=34, beam=300)
    rng = np.random.default_rng(1)
    texts = ["".join(map(chr, each)) for each in rng.integers(97, 123, size=(2000, 6))]
    found = campaign.find(campaign.reports(texts, rng.integers(0, len(texts), size=6000), 1))
    assert len(found.texts) == 300
    for read in found.texts:
        assert read.end is not End.IMPOSSIBLE
        if read.end is End.OPEN:
            *words, _ = campaign.strings.text.code.places(read.text)
            assert sum(campaign.strings.text.lengths[word] for word in words) == 34 - len(read.bits)


def test_a_cut_code_of_any_text_is_possible() -> None:
    for name in ("words", "urls"):
        code, rng = shipped_code(name).code, np.random.default_rng(2)  # type: ignore[arg-type]
        reader, children = CodeReader(code), PossibleChildren(code)
        for _ in range(60):
            text = "".join(rng.choice(["the", "ing", "th", "http", "é", "e", "/", "."], size=5)).encode()
            whole = code.first_bits(text, 96)
            for cut in range(1, 89, 5):
                read = reader.read(whole >> (96 - cut), cut)
                assert read.end is not End.IMPOSSIBLE
                assert children.of(read, 8)[whole >> (88 - cut) & 255]
