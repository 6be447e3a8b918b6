"""A stored estimate of any kind; what this version does not know is an error of the server, in words."""

from __future__ import annotations

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds import reading
from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem


def read_estimate(content: bytes | str) -> EstimateDocument:
    """The estimate in stored bytes; raises ServerError where it is of another kind or lacks a field of its kind."""
    try:
        return reading.read_estimate(content)
    except reading.UnreadableEstimate as error:
        advice = "run `sordino db upgrade`, or the version that stored it"
        raise ServerError(
            Problem.INTERNAL_ERROR, f"the stored estimate cannot be read ({error.reason}): {advice}"
        ) from error
