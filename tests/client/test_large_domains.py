"""A device answers about values that have no cell number: texts by 64 bits of their hash, and 64 settings at once."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.vectorized.coarsened.labels import labels_of, minus
from sordino_analysis.vectorized.coarsened.levels import level_members
from sordino_analysis.vectorized.coarsened.partitions import cell_coordinates
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_analysis.vectorized.payloads import payload_rows
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus
from sordino_server.simulation import DeviceFleet
from sordino_shared.domains import Categorical, Domain, Hashed
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart, ReportBatch
from sordino_shared.randomizers import (
    Coarsened,
    FieldLabel,
    GridPartition,
    Level,
    LinearLabel,
    ResidueLabel,
    SubsetPartition,
)

THREE = PureEpsilon.of(3)
WHOLE = 1 << 32
TEXTS = Domain((Hashed("crash", 64, bytes(range(16))),))
SETTINGS = Domain(tuple(Categorical(f"setting {number}", ("off", "on")) for number in range(64)))


def part(domain: Domain, *levels: Level) -> DevicePart:
    return DevicePart(domain, THREE, Coarsened.for_guarantee(domain.shape, levels, THREE))


def texts(label: LinearLabel | FieldLabel) -> DevicePart:
    return part(TEXTS, Level(WHOLE, GridPartition((1,)), label, b"\x01"))


def settings() -> DevicePart:
    return part(SETTINGS, Level(WHOLE, SubsetPartition((2, 2)), ResidueLabel((2, 2)), b"\x01"))


def held(plan: DevicePart, value: object, payloads: np.ndarray) -> np.ndarray:
    """(n,) whether a report holds the value."""
    level, codes = plan.randomizer.levels[0], np.array(plan.domain.codes(value), dtype=np.uint64)
    ((_, reports),) = unpack_coarsened(plan.randomizer, payloads)
    coordinates = cell_coordinates(level.partition, codes[None, None], [public[:, None] for public in reports.public])
    words = [word[:, None] for word in reports.words]
    labels = labels_of(level.label, coordinates, level.shape(plan.domain.shape), words)
    return level_members(level)[minus(level.label, labels, reports.shifted[:, None]).astype(int)].ravel()


@pytest.mark.parametrize(
    ("plan", "value", "other"),
    [
        (texts(LinearLabel(3)), "SIGSEGV at 0x7f", "SIGBUS"),
        (texts(FieldLabel(3)), "SIGSEGV at 0x7f", "SIGBUS"),
        (settings(), {f"setting {n}": "on" for n in range(64)}, {f"setting {n}": "off" for n in range(64)}),
    ],
    ids=["linear", "field", "settings"],
)
def test_reports_hold_the_value_as_often_as_the_law_says(make_client, make_world, plan, value, other) -> None:
    """Two thousand devices; a share that is off by five standard errors has a chance of 6·10⁻⁷."""
    world = make_world(plan)
    client = make_client(world)
    assert client.answer(client.join(world.campaign), value).status is AnswerStatus.RECORDED
    fleet = DeviceFleet(client, world.campaign)
    fleet.answer_many([value] * 2000, SeededRandomness(4), first_device=1)
    fleet.flush()
    payloads = np.concatenate([payload_rows(ReportBatch.read(body)) for body in world.bodies])
    assert in_alphabet(plan.randomizer, payloads).all()
    members, labels = plan.randomizer.levels[0].density
    high = members * plan.randomizer.high
    chance = high / (high + (labels - members) * plan.randomizer.low)
    errors = 5 * (chance * (1 - chance) / len(payloads)) ** 0.5
    assert abs(held(plan, value, payloads).mean() - chance) < errors
    assert held(plan, other, payloads).mean() < chance - errors
