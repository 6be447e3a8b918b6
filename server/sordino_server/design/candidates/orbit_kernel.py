"""Rows carried over by symmetry as a candidate: for parities, marginals and stacks of these, whatever the domain."""

from __future__ import annotations

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.candidates.base import CandidateFailed, Progress, Proposal, SharedWork
from sordino_server.design.symmetry.energies import energies
from sordino_server.design.symmetry.orbit_design import OrbitDesign, RowsNotFound
from sordino_server.design.symmetry.orbit_rows import MOST_CELLS
from sordino_server.design.symmetry.spectrum import Spectrum
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
        workload = work.request.workload
        if not isinstance(workload.operator, CharacterMap):
            return "the queries are not parities or marginals"
        if workload.size > MAX_DEVICE_TYPES:
            return f"{workload.size} types; a device holds at most {MAX_DEVICE_TYPES}"
        widest = max(int(np.prod(block.shape)) for block in workload.operator.blocks)
        return f"queries about {widest} cells; a row has at most {MOST_CELLS}" if widest > MOST_CELLS else None

    def propose(self, work: SharedWork, progress: Progress) -> Proposal:
        request = work.request
        operator = request.workload.operator
        assert isinstance(operator, CharacterMap)
        try:
            design = work.orbit_design(request.objective)
        except RowsNotFound as error:
            raise CandidateFailed(str(error)) from error
        kernel = orbit_kernel(design, operator, request.guarantee)
        return Proposal(kernel, unbiased_slopes(kernel, operator))


def orbit_kernel(design: OrbitDesign, operator: CharacterMap, guarantee: PureEpsilon, bits: int = 60) -> OrbitKernel:
    """The design in integers: levels whose ratio is within e^ε, and row chances that sum to 2^bits."""
    largest = max(row.size for row in design.rows)
    boost = exp_lower_bound(guarantee.nano, _FRACTION_BITS)
    low = (1 << (bits + _FRACTION_BITS)) // (largest * (boost + (1 << _FRACTION_BITS)))
    high = (low * boost) >> _FRACTION_BITS
    weights = [max(1, round(float(chance) * 2.0**bits)) for chance in design.chances]
    likeliest = weights.index(max(weights))
    weights[likeliest] += (1 << bits) - sum(weights)
    rows = tuple(BaseRow.of(row) for row in design.rows)
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
