"""`sordino card`: what a campaign or a dataset asks, promises and keeps, for the people who sign it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli.output import console, fail
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Shown, remote_command
from sordino_server.populations.names import identifier_of
from sordino_shared.errors import InvalidValue, SordinoError

UNSTATED = 1


@remote_command
def card(
    remote: Remote,
    target: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Id of a campaign, its first digits, or its name.")],
    dataset: Annotated[bool, typer.Option("--dataset", help="The name is that of a dataset.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the card as one HTML file without script.")
    ] = None,
    audited: Annotated[
        bool, typer.Option("--audit", help="Recompute every published value of the plan, and say how many hold.")
    ] = False,
    dpia: Annotated[
        bool, typer.Option("--dpia", help="Print the template of an impact assessment, filled from the card.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where a field is not stated.")] = False,
) -> Shown:
    """Print the card of a campaign: who asks, what is promised, who sees what, how long it is kept, how to check it.

    Example:

        sordino card delays --html card.html

    Every number is one of the API; a field without a source says "not stated". --json prints card.json, which may be
    published: it has no personal data.
    """
    # The other commands read no cards.
    from sordino_server.cards import dpia as assessments
    from sordino_server.cards import page
    from sordino_server.cards.schemas import Card

    found = Card.model_validate(card_of(remote, target, dataset=dataset))
    if audited:
        found = _audited(remote, found)
    if html is not None:
        _write(html, page.page(found))
    if strict and (unstated := [field.name for field in found.fields() if not field.stated]):
        _print(found)
        fail(f"not stated: {', '.join(unstated)}", UNSTATED)
    document: dict[str, Any] = found.model_dump(mode="json")
    if dpia:
        return document | {"dpia": assessments.filled(found)}, partial(_line, assessments.filled(found).rstrip())
    return document, partial(_print, found)


def card_of(remote: Remote, target: str, *, dataset: bool = False) -> dict[str, Any]:
    """The card as the API has it."""
    if dataset:
        found: dict[str, Any] = remote.get(f"/v1/datasets/{identifier_of(target)}/card")
    else:
        found = remote.get(f"/v1/campaigns/{remote.campaign_id(target)}/card")
    return found


def card_file(document: dict[str, Any]) -> bytes:
    """`card.json`: the same bytes for the same card."""
    return (json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _audited(remote: Remote, card: Any) -> Any:
    """The card with what an audit found; raises InvalidValue for a dataset, whose releases are audited one by one."""
    from sordino_server.cli.audit import audited_checks

    if card.subject != "campaign":
        raise InvalidValue("--audit is for campaigns; `sordino audit` takes the plan of a release", card.id)
    checks = audited_checks(remote, card.id)
    held = sum(check.holds for check in checks)
    text, changed = f"{held} of {len(checks)} published values hold", card.model_copy(deep=True)
    for field in changed.fields():
        if field.name == "audit":
            field.value, field.text, field.source = {"held": held, "of": len(checks)}, text, "proof"
    return changed


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SordinoError(f"--html: {file} cannot be written: {error.strerror or error}") from error


def _print(card: Any) -> None:
    for part in card.parts:
        _line(f"{part.title}")
        for field in part.fields:
            first, *more = field.text.splitlines() or [""]
            _line(f"  {field.title}: {first}")
            for line in more:
                _line(f"    {line}")


def _line(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
