"""How a worker makes a release: plan, charge, measure, publish.

Only workers import this module: it needs the planner. What is exact is held by `_measured` alone, whose errors are
without content, so that no log and no stored reason has a count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from sordino_analysis.curator.audit import part_of
from sordino_analysis.curator.counts import check_part, marginal_counts
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import FAMILIES, CuratorPlan, plan_release
from sordino_analysis.curator.projected_plan import PROJECTIONS, ProjectedPlan, plan_projection
from sordino_analysis.curator.release import MeasuredPlan, measure
from sordino_analysis.documents.curator_part import CuratorPart
from sordino_analysis.guarantees import restore
from sordino_analysis.kinds.release_document import ReleaseSource, release_document
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective
from sordino_server.datasets import service as datasets
from sordino_server.datasets.schemas import delta_of, domain_of_terms, neighbours_of, unit_of
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.sealing import Sealer
from sordino_server.models import Dataset, Release
from sordino_server.releases import service
from sordino_server.workloads import service as workloads
from sordino_shared.domains import Domain
from sordino_shared.errors import SordinoError

# The budget is spent: a database that fails for a moment is worth waiting for.
_ATTEMPTS, _PAUSE_S = 5, 1.0


class ReleaseFailed(SordinoError):
    """The measurement failed; nothing of what it saw is said."""


@dataclass(frozen=True, kw_only=True)
class ReleaseTask:
    """What a worker needs to make a release that it holds the lease of."""

    database: Database
    clock: ServerClock
    sealer: Sealer
    owner: str

    def make(self, identifier: str, should_stop: Callable[[], bool]) -> None:
        """Plan the release, charge it, draw its noise and publish the answers.

        Raises InvalidValue, SordinoError or DatasetBudgetExceeded before anything is charged, and ReleaseFailed after.
        """
        with self.database.read("read release") as session:
            release = service.get(session, identifier)
            dataset = datasets.get(session, release.dataset_id)
            workload = workloads.specification_of(workloads.get(session, release.workload_id)).build()
        domain = domain_of_terms(dataset.terms)
        check_part(domain, workload.domain)
        plan = _planned(release, dataset, workload, should_stop)
        part = part_of(plan)
        counts = self._charged(identifier, dataset)
        measured = _measured(plan, domain, counts)
        document = release_document(_source(release, dataset, part), plan, measured)
        self._publish(identifier, service.MadeRelease(document.content(), part.content))

    def _charged(self, identifier: str, dataset: Dataset) -> NDArray[np.int64]:
        def charge(session: Session) -> NDArray[np.int64]:
            now = self.clock.now()
            return service.charge(session, identifier, self.owner, dataset, self.sealer, now)

        return self.database.run("charge release", charge)

    def _publish(self, identifier: str, made: service.MadeRelease) -> None:
        def publish(session: Session) -> None:
            service.publish(session, identifier, self.owner, made, self.clock.now())

        for _ in range(_ATTEMPTS - 1):
            try:
                return self.database.run("publish release", publish)
            except DatabaseError:
                time.sleep(_PAUSE_S)
        return self.database.run("publish release", publish)


def _planned(
    release: Release, dataset: Dataset, workload: Workload, should_stop: Callable[[], bool]
) -> CuratorPlan | ProjectedPlan:
    guarantee, neighbours = restore(release.kind, release.nano), neighbours_of(dataset)
    if release.mechanism in PROJECTIONS:
        projected = plan_projection(release.mechanism, workload, guarantee, dataset.rows, neighbours)
        projected.law.check_drawable()
        return projected
    objective: Objective = "mean" if release.objective == "mean" else "max"
    families = FAMILIES if release.mechanism is None else (release.mechanism,)
    plan = plan_release(workload, guarantee, objective, dataset.rows, should_stop, neighbours, families)
    plan.law.check_drawable()
    return plan


def _measured(plan: MeasuredPlan, domain: Domain, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """(r,) R̂·counts and noise from the operating system."""
    try:
        return measure(plan, marginal_counts(domain, counts, plan.workload.domain), CuratorNoise())
    except Exception as error:
        name = type(error).__name__
    # Outside the handler, so that the error carries neither the other one's text nor its frames.
    raise ReleaseFailed(f"the measurement failed ({name}), and there is no result")


def _source(release: Release, dataset: Dataset, part: CuratorPart) -> ReleaseSource:
    return ReleaseSource(
        release=release.id,
        plan=str(part.digest),
        dataset=dataset.name,
        unit=unit_of(dataset),
        delta=delta_of(dataset),
        users=dataset.rows,
    )
