"""The public surface is a list, and the drawn tree of errors is the real one."""

from __future__ import annotations

import re

import pytest

import sordino_client
from sordino_client import _errors
from sordino_shared.errors import SordinoError

PUBLIC = {
    "Account", "AccountEntry", "Answer", "AnswerStatus", "AsyncClient", "AsyncHttpTransport", "AsyncHttpxTransport",
    "AsyncTransport",
    "BudgetExceeded", "Campaign", "CampaignAccount", "CampaignId", "Caps", "Client",
    "ClientError", "Clock", "ClockUnusable",
    "Digest", "Domain", "Flushed", "FoundCampaigns", "HttpTransport", "HttpxTransport", "InvalidValue",
    "LedgerUnavailable", "Manifest",
    "NotASuccessor", "NotJoined", "NotListed", "OptedOut", "OutsideDomain", "OversizedDocument", "Period",
    "PlanRefused", "PlanUnavailable", "Preview", "PureEpsilon", "PurposeText",
    "RefusedUpload", "Request", "Response", "ServedElsewhere", "ServerChanged", "SordinoError", "SpoolFull",
    "SystemClock", "Transport", "TransportFailed", "WrongArgument", "WrongShape",
}  # fmt: skip


# An attribute of the package once it was imported.
PUBLIC_MODULES = {"backend", "consent", "send", "testing"}


def test_the_public_names_are_these() -> None:
    assert set(sordino_client.__all__) == PUBLIC
    assert sordino_client.__all__ == sorted(sordino_client.__all__)
    assert all(hasattr(sordino_client, name) for name in PUBLIC)


def test_nothing_else_is_public() -> None:
    visible = {name for name in vars(sordino_client) if not name.startswith("_")} | set(sordino_client._LATER)
    assert visible - PUBLIC_MODULES == PUBLIC


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    drawn = re.findall(r"^([│ ]*)[├└]── (\w+)", _errors.__doc__ or "", re.MULTILINE)
    real = {name for name, kind in vars(_errors).items() if isinstance(kind, type) and issubclass(kind, SordinoError)}
    assert {name for _, name in drawn} == real - {"SordinoError"} | {"OversizedDocument"}
    parents = ["SordinoError"]
    for indent, name in drawn:
        del parents[1 + len(indent) // 4 :]
        assert issubclass(getattr(sordino_client, name), getattr(sordino_client, parents[-1])), name
        parents.append(name)


def test_every_error_of_the_client_is_exported_and_of_one_root() -> None:
    real = {kind for kind in vars(_errors).values() if isinstance(kind, type) and issubclass(kind, SordinoError)}
    assert all(getattr(sordino_client, kind.__name__) is kind for kind in real)
    assert all(issubclass(kind, sordino_client.SordinoError) for kind in real)


PUBLIC_THINGS = [getattr(sordino_client, name) for name in sordino_client.__all__]
ERRORS = [thing for thing in PUBLIC_THINGS if isinstance(thing, type) and issubclass(thing, Exception)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_public_error_has_a_code_of_its_own_and_advice(kind) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", vars(kind)["code"])
    assert kind.advice == kind.advice.strip(" .")
    assert len(kind.advice.split()) >= 3


def test_no_two_errors_have_one_code() -> None:
    assert len({kind.code for kind in ERRORS}) == len(ERRORS) >= 19


def test_advice_of_an_error_is_in_its_message_or_made_for_it() -> None:
    gone = sordino_client.PlanUnavailable("manifest", "no such thing", status=404)
    busy = sordino_client.PlanUnavailable("manifest", "busy", status=503)
    ledger = sordino_client.LedgerUnavailable("app/ledger", "it is read-only", "give the app write access")
    for error in (gone, busy, ledger, sordino_client.OptedOut(), sordino_client.SpoolFull(10)):
        assert error.advice in str(error)
    assert gone.advice != busy.advice
