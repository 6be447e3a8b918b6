"""The protocols there are, by name."""

from __future__ import annotations

from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.one_round import OneRound
from sordino_analysis.pairwise.one_round_split import OneRoundSplit
from sordino_analysis.pairwise.one_round_worst import OneRoundWorst
from sordino_analysis.pairwise.protocol import PairwiseError, PairwiseProtocol
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.pairwise.three_round import ThreeRound
from sordino_analysis.pairwise.two_round import TwoRound
from sordino_analysis.pairwise.two_round_shared import TwoRoundShared
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan

# In the order in which ties are decided: fewer rounds first.
PROTOCOLS: tuple[PairwiseProtocol, ...] = (
    OneRound(),
    OneRoundSplit(),
    TwoRound(),
    TwoRoundShared(),
    ThreeRound(),
)


# By their names alone: they keep another promise than the least mean error that plans compare.
NAMED_PROTOCOLS: tuple[PairwiseProtocol, ...] = (OneRoundWorst(),)


def find_protocol(name: str) -> PairwiseProtocol:
    """The protocol of this name; raises PairwiseError that lists those there are."""
    for protocol in (*PROTOCOLS, *NAMED_PROTOCOLS):
        if protocol.name == name:
            return protocol
    known = ", ".join(protocol.name for protocol in (*PROTOCOLS, *NAMED_PROTOCOLS))
    raise PairwiseError(f"there is no protocol {name!r}; there are {known}", name)


def step_protocol(plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate:
    """What follows after the `closed` rounds: the next round's plan, or the estimate; raises PairwiseError."""
    return find_protocol(plan.protocol).step(plan, closed)


def conclude_protocol(plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
    """The estimate that fewer rounds than planned allow; raises PairwiseError where they allow none."""
    return find_protocol(plan.protocol).conclude(plan, closed)
