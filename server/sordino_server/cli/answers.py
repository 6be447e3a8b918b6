"""`sordino campaigns answers`: ask a closed campaign what its workload need not list."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sordino_analysis.figures import SHARE, amount, number_span, span
from sordino_analysis.percentages import percent
from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.output import JsonOption, console, print_json, print_table, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity


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
        (_print_rules if document["kind"] == "rule" else _print_answers)(document)


def _print_rules(document: dict[str, Any]) -> None:
    """Each rule with the assumption that its answer rests on, and whether the reports contradict it."""
    level = percent(document["level"])
    table = Table("rule", "share", "standard error", f"{level} interval", "p-value of the assumption")
    for each in document["answers"]:
        ends = each["interval"]
        held = "none: the reports contradict the assumption" if ends is None else span(ends, SHARE)
        figures = (amount(each["value"], SHARE), amount(each["standard_error"], SHARE), held, f"{each['p_value']:.3g}")
        table.add_row(*map(escape, (each["label"], *figures)))
    print_table(table)
    console.print(
        f"{quantity(document['users'], 'user')}, ε = {document['epsilon']:g}; on average over databases, not for "
        f"each of them: {document['answers'][0]['sentence']}",
        highlight=False,
    )


def _print_answers(document: dict[str, Any]) -> None:
    level = percent(document["level"])
    if document["kind"] == "quantile":
        table = Table("question", "value", f"{level} interval", f"{level} band")
        rows = map(_quantile, document["answers"])
    else:
        table = Table("question", "value", "standard error", f"{level} interval", f"{level} band")
        rows = map(_share, document["answers"])
    for row in rows:
        table.add_row(*map(escape, row))
    print_table(table)
    console.print(
        f"{quantity(document['users'], 'user')}, ε = {document['epsilon']:g}; the band holds "
        f"{quantity(document['compared'], 'question')}",
        highlight=False,
    )
    for warning in document["warnings"]:
        console.print(f"[yellow]{escape(warning)}", highlight=False)


def _share(each: dict[str, Any]) -> tuple[str, ...]:
    figures = (amount(each[name], SHARE) for name in ("value", "standard_error"))
    return each["label"], *figures, *(span(each[name], SHARE) for name in ("interval", "band"))


def _quantile(each: dict[str, Any]) -> tuple[str, ...]:
    unit = each["unit"]
    value = each["bin"] if each["beyond"] else number_span(each["value"], unit)
    return each["label"], value, *(number_span(each[name], unit) for name in ("interval", "band"))
