"""Artefacts have the same bytes wherever they are built; lock, bills of materials and licences are whole."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from release import building, lock, page, sbom, third_party
from tests.architecture.test_requirements import pins

ROOT = Path(__file__).parents[2]
AT = 1_800_000_000


def built(folder: Path, umask: int) -> dict[str, str]:
    """The digests of the artefacts of two distributions, from a copy of their folders."""
    copy = folder / "source"
    for name in ("shared", "client"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "dist"))
    for path in copy.rglob("*"):
        os.utime(path, (AT + umask, AT + umask))
    before = os.umask(umask)
    try:
        artefacts = building.build(folder / "made", copy, AT, ("shared", "client"))
    finally:
        os.umask(before)
    assert list(building.without_licence(artefacts)) == []
    return {each.name: building.sha256(each) for each in artefacts}


def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    first, second = built(tmp_path / "a", 0o022), built(tmp_path / "elsewhere", 0o077)
    assert first == second
    assert len(first) == 4
    # Another moment makes other bytes: the comparison can fail.
    other = building.build(tmp_path / "later", tmp_path / "a" / "source", AT + 86_400, ("shared",))
    assert {building.sha256(each) for each in other}.isdisjoint(first.values())


def test_the_page_of_the_demo_has_the_same_bytes_and_is_in_the_wheel(tmp_path: Path) -> None:
    made: list[dict[str, bytes]] = []
    for name in ("a", "b"):
        folder = page.pack(folder=tmp_path / name)
        made.append({str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()})
    assert made[0] == made[1]
    assert {"index.html", "page.js", "style.css", "sordino-client/index.js"} <= made[0].keys()
    # No page may load what asks for node, nor a module under the name of its source.
    assert not [name for name, content in made[0].items() if b'"node:' in content or b'.ts"' in content]
    # Git ignores the page, and a wheel of the server has it all the same.
    copy = tmp_path / "server"
    (copy / "sordino_server" / "demo").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / "server" / name, copy / name)
    shutil.copy(ROOT / ".gitignore", tmp_path / ".gitignore")
    (copy / "sordino_server" / "__init__.py").touch()
    shutil.copytree(tmp_path / "a", copy / "sordino_server" / "demo" / "page")
    for artefact in building.build(tmp_path / "made", tmp_path, AT, ("server",)):
        assert any(name.endswith("demo/page/sordino-client/index.js") for name in building.names_in(artefact)), artefact


def test_every_distribution_has_the_licence_and_the_notice() -> None:
    for name in building.DISTRIBUTIONS:
        for file in building.LICENCES:
            assert (ROOT / name / file).read_bytes() == (ROOT / file).read_bytes(), name


def test_an_artefact_without_a_licence_is_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "shared", tmp_path / "shared")
    (tmp_path / "shared" / "NOTICE").unlink()
    text = (tmp_path / "shared" / "pyproject.toml").read_text().replace(', "NOTICE"]', "]")
    (tmp_path / "shared" / "pyproject.toml").write_text(text)
    artefacts = building.build(tmp_path / "made", tmp_path, AT, ("shared",))
    assert all(each.endswith("lacks NOTICE") for each in building.without_licence(artefacts))
    assert len(list(building.without_licence(artefacts))) == 2


def test_the_lock_has_hashes_and_the_versions_of_the_constraints() -> None:
    locked, pinned = lock.pinned(), pins()
    assert len(locked) > 40
    assert all(each.hashes for each in locked.values())
    assert {name: each.version for name, each in locked.items() if name in pinned} == {
        name: pinned[name] for name in locked if name in pinned
    }
    # Nothing that the server brings is missing.
    needed = {name for name in sbom.needed("sordino-server") if not name.startswith("sordino-")}
    assert needed <= locked.keys()
    lines = (ROOT / "requirements" / "lock.txt").read_text().splitlines()
    assert not [line for line in lines if "://" in line]


@pytest.mark.parametrize(("name", "components"), [("sordino-client", {"sordino-shared"}), ("sordino-shared", set())])
def test_a_device_has_two_components(tmp_path: Path, name: str, components: set[str]) -> None:
    wheel = tmp_path / f"{name.replace('-', '_')}-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    text = sbom.sbom(wheel, AT)
    assert text == sbom.sbom(wheel, AT)
    document = json.loads(text)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["hashes"][0]["content"] == building.sha256(wheel)
    assert {each["name"] for each in document.get("components", [])} == components


def test_every_component_of_the_server_has_version_hash_and_licence(tmp_path: Path) -> None:
    wheel = tmp_path / "sordino_server-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    document = json.loads(sbom.sbom(wheel, AT))
    assert len(document["components"]) > 40
    for each in document["components"]:
        assert each["version"] != "unknown", each["name"]
        assert each["licenses"], each["name"]
        assert each.get("hashes") or each["name"].startswith("sordino-"), each["name"]


def test_the_page_of_third_parties_is_that_of_what_is_installed() -> None:
    assert third_party.PAGE.read_text(encoding="utf-8") == third_party.page()
    assert "see the package" not in third_party.page()


def test_the_workflow_publishes_by_identity_and_pins_every_action() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    used = re.findall(r"uses: (\S+)@(\S+)", text)
    assert len(used) >= 6
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for _, commit in used)
    assert "secrets." not in text
    assert workflow["permissions"] == {}
    publish = workflow["jobs"]["publish"]
    assert (publish["environment"], publish["permissions"]) == ("release", {"id-token": "write"})
    assert publish["steps"][-1]["with"]["attestations"] is True
    assert len(workflow["jobs"]["test"]["strategy"]["matrix"]["system"]) == 3
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nmake release\n" in run


def test_the_citation_has_the_version_and_the_licence() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    server = (ROOT / "server" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{cited["version"]}"' in server
    assert (cited["license"], cited["cff-version"]) == ("Apache-2.0", "1.2.0")


def test_the_pages_of_llms_txt_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert all((ROOT / link).exists() for link in links)


@pytest.mark.parametrize(
    ("listed", "wrong"),
    [
        ({"a.whl": "1", "b.tar.gz": "2", "a.cdx.json": "9", "LICENSE": "8"}, []),
        ({"a.whl": "0", "b.tar.gz": "2"}, ["a.whl"]),
        # The sums of another version name no file that was built.
        ({"old.whl": "1", "b.tar.gz": "2"}, ["a.whl", "old.whl"]),
        ({}, ["a.whl", "b.tar.gz"]),
    ],
)
def test_sums_that_lack_an_artefact_are_not_those_of_the_build(listed: dict[str, str], wrong: list[str]) -> None:
    assert building.differing({"a.whl": "1", "b.tar.gz": "2"}, listed) == wrong
