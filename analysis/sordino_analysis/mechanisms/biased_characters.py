"""Answers that count characters less than they should: less variance at a few users, for a bias that is stated."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import CharacterDecoder
from sordino_analysis.documents.queries import ConceptQueries
from sordino_analysis.mechanisms.fourier import reason_against_characters
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.orbit_kernel import orbit_kernel
from sordino_analysis.optimisation.symmetry.biased_characters import biased_characters
from sordino_analysis.optimisation.symmetry.character_rows import character_families
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.widths import character_map
from sordino_analysis.vectorized.arrays import array_of


class BiasedCharactersMechanism:
    """Each device sends one random character; its chance and its share in the answers minimise variance/n + bias².

    For wide rules this is γ₂(W; α) of Edmonds, Nikolov and Ullman 2020: most characters are of many attributes, and
    these are drawn seldom or never.
    """

    name = "biased_characters"

    def reason_against(self, work: SharedWork) -> str | None:
        if not isinstance(work.request.workload.published, ConceptQueries):
            return "it answers classes of rules over indicators"
        return work.request.reason_against_bias or reason_against_characters(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request, operator = work.request, character_map(work.request.workload.operator)
        families = character_families(operator, request.guarantee.epsilon)
        profiles = np.stack([family.profile for family in families])
        try:
            design = biased_characters(profiles, operator, request.options.objective, request.options.users or 1)
        except RowsNotFound as error:
            raise MechanismFailed(str(error)) from error
        drawn = np.flatnonzero(design.chances > 0)
        rows = tuple(families[row].sets[0].reshape(families[row].shape.sizes) for row in drawn)
        kernel = orbit_kernel(rows, design.chances[drawn], operator, request.guarantee)
        information = RowSpectrum(kernel).information.sum(axis=0)
        slopes = np.divide(design.gains, information, out=np.zeros_like(design.gains), where=design.gains != 0)
        blocks, orbits = slopes.shape
        by_row = np.broadcast_to(slopes[:, None], (blocks, len(rows), orbits)).reshape(blocks, -1)
        offsets = np.zeros((blocks, len(rows)))
        return Proposal(kernel, CharacterDecoder(array_of(by_row, "<f8"), array_of(offsets, "<f8")))
