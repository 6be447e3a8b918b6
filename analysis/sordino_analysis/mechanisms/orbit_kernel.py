"""Rows carried over by symmetry as a candidate: for parities, marginals and stacks of these, whatever the domain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.decoders import CharacterDecoder
from sordino_analysis.evaluation.integer_kernels import KERNEL_BITS
from sordino_analysis.evaluation.orbit_answers import orbit_answers
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.tuning import ORBIT_KERNEL
from sordino_analysis.optimisation.symmetry.local_features import QueryParts
from sordino_analysis.optimisation.symmetry.orbit_design import OrbitDesign
from sordino_analysis.optimisation.symmetry.orbit_rows import MOST_CELLS
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.row_families import RowFamily, drawn_rows
from sordino_analysis.optimisation.symmetry.row_moments import local_query
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.optimisation.symmetry.worst_case import worst_case_design
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.widths import CharacterMap, character_map
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.orbits import base_row
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers import OrbitKernel
from sordino_shared.randomizers.orbit_kernel import MAX_ROWS, MAX_SUMS

# Fixed point of e^ε: its error is far below a unit of the integers.
_FRACTION_BITS = 64


class OrbitKernelMechanism:
    """Sets over a few attributes, arranged and shifted at random, with the slopes that make each character unbiased."""

    name = "orbit_kernel"

    def reason_against(self, work: SharedWork) -> str | None:
        return reason_against_orbits(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request = work.request
        operator = character_map(request.workload.operator)
        try:
            design = work.orbit_design(request.options.objective)
        except RowsNotFound as error:
            raise MechanismFailed(str(error)) from error
        plain = orbit_kernel(design.rows, design.chances, operator, request.guarantee)
        proposal = Proposal(plain, unbiased_slopes(plain, operator))
        progress(Progress(0.3))
        if (
            request.options.objective == "mean"
            or work.has_many_orbits
            or not any(block.shifted for block in operator.blocks)
        ):
            return proposal
        return min([proposal, *_against_worst_types(work, operator, design)], key=lambda one: _worst(one, work))


def reason_against_orbits(work: SharedWork) -> str | None:
    """Why no rows over a few attributes answer the queries, or None."""
    workload = work.request.workload
    if not isinstance(workload.operator, CharacterMap):
        return "the queries are not parities or marginals"
    widest = max(int(np.prod(block.shape)) for block in workload.operator.blocks)
    return f"queries about {widest} cells; a row has at most {MOST_CELLS}" if widest > MOST_CELLS else None


def drawn_proposal(families: Sequence[RowFamily], work: SharedWork) -> Proposal:
    """The families at their best chances, with the slopes that make each character unbiased.

    Raises MechanismFailed where no family is informative enough.
    """
    operator = character_map(work.request.workload.operator)
    try:
        design = drawn_rows(families, operator, work.request.options.objective)
    except RowsNotFound as error:
        raise MechanismFailed(str(error)) from error
    kernel = orbit_kernel(design.rows, design.chances, operator, work.request.guarantee)
    return Proposal(kernel, unbiased_slopes(kernel, operator))


def _against_worst_types(work: SharedWork, operator: CharacterMap, design: OrbitDesign) -> list[Proposal]:
    """The best design for the worst type, decoded by overlap if that helps and the sums are few enough."""
    request, epsilon = work.request, work.request.guarantee.epsilon
    for overlaps in (True, False) if epsilon > ORBIT_KERNEL.least_for_overlaps else (False,):
        worst_case = worst_case_design(operator, epsilon, design, request.options.seed, by_overlap=overlaps)
        if worst_case is None or len(worst_case.rows) * _sums(operator, overlaps=overlaps) > MAX_SUMS:
            continue
        kernel = orbit_kernel(worst_case.rows, worst_case.chances, operator, request.guarantee, overlaps=overlaps)
        return [Proposal(kernel, repaired_decoder(kernel, request.workload, worst_case.slopes, worst_case.offsets))]
    return []


def _sums(operator: CharacterMap, *, overlaps: bool) -> int:
    """Sums that an aggregator keeps for each row."""
    characters = operator.characters
    if not overlaps:
        return 1 + characters.count
    return 1 + sum(math.prod(characters.shape[a] for a in support) for support in characters.supports)


def _worst(proposal: Proposal, work: SharedWork) -> float:
    return proposal.law(work.request).profile().figures().max_variance


def orbit_kernel(
    tables: tuple[Mask, ...],
    chances: Floats,
    operator: CharacterMap,
    guarantee: PureEpsilon,
    bits: int = KERNEL_BITS,
    *,
    overlaps: bool = False,
) -> OrbitKernel:
    """Rows in integers: levels whose ratio is within e^ε, and chances that sum to 2^bits.

    `tables`: one set of cells per row, one axis per slot; `chances` (rows,). Raises MechanismFailed where there are
    more rows than a device takes, or an aggregator would keep too many sums.
    """
    if len(tables) > MAX_ROWS:
        raise MechanismFailed(f"it needs {len(tables)} rows; a device holds {MAX_ROWS}")
    if (sums := len(tables) * _sums(operator, overlaps=overlaps)) > MAX_SUMS:
        raise MechanismFailed(f"{sums} sums of characters; an aggregator keeps {MAX_SUMS}")
    largest = max(table.size for table in tables)
    boost = exp_lower_bound(guarantee.nano, _FRACTION_BITS)
    low = (1 << (bits + _FRACTION_BITS)) // (largest * (boost + (1 << _FRACTION_BITS)))
    high = (low * boost) >> _FRACTION_BITS
    weights = [max(1, round(float(chance) * 2.0**bits)) for chance in chances]
    likeliest = weights.index(max(weights))
    weights[likeliest] += (1 << bits) - sum(weights)
    rows = tuple(base_row(table) for table in tables)
    characters = operator.characters
    return OrbitKernel(
        shape=characters.shape,
        width=characters.width,
        overlaps=overlaps,
        bits=bits,
        low=low,
        high=high,
        row_weights=tuple(weights),
        rows=rows,
        pinned=characters.pinned,
    )


def unbiased_slopes(kernel: OrbitKernel, operator: CharacterMap) -> CharacterDecoder:
    """1/λ for every orbit that a query uses, 0 for the others, and no offsets: least variance under uniform types.

    All blocks and rows share them, so that the decoder has a number for each orbit.
    """
    used = query_fourier_weights(operator).by_orbit.max(axis=0) > 0
    slopes: Floats = np.zeros(len(used))
    np.divide(1.0, RowSpectrum(kernel).information.sum(axis=0), out=slopes, where=used)
    return CharacterDecoder(array_of(slopes[None], "<f8"), array_of(np.zeros((1, 1)), "<f8"))


def repaired_decoder(kernel: OrbitKernel, workload: Workload, slopes: Floats, offsets: Floats) -> CharacterDecoder:
    """Slopes (blocks, rows, levels, orbits), offsets (blocks, rows, levels) made unbiased for the integers shipped."""
    operator = character_map(workload.operator)
    law, used = orbit_answers(kernel, _decoder(slopes, offsets), workload), query_fourier_weights(operator).by_orbit > 0
    gains, constants = np.ones(used.shape), np.zeros(len(used))
    for number, block in enumerate(operator.blocks):
        parts = QueryParts.of(local_query(operator.characters, block, 0), np.flatnonzero(used[number]))
        shares = parts.shares(law.expected(number))
        constants[number], gains[number, used[number]] = shares[0], shares[1:]
    return _decoder(slopes / gains[:, None, None], offsets - constants[:, None, None])


def _decoder(slopes: Floats, offsets: Floats) -> CharacterDecoder:
    blocks = len(slopes)
    return CharacterDecoder(array_of(slopes.reshape(blocks, -1), "<f8"), array_of(offsets.reshape(blocks, -1), "<f8"))
