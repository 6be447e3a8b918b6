"""The documents of the API that a card is made of."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.campaigns import retention
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.question import Question
from sordino_server.campaigns.status import status_of
from sordino_server.cards.campaign_card import CampaignFacts, campaign_card
from sordino_server.cards.dataset_card import dataset_card
from sordino_server.cards.schemas import Card
from sordino_server.cards.sources import Sources
from sordino_server.config import Settings
from sordino_server.datasets import service as datasets
from sordino_server.models import Campaign, PlanRequestRow
from sordino_server.plans import service as plans
from sordino_server.plans.readable import readable_document
from sordino_server.plans.schemas import PlanRequestDocument
from sordino_server.populations import repository as known_populations
from sordino_server.populations import service as populations
from sordino_server.populations.names import identifier_of
from sordino_server.public_log import service as public_log
from sordino_shared.audit import prove_epsilon
from sordino_shared.protocol import Manifest


def of_campaign(session: Session, settings: Settings, identifier: str, now: int) -> Card:
    """The card of a campaign; raises `not-found`."""
    row = campaigns.get(session, identifier)
    manifest = Manifest.read(row.manifest)
    documents = {
        "manifest": readable_document(manifest),
        "status": status_of(session, row, now).model_dump(mode="json"),
        "plan": _plan(session, row),
        "population": _population(session, manifest.population, now),
    }
    first = manifest.rounds[0].plan
    assert first is not None
    proved = prove_epsilon(plans.device_part(session, str(first.device)).randomizer)
    facts = CampaignFacts(
        sources=Sources(documents),
        manifest=manifest,
        retention_days=retention.days_kept(session, settings.raw_report_retention_days),
        proved=None if proved is None else proved.epsilon,
        contact=settings.card_contact,
        review=settings.card_review,
        logged=public_log.place_of(session, identifier),
    )
    return campaign_card(facts)


def of_dataset(session: Session, settings: Settings, identifier: str) -> Card:
    """The card of a dataset; raises `not-found`."""
    found = datasets.document(session, datasets.get(session, identifier)).model_dump(mode="json")
    return dataset_card(found, settings.card_contact, settings.card_review)


def _plan(session: Session, row: Campaign) -> dict[str, object] | None:
    if row.question is None:
        return None
    found = session.get(PlanRequestRow, Question.model_validate_json(row.question).plan_request)
    return None if found is None else PlanRequestDocument.of(found).model_dump(mode="json")


def _population(session: Session, name: str, now: int) -> dict[str, object] | None:
    found = known_populations.find(session, identifier_of(name))
    return None if found is None else populations.document(session, found, now).model_dump(mode="json")
