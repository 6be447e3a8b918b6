"""The public surface is a list, and the drawn tree of errors is the real one."""

from __future__ import annotations

import re

import sordino_client
from sordino_client import _errors, simulation
from sordino_shared.errors import SordinoError

PUBLIC = {
    "Account", "AccountEntry", "Answer", "AnswerStatus", "AsyncClient", "AsyncHttpxTransport", "AsyncTransport",
    "BudgetExceeded", "Campaign", "CampaignAccount", "Caps", "Client", "ClientError", "Clock", "ClockUnusable",
    "Flushed", "FoundCampaigns", "HttpxTransport", "LedgerUnavailable", "NotASuccessor", "NotJoined", "OptedOut",
    "Period",
    "PlanRefused", "PlanUnavailable", "Preview", "PureEpsilon",
    "RefusedUpload", "Request", "Response", "ServedElsewhere", "ServerChanged", "SpoolFull", "SystemClock",
    "Transport", "TransportFailed",
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
    drawn = set(re.findall(r"[├└]── (\w+)", _errors.__doc__ or ""))
    real = {name for name, kind in vars(_errors).items() if isinstance(kind, type) and issubclass(kind, SordinoError)}
    assert drawn == real - {"SordinoError"}
    assert all(issubclass(getattr(_errors, name), _errors.ClientError) for name in drawn)
