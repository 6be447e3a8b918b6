"""Test an app's telemetry without a server: `FakeServer` speaks the protocol, and its clock moves when a test says so.

server = FakeServer(Domain((Ordinal("startup", edges=(250, 500, 1000)),)), epsilon=1, series=Weekly(slots=4))
with server.client(ledger=tmp_path / "ledger") as client:
    series = client.join(server.campaign)
"""

from sordino_client.testing._fake_server import FakeServer
from sordino_client.testing._series_terms import Daily, Hourly, Weekly
from sordino_client.testing._what_came import MadeRequest, ReceivedReport
from sordino_shared.domains import Categorical, Domain, Hashed, Indicator, Integers, Number, Ordinal
from sordino_shared.randomness import ShakeRandomness

__all__ = [
    "Categorical",
    "Daily",
    "Domain",
    "FakeServer",
    "Hashed",
    "Hourly",
    "Indicator",
    "Integers",
    "MadeRequest",
    "Number",
    "Ordinal",
    "ReceivedReport",
    "ShakeRandomness",
    "Weekly",
]
