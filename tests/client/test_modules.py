"""What a device loads: the standard library alone, and little of it before a connection is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys; before = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
# Each takes some milliseconds, or loads others that do.
HEAVY = {
    "asyncio", "concurrent.futures", "dataclasses", "email.message", "http.client", "importlib.metadata",
    "importlib.resources", "inspect", "json", "multiprocessing", "numbers", "pydoc", "socket", "ssl", "subprocess",
    "tempfile", "unittest", "urllib.request", "zipfile",
}  # fmt: skip
NEEDED = {"numbers"}


def loaded(code: str) -> set[str]:
    """The modules that the code loads in a process of its own, without site packages but the two of the SDK."""
    program = LOADED.format(code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import sordino_client",
        "import sordino_client as s; s.Client, s.AsyncClient, s.HttpTransport, s.AsyncHttpTransport",
        "import sordino_shared.protocol, sordino_shared.audit, sordino_shared.ed25519",
    ],
)
def test_nothing_but_the_standard_library_is_loaded(code: str) -> None:
    roots = {name.partition(".")[0] for name in loaded(code)}
    assert roots <= set(sys.stdlib_module_names) | {"sordino_client", "sordino_shared"}


def test_the_import_loads_nothing_that_takes_long() -> None:
    assert loaded("import sordino_client") & HEAVY <= NEEDED


def test_a_connection_loads_what_http_takes_and_nothing_of_asyncio() -> None:
    """`http.client` brings ssl and email. The codec of international names loads only where a name has such letters."""
    code = (
        "import contextlib, sordino_client as s\n"
        "with contextlib.suppress(s.TransportFailed):\n"
        "    s.HttpTransport('http://127.0.0.1:1').send(s.Request(method='GET', path='/v1', limit=1))"
    )
    found = loaded(code)
    assert "http.client" in found
    assert not found & {"asyncio", "concurrent.futures", "encodings.idna", "stringprep", "json", "dataclasses"}


def test_the_table_of_atoms_is_read_at_the_first_direction() -> None:
    code = (
        "import sordino_client; from sordino_shared.randomizers import directions\n"
        "assert directions._atoms.cache_info().currsize == 0\n"
        "list(directions.direction(bytes(16), 2))\n"
        "assert directions._atoms.cache_info().currsize == 1"
    )
    loaded(code)


def test_the_transport_of_httpx_says_which_extra_has_it() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "import sordino_client\n"
        "try:\n    sordino_client.HttpxTransport\n"
        "except ImportError as error:\n    assert 'sordino-client[httpx]' in str(error), error\n"
        "else:\n    raise AssertionError"
    )
    loaded(code)
