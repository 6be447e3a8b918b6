"""A bill of materials for each wheel, CycloneDX 1.6 as JSON: what the wheel is, what it needs, each with hashes."""

from __future__ import annotations

import tomllib
import uuid
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.building import ROOT, sha256
from release.lock import Pinned, pinned
from release.third_party import licence

_OURS = "sordino-"
# Of the server's extras, those that the image has.
_EXTRAS = {"sordino-server": ("postgres", "oidc")}


def needed(name: str) -> dict[str, list[str]]:
    """What a distribution brings, itself included: of each the names that it needs in turn."""
    found: dict[str, list[str]] = {}
    waiting = [(name, _EXTRAS.get(name, ()))]
    while waiting:
        current, extras = waiting.pop()
        known = found.setdefault(current, [])
        for need in _requirements(current, extras):
            key = canonicalize_name(need.name)
            if key not in known:
                known.append(key)
            if key not in found:
                waiting.append((key, tuple(need.extras)))
    return found


def _requirements(name: str, extras: tuple[str, ...]) -> list[Requirement]:
    if name.startswith(_OURS):
        project = _project(name)
        optional = project.get("optional-dependencies", {})
        lines = [*project["dependencies"], *(line for extra in extras for line in optional[extra])]
    else:
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            lines = []
    parsed = [Requirement(line) for line in lines]
    chosen = ("", *extras)
    return [each for each in parsed if not each.marker or any(each.marker.evaluate({"extra": e}) for e in chosen)]


def _project(name: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(
        (ROOT / name.removeprefix(_OURS) / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    return found


def sbom(wheel: Path, at: int) -> str:
    """The document of a wheel, made at this Unix time; the same wheel and lock make the same text."""
    name = wheel.name.split("-")[0].replace("_", "-")
    tree, locked = needed(name), pinned()
    components = {each: _component(each, locked.get(each)) for each in tree}
    root = components[name]
    root.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=sha256(wheel)))
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{wheel.name}#{sha256(wheel)}"))
    bom.metadata.timestamp = datetime.fromtimestamp(at, UTC)
    bom.metadata.component = root
    for each, component in components.items():
        if each != name:
            bom.components.add(component)
        bom.register_dependency(component, [components[need] for need in tree[each] if need in components])
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def _component(name: str, locked: Pinned | None) -> Component:
    version = str(_project(name)["version"]) if name.startswith(_OURS) else (locked.version if locked else "unknown")
    stated = "Apache-2.0" if name.startswith(_OURS) else licence(name)
    component = Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=version,
        bom_ref=f"pkg:pypi/{name}@{version}",
        purl=PackageURL("pypi", name=name, version=version),
        licenses=[LicenseFactory().make_from_string(stated)] if stated else [],
    )
    if locked is not None:
        # A package has a file for each system; the hash says which one is installed.
        component.hashes.update(HashType(alg=HashAlgorithm.SHA_256, content=each) for each in locked.hashes)
    return component
