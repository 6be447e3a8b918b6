"""The estimate of a campaign as one region's share of a pooled answer."""

from __future__ import annotations

import numpy as np
from pydantic import ValidationError

from sordino_analysis.estimation.pooling import RegionEstimate
from sordino_server.estimates.schemas import EstimateDocument
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity


def region_of(name: str, content: bytes) -> RegionEstimate:
    """The estimate in a file called `name`.

    Raises InvalidValue for anything but an estimate of linear queries, and for one that does not list all queries.
    """
    try:
        document = EstimateDocument.model_validate_json(content)
    except ValidationError as error:
        raise InvalidValue(
            f"{name} holds no estimate of linear queries: give what `sordino campaigns estimates --json` printed", name
        ) from error
    if document.unlisted:
        raise InvalidValue(
            f"{name} leaves out {quantity(document.unlisted, 'query')}, and each campaign may leave out others: "
            "they cannot be pooled",
            name,
        )
    queries = document.queries
    return RegionEstimate(
        campaign=document.campaign,
        users=document.users,
        level=document.level,
        compared=document.compared,
        bias_bound=document.bias_bound,
        labels=tuple(query.label for query in queries),
        units=tuple(query.unit for query in queries),
        values=np.array([query.value if query.uncut is None else query.uncut for query in queries]),
        standard_errors=np.array([query.standard_error for query in queries]),
        population_standard_errors=np.array([query.population_standard_error for query in queries]),
    )
