"""Extreme contribution of one report to each answer; the manipulation bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import Decoder
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.mean_moves import MISSED, moved_with_chance
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.questions.linear import Workload
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer


def manipulation(device: DevicePart, analyst: AnalystPart, workload: Workload) -> Floats:
    """(Q,) `largest_moves` of a plan: a share f of fake reports moves answer q by at most f times the entry q."""
    return largest_moves(device.randomizer, analyst.decoder, workload, analyst.figures.bias_bound)


@dataclass(frozen=True, eq=False)
class DrawnMoves:
    """`manipulation` of reports with tokens, whose coins are drawn: `mean` is d, `most` is m, over the `queries`.

    A share f of the tokens that were issued, for each report counted, moves an answer by at most f·d in the mean.
    `over` says of which queries d is the largest, unless of all.
    """

    mean: float
    most: float
    queries: int
    over: str | None

    def with_chance(self, share: float, reports: int, missed: float = MISSED) -> float:
        """How far such a share of so many reports moves any of the answers at most, but for a chance `missed`."""
        return moved_with_chance(self.mean, self.most, share, reports, missed, self.queries)


def drawn_manipulation(device: DevicePart, analyst: AnalystPart, workload: Workload) -> DrawnMoves:
    """The largest move of a report with a drawn coin, in the mean over coins, and of one with a chosen coin."""
    moves = manipulation(device, analyst, workload)
    most, half = float(moves.max()), for_randomizer(device.randomizer)
    if not device.randomizer.has_coin:
        return DrawnMoves(most, most, len(moves), None)
    least, greatest = half.listed(workload).operator.entry_range()
    decoder = expand_weighted(analyst.decoder, device.randomizer, workload)
    found = half.mean_moves(decoder, workload, least, greatest)
    if found is None:
        return DrawnMoves(most, most, len(moves), None)
    varying = moves[found.rows] > 0
    drawn = np.minimum(found.moves + analyst.figures.bias_bound, moves[found.rows])[varying]
    return DrawnMoves(float(drawn.max(initial=0.0)), most, len(moves), found.over(workload.asked))


def largest_moves(
    randomizer: AnyRandomizer,
    decoder: Decoder,
    workload: Workload,
    bias_bound: float,
    law: AnswerMoments | None = None,
) -> Floats:
    """(Q,) max |c_q(y) − a| over every output y that a device can send and every honest answer a of the listed queries.

    A share f of fake reports, with chosen outputs and seeds, moves an answer by at most f times this, for any values
    of the other devices. Attained for outputs that are counted; for seeded directions and characters it is an upper
    bound over all seeds. Includes the bias bound; 0 for a query with the same answer for every type. `law` is that of
    the answers where it was made before: what it has solved is not solved again.
    """
    half = for_randomizer(randomizer)
    ends = None if law is None else law.extremes()
    low, high = ends or half.extreme_contributions(expand_weighted(decoder, randomizer, workload), workload)
    workload = half.listed(workload)
    least, most = workload.operator.entry_range()
    moved = np.maximum(high - least, most - low) + bias_bound
    moved[np.setdiff1d(np.arange(workload.queries), workload.varying_rows)] = 0.0
    return np.asarray(moved)
