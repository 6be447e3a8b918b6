"""A device answers about a number of many values by few types: it reads, proves and draws; a mean is estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate, mean_accumulator
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.payloads import payload_rows
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus
from sordino_server.simulation import DeviceFleet
from sordino_shared.domains import Categorical, Domain, Integers
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart, ReportBatch
from sordino_shared.randomizers import Dithered, RandomizedResponse

EPSILON = PureEpsilon.of(3)
MOST, DEVICES = 999_999, 4000
KNOTS = (0, 700_000, MOST)
DOMAIN = Domain((Integers("load", 0, MOST, unit="ms"), Categorical("country", ("DE", "FR"), other=True)))
INNER = RandomizedResponse.for_guarantee(9, EPSILON)
PART = DevicePart(DOMAIN, EPSILON, Dithered((KNOTS, ()), INNER))


@pytest.mark.parametrize("country", ["FR", "elsewhere"])
def test_a_mean_of_what_devices_send_is_the_mean_of_what_they_hold(
    make_client: Any, make_world: Any, country: str
) -> None:
    """Values between knots, one category: within five standard errors, a false alarm in a million."""
    world = make_world(PART)
    client = make_client(world)
    assert client.answer(client.join(world.campaign), {"load": 5, "country": country}).status is AnswerStatus.RECORDED
    loads = np.random.default_rng(3).integers(200_000, 330_000, DEVICES)
    fleet = DeviceFleet(client, world.campaign)
    values = [{"load": load, "country": country} for load in loads.tolist()]
    fleet.answer_many(values, SeededRandomness(4), first_device=1)
    fleet.flush()
    payloads = np.concatenate([payload_rows(ReportBatch.read(body)) for body in world.bodies])
    assert len(payloads) == DEVICES

    # Means at the knots, for each of three countries, over the types that the inner randomizer has.
    rows = np.kron(np.array(KNOTS) / MOST, np.eye(3))
    own, other = INNER.own_weight / 2**INNER.bits, INNER.other_weight / 2**INNER.bits
    offsets = -other / (own - other) * rows.sum(axis=1)
    decoder = AnswerDecoder(array_of(rows / (own - other), "<f8"), array_of(offsets, "<f8"))
    types = [{"name": "load", "kind": "integers", "low": 0, "high": 2}]
    types += [{"name": "country", "kind": "integers", "low": 0, "high": 2}]
    workload = parse_specification({"name": "means", "domain": types, "queries": {"matrix": rows.tolist()}}).build()
    moments = answer_moments(PART.randomizer, decoder, workload)
    found = moments.decode(mean_accumulator(PART.randomizer, Aggregate(DEVICES, accumulate(PART.randomizer, payloads))))
    wanted = np.zeros(3)
    wanted[["DE", "FR", "elsewhere"].index(country)] = loads.mean() / MOST
    errors = np.sqrt(moments.profile().variance / DEVICES)
    assert (np.abs(found - wanted) < 5 * errors).all()
    # Rounded to the nearest knot, all values would count as 0.
    assert loads.max() < KNOTS[1] / 2
    assert wanted.max() > 5 * errors.max()
