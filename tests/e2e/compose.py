"""What docker-compose.yml and the Dockerfile state, for tests that run it without Docker."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


def services() -> dict[str, Any]:
    """Every service by name, of all profiles."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return found


def started(profile: str | None = None) -> dict[str, Any]:
    """What `docker compose up` starts, or with a profile what it starts besides."""
    wanted = [] if profile is None else [profile]
    return {name: service for name, service in services().items() if service.get("profiles", []) == wanted}


def image_check() -> list[str]:
    """The command of the image's health check."""
    found = re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    assert found is not None
    command: list[str] = json.loads(found[1])
    return command


def run_check(command: list[str], environment: dict[str, str], port: str = "8000") -> int:
    """Exit code of a health check, whose processes run here and not in a container."""
    program = {"python": [sys.executable], "sordino": [sys.executable, "-m", "sordino_server"]}[command[0]]
    done = subprocess.run(
        [*program, *command[1:]],
        env=environment | {"SORDINO_PORT": port},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode


def without_variables(text: str) -> str:
    """The text with what compose puts in place of variables that are not set: `${NAME:-value}`, also one in another."""
    while (found := re.sub(r"\$\{\w+:-([^${}]*)\}", r"\1", text)) != text:
        text = found
    return text
