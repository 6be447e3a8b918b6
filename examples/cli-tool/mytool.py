"""A command-line tool that reports how long it takes to start, once its owner agreed."""

import time

import typer

from sordino_client import Caps
from sordino_client.consent import Telemetry

BEGUN = time.monotonic()
SERVER = "https://telemetry.example"
# The campaign asks: startup, ordinal, edges 250, 500 and 1000, in ms.
CAMPAIGN = "0" * 64


def telemetry_of(**for_tests: object) -> Telemetry:
    given = {
        "server": SERVER,
        "campaigns": {"startup": CAMPAIGN},
        "purpose": "How long mytool takes to start, as one of four ranges.",
        "caps": Caps.of(1, days=28, lifetime=12),
    }
    return Telemetry("mytool", **(given | for_tests))


def make_app(telemetry: Telemetry) -> typer.Typer:
    app = typer.Typer()
    app.add_typer(telemetry.typer_app(), name="telemetry")

    @app.command()
    def greet(name: str) -> None:
        """Greet somebody."""
        telemetry.answer("startup", lambda: 1000 * (time.monotonic() - BEGUN))
        typer.echo(f"Hello {name}!")
        telemetry.ask()
        telemetry.send(deadline_s=0.3)

    return app


if __name__ == "__main__":
    make_app(telemetry_of())()
