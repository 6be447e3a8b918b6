"""The card of a campaign, from its manifest, status, plan and population, as the API has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sordino_analysis.figures import figure
from sordino_analysis.percentages import percent
from sordino_server import __version__
from sordino_server.campaigns.gate_terms import GateTerms
from sordino_server.cards import words
from sordino_server.cards.recipients import recipients
from sordino_server.cards.schemas import Card, CardField, CardPart
from sordino_server.cards.sources import Sources, not_stated, said
from sordino_server.public_log.service import EntryPlace
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import Manifest, Rotating
from sordino_shared.quantities import quantity

DAYS = 28
# A count of fewer people would say of each of them that they took part.
FEWEST = 100


@dataclass(frozen=True, kw_only=True)
class CampaignFacts:
    """What a card is made of: documents of the API, the manifest, and what the settings and a proof add.

    `retention_days` is None where reports are kept without an end; `proved` is ε recomputed from the plan's integers;
    `logged` is the place of the manifest in the public log, None where the log says nothing of it.
    """

    sources: Sources
    manifest: Manifest
    retention_days: int | None
    proved: float | None
    contact: str | None
    review: str | None
    logged: EntryPlace | None


def campaign_card(facts: CampaignFacts) -> Card:
    """The card; the same facts make the same bytes."""
    parts = [
        CardPart(name="who", title="Who asks, and why", fields=_who(facts)),
        CardPart(name="privacy", title="What is promised", fields=_privacy(facts)),
        CardPart(name="data", title="What is asked", fields=_data(facts)),
        CardPart(name="recipients", title="Who sees what", fields=[recipients(facts.sources.at("manifest:/route"))]),
        CardPart(name="accounting", title="What the population has spent", fields=_accounting(facts)),
        CardPart(name="accuracy", title="How exact the answers are", fields=_accuracy(facts)),
        CardPart(name="retention", title="What is kept, and how long", fields=_retention(facts)),
        CardPart(name="verification", title="How anybody can check it", fields=_verification(facts)),
    ]
    identifier = str(facts.manifest.campaign)
    return Card(subject="campaign", id=identifier, name=facts.manifest.name, parts=parts)


def _who(facts: CampaignFacts) -> list[CardField]:
    at = facts.sources.field
    contact = next((each.contact for each in facts.manifest.texts if each.contact), None)
    place = next((n for n, each in enumerate(facts.manifest.texts) if each.contact), 0)
    known = at("contact", "Contact", f"manifest:/texts/{place}/contact")
    if contact is None and facts.contact is not None:
        known = said("contact", "Contact", facts.contact, facts.contact, "settings")
    return [
        at("name", "Campaign", "manifest:/name"),
        at("purpose", "Purpose", "manifest:/purpose"),
        known if known.stated else not_stated("contact", "Contact", "set SORDINO_CARD_CONTACT"),
        at("population", "Population", "manifest:/population"),
        at("state", "State", "status:/state"),
        at("created", "Created", "status:/created"),
        at("opened", "Opened", "status:/opened", none="not opened"),
        at("closed", "Closed", "status:/closed", none="not closed"),
    ]


def _privacy(facts: CampaignFacts) -> list[CardField]:
    at = facts.sources.field
    cap = "no cap of the population"
    fields = [
        said("guarantee", "Guarantee", words.GUARANTEE, "pure_epsilon"),
        said("unit", "What is protected", words.UNIT),
        said("neighbours", "Which values are alike", words.NEIGHBOURS),
        at("epsilon_report", "ε of one report", "manifest:/rounds/0/guarantee/nano", words.epsilon_text),
        _per_period(facts),
        at("epsilon_life", "ε of all its reports", "status:/epsilon", words.epsilon_text),
        at("cap_period", "Cap of a period", "population:/epsilon_per_period", words.epsilon_text, cap),
        at("cap_days", "Its days", "population:/period_days", none=cap),
        at("cap_life", "Cap for life", "population:/epsilon_lifetime", words.epsilon_text, cap),
        _advised(facts),
    ]
    claims = facts.sources.at("manifest:/route/claims")
    if claims:
        headline = f"manifest:/route/claims/{facts.sources.at('manifest:/route/headline')}"
        fields.append(at("epsilon_collector", "ε and δ against the collector", headline, _claim))
    return fields


def _per_period(facts: CampaignFacts) -> CardField:
    law, each = facts.manifest.assignment, facts.manifest.rounds[0].guarantee.epsilon
    title = f"ε in any {quantity(DAYS, 'day')}"
    if not isinstance(law, Rotating):
        return facts.sources.field("epsilon_period", title, "status:/epsilon", words.epsilon_text)
    answers = law.most_drawn(DAYS * 86_400)
    text = f"{quantity(answers, 'answer')}; {words.epsilon_text(answers * each)}"
    return said("epsilon_period", title, text, answers * each, "manifest:/assignment")


def _advised(facts: CampaignFacts) -> CardField:
    cap, life = (4, 48) if facts.sources.at("manifest:/route/kind") == "shuffled" else (1, 12)
    law, in_life = facts.manifest.assignment, facts.manifest.device_guarantee.nano
    each = facts.manifest.rounds[0].guarantee.nano
    in_period = law.most_drawn(DAYS * 86_400) * each if isinstance(law, Rotating) else in_life
    within = in_period <= cap * NANO and in_life <= life * NANO
    text = f"ε {cap} in {DAYS} days and {life} for life; the campaign is {'within' if within else 'above'} it"
    return said("advised_caps", "Caps that are advised", text)


def _claim(claim: dict[str, Any]) -> str:
    delta = claim["atto_delta"] / 10**18
    epsilon = claim["nano_epsilon"] / 10**9
    return (
        f"(ε, δ) = ({figure(epsilon, 3)}, {delta:.2g}) of one report, as long as shuffler and collector do not collude"
    )


def _data(facts: CampaignFacts) -> list[CardField]:
    at = facts.sources.field
    return [
        at("attributes", "What a device holds", "manifest:/domain/attributes", words.attributes_text),
        at("question", "Question", "status:/question/name", none="of an earlier version"),
        at("answers", "Number of answers", "status:/question/queries", none="of an earlier version"),
        at("rounds", "Rounds", "status:/planned_rounds"),
        *_shown_strings(facts),
        *_arms(facts),
        said("unprotected", "What is not protected", words.UNPROTECTED + (words.ARM if facts.manifest.arms else "")),
        said(
            "randomised", "Is a report personal data", "it may be: a report with much noise is still about one device"
        ),
    ]


def _arms(facts: CampaignFacts) -> list[CardField]:
    """What an experiment compares; nothing of other campaigns."""
    if not facts.manifest.arms:
        return []
    return [facts.sources.field("arms", "Arms of the experiment", "manifest:/arms", words.arms_text)]


def _shown_strings(facts: CampaignFacts) -> list[CardField]:
    """Which common strings people see; nothing for another question."""
    if facts.sources.at("status:/question/shown") is None:
        return []
    at = facts.sources.field
    return [at("shown_strings", "Strings that people see", "status:/question/shown", _policy)]


def _policy(shown: str) -> str:
    return f"{shown}: a policy of who asks, and no guarantee of how many hold a string"


def _accounting(facts: CampaignFacts) -> list[CardField]:
    at = facts.sources.field
    nothing = "no campaign of the population opened"
    return [
        at("spent", "ε asked of each device of the population", "population:/asked", words.epsilon_text, nothing),
        at("spent_period", "The same in its period", "population:/asked_in_period", words.epsilon_text, "no period"),
        said("composition", "How ε is summed", words.COMPOSITION),
        said("not_summed", "What is not summed", words.NOT_SUMMED),
    ]


def _accuracy(facts: CampaignFacts) -> list[CardField]:
    at = facts.sources.field
    users = facts.sources.at("status:/predicted/users_now") or 0
    which = "now" if facts.sources.at("status:/state") == "closed" and users >= FEWEST else "wanted"
    unknown = "unknown until it is closed"
    return [
        at("mechanism", "Mechanism", "plan:/summary/mechanism", none="a protocol of several rounds"),
        at("users", "Devices that answer", f"status:/predicted/users_{which}", none=unknown),
        at("error", "Error of the worst answer", f"status:/predicted/rmse_{which}", _points, unknown),
        _admitted(facts),
        at("fake", "Fake reports", "plan:/summary/manipulation", _moved, "not bounded for this question"),
        said("post_processing", "What is done with reports", words.POST_PROCESSING),
    ]


def _admitted(facts: CampaignFacts) -> CardField:
    at, title = facts.sources.field, "Whose reports count"
    if facts.sources.at("status:/gate") is not None:
        return at("admitted", title, "status:/gate", lambda gate: GateTerms.model_validate(gate).in_words())
    return at("admitted", title, "status:/needs_token", words.token_text)


def _points(error: float) -> str:
    return f"{figure(error, 3)} in the unit of the answers, root mean squared"


def _moved(most: Any) -> str:
    if not isinstance(most, (int, float)):
        return "bounded for each form of the statistic, see the plan"
    return f"{percent(0.01, 0)} of fake reports moves an answer by at most {figure(most / 100, 3)}"


def _retention(facts: CampaignFacts) -> list[CardField]:
    days = facts.retention_days
    period = "a period is over" if isinstance(facts.manifest.assignment, Rotating) else "the campaign ends"
    text = "kept without an end" if days is None else f"deleted {quantity(days, 'day')} after {period}"
    return [
        said("retention", "Reports", text, days, "settings"),
        said("kept", "What stays", words.KEPT),
        said("device", "On the device", "its ledger, which the owner can read and which leaving does not refund"),
    ]


def _verification(facts: CampaignFacts) -> list[CardField]:
    at, review = facts.sources.field, facts.review
    proved = said("proved", "ε proved from the plan", "no finite ε", None, "proof")
    if facts.proved is not None:
        proved = said("proved", "ε proved from the plan", words.epsilon_text(facts.proved), facts.proved, "proof")
    return [
        at("manifest_digest", "Digest of the manifest", "status:/id"),
        at("device_digest", "Digest of the device part", "manifest:/rounds/0/plan/device"),
        at("analyst_digest", "Digest of the analyst part", "manifest:/rounds/0/plan/analyst"),
        proved,
        not_stated("audit", "Audit", "`sordino card --audit` recomputes every published value"),
        _logged(facts.logged),
        said("software", "Software", f"sordino {__version__}", __version__),
        said("review", "Outside review", review or "no outside review", review, "settings"),
    ]


def _logged(place: EntryPlace | None) -> CardField:
    title = "Public log"
    if place is None:
        return not_stated("log", title, "no public log of this server has an entry about the campaign")
    if place.number is None:
        return not_stated("log", title, "a worker writes the entry to the public log within seconds")
    value = {"entry": place.number, "size": place.size, "root": place.root, "witnesses": list(place.witnesses)}
    seen = f"seen by {', '.join(place.witnesses)}" if place.witnesses else "seen by no witness"
    # Counted from 0, as a device's account does.
    text = f"entry {place.number:,} of {place.size:,}, {seen}, root {place.root}"
    return said("log", title, text, value, "log")
