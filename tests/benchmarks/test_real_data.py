"""Histograms from a folder of one's own, and square waves against the users they are about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_data.__main__ import main
from benchmarks.real_data.hierarchy import consistent, hierarchy
from benchmarks.real_data.sets import of_folder, synthetic
from benchmarks.real_data.square_wave import square_wave
from sordino_shared.errors import InvalidValue


def test_counts_of_a_folder_are_merged_to_as_many_bins(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1 2 3\n4, 5 6 7 8\n")
    np.save(tmp_path / "saved.npy", np.arange(1, 9))
    (tmp_path / "few.txt").write_text("1 2")
    (tmp_path / "words.txt").write_text("no counts")
    (tmp_path / "gap.txt").write_text("1 2 nan 4 5 6 7 8")
    (tmp_path / "empty.npy").write_bytes(b"")
    found = of_folder(tmp_path, 4)
    assert list(found) == ["one", "saved"]
    for shares in found.values():
        np.testing.assert_allclose(shares, np.array([3, 7, 11, 15]) / 36)


def test_files_of_one_stem_are_both_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.arange(4))
    (tmp_path / "one.txt").write_text("3 2 1 0")
    found = of_folder(tmp_path, 4)
    assert {name: shares.tolist() for name, shares in found.items()} == {
        "one": [0, 1 / 6, 1 / 3, 1 / 2],
        "one.txt": [1 / 2, 1 / 3, 1 / 6, 0],
    }


def test_a_folder_without_counts_is_refused_with_where_they_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="no file of at least 8 counts; the histograms of DPBench are in"):
        of_folder(tmp_path, 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only-folder"], "--only-folder needs --folder"),
        (["--folder", "none-here"], "none-here has no file of at least 240 counts"),
        (["--runs", "0"], "a user and a run"),
        (["--bins", "1"], "at least 2 bins"),
        (["--epsilon", "0"], "an ε above 0"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in " ".join(capsys.readouterr().err.split())


def test_square_waves_come_near_smooth_users() -> None:
    shares = synthetic(32)["smooth"]
    found = square_wave(shares, 3.0, 1_000_000, np.random.default_rng(0))
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(np.cumsum(found - shares)).max() < 0.02
    assert np.abs(np.cumsum(np.full(32, 1 / 32) - shares)).max() > 0.2


def test_trees_are_made_consistent_by_least_squares() -> None:
    random = np.random.default_rng(3)
    levels = [np.ones(1), random.random(4), random.random(16)]
    found = consistent(levels)
    # All nodes have one variance but the root, which is known: the leaves of least squares with the sum of all.
    parents = np.kron(np.eye(4), np.ones(4))
    rows, wanted = np.vstack([parents, np.eye(16)]), np.concatenate(levels[1:])
    system = np.block([[rows.T @ rows, np.ones((16, 1))], [np.ones((1, 16)), np.zeros((1, 1))]])
    leaves = np.linalg.solve(system, np.append(rows.T @ wanted, 1.0))[:16]
    np.testing.assert_allclose(found[2], leaves, atol=1e-12)
    np.testing.assert_allclose(found[1], parents @ leaves, atol=1e-12)


def test_a_tree_comes_near_its_users() -> None:
    shares = synthetic(60)["two spikes"]
    found = hierarchy(shares, 3.0, 1_000_000, np.random.default_rng(0))
    assert len(found) == 60
    assert np.abs(np.cumsum(found - shares)).max() < 0.01
