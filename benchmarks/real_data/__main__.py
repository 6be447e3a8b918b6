"""`python -m benchmarks.real_data`: errors of best guesses beside the projection, likelihood, trees and SW + EMS.

Unbiased histograms are drawn from the normal law with the exact covariance of shifted grids, and errors are over all
ranges at once, as shares of the unbiased answers' expected one. SW and trees have reports of their own at the same ε.
The column "unbiased" has the errors of the draws themselves, which the next two and the last one share.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.real_data.hierarchy import hierarchy
from benchmarks.real_data.sets import WHERE, flights, of_folder, synthetic
from benchmarks.real_data.square_wave import square_wave
from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.average import averaged, cell_fits, chosen_cells
from sordino_analysis.estimation.best.grids import MeasuredByGrids
from sordino_analysis.estimation.best.monotone import MonotoneProjection
from sordino_analysis.evaluation.grids.covariance import GridCovariance
from sordino_analysis.evaluation.grids.families import RangeFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.linear_answers import covariance_square_root
from sordino_analysis.mechanisms.grid_levels import designed_levels
from sordino_server.demo.flights import MOST_BINS
from sordino_shared.errors import InvalidValue

METHODS = ("unbiased", "projection", "likelihood", "hierarchy", "SW + EMS", "best guess")


def losses(shares: Floats, law: GridLaw, epsilon: float, users: int, runs: int) -> tuple[Floats, float]:
    """(runs, methods) errors as shares of the unbiased answers', and processor seconds of a best guess."""
    family, random = RangeFamily(len(shares), len(shares)), np.random.default_rng(7)
    covariance = GridCovariance(law, shares).matrix()
    root = covariance_square_root(covariance) / np.sqrt(users)
    noise = float((family.gram(np.eye(len(shares))) * covariance).sum()) / users
    found, seconds = [], 0.0
    for _ in range(runs):
        unbiased = shares + root @ random.standard_normal(root.shape[1])
        measured = MeasuredByGrids(family, unbiased, float(users), law)
        start = time.process_time()
        best = averaged(measured).histogram
        seconds += time.process_time() - start
        cells = chosen_cells(measured)
        guesses = [
            unbiased,
            MonotoneProjection.of(family, unbiased).histogram,
            cells.spread(cell_fits(measured, cells).likeliest().shares),
            hierarchy(shares, epsilon, users, random),
            square_wave(shares, epsilon, users, random),
            best,
        ]
        found.append([float((one - shares) @ family.gram(one - shares)) / noise for one in guesses])
    return np.array(found), seconds / runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each histogram and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=WHERE)
    parser.add_argument("--folder", type=Path, help="files with counts, besides flights and synthetic shapes")
    parser.add_argument("--only-folder", action="store_true", help="the files of the folder alone")
    parser.add_argument("--synthetic", action="store_true", help="synthetic shapes alone")
    parser.add_argument("--bins", type=int, default=240, help="of flights at most 240")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args(arguments)
    if asked.bins < 2 or not asked.epsilon > 0 or asked.users < 1 or asked.runs < 1:
        parser.error("give at least 2 bins, an ε above 0, a user and a run")
    if asked.only_folder and asked.folder is None:
        parser.error(f"--only-folder needs --folder: {WHERE}")
    try:
        files = {} if asked.folder is None else of_folder(asked.folder, asked.bins)
    except InvalidValue as error:
        parser.error(str(error))
    sets = {} if asked.only_folder else synthetic(asked.bins)
    if not (asked.only_folder or asked.synthetic) and asked.bins <= MOST_BINS:
        sets = flights(asked.bins) | sets
    sets |= files
    law = GridLaw(designed_levels(RangeFamily(asked.bins, asked.bins), asked.epsilon), asked.bins)
    print(f"{asked.bins} bins, ε = {asked.epsilon:g}, {asked.users:,} users, {asked.runs} runs\n")
    print(f"| users | {' | '.join(METHODS)} | s |\n|---{'|---' * len(METHODS)}|---|")
    means = []
    for name, shares in sets.items():
        found, seconds = losses(shares, law, asked.epsilon, asked.users, asked.runs)
        means.append(np.log(found).mean(axis=0))
        cells = [f"{mean:.2f} ({low:.2f}–{high:.2f})" for mean, low, high in
                 zip(np.exp(means[-1]), found.min(axis=0), found.max(axis=0), strict=True)]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} | {seconds:.1f} |", flush=True)
    print(f"| geometric mean | {' | '.join(f'{each:.2f}' for each in np.exp(np.mean(means, axis=0)))} | |")


if __name__ == "__main__":
    main()
