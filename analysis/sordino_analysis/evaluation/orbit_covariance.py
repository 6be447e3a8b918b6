"""A square root of the covariance of symmetric answers, from seeded reports."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.character_tables import CharacterTables
from sordino_analysis.evaluation.linear_answers import covariance_square_root
from sordino_analysis.evaluation.orbit_sums import CharacterSums
from sordino_shared.randomizers import OrbitKernel
from sordino_shared.randomness import SeededRandomness

# The seed and the number of reports are part of the method, as those of a band are. A correlation of so many reports
# is one ± .01 at most, which moves the chance that all errors stay within a band by some ten-thousandths.
ROOT_REPORTS = 10_000
_SEED = 20_261_122
# Sums of characters, or answers, that are held at once.
_MOST_HELD = 1 << 22
_SCALE = 1 << 32


def drawn_root(kernel: OrbitKernel, law: AnswerMoments, histogram: Floats) -> Floats:
    """A (Q, r) with A·Aᵀ ≈ Σ_x h_x E[(answers − W_x)(answers − W_x)ᵀ | x], the mean over ROOT_REPORTS seeded reports.

    Without bias that is the covariance; an entry errs by √(Var of the product / ROOT_REPORTS). Users are drawn from h
    (k,).
    """
    workload = law.workload
    drawn = np.random.default_rng(_SEED).choice(len(histogram), size=ROOT_REPORTS, p=histogram / histogram.sum())
    cells = np.sort(drawn).astype(np.int64)
    payloads = kernel.randomize_many(cells, SeededRandomness(_SEED))
    sums, covariance = CharacterSums(kernel, _SCALE), np.zeros((workload.queries, workload.queries))
    unit = CharacterTables(kernel, _SCALE).unit / _SCALE
    at_once = max(1, _MOST_HELD // max(kernel.accumulator_size, workload.queries))
    for start in range(0, ROOT_REPORTS, at_once):
        here, place = np.unique(cells[start : start + at_once], return_inverse=True)
        held = np.stack([workload.operator.column(int(cell)) for cell in here], axis=1)
        errors = law.decode(unit * sums.each(payloads[start : start + at_once]).astype(float)) - held[:, place]
        covariance += errors @ errors.T
    return covariance_square_root(covariance / ROOT_REPORTS)
