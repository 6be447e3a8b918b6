"""A protocol of two rounds that is quick to work out, and whose second plan and answer depend on every report."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy.orm import Session

from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise import protocol_registry as registry
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.planner import CompiledPlan
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_server import models
from sordino_server.kit.db import Database
from sordino_server.plans import repository as plans
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import RandomizedResponse

SIZE = 3
EXPECTED_USERS = 40
NOTE = "made up for tests"
HALF = 500_000_000
WEIGHTS = np.array([1, 100, 10_000])


@dataclass(frozen=True)
class TwoRounds:
    """The strategy; `first` is what round 0 asks. Its answer is a number made of both rounds' counts."""

    first: RoundPlan
    name: str = "made_of_two_rounds"

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate:
        if len(closed) == 1:
            return self.second(closed[0].aggregate.sums)
        return self.answer(closed)

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        if closed[0].aggregate.count < 3:
            raise PairwiseError("one round of fewer than 3 reports says nothing; round 1 is missing", closed)
        return self.answer(closed)

    def second(self, sums: np.ndarray) -> RoundPlan:
        """A part for round 1 whose ε, a little below the half, tells the counts of round 0."""
        spends = PureEpsilon(HALF - int(sums @ WEIGHTS))
        device = DevicePart(self.first.device.domain, spends, RandomizedResponse.for_guarantee(SIZE, spends))
        return RoundPlan(device, replace(self.first.analyst, device_digest=device.digest))

    def answer(self, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        value = float(sum(int(each.aggregate.sums @ WEIGHTS) for each in closed))
        users = tuple(each.aggregate.count for each in closed)
        return PairwiseEstimate(
            value=value,
            standard_error=0.5,
            lower=value - 1,
            upper=value + 1,
            population_standard_error=0.7,
            population_lower=value - 1.4,
            population_upper=value + 1.4,
            level=0.95,
            target="pairs",
            protocol=self.name,
            users=users,
            forms=(("made_up", value),),
            bias_bound=0.0 if len(closed) == 2 else None,
            clipped=None,
            warnings=(),
        )

    def plan(self, **changes: Any) -> ProtocolPlan:
        """The plan of the whole; every device answers both rounds unless `changes` say otherwise."""
        terms: dict[str, Any] = {
            "statistic": {"name": "made up"},
            "protocol": self.name,
            "target": "pairs",
            "users": EXPECTED_USERS,
            "guarantee": 2 * HALF,
            "rounds": (HALF, HALF),
            "first_weight": None,
            "seed": 0,
            "predicted_rmse": 0.25,
            "notes": (NOTE,),
        }
        return ProtocolPlan(**(terms | changes))

    def ready_request(self, database: Database, **changes: Any) -> str:
        """Id of a plan request that is ready with the plan of the whole and of round 0."""
        plan, identifier = self.plan(**changes), secrets.token_hex(16)

        def store(session: Session) -> None:
            if session.get(models.WorkloadRow, "0" * 64) is None:
                session.add(
                    models.WorkloadRow(
                        id="0" * 64, name="made up", kind="pairwise", specification="{}", queries=1, created_at=0
                    )
                )
            row = models.PlanRequestRow(id=identifier, workload_id="0" * 64, request="{}", state="ready", created_at=0)
            row.device_digest = plans.keep(session, "device", self.first.device, 0)
            row.analyst_digest = plans.keep(session, "analyst", self.first.analyst, 0)
            row.protocol_digest = plans.keep(session, "protocol", plan, 0)
            session.add(row)

        database.run("test plan", store)
        return identifier


@pytest.fixture
def two_rounds(plan_of: Callable[..., CompiledPlan], monkeypatch: pytest.MonkeyPatch) -> TwoRounds:
    """The protocol, among those that the server knows."""
    first = plan_of("histogram", SIZE, "0.5", mechanism="randomized_response")
    strategy = TwoRounds(RoundPlan(first.device, first.analyst))
    monkeypatch.setattr(registry, "PROTOCOLS", (strategy,))
    return strategy
