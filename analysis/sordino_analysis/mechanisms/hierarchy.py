"""A tree over the types as a candidate: a level at a random one of the best chances, and sets of its nodes."""

from __future__ import annotations

import numpy as np

from sordino_analysis.mechanisms.drawn_families import drawn_kernel, reason_against_tree
from sordino_analysis.mechanisms.mechanism import Proposal, SharedWork
from sordino_analysis.mechanisms.set_families import most_informative_family
from sordino_analysis.progress import ProgressCallback


class HierarchyMechanism:
    """Levels of 2, 4, 8, … nodes and of all types, each with the sets of nodes that tell most about their shares.

    Branching 4, 8 or 16 is what leaving levels out amounts to, so their chances decide it. Cormode, Kulkarni,
    Srivastava 2019 (levels by chance); Hay et al. 2010 (consistent levels, which least squares gives).
    """

    name = "hierarchy"

    def reason_against(self, work: SharedWork) -> str | None:
        return reason_against_tree(work)

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        types, epsilon = work.request.workload.size, work.request.guarantee.epsilon
        widths = [*(2**level for level in range(1, (types - 1).bit_length())), types]
        families = [most_informative_family(nodes, epsilon).over(np.arange(types) * nodes // types) for nodes in widths]
        return drawn_kernel(families, work, progress)
