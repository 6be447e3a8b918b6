"""A desktop program on asyncio: it answers once a day, and its settings page shows the account's JSON."""

import asyncio
import json

from sordino_client import AsyncClient, Caps

# The campaign is a series that asks: theme, categorical, light and dark, and other.
SERVER, CAMPAIGN = "https://telemetry.example", "0" * 64
CAPS = Caps.of(1, days=28, lifetime=12)


class Settings:
    """What the owner sees and decides."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def page(self, languages: list[str]) -> str:
        """The account for the settings page; docs/account.schema.json describes it."""
        return json.dumps((await self._client.account()).to_dict(languages), indent=2)

    async def switch(self, on: bool) -> None:
        """The owner's switch."""
        await (self._client.opt_in() if on else self._client.opt_out_all())


async def once_a_day(client: AsyncClient, campaign: str, theme: str) -> bool:
    """Answer if this device is asked now, and send what waits; whether it was asked."""
    if await client.opted_out:
        return False
    series = await client.join(campaign)
    asked = await client.due(series) is not None
    if asked:
        await client.answer(series, theme)
    await client.flush(deadline_s=5)
    return asked


async def main() -> None:
    async with AsyncClient(SERVER, ledger="desktop.sqlite3", caps=CAPS) as client:
        while True:
            await once_a_day(client, CAMPAIGN, "dark")
            await asyncio.sleep(86_400)


if __name__ == "__main__":
    asyncio.run(main())
