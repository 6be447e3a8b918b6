"""The contract kills each mutant of the fake server's checks: without one of them some exchange ends otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sordino_client.testing import Categorical, Daily, Domain, FakeServer, _campaign, _fake_server, _uploads
from tests.client.testing import test_contract

DOMAIN = Domain((Categorical("os", ("linux", "macos", "windows"), other=True),))
MUTANTS = {
    "the epoch": (_uploads, "if identifier[:2] != epoch.to_bytes(2, \"big\"):", "if False:"),
    "the epoch before the payload": (
        _uploads, "refusal = _refusal(campaign, identifier, payload, epoch)",
        "refusal = _refusal(campaign, epoch.to_bytes(2, 'big'), payload, epoch) or"
        " _refusal(campaign, identifier, payload, epoch)",
    ),
    "the width": (_uploads, "if len(payload) != randomizer.payload_bytes:", "if False:"),
    "the alphabet": (_uploads, ">= randomizer.size", ">= 256"),
    "the alphabet's end": (_uploads, ">= randomizer.size", "> randomizer.size"),
    "an id with another payload": (_uploads, "known not in (None, (batch.arm, payload))", "False"),
    "an id that came before": (_uploads, "elif known is not None:", "elif False:"),
    "what was kept": (_uploads, "self._kept[number, identifier] = batch.arm, payload", "pass"),
    "the plan": (_uploads, "batch.device_digest == campaign.part.digest", "True"),
    "the arm": (_uploads, "if batch.arm >= max(1, len(campaign.manifest.arms)):", "if False:"),
    "the round": (_uploads, "if law is None and number > 0:", "if False:"),
    "the campaign's end": (_uploads, "state is not CampaignState.OPEN or paused", "paused"),
    "a pause": (_uploads, "state is not CampaignState.OPEN or paused", "state is not CampaignState.OPEN"),
    "the period": (_uploads, "(law is not None and not law.accepts(number, now))", "False"),
    "the period's end": (_uploads, "law.accepts(number, now)", "law.accepts(number, now - 1)"),
    "the period's beginning": (_uploads, "law.accepts(number, now)", "law.accepts(number, now + 1)"),
    "the size": (_uploads, "if len(body) > ReportBatch.limit:", "if False:"),
    "the batch": (_uploads, "return Problem.MALFORMED_BODY", "return ReportOutcomes(0, 0, ())"),
    "the task of a pause": (_campaign, "state is CampaignState.OPEN and not paused", "state is CampaignState.OPEN"),
    "the task of an end": (_campaign, "state is CampaignState.OPEN and not paused", "not paused"),
    "the task's state": (_campaign, "            state=state,", "            state=CampaignState.OPEN,"),
    "the task of a round offline": (
        _campaign, "midnight if is_open and self.law is None", "midnight if self.law is None",
    ),
    "the epoch of a period": (_campaign, "EPOCH if self.law is None else self.law.epoch(number)", "EPOCH"),
    "another campaign's upload": (
        _fake_server, "_UPLOAD.fullmatch(request.path.removeprefix(base)) if request.path.startswith(base) else None",
        "re.search(r'/rounds/([0-9]{1,10})/reports$', request.path)",
    ),
    "another campaign's documents": (
        _fake_server, ".get(request.path, lambda: self._problem(Problem.NOT_FOUND))()",
        ".get(request.path, self._manifest)()",
    ),
    "the date": (_fake_server, ', "date": self._date()}, content)', "}, content)"),
    "the media type": (_fake_server, 'Response(200, {"content-type": CBOR_MEDIA_TYPE', 'Response(200, {"x": ""'),
}  # fmt: skip


def contract(kind: str) -> Iterator[Callable[..., None]]:
    """The tests of the contract of one campaign, or of a series."""
    for name, test in vars(test_contract).items():
        if name.startswith("test_") and list(inspect.signature(test).parameters) == [kind]:
            yield test


def verdicts() -> Iterator[str]:
    """The tests of the contract that the fake server fails."""
    for kind, asked in (("campaign", None), ("series", Daily(slots=test_contract.SLOTS, late_s=test_contract.LATE))):
        served = FakeServer(DOMAIN, series=asked)
        start = served.manifest.created_at if asked is None else served.manifest.assignment.start
        like: Any = SimpleNamespace(manifest=served.manifest, part=served._served.part, start=start)
        for test in contract(kind):
            side = test_contract.FakeSide(like)
            side.at(0)
            try:
                test(side)
            except Exception:
                yield test.__name__


def changed(module: ModuleType, old: str, new: str) -> dict[str, Any]:
    """What a module defines when its source says `new` in the one place where it says `old`."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, old
    found: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(source.replace(old, new), f"a mutant of {module.__name__}", "exec"), found)
    return found


def test_the_fake_itself_keeps_the_contract() -> None:
    assert len(list(contract("campaign"))) >= 8
    assert len(list(contract("series"))) >= 3
    assert list(verdicts()) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_the_contract_kills(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module, old, new = MUTANTS[name]
    mutant = changed(module, old, new)
    if module is _fake_server:
        monkeypatch.setattr(test_contract, "FakeServer", mutant["FakeServer"])
    else:
        monkeypatch.setattr(_fake_server, "Uploads", mutant.get("Uploads", _fake_server.Uploads))
        monkeypatch.setattr(_fake_server, "made_campaign", mutant.get("made_campaign", _fake_server.made_campaign))
    assert list(verdicts()) != []
