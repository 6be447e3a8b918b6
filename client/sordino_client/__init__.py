"""The sordino device SDK: verifies a plan, randomises on the device, reports exactly once.

with Client("https://telemetry.example", ledger="app/sordino.sqlite3", caps=caps) as client:
    campaign = client.join("<64 hexadecimal digits>")
    client.answer(campaign, 17.0)
    client.flush()
"""

from sordino_client._account import Account, AccountEntry, CampaignAccount
from sordino_client._async_client import AsyncClient
from sordino_client._client import Client
from sordino_client._clock import Clock, SystemClock
from sordino_client._config import Caps
from sordino_client._device import Answer, Campaign, Flushed, RefusedUpload
from sordino_client._errors import (
    BudgetExceeded,
    ClientError,
    ClockUnusable,
    LedgerUnavailable,
    NotJoined,
    OptedOut,
    PlanRefused,
    PlanUnavailable,
    ServedElsewhere,
    SpoolFull,
    TransportFailed,
)
from sordino_client._session import AnswerStatus
from sordino_client._transport import (
    AsyncHttpxTransport,
    AsyncTransport,
    HttpxTransport,
    Request,
    Response,
    Transport,
)
from sordino_shared.guarantees import PureEpsilon

__version__ = "0.1.0"

__all__ = [
    "Account",
    "AccountEntry",
    "Answer",
    "AnswerStatus",
    "AsyncClient",
    "AsyncHttpxTransport",
    "AsyncTransport",
    "BudgetExceeded",
    "Campaign",
    "CampaignAccount",
    "Caps",
    "Client",
    "ClientError",
    "Clock",
    "ClockUnusable",
    "Flushed",
    "HttpxTransport",
    "LedgerUnavailable",
    "NotJoined",
    "OptedOut",
    "PlanRefused",
    "PlanUnavailable",
    "PureEpsilon",
    "RefusedUpload",
    "Request",
    "Response",
    "ServedElsewhere",
    "SpoolFull",
    "SystemClock",
    "Transport",
    "TransportFailed",
]
