"""`sordino campaigns compare`: the answers of one closed campaign less those of another."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

import typer

from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Csv, CsvOption, Shown, remote_command

# An arm, or periods of a series, as the server takes them.
_PART = re.compile(r"(?P<campaign>.+)(?P<part>:[A-Za-z0-9-]{1,24}|@[0-9]{1,9}(-[0-9]{1,9})?)", re.DOTALL)
_CAMPAIGN = "id, the first digits of an id (4 or more), or name"


@remote_command
def compare(
    remote: Remote,
    left: Annotated[str, typer.Argument(metavar="LEFT", help=f"Campaign: {_CAMPAIGN}; with :ARM one of its arms.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="Campaign from which LEFT is subtracted.")],
    query: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Compare this query; repeat it. Default: all of both.")
    ] = None,
    level: Annotated[float, typer.Option(metavar="LEVEL", help="Level of intervals and band, between 0 and 1.")] = 0.95,
    population: Annotated[
        bool, typer.Option("--population", help="Compare the populations; assumes different people.")
    ] = False,
    quantile: Annotated[
        list[float] | None,
        typer.Option(metavar="SHARE", help="How far this quantile is apart, 0.5 for the median; repeat it."),
    ] = None,
    distribution: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare the whole distribution of an ordered attribute.")
    ] = None,
    as_csv: CsvOption = False,
) -> Shown:
    """Subtract the answers of LEFT from those of RIGHT: both are closed and ask about the same domain.

    Example:

        sordino campaigns compare may june --query "delay ≤ 15 min"
        sordino campaigns compare faster-start:A faster-start:B
        sordino campaigns compare may june --quantile 0.5 --quantile 0.95

    A verdict is higher or lower where the band of all compared queries says so. Use the interval for a query that you
    chose before you saw any answer. The lift is the difference as a share of LEFT's answer. --quantile takes campaigns
    whose plans answer quantiles, prefix sums or a histogram of one ordered attribute; it prints ranges, about the
    populations.
    """
    asked: dict[str, Any] = {"left": _compared(remote, left), "right": _compared(remote, right), "level": level}
    asked |= ({"query": query} if query else {}) | ({"population": "true"} if population else {})
    asked |= ({"quantile": quantile} if quantile else {}) | ({"distribution": distribution} if distribution else {})
    document = remote.get("/v1/comparisons", **asked)
    text = Csv(remote.text("/v1/comparisons", format="csv", **asked)) if as_csv else partial(print_estimate, document)
    return document, text


def _compared(remote: Remote, text: str) -> str:
    """The id of a campaign, with the arm after a colon or the periods after an at sign, unless its name has these."""
    found = _PART.fullmatch(text)
    if found is None or any(True for _ in remote.listed("/v1/campaigns", "campaigns", name=text)):
        return remote.campaign_id(text)
    return remote.campaign_id(found["campaign"]) + found["part"]
