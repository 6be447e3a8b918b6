"""Ask a device's owner, and honour the answer: `Telemetry` for command-line tools, desktop programs and services.

telemetry = Telemetry(
    "mytool",
    server="https://telemetry.example",
    campaigns={"startup": "<64 hexadecimal digits>"},
    purpose="How long mytool takes to start.",
    caps=Caps.of(1, days=28, lifetime=12),
)
telemetry.ask()                                  # once, at a terminal; No is the default
telemetry.answer("startup", measured_ms)         # nothing unless on; never raises, never waits for the network
telemetry.send(deadline_s=0.3)                   # at the end of a run
"""

from sordino_client.consent._environment import default_ledger, languages_of, switched_off
from sordino_client.consent._telemetry import Consent, ConsentState, Telemetry

__all__ = ["Consent", "ConsentState", "Telemetry", "default_ledger", "languages_of", "switched_off"]
