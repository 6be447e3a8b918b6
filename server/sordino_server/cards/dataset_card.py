"""The card of a dataset: rows that the server holds, and what releases from them may spend."""

from __future__ import annotations

from typing import Any

from sordino_server import __version__
from sordino_server.cards import words
from sordino_server.cards.schemas import Card, CardField, CardPart
from sordino_server.cards.sources import Sources, not_stated, said
from sordino_shared.quantities import quantity

_NEIGHBOURS = {
    "replace": "two datasets that differ in the content of one row; the number of rows is public",
    "add-remove": "two datasets of which one has a row more; the number of rows is secret",
}


def dataset_card(document: dict[str, Any], contact: str | None, review: str | None) -> Card:
    """The card of a dataset as the API shows it; the same document makes the same bytes."""
    sources = Sources({"dataset": document})
    at = sources.field
    who = [
        at("name", "Dataset", "dataset:/name"),
        said("contact", "Contact", contact, contact, "settings")
        if contact
        else not_stated("contact", "Contact", "set SORDINO_CARD_CONTACT"),
        at("created", "Added", "dataset:/created"),
    ]
    data = [
        at("attributes", "What a row holds", "dataset:/domain", words.attributes_text),
        at("rows", "Rows", "dataset:/rows", none="secret, or deleted"),
    ]
    retention = [
        at("deleted", "Rows deleted", "dataset:/deleted", none="kept until an admin deletes them"),
        said("kept", "What stays", "releases, the ledger, the audit log"),
    ]
    parts = [
        CardPart(name="who", title="Who holds it", fields=who),
        CardPart(name="privacy", title="What is promised", fields=_privacy(sources)),
        CardPart(name="data", title="What it holds", fields=data),
        CardPart(name="recipients", title="Who sees what", fields=[_recipients()]),
        CardPart(name="retention", title="What is kept, and how long", fields=retention),
        CardPart(name="verification", title="How anybody can check it", fields=_verification(review)),
    ]
    return Card(subject="dataset", id=document["id"], name=document["name"], parts=parts)


def _privacy(sources: Sources) -> list[CardField]:
    at, neighbours = sources.field, sources.at("dataset:/neighbours")
    pure = sources.at("dataset:/cap/rho") is None
    account = "pure ε, central" if pure else "zero-concentrated ρ, central"
    fields = [
        said("guarantee", "Guarantee", f"{account}: the server adds the noise", "epsilon" if pure else "rho"),
        at("unit", "What is protected", "dataset:/unit"),
        at("neighbours", "Which datasets are alike", "dataset:/neighbours", lambda _: _NEIGHBOURS[neighbours]),
        at("cap", "Cap of all releases", f"dataset:/cap/{'epsilon' if pure else 'rho'}"),
        at("spent", "Spent by releases", "dataset:/cap/spent"),
    ]
    return fields if pure else [*fields, at("delta", "δ at which ε is shown", "dataset:/cap/delta")]


def _recipients() -> CardField:
    rows = [
        {"who": "operator of the server", "rows": "yes, with SORDINO_DATASET_KEY", "release": "yes"},
        {"who": "who reads the database alone", "rows": "no, sealed", "release": "yes"},
        {"who": "analysts", "rows": "no", "release": "yes"},
    ]
    lines = (f"{row['who']}: rows {row['rows']}; release {row['release']}" for row in rows)
    return said("recipients", "Who sees what", "\n".join(lines), rows)


def _verification(review: str | None) -> list[CardField]:
    return [
        said("audit", "Audit", "`sordino audit` proves each release's plan; the noise itself has to be trusted"),
        said("software", "Software", f"sordino {__version__}", __version__),
        said("review", "Outside review", review or "no outside review", review, "settings"),
        said("charged", "When a release counts", f"before it is computed; {quantity(1, 'release')} counts once"),
    ]
