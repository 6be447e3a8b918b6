"""Coins of tokens behind a shuffler: devices and random reports draw by them, and the collector refuses any other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sordino_client._session import Session, VerifiedPart
from sordino_server import models
from sordino_server.shuffled.opened_pages import OpenedPage
from sordino_server.shuffled.opening import fitting
from sordino_shared.protocol import Arm, DevicePart, Digest, Manifest, PlanReference, RoundTerms, SealedReports
from sordino_shared.protocol.sealed import sealed_id, sealing_info
from sordino_shared.protocol.tokens import TOKEN_BYTES
from sordino_shared.randomness import ShakeRandomness
from sordino_shared.sealing import open_sealed
from sordino_shuffler.documents import CheckedCampaign
from sordino_shuffler.rounds import draw_blanket

VECTORS = Path(__file__).parents[1] / "vectors" / "v1" / "good"
ARMS = (Arm("A", 32768), Arm("B", 32768))


def vectors(document: str) -> dict[str, bytes]:
    listed = json.loads((VECTORS / f"{document}.json").read_text())["vectors"]
    return {each["name"]: bytes.fromhex(each["hex"]) for each in listed}


MANIFEST = Manifest.read(vectors("manifest")["shuffled_with_tokens"])
# The collector's key of the vectors.
PRIVATE = b"\x0b" * 32
PARTS = {name: DevicePart.read(content) for name, content in vectors("device_part").items()}
# Of many coins: no two of this test are one.
NAMES = ("seeded_direction", "strings")


def campaign(part: DevicePart, arms: tuple[Arm, ...]) -> Manifest:
    [terms] = MANIFEST.rounds
    plan = PlanReference(part.digest, Digest.of(b"analyst part"))
    route = replace(MANIFEST.route, blanket=3)
    return replace(MANIFEST, rounds=(RoundTerms(terms.guarantee, plan),), arms=arms, route=route)


@pytest.mark.parametrize("arms", [(), ARMS], ids=["one", "arms"])
@pytest.mark.parametrize("name", NAMES)
def test_reports_are_drawn_by_the_coins_of_their_tokens(name: str, arms: tuple[Arm, ...]) -> None:
    part = PARTS[name]
    assert part.randomizer.has_coin
    manifest = campaign(part, arms)
    info = sealing_info(manifest.campaign, 0, part.digest)
    shown = [bytes([number]) * TOKEN_BYTES for number in range(1 + manifest.blanket)]
    session = Session(manifest, None, 0 if arms else None)
    verified, codes = VerifiedPart(part.digest, part, part.guarantee), [0] * len(part.domain.attributes)
    report = session.answer(verified, 0, 0, codes, shown[0], ShakeRandomness(1))
    assert isinstance(report, SealedReports)
    documents = CheckedCampaign(manifest, part)
    blanket = draw_blanket(documents, manifest.campaign, 0, ShakeRandomness(2), shown[1:])
    sealed = [report.sealed, *blanket]
    assert {len(each) for each in sealed} == {documents.width}
    opened = [open_sealed(PRIVATE, info, each) for each in sealed]
    assert None not in opened
    # As a worker opens them, and with the tokens given to others: then no coin is right.
    ids, turned = list(map(sealed_id, sealed)), [*shown[1:], shown[0]]
    moved = [(each or b"")[:-TOKEN_BYTES] + other for each, other in zip(opened, turned, strict=True)]
    row = models.Round(campaign_id=str(manifest.campaign), index=0, arms=len(arms), with_tokens=True)
    assert fitting(row, part, OpenedPage(0, ids, opened, frozenset(ids))) == frozenset(ids)
    assert fitting(row, part, OpenedPage(0, ids, moved, frozenset(ids))) == frozenset()
    # Nor in another round, and what was no token stays none.
    later = models.Round(campaign_id=row.campaign_id, index=1, arms=len(arms), with_tokens=True)
    assert fitting(later, part, OpenedPage(0, ids, opened, frozenset(ids))) == frozenset()
    assert fitting(row, part, OpenedPage(0, ids, opened, frozenset(ids[:2]))) == frozenset(ids[:2])
