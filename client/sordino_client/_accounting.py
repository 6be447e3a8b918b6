"""What the recorded debits cost: the ledger keeps events, this module adds them up and refuses what passes a cap."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_client._config import Caps
from sordino_client._errors import BudgetExceeded
from sordino_shared.guarantees import MAX_NANO, PureEpsilon
from sordino_shared.protocol import Manifest
from sordino_shared.quantities import quantity


@dataclass(frozen=True)
class Spending:
    """Σ nano-ε of debits: of one campaign, of the running period, of the ledger's life."""

    campaign: int
    period: int
    lifetime: int


def check_budget(spending: Spending, charge: PureEpsilon, manifest: Manifest, caps: Caps) -> None:
    """Raise `BudgetExceeded` if `charge` on top of `spending` passes the campaign's ε or a cap."""
    limits = (
        ("to a device by the campaign", spending.campaign, manifest.device_guarantee),
        (f"in {quantity(caps.period_days, 'day')}", spending.period, caps.per_period),
        ("for life", spending.lifetime, caps.lifetime),
    )
    for scope, spent, cap in limits:
        if spent + charge.nano > cap.nano:
            raise BudgetExceeded(scope, charge, PureEpsilon(min(spent, MAX_NANO)), cap, manifest.campaign)
