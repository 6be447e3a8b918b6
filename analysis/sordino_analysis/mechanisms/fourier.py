"""Fourier characters as a candidate: one at a random one of the best chances, its sign by randomized response."""

from __future__ import annotations

from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.orbit_kernel import drawn_proposal, reason_against_orbits
from sordino_analysis.optimisation.symmetry.character_rows import character_families, needed_orbits
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.questions.linear.widths import character_map
from sordino_shared.randomizers.orbit_kernel import MAX_ROWS


class FourierMechanism:
    """Characters of the orbits that queries need, each as an arc of the circle on which its values lie.

    On binary attributes a character is a parity, and half the circle its sign: randomized response of a random parity,
    weighted. Barak et al. 2007; Cormode, Kulkarni, Srivastava 2018 (marginals through the Hadamard transform).
    """

    name = "fourier"

    def reason_against(self, work: SharedWork) -> str | None:
        return reason_against_characters(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        operator, epsilon = character_map(work.request.workload.operator), work.request.guarantee.epsilon
        return drawn_proposal(character_families(operator, epsilon), work)


def reason_against_characters(work: SharedWork) -> str | None:
    """Why no device draws one of the characters that the queries need, or None."""
    reason = reason_against_orbits(work)
    if reason is not None:
        return reason
    needed = len(needed_orbits(character_map(work.request.workload.operator)))
    return f"{needed} orbits of characters; a device holds {MAX_ROWS} rows" if needed > MAX_ROWS else None
