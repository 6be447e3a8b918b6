"""How far the search in the reports of a closed round is said to be."""

from __future__ import annotations

from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.models import BatchState, Round
from sordino_server.shuffled.schemas import BatchStatus
from sordino_server.sources.schemas import RoundSources
from sordino_shared.protocol import RoundState


def test_no_report_is_searched_before_the_batch_of_a_shuffler_is_whole() -> None:
    row = Round(index=0, state=RoundState.CLOSED, device_digest="", analyst_digest="", opened_at=0, closed_at=1)
    for state, progress in ((BatchState.RECEIVING, None), (BatchState.STATED, 0.0)):
        batch = BatchStatus.model_construct(state=state)
        shown = RoundStatus.of(row, 0, RoundSources([], []), None, batch, searched=True)
        assert shown.progress == progress
