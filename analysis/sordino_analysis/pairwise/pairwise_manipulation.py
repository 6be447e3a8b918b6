"""Manipulation bound of a pairwise statistic: for any fake reports and any values of the honest devices.

Of n reports a share f, m of them, is fake, from an attacker who has not seen the others; θ is the value of the honest
ones alone. Of the pairs of different reports a share 2f(1 − g) has one fake report, fg has two, g = (m − 1)/(n − 1).
Let no expected pair of the first kind lie further than A from any honest one, and none of the second further than B. In
the mean over what the honest devices draw, the mean over pairs then lies from θ by at most

    f·[2(1 − g)A + gB] ≤ 2A·f + max(B − 2A, 0)·f²,

since g ≤ f; and so it does from what all of them would give, if the others held any values and were honest. Where own
pairs belong to the statistic, f takes the place of g and B counts them in. As reports become many the draws do not
matter, nor who has seen them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.summary_parts import FormManipulation
from sordino_analysis.mechanisms.single_query import furthest_answer
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_analysis.request_terms import Target
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# Rows of a table of pairs of outputs that are held at once: 32 MiB of doubles.
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Manipulation:
    """A share f of fake reports in every round moves the value of `form` by at most linear·f + quadratic·f²."""

    form: str
    linear: float
    quadratic: float

    @classmethod
    def of_pairs(cls, form: str, crossed: float, forged: float) -> Manipulation:
        """From 2A, of pairs with one fake report (in both orders), and B, of pairs with two."""
        return cls(form, crossed, max(forged - crossed, 0.0))

    def summary(self) -> FormManipulation:
        """As a plan states it, by the form's name."""
        return FormManipulation(linear=self.linear, quadratic=self.quadratic)

    def most(self, share: float) -> float:
        """The bound for this share of fake reports."""
        return self.linear * share + self.quadratic * share**2


@dataclass(frozen=True, eq=False)
class DecodedForgeries:
    """Any decoded output of a finite kernel in the form's matrix W (k, k), paired with honest and with fake reports."""

    law: DecodedReportMoments
    form: QuadraticForm
    target: Target

    @cached_property
    def _slopes(self) -> Floats:
        """(k, p) Wv for the decoded report v of every output."""
        return np.asarray(self.form.matrix @ self.law.decoder)

    @cached_property
    def _crossed(self) -> Floats:
        """(k, p) E[g | x]ᵀWv of an honest report of every type and a fake one."""
        return np.asarray((self.law.decoder @ self.law.kernel).T @ self._slopes)

    @cached_property
    def _honest(self) -> Floats:
        """(k, k) E[g | x]ᵀW E[g | x'], which is W up to the decoder's bias."""
        return np.asarray(self._crossed @ self.law.kernel)

    @cached_property
    def beside_honest(self) -> float:
        """A."""
        above = self._crossed.max(axis=1) - self._honest.min(axis=1)
        below = self._honest.max(axis=1) - self._crossed.min(axis=1)
        return float(np.maximum(above, below).max())

    @cached_property
    def among_themselves(self) -> float:
        """B."""
        step = max(1, _BLOCK_ENTRIES // self._slopes.shape[1])
        blocks = (self.law.decoder[:, start : start + step] for start in range(0, self._slopes.shape[1], step))
        ends = [(pairs.min(), pairs.max()) for pairs in (block.T @ self._slopes for block in blocks)]
        if self.target == "histogram":
            own = np.diag(self.form.matrix) @ self.law.decoder
            ends.append((own.min(), own.max()))
        low, high = np.array(ends).T
        return float(max(high.max() - self._honest.min(), self._honest.max() - low.min()))

    def in_one_round(self) -> Manipulation:
        """Of the U-statistic: exact in the linear part, and at every number of reports."""
        return Manipulation.of_pairs(self.form.name, 2 * self.beside_honest, self.among_themselves)

    def in_two_rounds(self, step: float, guarantee: PureEpsilon, first_users: float) -> Manipulation:
        """Of T = (1 − 2λ)U + 2λA for λ = `step`, with at least so many users in the first round as expected.

        Fake reports of the first round move the mean answer by fα where they move U by 2f(1 − g)α + fgβ, |α| ≤ A and
        |β| ≤ B: T by 2f(1 − λ + (2λ − 1)g)α + (1 − 2λ)fgβ. Those of the second move T by 2λf(c + 1)r more, where the
        values s = Wĥ lie within r of their middle and the outputs within cr. As half a range is convex, r is at most
        (1 − f)·(r of the honest) + f·(r of a fake report); that of the honest at most a true histogram's and noise.
        Of k means of n numbers, each of range w, the largest is expected w√(ln k/2n) off at most (Hoeffding's lemma).
        Raises InvalidValue for λ outside [0, 1].
        """
        if not 0 <= step <= 1:
            raise InvalidValue(f"the step of a plan of two rounds lies between 0 and 1, got {step}", step)
        width = float(np.ptp(self._slopes, axis=1).max())
        noise = width * sqrt(log(len(self._slopes)) / (2 * first_users))
        honest, forged = _radius(self._slopes @ self.law.kernel), _radius(self._slopes)
        claimed = 2 * step * (furthest_answer(guarantee) + 1)
        turned = 2 * max(2 * step - 1, 0.0) * self.beside_honest + abs(1 - 2 * step) * self.among_themselves
        return Manipulation(
            self.form.name,
            2 * (1 - step) * self.beside_honest + claimed * (honest + noise),
            turned + claimed * max(forged - honest, 0.0),
        )


def _radius(values: Floats) -> float:
    """Half the range of the values (k,) in every column, for the widest."""
    return float(np.ptp(values, axis=0).max()) / 2
