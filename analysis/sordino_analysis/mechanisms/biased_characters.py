"""Characters of which answers take less than their share: a bias that is stated, for less variance at a few users."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import CharacterDecoder
from sordino_analysis.documents.queries import RuleQueries
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.orbit_kernel import orbit_kernel, reason_against_orbits
from sordino_analysis.mechanisms.request import NOT_ALLOWED
from sordino_analysis.optimisation.symmetry.biased_characters import biased_characters
from sordino_analysis.optimisation.symmetry.character_rows import character_families, needed_orbits
from sordino_analysis.optimisation.symmetry.row_spectrum import RowSpectrum
from sordino_analysis.optimisation.symmetry.rows_not_found import RowsNotFound
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.widths import character_map
from sordino_shared.arrays import Array
from sordino_shared.randomizers.orbit_kernel import MAX_ROWS


class BiasedCharactersMechanism:
    """One character at a random one of the best chances, and shares of it in the answers, for variance/n + bias².

    γ₂(W; α) of Edmonds, Nikolov and Ullman 2020 for wide rules: the characters of many attributes, of which there are
    most, are drawn seldom or never.
    """

    name = "biased_characters"

    def reason_against(self, work: SharedWork) -> str | None:
        queries = work.request.workload.published
        if not isinstance(queries, RuleQueries) or reason_against_orbits(work) is not None:
            return "it answers classes of rules over indicators"
        if not queries.bias_allowed:
            return NOT_ALLOWED
        if work.request.options.users is None:
            return "biased by design: it is compared by mean squared error at a stated number of users only"
        needed = len(needed_orbits(character_map(work.request.workload.operator)))
        return f"{needed} orbits of characters; a device holds {MAX_ROWS} rows" if needed > MAX_ROWS else None

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        request, operator = work.request, character_map(work.request.workload.operator)
        families = character_families(operator, request.guarantee.epsilon)
        profiles = np.stack([family.profile for family in families])
        try:
            found = biased_characters(profiles, operator, request.options.objective, request.options.users or 1)
        except RowsNotFound as error:
            raise MechanismFailed(str(error)) from error
        drawn = np.flatnonzero(found.chances > 0)
        rows = tuple(families[row].sets[0].reshape(families[row].shape.sizes) for row in drawn)
        kernel = orbit_kernel(rows, found.chances[drawn], operator, request.guarantee)
        told = RowSpectrum(kernel).information.sum(axis=0)
        slopes = np.divide(found.gains, told, out=np.zeros_like(found.gains), where=found.gains != 0)
        blocks, orbits = slopes.shape
        by_row = np.broadcast_to(slopes[:, None], (blocks, len(rows), orbits)).reshape(blocks, -1)
        offsets = np.zeros((blocks, len(rows)))
        return Proposal(kernel, CharacterDecoder(Array.of(by_row, "<f8"), Array.of(offsets, "<f8")))
