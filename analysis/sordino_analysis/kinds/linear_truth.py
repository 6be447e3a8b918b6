"""What the answers of a simulated campaign should be, from the values that its devices hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sordino_analysis.evaluation.grids.listing import listed_by_grids
from sordino_analysis.evaluation.listing import published_queries
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.domains import Domain


def truth_of(workload: Workload, domain: Domain, values: Sequence[object], labels: Sequence[object]) -> list[float]:
    """The true answers to the published queries of these `labels`; `domain` is the campaign's, with salts of hashes."""
    if workload.is_listed:
        whole = build_workload(domain, workload.published)
        codes, numbers = codes_many(domain, values), published_queries(whole)
        if len(labels) == len(numbers):
            return [float(answer) for answer in whole.truth_of_codes(codes)[numbers]]
        return [float(answer) for answer in listed_by_grids(whole).truth_of_codes(codes)]
    held = Counter(map(domain.describe, codes_many(domain, values).tolist()))
    return [held[str(label)] / len(values) for label in labels]
