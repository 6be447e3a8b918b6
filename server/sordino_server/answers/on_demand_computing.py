"""Answers on demand: a function of the database alone, run by a process that keeps what it decoded.

Only that process imports this module: it needs the estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.filling import cells_of_answers
from sordino_analysis.average_case.rule_estimator import RuleEstimator
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.answers_on_demand import Answerer, answer, answerer_of
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.evaluation.item_counts import count_items
from sordino_analysis.figures import SHARE
from sordino_analysis.kinds.on_demand import OnDemandExtras, OnDemandKind
from sordino_analysis.strings.asked import asked_strings
from sordino_analysis.strings.search import StringDomain
from sordino_server.aggregates import LogPurged, aggregate, logged_payloads
from sordino_server.answers.on_demand import AnsweringRound, AnswersKind
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.plans import service as plans
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart, Problem
from sordino_shared.randomizers import Coarsened

# A decoded round of the largest domains takes some hundred megabytes.
_KEPT_ROUNDS = 2


@dataclass(frozen=True)
class _Decoded:
    """A closed round that is ready to answer."""

    device: DevicePart
    analyst: AnalystPart
    answerer: Answerer


def compute_answers(
    url: str, closed: AnsweringRound, kind: AnswersKind, texts: tuple[str, ...], given: str | None
) -> bytes:
    """The document of the answers; raises ServerError or InvalidValue for a question that has none."""
    if kind == "rule":
        if given is not None:
            raise InvalidValue("/query/given: a rule is about all users: ask for marginals given a group", given)
        return _rules_on_average(url, closed, texts)
    if kind == "string":
        if given is not None:
            raise InvalidValue("/query/given: a string is about all users: leave the group out", given)
        return _strings(url, closed, texts)
    decoded = _decoded(url, closed)
    try:
        found = answer(decoded.answerer, decoded.device.domain, kind, texts, given=given)
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    columns = found.columns() | {"kind": [kind] * len(texts)}
    return _document(
        closed,
        decoded.device,
        decoded.analyst,
        columns,
        found.warnings,
        users=found.users,
        compared=found.compared,
        level=found.level,
        bias_bound=found.bias_bound,
        target="reporters",
    )


def _rules_on_average(url: str, closed: AnsweringRound, texts: tuple[str, ...]) -> bytes:
    """Known rules from the means of single indicators, on average over databases."""
    database = database_at(url)
    device, analyst = plan_of(database, closed)
    try:
        found = RuleEstimator.of(device, analyst, aggregate(database, closed.number, device.randomizer))
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    columns = cells_of_answers([found.answer_text(text) for text in texts])
    # Errors and intervals of a rule are about the population.
    of_population = {f"population_{name}": columns.pop(name) for name in ("standard_error", "lower", "upper")}
    same = {"kind": "rule", "unit": SHARE}
    columns |= {**of_population, "label": [*texts], **{name: [cell] * len(texts) for name, cell in same.items()}}
    return _document(
        closed,
        device,
        analyst,
        columns,
        (),
        users=found.indicators.users,
        compared=1,
        level=found.indicators.level,
        bias_bound=None,
        target="population",
        validity="average_case",
    )


def _strings(url: str, closed: AnsweringRound, texts: tuple[str, ...]) -> bytes:
    """Shares of single strings, from the log of the round."""
    database = database_at(url)
    device, analyst = plan_of(database, closed)
    randomizer = device.randomizer
    if not isinstance(randomizer, Coarsened) or not device.domain.holds_strings:
        raise InvalidValue("/query/string: the campaign collects no strings: ask for a cell or a range", texts)
    try:
        total = aggregate(database, closed.number, randomizer)
        pages = logged_payloads(database, closed.number, randomizer.payload_bytes, total.count)
        spread = total.count / max(1, total.count - closed.blanket)
        columns = asked_strings(StringDomain(device.domain, randomizer), pages, texts, spread=spread)
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    return _document(
        closed,
        device,
        analyst,
        columns,
        (),
        users=total.count - closed.blanket,
        compared=len(texts),
        level=0.95,
        bias_bound=analyst.figures.bias_bound,
        target="reporters",
    )


def _document(
    closed: AnsweringRound,
    device: DevicePart,
    analyst: AnalystPart,
    columns: Mapping[str, Sequence[Cell]],
    warnings: Iterable[str],
    **terms: Cell,
) -> bytes:
    """The document of answers from a closed round."""
    of_plan: dict[str, Any] = {
        "campaign_id": closed.campaign,
        "epsilon": device.guarantee.epsilon,
        "mechanism": analyst.mechanism,
        "plan_device": str(device.digest),
        "plan_analyst": str(analyst.digest),
    }
    extras = OnDemandExtras(warnings=tuple(warnings), round=closed.index)
    return EstimateDocument.of_columns(OnDemandKind.name, columns, extras, **of_plan, **terms).content()


@lru_cache(maxsize=1)
def database_at(url: str) -> Database:
    """The database, of which this process keeps one connection."""
    return Database(url, connections=1)


@lru_cache(maxsize=_KEPT_ROUNDS)
def _decoded(url: str, closed: AnsweringRound) -> _Decoded:
    database = database_at(url)
    device, analyst = plan_of(database, closed)
    randomizer = device.randomizer
    total, count = aggregate(database, closed.number, randomizer), None
    if isinstance(randomizer, Coarsened):
        count = partial(_counted, database, closed.number, randomizer, total.count)
    try:
        return _Decoded(device, analyst, answerer_of(device, analyst, total, count, closed.blanket))
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error


def plan_of(database: Database, closed: AnsweringRound) -> tuple[DevicePart, AnalystPart]:
    """Both parts of the plan of a closed round."""
    with database.read("read plan of closed round") as session:
        device = plans.device_part(session, closed.device_digest)
        return device, plans.analyst_part(session, closed.analyst_digest)


def _counted(
    database: Database, round_id: int, randomizer: Coarsened, reports: int, codes: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """(m,) how many of the round's reports hold each of the items."""
    counts = np.zeros(len(codes), dtype=np.int64)
    for payloads in logged_payloads(database, round_id, randomizer.payload_bytes, reports):
        counts += count_items(randomizer, payloads, codes)
    return counts
