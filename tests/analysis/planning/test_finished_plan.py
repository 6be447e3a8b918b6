"""A finished plan reads back as it was, or not at all."""

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_shared.errors import GuaranteeNotMet, SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart, Digest


def parts_of(device, analyst, summary):
    """The bytes of a plan of these parts, under a digest that is right."""
    body = b"".join(
        len(part).to_bytes(8, "big") + part for part in (summary.text().encode(), device.content, analyst.content)
    )
    return Digest.of(body) + body


def test_it_reads_back(plan_of):
    plan = plan_of("prefix", 6, users=100).finished()
    again = FinishedPlan.read(plan.content)
    assert (again.device, again.analyst, again.summary) == (plan.device, plan.analyst, plan.summary)
    assert again.content == plan.content
    assert again.complete


def test_its_summary_is_frozen(plan_of):
    plan = plan_of("prefix", 3, mechanism="randomized_response").finished()
    for place, field in (
        (plan.summary, "cut_short"),
        (plan.summary.candidates[0], "name"),
        (plan.summary.digests, "device"),
    ):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(place, field, "changed")


def test_a_target_is_stated_in_another_plan(plan_of):
    plan = plan_of("prefix", 3, mechanism="randomized_response").finished()
    stated = plan.for_target(0.05)
    assert (stated.summary.target_error, stated.summary.users_needed) == (0.05, plan.users_needed(0.05))
    assert "target_error" not in plan.summary.text()
    assert {
        **json.loads(plan.summary.text()),
        "target_error": 0.05,
        "users_needed": plan.users_needed(0.05),
    } == json.loads(stated.summary.text())


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
    one = plan_of("prefix", 6, mechanism="subset_selection")
    other = plan_of("prefix", 6, mechanism="randomized_response")
    with pytest.raises(SordinoError, match="give the two parts of one plan"):
        FinishedPlan.read(parts_of(one.device, other.analyst, one.summary))


def test_an_epsilon_that_is_not_met_is_refused(plan_of):
    plan = plan_of("prefix", 6, mechanism="randomized_response")
    claims = DevicePart(plan.device.domain, PureEpsilon.of("0.5"), plan.device.randomizer)
    analyst = replace(plan.analyst, device_digest=claims.digest)
    with pytest.raises(GuaranteeNotMet):
        FinishedPlan.read(parts_of(claims, analyst, plan.summary))
