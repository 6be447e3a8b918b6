"""The public surface is a list, and the drawn tree of errors is the real one."""

from __future__ import annotations

import re

import sordino_client
from sordino_client import _errors, simulation
from sordino_shared.errors import SordinoError

PUBLIC = {
    "Account", "AccountEntry", "Answer", "AnswerStatus", "AsyncClient", "AsyncHttpxTransport", "AsyncTransport",
    "BudgetExceeded", "Campaign", "CampaignAccount", "Caps", "Client", "ClientError", "Clock", "ClockUnusable",
    "Domain", "Flushed", "FoundCampaigns", "HttpxTransport", "InvalidValue", "LedgerUnavailable", "Manifest",
    "NotASuccessor", "NotJoined", "NotListed", "OptedOut", "OutsideDomain", "OversizedDocument", "Period",
    "PlanRefused", "PlanUnavailable", "Preview", "PureEpsilon",
    "RefusedUpload", "Request", "Response", "ServedElsewhere", "ServerChanged", "SordinoError", "SpoolFull",
    "SystemClock", "Transport", "TransportFailed", "WrongArgument", "WrongShape",
}  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert set(sordino_client.__all__) == PUBLIC
    assert sordino_client.__all__ == sorted(sordino_client.__all__)
    assert all(hasattr(sordino_client, name) for name in PUBLIC)
    assert simulation.__all__ == ["DeviceFleet", "FleetFlushed"]


def test_nothing_else_is_public() -> None:
    visible = {name for name in vars(sordino_client) if not name.startswith("_")} | set(sordino_client._LATER)
    assert visible - {"simulation"} == PUBLIC


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
