"""The last lines of `sordino plan --target-error`: the users that more trust would take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sordino_analysis.documents.price_of_locality import PriceOfLocality, UsersUnderTrust
from sordino_analysis.figures import chosen, figure
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.price_of_locality import price_of_locality
from sordino_analysis.questions.linear import WorkloadSpecification
from sordino_analysis.questions.question import WrittenQuestion


def with_price(plan: FinishedPlan, specification: WrittenQuestion, target_error: float) -> FinishedPlan:
    """The plan with the users of every kind of trust in its summary; a pairwise statistic has none."""
    summary = plan.summary.linear
    if summary is None or not isinstance(specification, WorkloadSpecification):
        return plan
    price = price_of_locality(specification.build(), summary, target_error)
    return replace(plan, summary=summary.model_copy(update={"price_of_locality": price}))


def price_lines(price: PriceOfLocality) -> Iterator[str]:
    """A heading, and a line for each kind of trust."""
    privacy = f"({chosen(price.epsilon)}, {chosen(price.delta)})"
    yield f"honest users for an error of {chosen(price.target_error)} and a privacy of {privacy}"
    yield "  where one user's value is replaced, against the one named:"
    users = {row.trust: "none known" if row.users is None else f"{row.users:,}" for row in price.rows}
    width = max(len(row.against) for row in price.rows)
    for row in price.rows:
        yield f"  {row.against:{width}}  {users[row.trust]:>{max(map(len, users.values()))}}  {_terms(row, price)}"
    yield from (f"  {row.trust}: {row.reason}" for row in price.rows if row.reason is not None)


def _terms(row: UsersUnderTrust, price: PriceOfLocality) -> str:
    if row.trust == "curator":
        if row.users is None:
            return ""
        return f"ε = {chosen(price.epsilon)}, pure" if row.rho is None else f"ρ = {figure(row.rho)}"
    if row.device_epsilon is None:
        return ""
    if row.blanket is not None:
        return f"ε = {chosen(row.device_epsilon)}, {row.blanket:,} random reports"
    return f"ε = {chosen(row.device_epsilon)}{', pure' if row.users_for_privacy is None else ' on devices'}"
