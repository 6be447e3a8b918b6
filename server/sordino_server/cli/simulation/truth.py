"""What the answers of a simulated campaign should be, from the values that its devices hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.grids.listing import listed_by_grids
from sordino_analysis.evaluation.listing import published_queries
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.domains import Domain


def truth_of(
    workload: Workload, domain: Domain, values: Sequence[object], rows: Sequence[Mapping[str, Any]]
) -> NDArray[np.float64]:
    """(Q,) the true answers to the published `rows`; `domain` is the campaign's, with the salts of its hashes."""
    if workload.is_listed:
        whole = build_workload(domain, workload.published)
        codes, numbers = domain.codes_many(values), published_queries(whole)
        if len(rows) == len(numbers):
            return whole.truth_of_codes(codes)[numbers]
        return listed_by_grids(whole).truth_of_codes(codes)
    held = Counter(map(domain.describe, domain.codes_many(values).tolist()))
    return np.array([held[row["label"]] / len(values) for row in rows])
