"""A campaign about a category and a thousand bins: plan, devices, estimate and answers on demand from a real server."""

from __future__ import annotations

from typing import Any

from sordino_client import AnswerStatus, Caps, Client, PureEpsilon
from tests.estimates import answers_of

BESIDE = {
    "name": "delay by carrier",
    "domain": [
        {"name": "carrier", "kind": "categorical", "labels": ["red", "green"]},
        {"name": "delay", "kind": "integers", "low": 0, "high": 999},
    ],
    "queries": {"carrier": "histogram", "delay": "prefix"},
}
CAPS = Caps(per_period=PureEpsilon.of(4), lifetime=PureEpsilon.of(4), period_days=1)


def test_a_campaign_about_a_category_and_a_thousand_bins(running: Any) -> None:
    order = {"workload": running.workload(BESIDE), "mechanism": None, "epsilon": 4, "objective": "mean"}
    campaign = running.campaign("open", **order)
    with Client(running.address, ledger=":memory:", caps=CAPS, allow_http=True) as client:
        told = client.answer(client.join(campaign["id"]), {"carrier": "green", "delay": 700})
        assert told.status is AnswerStatus.RECORDED
        client.flush()
    # 60 % are red at 100 ms, 40 % green at 700 ms.
    cells = [100] * 2400 + [1000 + 700] * 1599
    assert running.report(campaign, cells).status_code == 200
    path = f"/v1/campaigns/{campaign['id']}"
    running.api.post(f"{path}/close").raise_for_status()
    running.work()
    estimate = running.api.get(f"{path}/estimates").raise_for_status().json()
    assert estimate["terms"]["unlisted"] == 2000 - len(answers_of(estimate)) > 0
    labels = {each["label"]: each for each in answers_of(estimate)}
    whole = labels["carrier: red, delay in any bin"]
    assert abs(whole["value"] - 0.6) < 6 * whole["standard_error"]
    questions = {
        ("rectangle", "carrier:red,delay:50..150"): 0.6,
        ("rectangle", "carrier:green,delay:50..150"): 0.0,
        ("range", "delay:500.."): 0.4,
        ("marginal", "carrier:green"): 0.4,
    }
    for (kind, text), exact in questions.items():
        (found,) = answers_of(running.api.get(f"{path}/answers", params={kind: text}).raise_for_status().json())
        # Six standard errors: a false alarm in 5·10^8.
        assert abs(found["value"] - exact) < 6 * found["standard_error"]
    refused = running.api.get(f"{path}/answers", params={"rectangle": "carrier:blue,delay:..5"})
    assert refused.status_code == 422
    assert "attribute 'carrier' has red, green" in refused.text
