"""What the recorded debits cost: the ledger keeps events, this module adds them up and refuses what passes a cap."""

from __future__ import annotations

from sordino_client._config import DAY_S, Caps
from sordino_client._errors import BudgetExceeded
from sordino_shared._records import dataclass
from sordino_shared.guarantees import MAX_NANO, PureEpsilon, exact_decimal
from sordino_shared.protocol import Manifest, Rotating
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


def cap_conflict(series: Rotating, answer: PureEpsilon, caps: Caps) -> str | None:
    """Why the cap of a period refuses answers of a series that cost `answer` each; None where it refuses none."""
    room = min(caps.per_period.nano // max(answer.nano, 1), series.answers_max)
    if series.most_drawn(caps.period_s) <= room:
        return None
    needed = series.most_drawn(caps.period_s)
    advice = f"ε {exact_decimal(needed * answer.nano)} in {quantity(caps.period_days, 'day')} refuses none"
    if series.longest_window_s(room) >= DAY_S:
        days = quantity(series.longest_window_s(room) // DAY_S, "day")
        advice += f", nor does ε {exact_decimal(room * answer.nano)} in {days}"
    return (
        f"the cap has room for {quantity(room, 'answer')} in {quantity(caps.period_days, 'day')}, and this series may "
        f"draw {needed}: the others are refused. {advice}"
    )
