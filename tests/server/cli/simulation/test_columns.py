"""A workload made from a column: numbers are cut into bins, words are counted, the rest is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino_analysis.analyst.tables import ColumnError, read_table
from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.simulate import Binning, inferred_specification
from sordino_shared.domains import Categorical, Ordinal


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str | bytes) -> Path:
        path = tmp_path / "rows.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_numbers_are_cut_into_equal_bins_and_words_counted(write) -> None:
    table = read_table(write("n,w\n0,b\n8,a\nNA,b\n?,\n4,c\n"), ["n", "w"])
    numbers = parse_specification(inferred_specification(table, "n", "prefix", Binning(bins=4))).build()
    assert numbers.domain.attributes == (Ordinal("n", (2.0, 4.0, 6.0), missing=True, other=True),)
    words = parse_specification(inferred_specification(table, "w", "histogram", Binning(bins=4))).build()
    assert words.domain.attributes == (Categorical("w", ("a", "b", "c"), missing=True, other=True),)
    own_edges = parse_specification(inferred_specification(table, "n", "ranges", Binning(edges=[1.0, 5.0]))).build()
    assert own_edges.domain.attributes[0].edges == (1.0, 5.0)


@pytest.mark.parametrize("text", ["n\n3\n3\n", "n\n1e300\n1.0000001e300\n"])
def test_numbers_that_have_no_range_to_cut_are_refused(write, text: str) -> None:
    with pytest.raises(ColumnError, match="give --edges"):
        inferred_specification(read_table(write(text), ["n"]), "n", "prefix", Binning(bins=8))


def test_too_many_words_are_refused(write) -> None:
    table = read_table(write("w\n" + "".join(f"word{i}\n" for i in range(300))), ["w"])
    with pytest.raises(ColumnError, match="300 different values"):
        inferred_specification(table, "w", "histogram", Binning(bins=8))


def test_bins_of_equal_counts_end_at_values_and_merge_ties(write) -> None:
    table = read_table(write("n\n" + "".join(f"{number}\n" for number in [1, 1, 1, 1, 1, 2, 3, 4, 50, 900])), ["n"])
    made = parse_specification(inferred_specification(table, "n", "prefix", Binning(bins=5, quantiles=True))).build()
    assert made.domain.attributes[0].edges == (1.0, 2.0, 4.0)
    with pytest.raises(ColumnError, match="one value"):
        inferred_specification(read_table(write("n\n3\n3\n"), ["n"]), "n", "prefix", Binning(bins=4, quantiles=True))


def test_numbers_are_counted_by_value_when_asked(write) -> None:
    table = read_table(write("hour\n7\n8\n8\n17\n"), ["hour"])
    made = parse_specification(inferred_specification(table, "hour", "histogram", Binning(categorical=True))).build()
    assert made.domain.attributes == (Categorical("hour", ("17", "7", "8"), missing=True, other=True),)
