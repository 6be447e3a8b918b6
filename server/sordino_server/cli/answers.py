"""`sordino campaigns answers`: ask a closed campaign what its workload need not list."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.chart_file import ChartOption, drawn
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Csv, CsvOption, Shown, remote_command
from sordino_shared.errors import InvalidValue

_RangeOption = Annotated[
    list[str] | None, typer.Option("--range", metavar="LOW..HIGH", help="Share in a range: 10..20 or delay:..20.")
]
_RectangleOption = Annotated[
    list[str] | None,
    typer.Option(metavar="RANGES", help="Share in ranges of some attributes: delay:10..20,size:..5."),
]
_MeanOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Mean of an attribute's numbers: load_ms.")]
_RuleOption = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="One known rule of `scheme: arrangement`: wifi:on,beta:off."),
]
_StringOption = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="Share of a string, of a campaign that collects strings.")
]


@remote_command
def answers(
    remote: Remote,
    campaign: CampaignArgument,
    range_: _RangeOption = None,
    rectangle: _RectangleOption = None,
    cell: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="Share of a value: linux or os:linux,wifi:yes.")
    ] = None,
    marginal: Annotated[
        list[str] | None, typer.Option(metavar="NAME:VALUE", help="Share of values of some attributes: os:linux.")
    ] = None,
    quantile: Annotated[
        list[str] | None, typer.Option(metavar="Q", help="Quantile between 0 and 1: 0.5 or delay:0.5.")
    ] = None,
    mean: _MeanOption = None,
    rule: _RuleOption = None,
    string: _StringOption = None,
    given: Annotated[
        str | None,
        typer.Option(metavar="NAME=VALUE", help="Answer about a group alone: country=DE or delay=10..20."),
    ] = None,
    as_csv: CsvOption = False,
    chart: ChartOption = None,
) -> Shown:
    """Answer questions about a closed campaign that its workload need not list.

    Example:

        sordino campaigns answers CAMPAIGN --range 5..20 --range ..10
        sordino campaigns answers CAMPAIGN --marginal os:linux --given country=DE
        sordino campaigns answers CAMPAIGN --mean load_ms --given country=DE
        sordino campaigns answers PAGES --string https://example.org/

    Ask one kind of question at a time; repeat the option for several questions. Use the interval for a question that
    you fixed before you saw any answer, and the band for one that you chose by looking.
    """
    asked = {
        "range": range_,
        "rectangle": rectangle,
        "cell": cell,
        "marginal": marginal,
        "quantile": quantile,
        "mean": mean,
        "rule": rule,
        "string": string,
    }
    questions = {kind: texts for kind, texts in asked.items() if texts}
    if len(questions) != 1:
        raise InvalidValue(f"give one of {', '.join(f'--{kind}' for kind in asked)}; it may be repeated")
    with drawn(chart) as picture:
        campaign = remote.campaign_id(campaign)
        path = f"/v1/campaigns/{campaign}/answers"
        questions |= {} if given is None else {"given": [given]}
        document = remote.get(path, **questions)
        picture.draw(document, remote, campaign)
        return document, Csv(remote.text(path, format="csv", **questions)) if as_csv else partial(
            print_estimate, document
        )
