"""The best guess of a round of linear queries: which method its reports and queries allow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.average import BestGuess, averaged
from sordino_analysis.estimation.best.expectation import CountedOutputs
from sordino_analysis.estimation.best.grids import MeasuredByGrids
from sordino_analysis.estimation.best.mixing import mixed
from sordino_analysis.estimation.best.tables import MeasuredByTable
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.grids.answers import GridAnswers
from sordino_analysis.evaluation.grids.families import PrefixFamily, RangeFamily, intervals_of
from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_shared.randomizers import AnyRandomizer, FiniteKernel

# Entries of a table of outputs whose law is gone through 800 times for 17 counts, in seconds.
_MOST_OUTPUTS = 1 << 17
# Types up to which a matrix of all is inverted, in a second.
_MOST_TYPES = 1024


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded, which takes milliseconds to find."""
    return ThreadpoolController()


@dataclass(frozen=True, eq=False, kw_only=True)
class DecodedRound:
    """The reports of a round, decoded: unbiased `answers` (Q,) by `law`, and the `nearest` histogram (k,) to them.

    `own` is the law of users' reports alone, of which there are `users` beside `blanket` random ones; `mean` (p,) is
    the mean accumulator of all reports.
    """

    law: AnswerMoments
    own: AnswerMoments
    randomizer: AnyRandomizer
    mean: Floats
    answers: Floats
    nearest: Floats
    users: int
    blanket: int

    def guess(self) -> BestGuess:
        """The best guess at the users' histogram.

        Ordered types by an average of many guesses, cells in no order by empirical Bayes; of other queries, and where
        covariances are too many, it is the nearest histogram. Linear algebra has one thread: matrices are small, and
        equal counts have the same guess to the last bit.
        """
        with _libraries().limit(limits=1, user_api="blas"):
            return self._guess()

    def _guess(self) -> BestGuess:
        if self.law.workload.operator.symmetry is Symmetry.TYPES:
            return mixed(self.answers, self.law.mixed_variances(self.nearest) / self.users)
        if isinstance(self.own, GridAnswers) and isinstance(self.own.family, (PrefixFamily, RangeFamily)):
            found = MeasuredByGrids.of(
                self.own.law, self.own.family, self._histogram(self.own), self.users, self.blanket
            )
            return averaged(found)
        return self._of_table() or BestGuess(self.nearest, "projection")

    def _histogram(self, own: GridAnswers) -> Floats:
        share = self.blanket / self.users
        return np.asarray((1 + share) * own.histogram(self.mean) - share * own.law.density)

    def _of_table(self) -> BestGuess | None:
        """Of a family of intervals over a few hundred types; None of anything else."""
        workload = self.law.workload
        family = intervals_of(workload.operator)
        if family is None or workload.dithering is not None or workload.size > _MOST_TYPES:
            return None
        if isinstance(self.randomizer, FiniteKernel) and self.randomizer.outputs * workload.size <= _MOST_OUTPUTS:
            return CountedOutputs(
                law=self.law,
                kernel=probabilities(self.randomizer),
                counts=self.mean * (self.users + self.blanket),
                answers=self.answers,
                nearest=self.nearest,
                users=self.users,
                blanket=self.blanket,
            ).guess()
        measured = MeasuredByTable.of(self.law, family, self.answers, self.nearest, self.users)
        return None if measured is None else averaged(measured)
