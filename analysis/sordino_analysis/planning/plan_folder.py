"""A plan as files in a folder: what `sordino plan --output` and `save` write, and what is read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.planning.finished_plan import Part, PartName
from sordino_analysis.planning.rounds import RoundPlan
from sordino_shared.protocol import DevicePart

DEVICE_FILE, ANALYST_FILE, PROTOCOL_FILE = "device.cbor", "analyst.cbor", "protocol.json"
FILES: Mapping[PartName, str] = {"device": DEVICE_FILE, "analyst": ANALYST_FILE, "protocol": PROTOCOL_FILE}


def write_parts(folder: Path, parts: Mapping[PartName, Part]) -> None:
    """Write each part under its file name, in a folder that is made where it is missing; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        (folder / FILES[name]).write_bytes(part.content)


def read_round(folder: Path) -> RoundPlan:
    """The two parts in a folder; raises ProtocolError, InvalidValue and OSError."""
    device = DevicePart.read((folder / DEVICE_FILE).read_bytes())
    return RoundPlan(device, AnalystPart.read((folder / ANALYST_FILE).read_bytes()))


def read_protocol(folder: Path) -> ProtocolPlan:
    """The plan of a protocol in a folder; raises InvalidValue and OSError."""
    return ProtocolPlan.read((folder / PROTOCOL_FILE).read_bytes())
