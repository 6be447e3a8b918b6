"""The sordino device SDK: verifies a plan, randomises on the device, reports exactly once.

with Client("https://telemetry.example", ledger="app/sordino.sqlite3", caps=caps) as client:
    campaign = client.join("<64 hexadecimal digits>")
    client.answer(campaign, 17.0)
    client.flush()
"""

import typing as _typing
from importlib import import_module as _import_module

from sordino_client._account import Account, AccountEntry, CampaignAccount
from sordino_client._client import Client
from sordino_client._clock import Clock, SystemClock
from sordino_client._config import Caps
from sordino_client._errors import (
    BudgetExceeded,
    ClientError,
    ClockUnusable,
    LedgerUnavailable,
    NotASuccessor,
    NotJoined,
    NotListed,
    OptedOut,
    PlanRefused,
    PlanUnavailable,
    ServedElsewhere,
    ServerChanged,
    SpoolFull,
    TransportFailed,
    WrongArgument,
    WrongShape,
)
from sordino_client._finding import FoundCampaigns
from sordino_client._preview import Preview
from sordino_client._results import Answer, Campaign, Flushed, PurposeText, RefusedUpload
from sordino_client._session import AnswerStatus
from sordino_client._transport import AsyncTransport, Request, Response, Transport
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue, OutsideDomain, OversizedDocument, SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CampaignId, Digest, Manifest, Period

if _typing.TYPE_CHECKING:
    from sordino_client._async_client import AsyncClient
    from sordino_client._async_http_transport import AsyncHttpTransport
    from sordino_client._http_transport import HttpTransport
    from sordino_client._httpx_transport import AsyncHttpxTransport, HttpxTransport

# Imported when they are first used: they need asyncio, http.client or httpx, which take longer than all the rest.
_LATER = {
    "AsyncClient": "sordino_client._async_client",
    "AsyncHttpTransport": "sordino_client._async_http_transport",
    "AsyncHttpxTransport": "sordino_client._httpx_transport",
    "HttpTransport": "sordino_client._http_transport",
    "HttpxTransport": "sordino_client._httpx_transport",
}


if not _typing.TYPE_CHECKING:  # a type checker would take every name for Any

    def __getattr__(name: str) -> _typing.Any:
        """The classes that are imported when they are first used."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(_import_module(_LATER[name]), name)
        return found


__version__ = "0.1.0"

__all__ = [
    "Account",
    "AccountEntry",
    "Answer",
    "AnswerStatus",
    "AsyncClient",
    "AsyncHttpTransport",
    "AsyncHttpxTransport",
    "AsyncTransport",
    "BudgetExceeded",
    "Campaign",
    "CampaignAccount",
    "CampaignId",
    "Caps",
    "Client",
    "ClientError",
    "Clock",
    "ClockUnusable",
    "Digest",
    "Domain",
    "Flushed",
    "FoundCampaigns",
    "HttpTransport",
    "HttpxTransport",
    "InvalidValue",
    "LedgerUnavailable",
    "Manifest",
    "NotASuccessor",
    "NotJoined",
    "NotListed",
    "OptedOut",
    "OutsideDomain",
    "OversizedDocument",
    "Period",
    "PlanRefused",
    "PlanUnavailable",
    "Preview",
    "PureEpsilon",
    "PurposeText",
    "RefusedUpload",
    "Request",
    "Response",
    "ServedElsewhere",
    "ServerChanged",
    "SordinoError",
    "SpoolFull",
    "SystemClock",
    "Transport",
    "TransportFailed",
    "WrongArgument",
    "WrongShape",
]
