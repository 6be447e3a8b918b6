"""Every wheel has the licence, says who made it and where it comes from, and names the Pythons that it takes."""

from __future__ import annotations

import tomllib
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("shared", "client", "analysis", "migrations", "shuffler", "server")
URLS = {"Homepage", "Documentation", "Source", "Changelog"}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Message, dict[str, bytes]]]:
    """The metadata and the files of each wheel, built as `make dist` does."""
    folder, built = tmp_path_factory.mktemp("wheels"), {}
    for name in DISTRIBUTIONS:
        (path,) = WheelBuilder(str(ROOT / name)).build(directory=str(folder), versions=["standard"])
        with ZipFile(path) as wheel:
            files = {each: wheel.read(each) for each in wheel.namelist() if ".dist-info/" in each or "py.typed" in each}
        (metadata,) = (content for each, content in files.items() if each.endswith("/METADATA"))
        built[name] = message_from_bytes(metadata), files
    return built


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_has_the_licence_itself(wheels: dict[str, tuple[Message, dict[str, bytes]]], name: str) -> None:
    metadata, files = wheels[name]
    (licence,) = (content for each, content in files.items() if each.endswith(".dist-info/licenses/LICENSE"))
    assert licence == (ROOT / "LICENSE").read_bytes()
    (notice,) = (content for each, content in files.items() if each.endswith(".dist-info/licenses/NOTICE"))
    assert notice == (ROOT / "NOTICE").read_bytes()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    # A licence expression and a classifier of a licence exclude each other (PEP 639).
    assert not [each for each in metadata.get_all("Classifier", []) if each.startswith("License ::")]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_says_who_what_and_where(wheels: dict[str, tuple[Message, dict[str, bytes]]], name: str) -> None:
    metadata, files = wheels[name]
    assert metadata["Author"] == "The sordino maintainers"
    assert metadata["Summary"]
    assert "differential privacy" in (metadata["Keywords"] or "")
    assert "# sordino" in str(metadata.get_payload())
    urls = dict(each.split(", ") for each in metadata.get_all("Project-URL", []))
    assert set(urls) == URLS
    assert all(url.startswith("https://") for url in urls.values())
    assert urls == dict(each.split(", ") for each in wheels["shared"][0].get_all("Project-URL", []))
    assert any(each.endswith("/py.typed") for each in files)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_names_the_pythons_that_it_takes(
    wheels: dict[str, tuple[Message, dict[str, bytes]]], name: str
) -> None:
    classifiers = set(wheels[name][0].get_all("Classifier", []))
    named = {each.rpartition(" ")[2] for each in classifiers if each.startswith("Programming Language :: Python :: 3.")}
    assert named == set(PYTHONS)
    assert all(SpecifierSet(wheels[name][0]["Requires-Python"]).contains(f"{python}.0") for python in PYTHONS)
    assert {"Typing :: Typed", "Development Status :: 3 - Alpha"} <= classifiers


def test_all_distributions_have_one_version() -> None:
    projects = [tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"] for name in DISTRIBUTIONS]
    assert len({project["version"] for project in projects}) == 1
