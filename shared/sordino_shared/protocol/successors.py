"""Whether one series may take the place of another on a device that answered it."""

from __future__ import annotations

from sordino_shared.protocol.campaigns import Manifest
from sordino_shared.protocol.series import Rotating
from sordino_shared.quantities import quantity


def successor_faults(old: Manifest, new: Manifest) -> list[str]:
    """Why `new` may not take the place of `old`, one reason each; empty where it may.

    It names `old`, has the same periods, and asks no device more often, more often for life, or for more ε: then the
    promise to the owner of `old` holds for both together. Raises nothing: what is no series is a reason.
    """
    before, after = old.assignment, new.assignment
    if not isinstance(before, Rotating) or not isinstance(after, Rotating):
        return ["only a series replaces a series"]
    same = (
        ("start", before.start, after.start),
        ("period_s", before.period_s, after.period_s),
        ("value_of", before.value_of.value, after.value_of.value),
    )
    faults = [f"its {name} is {now}, not {was}" for name, was, now in same if was != now]
    if after.replaces != old.campaign:
        faults.insert(0, f"it names {after.replaces or 'no series'} as the one it replaces, not {old.campaign}")
    if after.slots < before.slots:
        faults.append(f"it asks once in {quantity(after.slots, 'period')}, not in {before.slots} or more")
    if after.answers_max > before.answers_max:
        faults.append(f"it asks {after.answers_max} times for life, above {before.answers_max}")
    was, now = old.rounds[0].guarantee, new.rounds[0].guarantee
    if now.nano > was.nano:
        faults.append(f"an answer costs {now}, above {was}")
    return faults
