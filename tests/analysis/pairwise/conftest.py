"""A statistic small enough to simulate every user of, and rounds played through with the real randomizers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.pairwise.protocol import PairwiseProtocol, ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.pairwise import PairwiseStatistic, QuadraticForm
from sordino_analysis.request_terms import Target
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import Domain, Ordinal


class Small:
    """Forty users of four types, and what is asked of them."""

    counts = np.array([9, 14, 4, 13])
    cells = np.repeat(np.arange(4), counts)
    users = len(cells)

    def distances(self, size: int = 4) -> PairwiseStatistic:
        """Gini's mean difference of values evenly spaced on [0, 1], with half of a value on the diagonal."""
        places = np.arange(size) / (size - 1)
        matrix = np.abs(np.subtract.outer(places, places)) + np.diag(0.5 * places)
        edges = [float(edge) for edge in range(1, size)]
        domain = Domain((Ordinal("value", tuple(edges)),))
        form = QuadraticForm("mean difference", matrix)
        specification = {
            "name": "distance",
            "domain": [{"name": "value", "kind": "ordinal", "edges": edges}],
            "statistic": {"kind": "matrix", "matrix": matrix.tolist()},
        }
        return PairwiseStatistic(
            name="distance",
            domain=domain,
            forms=(form,),
            combine=lambda u: float(u[0]),
            gradient=np.ones_like,
            denominators=(),
            specification=specification,
        )

    def request(
        self, epsilon: float, users: int = 40, target: Target = "pairs", statistic: PairwiseStatistic | None = None
    ) -> ProtocolRequest:
        return ProtocolRequest(
            statistic or self.distances(), PlanningOptions.of(epsilon=epsilon, users=users, target=target)
        )

    def play(
        self, protocol: PairwiseProtocol, design: ProtocolDesign, cells: NDArray[np.int64], seed: int
    ) -> tuple[PairwiseEstimate, tuple[ClosedRound, ...]]:
        """Every device answers every round; the estimate and the closed rounds."""
        randomness = SeededRandomness(seed)
        closed: tuple[ClosedRound, ...] = ()
        following: RoundPlan | PairwiseEstimate = design.first
        while isinstance(following, RoundPlan):
            randomizer = following.device.randomizer
            payloads = randomize_many(randomizer, cells, randomness)
            closed = (*closed, ClosedRound(following, Aggregate(len(cells), accumulate(randomizer, payloads))))
            following = protocol.step(design.plan, closed)
        return following, closed


@pytest.fixture(scope="session")
def small() -> Small:
    return Small()
