"""What an entry of a public log says, in words."""

from __future__ import annotations

from datetime import UTC, datetime

from sordino_shared.domains import Attribute, Categorical
from sordino_shared.guarantees import exact_decimal
from sordino_shared.protocol import LogEntry, Manifest
from sordino_shared.protocol.log_entries import LoggedCampaign, LoggedEnd, LoggedPlan, LoggedPolicy, LoggedSigner
from sordino_shared.protocol.series import Rotating
from sordino_shared.quantities import quantity

# 9999-12-31 23:59:59: datetime has no later year.
LAST_SECOND = 253_402_300_799


def sentence(entry: LogEntry, manifest: Manifest | None = None) -> str:
    """The entry in words, with what the manifest of its campaign adds where that is at hand."""
    event = entry.event
    if isinstance(event, LoggedCampaign):
        return _campaign(event, manifest)
    if isinstance(event, LoggedPlan):
        return f"round {event.round} of campaign {event.campaign} has plan {entry.subject.hex()}"
    if isinstance(event, LoggedEnd):
        return f"campaign {entry.subject.hex()} was {event.state}"
    if isinstance(event, LoggedSigner):
        end = "" if event.expires is None else f" until {_moment(event.expires)}"
        return f"key {entry.subject.hex()}, which signs manifests, was {event.change}{end}"
    if isinstance(event, LoggedPolicy):
        return f"policy: {' '.join(event.text.split())}"
    return f"the next key is {entry.subject.hex()}"


def _moment(unix: int) -> str:
    """A time of an entry, which any log may set beyond the years that calendars have here."""
    return f"{datetime.fromtimestamp(unix, UTC):%Y-%m-%d %H:%M} UTC" if unix <= LAST_SECOND else f"Unix time {unix}"


def _campaign(event: LoggedCampaign, manifest: Manifest | None) -> str:
    if manifest is None:
        named = [f"{each.name} ({quantity(each.largest + 1, 'value')})" for each in event.named]
    else:
        named = list(map(_attribute, manifest.domain.attributes[: len(event.named)]))
    further = event.attributes - len(named)
    asked = ", ".join([*named, f"{further:,} more"] if further else named)
    answers = "" if manifest is None else f", {quantity(_answers(manifest), 'answer')}"
    return (
        f"campaign {event.name!r} of population {event.population!r}, ε {exact_decimal(event.nano_epsilon)} a device"
        f"{answers}, asks for {asked}"
    )


def _attribute(attribute: Attribute) -> str:
    noun = "label" if isinstance(attribute, Categorical) else "value"
    return f"{attribute.name} ({quantity(attribute.size, noun)})"


def _answers(manifest: Manifest) -> int:
    """How often a device answers at most: in each round that it takes part in, or in so many periods."""
    law = manifest.assignment
    if isinstance(law, Rotating):
        return law.answers_max
    return 1 if law.kind == "one_round" else len(manifest.rounds)
