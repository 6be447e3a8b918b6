"""No exact count leaves: a planted one of seven digits is in no answer, log, metric, error or byte of the database."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import structlog
from prometheus_client import generate_latest

from sordino_server.releases import making

PLANTED, REST = 1_234_567, 65_432
DOMAIN = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]
WORKLOAD = {"name": "delays", "domain": DOMAIN, "queries": "prefix"}
# The first two answers, exactly: a share, and the share of those above it.
SHARE = PLANTED / (PLANTED + REST)
TEXTS = (str(PLANTED), f"{PLANTED:,}", repr(SHARE)[:10], repr(1 - SHARE)[:10])


def traces(content: bytes | str) -> list[str]:
    """Forms of the planted count that the content has."""
    raw = content.encode() if isinstance(content, str) else content
    integers = {form: struct.pack(form, PLANTED) for form in ("<q", ">q", "<i", ">i", "<d", ">d")}
    return [text for text in TEXTS if text.encode() in raw] + [f for f, packed in integers.items() if packed in raw]


def database_bytes(server: Any) -> bytes:
    """Every byte of SQLite's file and its log."""
    path = Path(server.database.url.database)
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


class Operator:
    """Asks the server with an admin's key and keeps every answer."""

    def __init__(self, server: Any) -> None:
        self.server, self.heard = server, b""

    def ask(self, method: str, path: str, **given: Any) -> Any:
        response = self.server.api.request(method, path, **given)
        self.heard += response.content + str(response.headers).encode()
        return response

    def add(self, **terms: Any) -> Any:
        columns = {"delay": [-5] * PLANTED + [30] * REST}
        order = {"name": "flights", "domain": DOMAIN, "cap": {"rho": "1"}, "columns": columns} | terms
        return self.ask("POST", "/v1/datasets", json=order)

    def release(self, dataset: dict[str, Any], key: str) -> dict[str, Any]:
        """The release after all work is done, with all that can be read of it."""
        order, headers = {"workload": self.server.workload(WORKLOAD), "rho": "0.0001"}, {"Idempotency-Key": key}
        asked = self.ask("POST", f"/v1/datasets/{dataset['id']}/releases", json=order, headers=headers).json()
        self.server.work()
        for path in (f"/v1/releases/{asked['id']}/answers?format=csv", f"/v1/releases/{asked['id']}/answers"):
            self.ask("GET", path)
        for path in ("", "/ledger", "/releases"):
            self.ask("GET", f"/v1/datasets/{dataset['id']}{path}")
        status: dict[str, Any] = self.ask("GET", f"/v1/releases/{asked['id']}").json()
        return status


def failing(plan: Any, counts: np.ndarray, noise: Any) -> Any:
    raise ArithmeticError(f"of the counts {counts.tolist()}")


@pytest.mark.slow
def test_the_planted_count_is_nowhere(running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    stream = log.open("w")
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(stream))
    operator = Operator(running)
    dataset = operator.add().json()
    assert dataset["rows"] == PLANTED + REST
    assert operator.release(dataset, "one")["state"] == "released"
    secret = operator.add(name="trips", neighbours="add-remove")
    assert str(PLANTED + REST) not in secret.text
    shown = operator.heard
    assert operator.release(secret.json(), "one")["state"] == "released"
    assert str(PLANTED + REST).encode() not in operator.heard[len(shown) :]
    with monkeypatch.context() as patch:
        patch.setattr(making, "measure", failing)
        lost = operator.release(dataset, "two")
    assert lost["state"] == "lost"
    assert "the measurement failed (ArithmeticError)" in lost["error"]
    # Values outside the domain, and a body that breaks off behind them.
    outside = [f"x{PLANTED}"] * 3
    refused = operator.add(name="other", columns={"delay": [1, *outside]})
    broken = operator.ask(
        "POST", "/v1/datasets", content=f'{{"delay": {PLANTED}, ', headers={"Content-Type": "application/json"}
    )
    assert (refused.status_code, broken.status_code) == (422, 400)
    for path in ("/v1/datasets", "/v1/audit-log"):
        operator.ask("GET", path)
    operator.ask("DELETE", f"/v1/datasets/{dataset['id']}")
    assert traces(operator.heard) == []
    assert traces(database_bytes(running)) == []
    assert traces(generate_latest(running.app.state.metrics.registry)) == []
    stream.close()
    assert "released" in log.read_text()
    assert traces(log.read_text()) == []


def test_the_scan_finds_what_it_looks_for() -> None:
    counts = np.array([PLANTED, 0, REST, 0], dtype="<i8")
    assert traces(counts.tobytes()) == ["<q", "<i"]
    for text in TEXTS:
        assert traces(f"the {text}")
