"""Files whose tests take long begin first, so that no processor is idle while a long one ends.

`tests/seconds_by_file.json` has the processor seconds of each file that takes more than one. After a `make test`,
`python -m tests.longest_first` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.budget import MEASURED, ROOT

RECORDED = Path(__file__).with_name("seconds_by_file.json")
_LEAST_S = 1.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in order of their seconds; within a file, and among short ones, the order stays."""
    seconds = recorded()
    items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], 0.0))


def recorded() -> Mapping[str, float]:
    """Seconds by file."""
    found: dict[str, float] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def main() -> None:
    measured: dict[str, float] = json.loads(MEASURED.read_text(encoding="utf-8"))["files"]
    long = {file: round(seconds, 1) for file, seconds in sorted(measured.items()) if seconds > _LEAST_S}
    RECORDED.write_text(json.dumps(long, indent=0) + "\n", encoding="utf-8")
    print(f"{RECORDED.relative_to(ROOT)}: {len(long)} files")


if __name__ == "__main__":
    main()
