"""Guesses from a table of all outputs, whose exact law is known: expectation and maximisation, stopped early.

From even shares, h ← h·Kᵀ(c/Kh) goes to the likeliest histogram and comes by smooth ones. The six stops and the
projection are averaged by their estimated risks: no single one is safe, for a late stop follows the noise and an early
one has not arrived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.average import BestGuess, candidates_of, rounded, weights_of
from sordino_analysis.evaluation.answer_moments import AnswerMoments

# Steps after which guesses are taken: twice as many each time, to where nothing but noise is added.
STOPS = (25, 50, 100, 200, 400, 800)
# Draws of the counts' noise, and the share of it that counts are moved by on either side.
_DRAWS, _MOVED, _SEED = 8, 0.1, 20_261_135
# Of eigenvalues: below it the answers do not tell types of the support apart.
_RANK = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedOutputs:
    """`counts` (p,) of the outputs of `kernel` K (p, k) from `users`, and from `blanket` random reports of even types.

    `law` decodes them to `answers` (Q,), to which `nearest` (k,) is the nearest histogram.
    """

    law: AnswerMoments
    kernel: Floats
    counts: Floats
    answers: Floats
    nearest: Floats
    users: int
    blanket: int

    def guess(self) -> BestGuess:
        """The average of the stops and the projection."""
        root = self.law.covariance_root(self.nearest)
        noise = float(self.law.mixed_variances(self.nearest).sum()) / self.users
        if root is None or noise <= 0:
            return BestGuess(self.nearest, "projection")
        drawn = self._noise()
        moved = np.concatenate([drawn, -drawn]) * _MOVED
        stops = self._stopped(np.maximum(self.counts + np.vstack([np.zeros_like(self.counts), moved]), 0.0))
        own, names = [each[0] for each in stops], [f"{steps} steps" for steps in STOPS]
        responses = [self._response(drawn, each[1:]) for each in stops]
        guesses, names = [self.nearest, *own], ["projection", *names]
        responses = [self._of_projection(root), *responses]
        operator = self.law.workload.operator
        risks = [
            float(((operator.matvec(guess) - self.answers) ** 2).sum()) + 2 * response - noise
            for guess, response in zip(guesses, responses, strict=True)
        ]
        largest = float(np.linalg.eigvalsh(root.T @ root)[-1]) / self.users
        weights = weights_of(risks, largest / 2)
        mean = rounded(weights @ np.array(guesses))
        return BestGuess(mean, "expectation and maximisation", candidates_of(names, weights, risks), noise)

    def _stopped(self, counts: Floats) -> list[Floats]:
        """(b, k) at each stop, for each of the `counts` (b, p)."""
        types = self.kernel.shape[1]
        random = self.blanket * self.kernel.mean(axis=1)
        shares, found = np.full((len(counts), types), 1 / types), []
        for step in range(1, STOPS[-1] + 1):
            expected = self.users * shares @ self.kernel.T + random
            shares = shares * ((counts / expected) @ self.kernel)
            shares /= shares.sum(axis=1, keepdims=True)
            if step in STOPS:
                found.append(shares)
        return found

    def _noise(self) -> Floats:
        """(draws, p) of the counts about these users: Σ_x n h_x (diag K_x − K_x K_xᵀ), and of even random reports."""
        generator = np.random.Generator(np.random.PCG64(_SEED))
        held = self.users * self.nearest + self.blanket / len(self.nearest)
        outputs, types = self.kernel.shape
        found = np.empty((_DRAWS, outputs))
        for place in range(_DRAWS):
            normal = generator.standard_normal((outputs, types)) * np.sqrt(self.kernel)
            own = normal - self.kernel * normal.sum(axis=0)
            found[place] = own @ np.sqrt(held)
        return found

    def _response(self, drawn: Floats, shares: Floats) -> float:
        """Σ_q Cov((Wĥ)_q, answer_q) from the `shares` (2·draws, k) at moved counts."""
        reports, operator = self.users + self.blanket, self.law.workload.operator
        base = self.law.decode(self.counts / reports)
        found = [
            float((self.law.decode((self.counts + each) / reports) - base) @ operator.matvec(above - below))
            for each, above, below in zip(drawn, shares[:_DRAWS], shares[_DRAWS:], strict=True)
        ]
        return float(np.mean(found)) / (2 * _MOVED)

    def _of_projection(self, root: Floats) -> float:
        """The same of the nearest histogram, which is linear on its support."""
        operator, held = self.law.workload.operator, np.flatnonzero(self.nearest > 0)
        gram = np.column_stack([operator.rmatvec(operator.column(int(cell)))[held] for cell in held])
        inverse = np.linalg.pinv(gram, rcond=_RANK, hermitian=True)
        flat = inverse.sum(axis=1)
        if flat.sum() > 0:
            inverse = inverse - np.outer(flat, flat) / flat.sum()
        pulled = np.column_stack([operator.rmatvec(column)[held] for column in root.T])
        return float((pulled * (inverse @ pulled)).sum()) / self.users
