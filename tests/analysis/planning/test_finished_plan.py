"""A finished plan reads back as it was, or not at all."""

from dataclasses import replace

import pytest

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_shared.errors import GuaranteeNotMet, SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart, Digest


def parts_of(device, analyst, summary=b"{}"):
    """The bytes of a plan of these parts, under a digest that is right."""
    body = b"".join(len(part).to_bytes(8, "big") + part for part in (summary, device.content, analyst.content))
    return Digest.of(body) + body


def test_it_reads_back(plan_of):
    plan = plan_of("prefix", 12, users=100).finished()
    again = FinishedPlan.read(plan.content)
    assert (again.device, again.analyst, again.summary) == (plan.device, plan.analyst, plan.summary)
    assert again.content == plan.content
    assert again.complete


def test_changing_its_summary_does_not_change_it(plan_of):
    plan = plan_of("prefix", 3, mechanism="randomized_response").finished()
    content, told = plan.content, plan.summary
    told["cut_short"] = "changed"
    told["candidates"][0]["name"] = "changed"
    del told["digests"]["device"]
    assert plan.content == content
    assert plan.complete
    assert plan.summary == FinishedPlan.read(content).summary != told


def test_every_byte_counts(plan_of):
    content = plan_of("prefix", 3, mechanism="randomized_response").finished().content
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1
        with pytest.raises(SordinoError):
            FinishedPlan.read(bytes(damaged))
    for length in (0, 31, 32, 40, len(content) - 1):
        with pytest.raises(SordinoError):
            FinishedPlan.read(content[:length])


def test_parts_of_two_plans_are_no_plan(plan_of):
    one = plan_of("prefix", 12)
    other = plan_of("prefix", 12, mechanism="randomized_response")
    with pytest.raises(SordinoError, match="another device part"):
        FinishedPlan.read(parts_of(one.device, other.analyst))


def test_an_epsilon_that_is_not_met_is_refused(plan_of):
    plan = plan_of("prefix", 12, mechanism="randomized_response")
    claims = DevicePart(plan.device.domain, PureEpsilon.of("0.5"), plan.device.randomizer)
    analyst = replace(plan.analyst, device_digest=claims.digest)
    with pytest.raises(GuaranteeNotMet):
        FinishedPlan.read(parts_of(claims, analyst))
