"""What commands that create campaigns share: options, the plan that they wait for, and opening at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sordino_analysis.figures import ratio
from sordino_analysis.percentages import percent
from sordino_server.cli.output import progress_console
from sordino_server.cli.remote import Remote, RemoteProblem
from sordino_server.cli.remote_command import Shown, Unfinished
from sordino_server.cli.wait import Patience
from sordino_shared.errors import InvalidValue, SordinoError

NameOption = Annotated[str, typer.Option(metavar="TEXT", help="Name of the campaign.")]
PurposeOption = Annotated[str, typer.Option(metavar="TEXT", help="Text shown to device owners.")]
PopulationOption = Annotated[str, typer.Option(metavar="NAME", help="Population whose devices answer.")]
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="LANG=TEXT", help="The purpose in another language, such as de=TEXT. Repeat it. Permanent."
    ),
]
# Witnesses have a minute, as docs/log.md says.
_WITNESSES_S = 60.0
OpenOption = Annotated[bool, typer.Option("--open", help="Open the campaign immediately.")]


def text_terms(given: list[str] | None) -> dict[str, Any]:
    """The texts of --text as the API takes them; raises InvalidValue for one without a language."""
    pairs = [text.partition("=") for text in given or ()]
    if wrong := next((text for text, (_, equals, _) in zip(given or (), pairs, strict=True) if not equals), None):
        raise InvalidValue(f"--text: write a language and the purpose in it, such as de=TEXT; got {wrong!r}", wrong)
    return {"texts": [{"language": language.strip(), "purpose": purpose} for language, _, purpose in pairs]}


def registered(remote: Remote, path: Path) -> str:
    """Register the workload of a file; its id."""
    # The other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.kinds.specifications import load_question

    identifier: str = remote.post("/v1/workloads", load_question(path).canonical())["id"]
    return identifier


def awaited_plan(remote: Remote, order: dict[str, Any], population: str, patience: Patience) -> str:
    """Order a plan for a population and show its progress; the id of the request when the plan is ready."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    identifier: str = remote.post(f"/v1/plan-requests?population={quote(population, safe='')}", order)["id"]
    with Progress(*columns, console=progress_console, transient=True) as progress:
        shown = progress.add_task("planning", total=1.0)
        said = ""
        for document in remote.plan_progress(identifier, patience):
            stage = document["stage"] or document["state"]
            bound = "" if document["ratio"] is None else f" · {ratio(document['ratio'])}× the bound"
            progress.update(shown, completed=document["progress"], description=stage + bound)
            # Without a terminal, print a line at each stage instead of a bar.
            if stage != said and not progress_console.is_terminal:
                progress_console.print(
                    f"planning, {percent(document['progress'], 0)}: {stage}", highlight=False, markup=False
                )
            said = stage
    return identifier


def open_new(remote: Remote, status: dict[str, Any], shown: Shown) -> None:
    """Open a new campaign and put what changed into its status, which keeps the token.

    Raises `Unfinished` where it stays ready: it exists even if it cannot be opened, and its token is shown this once.
    """
    try:
        changed = opened(remote, status["id"])
    except RemoteProblem as problem:
        advice = "the campaign was created but is not open: open it later, or cancel it"
        raise Unfinished(shown, SordinoError(f"{problem} ({advice})")) from problem
    except BaseException as error:
        raise Unfinished(shown, error) from error
    status |= {name: value for name, value in changed.items() if name != "upload_token"}


def opened(remote: Remote, campaign: str, *, unwitnessed: bool = False) -> Any:
    """The status of a campaign that was opened; waits for the witnesses of the public log, if there are some.

    Raises StillWaiting, which names those that did not come.
    """
    path = f"/v1/campaigns/{campaign}/open{'?unwitnessed=true' if unwitnessed else ''}"
    patience = Patience(_WITNESSES_S)
    while True:
        try:
            return remote.post(path)
        except RemoteProblem as problem:
            if "missing" not in problem.document:
                raise
            missing = ", ".join(problem.document["missing"])
        patience.pause(
            f"waiting for {missing} to see the campaign in the public log",
            f"the campaign stays ready, and {missing} did not cosign the public log; `sordino campaigns open "
            f"--unwitnessed {campaign}` opens it without witnesses",
        )
