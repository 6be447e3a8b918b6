"""Extreme contribution of one report to each answer; the manipulation bound."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.weighted_decoder import expand_weighted
from sordino_analysis.questions.linear import Workload
from sordino_shared.protocol import DevicePart


def manipulation(device: DevicePart, analyst: AnalystPart, workload: Workload) -> Floats:
    """(Q,) max |c_q(y) − a| over every output y that a device can send and every honest answer a of the listed queries.

    A share f of fake reports, with chosen outputs and seeds, moves an answer by at most f times this, for any values
    of the other devices. Attained for outputs that are counted; for seeded directions and characters it is an upper
    bound over all seeds. Includes the bias bound; 0 for a query with the same answer for every type.
    """
    decoder = expand_weighted(analyst.decoder, device.randomizer, workload)
    half = for_randomizer(device.randomizer)
    low, high = half.extreme_contributions(decoder, workload)
    workload = half.listed(workload)
    least, most = workload.operator.entry_range()
    bias = analyst.figures.bias_bound
    moved = np.maximum(high - least, most - low) + bias
    moved[np.setdiff1d(np.arange(workload.queries), workload.varying_rows)] = 0.0
    return np.asarray(moved)
