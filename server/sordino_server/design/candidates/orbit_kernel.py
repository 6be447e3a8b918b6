"""Rows carried over by symmetry as a candidate: for parities, marginals and stacks of these, whatever the domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sordino_server.design.arrays import Floats, Mask
from sordino_server.design.candidates.base import CandidateFailed, Progress, Proposal, SharedWork
from sordino_server.design.symmetry.energies import energies
from sordino_server.design.symmetry.orbit_design import OrbitDesign, RowsNotFound
from sordino_server.design.symmetry.orbit_rows import MOST_CELLS
from sordino_server.design.symmetry.row_families import RowFamily, drawn_rows
from sordino_server.design.symmetry.spectrum import Spectrum
from sordino_server.design.symmetry.worst_case import worst_case_design
from sordino_server.design.workloads.widths import CharacterMap
from sordino_shared.arrays import Array
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.protocol import CharacterDecoder
from sordino_shared.randomizers import BaseRow, OrbitKernel
from sordino_shared.randomizers.base import MAX_DEVICE_TYPES

_FRACTION_BITS = 64


class OrbitKernelCandidate:
    """Sets over a few attributes, arranged and shifted at random, with the slopes that make each character unbiased."""

    name = "orbit_kernel"

    def reason_against(self, work: SharedWork) -> str | None:
        return reason_against_orbits(work)

    def propose(self, work: SharedWork, progress: Progress) -> Proposal:
        request = work.request
        operator = request.workload.operator
        assert isinstance(operator, CharacterMap)
        try:
            design = work.orbit_design(request.objective)
        except RowsNotFound as error:
            raise CandidateFailed(str(error)) from error
        plain = orbit_kernel(design.rows, design.chances, operator, request.guarantee)
        proposal = Proposal(plain, unbiased_slopes(plain, operator))
        progress(0.3)
        if request.objective == "mean" or not any(block.shifted for block in operator.blocks):
            return proposal
        return min(proposal, *_against_worst_types(work, operator, design), key=lambda found: _worst(found, work))


def reason_against_orbits(work: SharedWork) -> str | None:
    """Why no rows over a few attributes answer the queries, or None."""
    workload = work.request.workload
    if not isinstance(workload.operator, CharacterMap):
        return "the queries are not parities or marginals"
    if workload.size > MAX_DEVICE_TYPES:
        return f"{workload.size} types; a device holds at most {MAX_DEVICE_TYPES}"
    widest = max(int(np.prod(block.shape)) for block in workload.operator.blocks)
    return f"queries about {widest} cells; a row has at most {MOST_CELLS}" if widest > MOST_CELLS else None


def drawn_proposal(families: Sequence[RowFamily], work: SharedWork) -> Proposal:
    """The families at their best chances, with the slopes that make each character unbiased."""
    operator = work.request.workload.operator
    assert isinstance(operator, CharacterMap)
    try:
        design = drawn_rows(families, operator, work.request.objective)
    except RowsNotFound as error:
        raise CandidateFailed(str(error)) from error
    kernel = orbit_kernel(design.rows, design.chances, operator, work.request.guarantee)
    return Proposal(kernel, unbiased_slopes(kernel, operator))


def _against_worst_types(work: SharedWork, operator: CharacterMap, design: OrbitDesign) -> list[Proposal]:
    request = work.request
    found = worst_case_design(operator, request.guarantee.epsilon, design, request.seed)
    if found is None:
        return []
    kernel = orbit_kernel(found.rows, found.chances, operator, request.guarantee)
    return [Proposal(kernel, repaired_decoder(kernel, operator, found.slopes, found.offsets))]


def _worst(proposal: Proposal, work: SharedWork) -> float:
    return proposal.law(work.request).profile().figures().max_variance


def orbit_kernel(
    tables: tuple[Mask, ...], chances: Floats, operator: CharacterMap, guarantee: PureEpsilon, bits: int = 60
) -> OrbitKernel:
    """Rows in integers: levels whose ratio is within e^ε, and chances that sum to 2^bits."""
    largest = max(table.size for table in tables)
    boost = exp_lower_bound(guarantee.nano, _FRACTION_BITS)
    low = (1 << (bits + _FRACTION_BITS)) // (largest * (boost + (1 << _FRACTION_BITS)))
    high = (low * boost) >> _FRACTION_BITS
    weights = [max(1, round(float(chance) * 2.0**bits)) for chance in chances]
    likeliest = weights.index(max(weights))
    weights[likeliest] += (1 << bits) - sum(weights)
    rows = tuple(BaseRow.of(table) for table in tables)
    characters = operator.characters
    return OrbitKernel(characters.shape, characters.width, bits, low, high, tuple(weights), rows)


def unbiased_slopes(kernel: OrbitKernel, operator: CharacterMap) -> CharacterDecoder:
    """1/λ for every orbit that a block uses, 0 for the others, and no offsets: least variance under uniform types."""
    used = energies(operator).by_orbit > 0
    told = Spectrum(kernel).told.sum(axis=0)
    slopes: Floats = np.zeros(used.shape)
    np.divide(1.0, told, out=slopes, where=used)
    offsets = np.zeros((len(slopes), len(kernel.rows)))
    return CharacterDecoder(Array.of(np.tile(slopes, len(kernel.rows)), "<f8"), Array.of(offsets, "<f8"))


def repaired_decoder(kernel: OrbitKernel, operator: CharacterMap, slopes: Floats, offsets: Floats) -> CharacterDecoder:
    """Slopes (blocks, rows, orbits) and offsets (blocks, rows) made unbiased for the integers that are shipped."""
    spectrum = Spectrum(kernel)
    gains = np.einsum("kno,no->ko", slopes, spectrum.told)
    scaled = np.divide(slopes, gains[:, None], out=np.zeros_like(slopes), where=gains[:, None] > 0)
    centred = offsets - (offsets @ spectrum.chances)[:, None]
    return CharacterDecoder(Array.of(scaled.reshape(len(slopes), -1), "<f8"), Array.of(centred, "<f8"))
