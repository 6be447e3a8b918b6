"""`sordino pool`: from the estimates of two campaigns to one table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[..., Any]


def test_two_campaigns_become_one_answer(run_command: Run, json_of: Run, running: Any, tmp_path: Path) -> None:
    operator = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}
    documents = []
    for number, cells in enumerate(([0] * 600 + [1] * 400, [2] * 200 + [3] * 300)):
        campaign = running.campaign("open")
        assert running.report(campaign, cells, number).status_code == 200
        running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
        running.work()
        running.clock.advance(1)
        documents.append(json_of("campaigns", "estimates", campaign["id"], **operator))
        (tmp_path / f"{number}.json").write_text(json.dumps(documents[-1]))
    found = json_of("pool", "0.json", "1.json")
    values = [document["table"]["value"] for document in documents]
    errors = np.array([document["table"]["standard_error"] for document in documents])
    uncut = [document["table"]["uncut"] for document in documents]
    np.testing.assert_allclose(found["uncut"], np.average(uncut, axis=0, weights=[2, 1]), atol=1e-12)
    np.testing.assert_allclose(found["values"], np.clip(found["uncut"], 0, 1))
    assert all(0 <= value <= 1 for query in values for value in query)
    np.testing.assert_allclose(found["standard_errors"], np.sqrt([4 / 9, 1 / 9] @ errors**2))
    assert found["users"] == 1500
    assert "1,500 users of 2 campaigns" in run_command("pool", "0.json", "1.json").stdout
    assert "given twice" in " ".join(run_command("pool", "0.json", "0.json", code=2).stderr.split())
    documents[0]["terms"]["unlisted"] = 7
    (tmp_path / "0.json").write_text(json.dumps(documents[0]))
    assert "leaves out 7 queries" in " ".join(run_command("pool", "0.json", "1.json", code=2).stderr.split())
    (tmp_path / "0.json").write_text("[]")
    assert "no estimate of linear queries" in " ".join(run_command("pool", "0.json", "1.json", code=2).stderr.split())
