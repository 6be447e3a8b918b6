"""A backend on FastAPI: one endpoint for values, one for a user's account, and a job that sends what waits."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI

from sordino_client import BudgetExceeded, Caps, PlanUnavailable
from sordino_client.backend import LedgerStore

# The campaign asks: minutes, ordinal, edges 0, 15 and 60.
CAMPAIGN = "0" * 64


def open_store() -> LedgerStore:
    return LedgerStore(
        "store.sqlite3",
        server="https://telemetry.example",
        caps=Caps.of(1, days=28, lifetime=12),
        key=bytes.fromhex(os.environ["STORE_KEY"]),
    )


def make_app(store: LedgerStore, campaign: str = CAMPAIGN, every_s: float = 60.0) -> FastAPI:
    async def send() -> None:
        while True:
            await asyncio.to_thread(store.flush)
            await asyncio.sleep(every_s)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(store.join, campaign)
        job = asyncio.create_task(send())
        yield
        job.cancel()
        with suppress(asyncio.CancelledError):
            await job

    app = FastAPI(lifespan=lifespan)

    @app.post("/users/{user}/delay")
    def delay(user: str, minutes: float) -> dict[str, str]:
        try:
            return {"status": store.owner(user).answer(campaign, minutes).status.value}
        except (BudgetExceeded, PlanUnavailable) as error:
            return {"status": error.code}

    @app.get("/users/{user}/telemetry")
    def account(user: str) -> dict[str, Any]:
        return store.owner(user).account().to_dict()

    @app.delete("/users/{user}/telemetry")
    def leave(user: str) -> None:
        store.owner(user).opt_out_all()

    return app


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(make_app(open_store()))
