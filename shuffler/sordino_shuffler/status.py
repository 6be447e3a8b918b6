"""What `sordino-shuffler status` says, from the folder alone: the shuffler may run or not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sordino_shuffler.errors import StoreInUse
from sordino_shuffler.released import Released
from sordino_shuffler.settings import ShufflerSettings, read_campaigns
from sordino_shuffler.store import State, Store, StoredRound


def status_of(settings: ShufflerSettings) -> dict[str, Any]:
    """Whether it runs, every round with its reports, and what is wrong; raises WrongSetting."""
    listed = {bytes(entry.campaign) for entry in read_campaigns(settings.campaigns)}
    if not settings.store.exists():
        return {"running": False, "rounds": [], "troubles": []}
    store = Store(settings.store)
    try:
        rows = store.rounds()
        counts = {row.round_id: store.count(row) for row in rows if row.state is State.COLLECTING}
        troubles = [
            {"campaign": campaign.hex(), "about": about, "sentence": sentence}
            for (campaign, about), sentence in sorted(store.troubles().items())
        ]
    finally:
        store.close()
    for campaign in sorted({row.campaign for row in rows if _is_unfinished(row)} - listed):
        sentence = f"it has rounds to hand on and is not in {settings.campaigns}"
        troubles.append({"campaign": campaign.hex(), "about": "campaigns", "sentence": sentence})
    return {
        "running": _runs(settings),
        "rounds": [_round(row, counts.get(row.round_id)) for row in rows],
        "troubles": troubles,
    }


def status_lines(found: dict[str, Any]) -> list[str]:
    """The same for people."""
    lines = ["the shuffler runs" if found["running"] else "the shuffler does not run"]
    for each in found["rounds"]:
        taken = " and stated" if each["stated"] else ""
        lines.append(
            f"{each['campaign'][:16]}…  round {each['round']}  {each['state']}{taken}, ends {each['ends']}, "
            f"{each['received']} reports"
        )
    if not found["rounds"]:
        lines.append("no rounds yet")
    lines += [f"! {each['campaign'][:16]}…: {each['sentence']}" for each in found["troubles"]]
    return lines


def _is_unfinished(row: StoredRound) -> bool:
    return row.state in (State.COLLECTING, State.MIXED) or (row.state is State.MISSED and not row.stated)


def _round(row: StoredRound, count: int | None) -> dict[str, Any]:
    return {
        "campaign": row.campaign.hex(),
        "round": row.number,
        "state": row.state.value,
        "ends": datetime.fromtimestamp(row.ends_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "received": row.received if count is None else count,
        "stated": row.stated,
    }


def _runs(settings: ShufflerSettings) -> bool:
    if not settings.released.exists():
        return False
    try:
        Released(settings.released).close()
    except StoreInUse:
        return True
    return False
