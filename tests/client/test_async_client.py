"""The asyncio twin does the same, under the same names."""

from __future__ import annotations

import asyncio
import inspect

import httpx
import pytest

from sordino_client import AnswerStatus, AsyncClient, Client, PlanUnavailable


@pytest.mark.asyncio
async def test_join_answer_flush_account_opt_out(world, make_async_client) -> None:
    async with make_async_client() as client:
        campaign = await client.join(str(world.campaign))
        assert (await client.answer(campaign, "red")).status is AnswerStatus.RECORDED
        assert (await client.answer(campaign, "red")).status is AnswerStatus.ALREADY_ANSWERED
        assert (await client.flush()).delivered == 1
        assert (await client.account()).campaigns[0].entries[0].state == "delivered"
        await client.opt_out(campaign)
        assert (await client.answer(campaign, "red")).status is AnswerStatus.OPTED_OUT


@pytest.mark.asyncio
async def test_retries_sleep_without_blocking_and_resend_identical_bytes(world, make_async_client, clock) -> None:
    client = make_async_client()
    await client.answer(await client.join(world.campaign), "red")
    world.replies = [httpx.ReadTimeout("lost"), httpx.Response(503)]
    assert (await client.flush(patience_s=60)).delivered == 1
    assert len(world.bodies) == 3
    assert len(set(world.bodies)) == 1
    assert len(clock.slept) == 2
    await client.close()


@pytest.mark.asyncio
async def test_without_the_plan_nothing_is_kept(world, make_async_client) -> None:
    client = make_async_client()
    world.parts.clear()
    campaign = await client.join(world.campaign)
    with pytest.raises(PlanUnavailable):
        await client.answer(campaign, "red")
    assert (await client.account()).lifetime_nano == 0
    await client.close()


@pytest.mark.asyncio
async def test_concurrent_answers_randomise_once(world, make_async_client) -> None:
    client = make_async_client()
    campaign = await client.join(world.campaign)
    answers = await asyncio.gather(*(client.answer(campaign, "red") for _ in range(20)))
    assert sorted(answer.status.value for answer in answers) == ["already_answered"] * 19 + ["recorded"]
    await asyncio.gather(*(client.flush() for _ in range(5)))
    assert len(set(world.bodies)) == 1
    await client.close()


def test_the_twins_have_the_same_names_and_arguments() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        members = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in members
            if name == "__init__" or not name.startswith("_")
        }

    def properties(kind: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(kind, lambda member: isinstance(member, property))}

    assert properties(Client) == properties(AsyncClient) == {"opted_out"}
    assert surface(Client) == surface(AsyncClient)
    assert set(surface(Client)) == {
        "__init__", "join", "answer", "flush", "rehome", "account", "opt_out", "opt_out_all", "opt_in", "close",
        "preview", "due", "next_due", "find", "arm", "send_detached",
    }  # fmt: skip
