"""One round whose kernel is made for the worst population, of few types: by its name alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.pair_game import slopes
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.form_bounds import near_populations
from sordino_analysis.pairwise.form_kernel import FormGoal
from sordino_analysis.pairwise.forms import aims, form_queries
from sordino_analysis.pairwise.one_round import OneRound
from sordino_analysis.pairwise.protocol import ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.sealing import seal
from sordino_analysis.pairwise.tuning import WORST_KERNEL
from sordino_analysis.pairwise.worst_kernel import WorstCase, worst_kernel
from sordino_analysis.progress import ProgressCallback


class OneRoundWorst(OneRound):
    """`one_round` with the least variance for the worst users, where that protocol has the least mean error."""

    name = "one_round_worst"

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply, or None."""
        size, most = request.statistic.size, WORST_KERNEL.most_types
        if size > most:
            return f"{size} types; kernels for the worst users are made for at most {most}"
        return None if list(_parts(request)) else "every form is the same for all pairs of users"

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """The kernel with the least of the largest variances of the forms, each over the square of its own slope."""
        statistic, seed = request.statistic, request.options.seed
        kernel, decoder = worst_kernel(_case(request), request.guarantee)
        goal = FormGoal(aims(statistic), request.users)
        predicted = goal.value(DecodedReportMoments.of(kernel, decoder)) ** 0.5
        first = seal(form_queries(statistic), request.guarantee, kernel, decoder, "worst_form_kernel", seed)
        return ProtocolDesign(request.plan(self.name, (request.guarantee.nano,), predicted), first)


def _case(request: ProtocolRequest) -> WorstCase:
    queries, populations = zip(*_parts(request), strict=True)
    return WorstCase(
        queries=np.vstack(queries),
        populations=np.vstack(populations),
        scales=np.concatenate([np.full(len(each), float((each**2).max())) for each in queries]),
    )


def _parts(request: ProtocolRequest) -> Iterator[tuple[Floats, Floats]]:
    """q̃ (P, k) and populations (P, k) of each form that differs between pairs."""
    populations = near_populations(request.statistic.size, request.guarantee.epsilon, request.target)
    for form in request.statistic.forms:
        found = slopes(form.matrix, populations, request.users, request.target)
        if found.any():
            yield found, populations
