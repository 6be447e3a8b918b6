"""`sordino campaigns answers`: ask a closed campaign what its workload need not list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sordino_analysis.answers.reading import checked_parts, document_of
from sordino_analysis.answers.shown import shown_answers
from sordino_server.answers.schemas import AnswersExtras
from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.estimate_text import print_lines, print_shown
from sordino_server.cli.output import JsonOption, print_json, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_shared.errors import InvalidValue

_PARTS = ("answer", "std. error", "interval", "band", "p-value of the assumption")


@reports_errors
def answers(
    campaign: CampaignArgument,
    range_: Annotated[
        list[str] | None, typer.Option("--range", metavar="LOW..HIGH", help="Share in a range: 10..20 or delay:..20.")
    ] = None,
    rectangle: Annotated[
        list[str] | None,
        typer.Option(metavar="RANGES", help="Share in ranges of some attributes: delay:10..20,size:..5."),
    ] = None,
    cell: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="Share of a value: linux or os:linux,wifi:yes.")
    ] = None,
    marginal: Annotated[
        list[str] | None, typer.Option(metavar="NAME:VALUE", help="Share of values of some attributes: os:linux.")
    ] = None,
    quantile: Annotated[
        list[str] | None, typer.Option(metavar="Q", help="Quantile between 0 and 1: 0.5 or delay:0.5.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="One known rule of `scheme: arrangement`: wifi:on,beta:off."),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table as CSV.")] = False,
    chart: ChartOption = None,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer questions about a closed campaign that its workload need not list.

    Example:

        sordino campaigns answers CAMPAIGN --range 5..20 --range ..10

    Ask one kind of question at a time; repeat the option for several questions. Use the interval for a question that
    you fixed before you saw any answer, and the band for one that you chose by looking.
    """
    asked = {
        "range": range_,
        "rectangle": rectangle,
        "cell": cell,
        "marginal": marginal,
        "quantile": quantile,
        "rule": rule,
    }
    given = {kind: texts for kind, texts in asked.items() if texts}
    if len(given) != 1:
        raise InvalidValue(f"give one of {', '.join(f'--{kind}' for kind in asked)}; it may be repeated")
    with Remote(server, key) as remote, drawn(chart) as picture:
        campaign = remote.campaign_id(campaign)
        path = f"/v1/campaigns/{campaign}/answers"
        document = remote.get(path, **given)
        picture.draw("sordino_server.answers.picture", document, remote, campaign)
        if as_csv:
            typer.echo(remote.text(path, format="csv", **given), nl=False)
            return
    if as_json:
        print_json(document)
    else:
        print_answers(document)


def print_answers(document: Mapping[str, Any]) -> None:
    """Answers as a server sent them, and of rules the assumption that they rest on."""
    table = document_of(checked_parts(document), AnswersExtras).table
    print_shown(shown_answers(table, "question", parts=_PARTS))
    sentences = [str(cell) for cell in table.cells("sentence") if cell is not None]
    if sentences:
        print_lines([f"on average over databases, not for each of them: {sentences[0]}"])
    if sentences and None in table.cells("population_lower"):
        print_lines(["an answer without an interval has none: the reports contradict the assumption"])
