"""The estimate of a campaign as one region's share of a pooled answer."""

from __future__ import annotations

import numpy as np

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.estimation.pooling import RegionEstimate
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.kinds.reading import UnreadableEstimate, read_estimate
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity


def region_of(name: str, content: bytes) -> RegionEstimate:
    """The estimate in a file called `name`.

    Raises InvalidValue for anything but an estimate of linear queries, and for one that does not list all queries.
    """
    advice = "give what `sordino campaigns estimates --json` printed"
    try:
        estimate = read_estimate(content)
    except UnreadableEstimate as error:
        raise InvalidValue(f"{name} holds no estimate of linear queries ({error.reason}): {advice}", name) from error
    if not isinstance(estimate.extras, LinearExtras):
        raise InvalidValue(f"{name} holds no estimate of linear queries but of kind {estimate.kind}: {advice}", name)
    return _region(name, estimate)


def _region(name: str, estimate: EstimateDocument) -> RegionEstimate:
    terms, table = estimate.terms, estimate.table
    unlisted, compared, bias = terms["unlisted"], terms["compared"], terms["bias_bound"]
    assert isinstance(unlisted, int)
    assert isinstance(compared, int)
    assert isinstance(bias, float | int)
    if unlisted:
        raise InvalidValue(
            f"{name} leaves out {quantity(unlisted, 'query')}, and each campaign may leave out others: "
            "they cannot be pooled",
            name,
        )
    return RegionEstimate(
        campaign=str(terms["campaign_id"]),
        users=estimate.users,
        level=estimate.table.level,
        compared=compared,
        bias_bound=bias,
        labels=tuple(map(str, table.cells("label"))),
        units=tuple(str(unit or "") for unit in table.cells("unit")),
        values=np.array(estimate.table.numbers("uncut")),
        standard_errors=np.array(estimate.table.numbers("standard_error")),
        population_standard_errors=np.array(estimate.table.numbers("population_standard_error")),
    )
