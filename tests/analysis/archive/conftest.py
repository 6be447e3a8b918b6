"""An archive made of given payloads, without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sordino_analysis.archive.archive import Archive, device_part_name
from sordino_analysis.archive.folder import Folder
from sordino_analysis.archive.manifest import ArchiveManifest, part_name
from sordino_analysis.archive.parts import archived_part, part_content
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer

Write = Callable[[AnyRandomizer, NDArray[np.uint8], int], Archive]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Writes (n, width) payloads as that many parts, and opens the archive."""

    def write(randomizer: AnyRandomizer, payloads: NDArray[np.uint8], parts: int) -> Archive:
        values = tuple(map(str, range(randomizer.size)))
        device = DevicePart(Domain((Categorical("value", values),)), PureEpsilon(10**9), randomizer)
        digest = str(device.digest)
        folder = Folder.open(str(tmp_path / "archive"))
        folder.write(device_part_name(digest), device.content)
        listed = []
        for number, some in enumerate(np.array_split(payloads, parts)):
            content = part_content(some, digest)
            folder.write(part_name(number), content)
            listed.append(archived_part(part_name(number), len(some), content))
        manifest = ArchiveManifest(
            campaign="ab" * 32,
            round=0,
            device=digest,
            analyst=digest,
            width=randomizer.payload_bytes,
            parts=tuple(listed),
        )
        folder.write(manifest.name, manifest.content)
        return Archive.open(folder.url)

    return write
