"""Histograms of data: flights, synthetic shapes, and files of the user's own copy of public histograms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_server.demo.flights import delay_edges, draw_delays
from sordino_shared.errors import InvalidValue

# Where the histograms of DPBench (Hay et al. 2016) are. Their licence says nothing about passing them on.
WHERE = (
    "the histograms of DPBench are in the folder dpcomp_core/datafiles of github.com/dpcomp-org/dpcomp_core: copy it "
    "and give its 1D folder, or any folder of .npy or text files with counts"
)
_DRAWN = 2_000_000


def flights(bins: int) -> dict[str, Floats]:
    """Delays of the demo's flights, whose law this repository has."""
    edges = np.array(delay_edges(bins))
    cells = np.searchsorted(edges, draw_delays(_DRAWN, 1), side="left")
    return {"flights": _shares(np.bincount(cells, minlength=bins))}


def synthetic(bins: int) -> dict[str, Floats]:
    """Shapes that are easy and hard to guess: smooth, heavy at one end, spikes, every second bin empty, one bin."""
    places, random = (np.arange(bins) + 0.5) / bins, np.random.default_rng(1)
    smooth = np.exp(-((places - 0.3) ** 2) / 0.02) + 0.4 * np.exp(-((places - 0.7) ** 2) / 0.01)
    spikes = np.full(bins, 0.1 / bins)
    spikes[[bins // 4, 3 * bins // 5]] += (0.6, 0.3)
    gaps = np.where(np.arange(bins) % 2 == 0, 1.0, 0.0) * random.exponential(size=bins)
    one = np.eye(bins)[bins // 3]
    kinds = {"smooth": smooth, "Zipf": 1 / (np.arange(bins) + 1.0), "two spikes": spikes, "gaps": gaps, "one bin": one}
    return {name: _shares(counts) for name, counts in kinds.items()} | {"even": np.full(bins, 1 / bins)}


def of_folder(folder: Path, bins: int) -> dict[str, Floats]:
    """Each file's counts, neighbours merged to as many bins; raises InvalidValue, which says where files are."""
    found: dict[str, Floats] = {}
    for path in sorted(folder.glob("*")):
        counts = _counts(path)
        if counts is None or len(counts) < bins or not np.isfinite(counts).all():
            continue
        if counts.min() < 0 or counts.sum() <= 0:
            continue
        starts = np.linspace(0, len(counts), bins, endpoint=False).astype(int)
        # By the stem where that is one file's: `hepth.npy` and `hepth.txt` are two.
        name = path.name if path.stem in found else path.stem
        found[name] = _shares(np.add.reduceat(counts, starts))
    if not found:
        raise InvalidValue(f"{folder} has no file of at least {bins} counts; {WHERE}", str(folder))
    return found


def _counts(path: Path) -> Floats | None:
    """The numbers in a file; None where it has none."""
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), dtype=float).ravel()
        if path.suffix in (".txt", ".csv", ".dat", ""):
            return np.array(path.read_text().replace(",", " ").split(), dtype=float)
    except (ValueError, OSError, EOFError):
        return None
    return None


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum())
