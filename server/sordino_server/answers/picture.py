"""The picture of answers on demand, the same in the console and from the command line."""

from __future__ import annotations

from sordino_analysis.answers.reading import read_document
from sordino_analysis.answers.shown import about
from sordino_analysis.answers.svg import NoPicture, draw_answers_of
from sordino_server.answers.schemas import AnswersExtras
from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem


def draw(content: bytes, name: str) -> str:
    """The text of an SVG file: shares with intervals and band; raises `not-found` for quantiles and rules."""
    table = read_document(content, AnswersExtras).table
    try:
        return draw_answers_of(table, name, about(table))
    except NoPicture as error:
        raise ServerError(Problem.NOT_FOUND, f"{error}: of shares, not of quantiles or rules") from error
