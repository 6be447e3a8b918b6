"""The list of what is open for a population, signatures of manifests, and a device that finds campaigns by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from typer.testing import CliRunner

from sordino_client import Caps, Client, PureEpsilon
from sordino_server.cli import app
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    CampaignId,
    Manifest,
    ManifestSignatures,
    OpenCampaigns,
    Problem,
    signed_message,
)

Check = Callable[..., dict[str, Any]]
PRIVATE = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
PUBLIC = PRIVATE.public_key().public_bytes_raw().hex()


def _listed(running: Any, name: str = "travellers") -> OpenCampaigns:
    answer = running.anonymous.get(f"/v1/populations/{name}/open").raise_for_status()
    assert answer.headers["content-type"] == CBOR_MEDIA_TYPE
    assert answer.headers["cache-control"].startswith("public")
    assert "etag" not in answer.headers
    return OpenCampaigns.read(answer.content)


def _campaign(running: Any, name: str, population: str = "travellers") -> str:
    terms = {"name": name, "purpose": f"{name}?", "population": population}
    order = terms | {"plan_request": running.ready_plan()["id"]}
    return str(running.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"])


def _act(running: Any, campaign: str, action: str) -> None:
    running.clock.advance(1)
    running.api.post(f"/v1/campaigns/{campaign}/{action}").raise_for_status()


def test_the_list_has_what_is_open_and_its_number_grows_with_each_change(running: Any, check_problem: Check) -> None:
    assert (_listed(running).number, _listed(running).campaigns) == (0, ())
    first, second, draft = (_campaign(running, name) for name in ("first", "second", "draft"))
    other = _campaign(running, "other", population="others")
    seen = []
    for campaign, action in (
        (first, "open"),
        (second, "open"),
        (other, "open"),
        (first, "close"),
        (draft, "cancel"),
        (second, "cancel"),
    ):
        _act(running, campaign, action)
        found = _listed(running)
        seen.append((found.number, found.campaigns))
    one, two = CampaignId.parse(first), CampaignId.parse(second)
    both = tuple(sorted((one, two)))
    assert seen == [(1, (one,)), (2, both), (2, both), (3, (two,)), (3, (two,)), (4, ())]
    assert _listed(running, "others").campaigns == (CampaignId.parse(other),)
    shown = running.api.get("/v1/populations/others/open", headers={"accept": "*/*"}).json()
    assert (shown["population"], shown["campaigns"]) == ("others", [other])
    check_problem(running.anonymous.get("/v1/populations/%E2%80%AE/open"), Problem.INVALID_REQUEST)
    closed = running.settings.model_copy(update={"public_lists": False})
    running.app.state.context = replace(running.app.state.context, settings=closed)
    check_problem(running.anonymous.get("/v1/populations/others/open"), Problem.NOT_FOUND)


def test_a_campaign_of_several_rounds_is_not_listed(running: Any, two_rounds: Any) -> None:
    terms = {"name": "two", "purpose": "Two rounds.", "population": "travellers"}
    order = terms | {"plan_request": two_rounds.ready_request(running.database)}
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"]
    _act(running, campaign, "open")
    assert (_listed(running).number, _listed(running).campaigns) == (1, ())


def test_only_signatures_that_hold_are_kept_of_four_keys_at_most(running: Any, check_problem: Check) -> None:
    campaign = _campaign(running, "first")
    path = f"/v1/campaigns/{campaign}"
    message = signed_message(Manifest.read(running.anonymous.get(path).content))
    check_problem(running.anonymous.get(f"{path}/signature"), Problem.NOT_FOUND)
    wrong = {"key": PUBLIC, "signature": PRIVATE.sign(message + b"x").hex()}
    refused = check_problem(running.api.post(f"{path}/signatures", json=wrong), Problem.INVALID_REQUEST)
    assert "does not hold" in refused["detail"]
    keys = []
    for number in range(1, 6):
        private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
        keys.append(private.public_key().public_bytes_raw())
        signed = {"key": keys[-1].hex(), "signature": private.sign(message).hex()}
        answer = running.api.post(f"{path}/signatures", json=signed)
        assert answer.is_success is (number < 5)
    running.api.post(f"{path}/signatures", json={"key": PUBLIC, "signature": PRIVATE.sign(message).hex()})
    found = ManifestSignatures.read(running.anonymous.get(f"{path}/signature").content)
    assert [each.key for each in found.signatures] == sorted(keys[:4])
    running.api.delete(path).raise_for_status()


def test_a_device_finds_signs_and_answers_on_a_running_server(
    running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sordino campaigns sign` prints the key that the app pins; the campaign without a signature is left out."""
    pem = PRIVATE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "operator.pem").write_bytes(pem)
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "other.pem").write_bytes(other)
    signed, unsigned = _campaign(running, "signed"), _campaign(running, "unsigned")
    for campaign in (signed, unsigned):
        _act(running, campaign, "open")
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key}

    def sign(file: str) -> Any:
        command = ["campaigns", "sign", "signed", "--signing-key", str(tmp_path / file)]
        return CliRunner().invoke(app, command, env=environment)

    assert f"public key {PUBLIC}" in sign("operator.pem").stdout
    for wrong, why in (("other.pem", "of another kind"), ("none.pem", "No such file")):
        assert why in " ".join(sign(wrong).stderr.split())
    clock = running.clock
    caps = Caps(PureEpsilon.of(4), 30, PureEpsilon.of(40))
    arguments = {"ledger": tmp_path / "ledger", "caps": caps, "allow_http": True, "manifest_keys": (PUBLIC,)}
    with Client(running.address, clock=clock, **arguments) as client:
        clock.advance(int(client.find("travellers", bool).next_in_s) + 1)
        found = client.find("travellers", lambda manifest: manifest.population == "travellers")
        assert ([str(each) for each in found.joined], [str(each) for each in found.refused]) == ([signed], [unsigned])
        assert client.answer(found.joined[0], {"delay": 20.0}).status == "recorded"
        assert client.flush().delivered == 1
