"""Whether the query that decides an experiment is one of its plan, checked in a process of its own: it builds all rows.

A wrong one would be found by the first look, when devices have spent their ε.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_analysis.experiments.looks import Looks
from sordino_analysis.kinds.registry import kind_named
from sordino_server.campaigns.arm_terms import ExperimentTerms
from sordino_server.plans import service as plans
from sordino_server.workloads import service as workloads
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart, Digest

# Labels that a message shows.
_SHOWN = 3
PlanContents = tuple[str, bytes, str, bytes]


def contents_of_plan(session: Session, plan_request: str) -> PlanContents | None:
    """Digest and bytes of the device part, then of the analyst part; None for a plan that compares no arms."""
    ready = plans.ready_plan(session, plan_request)
    if not kind_named(workloads.get(session, ready.workload).kind).compares_arms:
        return None
    device, analyst = (plans.get_part(session, digest).content for digest in (ready.device, ready.analyst))
    return ready.device, device, ready.analyst, analyst


def check_primary(terms: ExperimentTerms, plan: PlanContents) -> None:
    """Raise InvalidValue unless the plan has a query of this label that varies, and reports that the looks need."""
    primary = terms.primary
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_analysis.comparisons.matching import queries_by_label
    from sordino_analysis.documents.analyst_part import AnalystPart
    from sordino_analysis.questions.linear.building import build_workload

    device = DevicePart.read(plan[1], Digest.parse(plan[0]))
    analyst = AnalystPart.read(plan[3], Digest.parse(plan[2]))
    workload = build_workload(device.domain, analyst.queries, analyst.workload)
    if not workload.is_listed:
        raise InvalidValue("/experiment: items that are too many to list are not compared; ask for some of them")
    labels = queries_by_label(workload)
    if primary not in labels:
        some = ", ".join(map(repr, list(labels)[:_SHOWN])) + (", …" if len(labels) > _SHOWN else "")
        raise InvalidValue(f"/experiment/primary: the plan has no query {primary!r}; it has {some}", primary)
    if labels[primary] not in workload.varying_rows:
        raise InvalidValue(
            f"/experiment/primary: {primary!r} has the same answer for all values: name a query that varies", primary
        )
    if terms.looks is Looks.ALWAYS:
        from sordino_analysis.estimation.linear import LinearEstimator
        from sordino_analysis.experiments.always import Contributions

        try:
            Contributions.of(LinearEstimator.of(device, analyst), labels[primary], terms.expect)
        except InvalidValue as error:
            raise InvalidValue(f"/experiment/looks: {error}", terms.looks) from error
