"""The version of the app that this device shows in an experiment: drawn once, when the campaign is joined."""

from __future__ import annotations

import sqlite3

from sordino_shared.protocol import Arm, Manifest
from sordino_shared.protocol.experiments import WHOLE_ARM_WEIGHT
from sordino_shared.randomness import Randomness

_BITS = WHOLE_ARM_WEIGHT.bit_length() - 1


def drawn_arm(arms: tuple[Arm, ...], randomness: Randomness) -> int:
    """The place of an arm, each with probability weight/2^16, from the device's own generator and nothing else."""
    number = randomness.bits(_BITS)
    for place, arm in enumerate(arms):
        number -= arm.weight
        if number < 0:
            return place
    raise AssertionError("the weights sum to 2^16")


def draw_arm(connection: sqlite3.Connection, manifest: Manifest, randomness: Randomness) -> None:
    """Draw the arm of a campaign that has arms and keep it for life, in the transaction that pins the manifest."""
    if manifest.arms:
        connection.execute(
            "UPDATE campaigns SET arm = ? WHERE campaign = ? AND arm IS NULL",
            (drawn_arm(manifest.arms, randomness), bytes(manifest.campaign)),
        )


def checked_arm(manifest: Manifest, arm: object) -> int | None:
    """The arm of a ledger's row; raises ValueError unless the campaign has it, or has no arms and the row none."""
    if arm is None and not manifest.arms:
        return None
    if not isinstance(arm, int) or arm not in range(len(manifest.arms)):
        raise ValueError("an arm that nobody draws")
    return arm


def experiment_of(manifest: Manifest) -> str | None:
    """A sentence about an experiment for the device's owner; None for any other campaign."""
    if not manifest.arms:
        return None
    return f"Your app shows one of {len(manifest.arms)} versions, drawn by your device alone. Your answer says which."
