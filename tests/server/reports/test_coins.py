"""Coins of tokens end to end: a report whose public part is not its token's coin is refused, one of a device counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sordino_client import AnswerStatus, Client
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, Digest, ReportBatch
from sordino_shared.protocol.tokens import coin_of
from sordino_shared.randomness import Randomness, ShakeRandomness
from tests.server.conftest import RunningServer, served
from tests.server.reports.test_tokens import ADDRESS, CAPS, created, outcomes, task_of, token

PAGES = {"name": "pages", "domain": [{"name": "url", "kind": "hashed", "bits": 40}], "queries": "histogram"}


def test_a_report_with_a_chosen_coin_is_refused(migrated_sqlite_url: str, tmp_path: Path) -> None:
    """Of words of 40 bits: no two coins of this test are one."""
    with served(migrated_sqlite_url) as home:
        plan = home.ready_plan(workload=home.workload(PAGES), mechanism="coarsened_histogram")["id"]
        campaign = created(home, ADDRESS, plan_request=plan)
        send_chosen(home, campaign)
        with Client(home.address, ledger=tmp_path / "ledger", caps=CAPS, allow_http=True) as client:
            client.join(campaign["id"])
            assert client.answer(campaign["id"], "/a").status is AnswerStatus.RECORDED
            assert client.flush(now=True).delivered == 1
        status = home.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert (status["rounds"][0]["reports"], status["refusals"]) == (3, {"token-invalid": 4})


def send_chosen(home: RunningServer, campaign: dict[str, Any]) -> None:
    """Four reports with other coins than their token's, then two with their own."""
    task, part = task_of(home, campaign), home.device_part(campaign)
    assert part.randomizer.has_coin

    def coin(shown: bytes, number: int = 0, digest: Digest = task.device_parts[0]) -> Randomness:
        return coin_of(CampaignId.parse(campaign["id"]), number, digest, shown)

    def sent(number: int, shown: bytes, coin: Randomness | None, secret: int = 1) -> tuple[int, list[str]]:
        payload = part.randomize([0], ShakeRandomness(secret), coin)
        batch = ReportBatch(
            task.device_parts[0], task.epoch.to_bytes(2, "big") + number.to_bytes(14, "big"), payload + shown
        )
        path = f"/v1/campaigns/{campaign['id']}/rounds/0/reports"
        answer = home.anonymous.post(path, content=batch.content, headers={"Content-Type": CBOR_MEDIA_TYPE})
        accepted, replayed, refused = outcomes(answer)
        return accepted + replayed, [reason for _, reason in refused]

    first, second = token(home, campaign, 1), token(home, campaign, 2)
    wrong = [None, coin(second), coin(first, 1), coin(first, digest=Digest(bytes(32)))]
    told = [sent(number, first, other) for number, other in enumerate(wrong)]
    # Every refused report left its token unspent.
    assert told == [(0, ["token-invalid"])] * len(wrong)
    assert sent(10, first, coin(first)) == (1, [])
    assert sent(20, second, coin(second), secret=2) == (1, [])
