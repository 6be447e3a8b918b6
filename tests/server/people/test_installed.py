"""In an image without `cryptography` a server that needs it says so, once, and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

OIDC = {
    "SORDINO_LOG": "off",
    "SORDINO_PEOPLE": "oidc",
    "SORDINO_PEOPLE_ROLES": json.dumps({"admin": ["ops"]}),
    "SORDINO_OIDC_ISSUER": "http://127.0.0.1:1/",
    "SORDINO_OIDC_CLIENT_ID": "sordino",
}


@pytest.mark.parametrize(
    ("settings", "options", "said"),
    [
        # Its processes would be started again and again.
        (OIDC, ["--processes", "2"], "SORDINO_PEOPLE=oidc needs PyJWT and cryptography"),
        ({}, [], "begin the log, sign and witness with an image that is built without `--target serve`"),
    ],
)
def test_the_lean_image_says_what_it_cannot(
    request: pytest.FixtureRequest, tmp_path: Path, settings: dict[str, str], options: list[str], said: str
) -> None:
    (tmp_path / "cryptography.py").write_text("raise ImportError('not in this image')")
    url = request.getfixturevalue("migrated_postgres_url") if options else f"sqlite:///{tmp_path}/new.sqlite3"
    environment = os.environ | settings | {"PYTHONPATH": str(tmp_path), "SORDINO_DATABASE_URL": url, "COLUMNS": "300"}
    command = [sys.executable, "-m", "sordino_server", "serve", "--no-worker", "--port", "0", *options]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert said in " ".join(done.stderr.split())
