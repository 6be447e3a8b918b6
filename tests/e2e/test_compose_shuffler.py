"""The profile `shuffler` of docker-compose.yml: its settings, and two networks that leave no way round it."""

from __future__ import annotations

import re

import yaml

from sordino_shuffler.settings import settings_from
from tests.e2e.compose import ROOT, services, started, without_variables


def test_no_network_has_both_devices_and_the_collector() -> None:
    [name] = started("shuffler")
    shuffler, listed = services()[name], services()
    networks = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["networks"]
    assert set(shuffler["networks"]) == {"devices", "mixing"}
    assert "mixing" in listed["api"]["networks"]
    assert networks["mixing"] == {"internal": True}
    others = [each for each, service in listed.items() if "devices" in service.get("networks", ())]
    assert others == [name]


def test_its_settings_are_those_of_the_program_and_its_folders_are_volumes_of_their_own() -> None:
    shuffler = services()["shuffler"]
    settings = settings_from({key: without_variables(value) for key, value in shuffler["environment"].items()})
    mounted = dict(volume.rsplit(":", 1) if volume.count(":") == 1 else ("", "") for volume in shuffler["volumes"])
    assert mounted["sealed"] == str(settings.folder)
    assert mounted["kept"] == str(settings.kept)
    assert shuffler["ports"][0].endswith(f":{settings.port}")
    assert shuffler["command"] == ["sordino-shuffler", "serve"]
    image = (ROOT / "Dockerfile").read_text()
    stated = dict(re.findall(r"(SORDINO_SHUFFLER_\w+)=(\S+)", image))
    settings_from(stated)
    assert all(shuffler["environment"][key] == value for key, value in stated.items())


def test_its_image_installs_nothing_of_the_server() -> None:
    image = (ROOT / "Dockerfile").read_text()
    stage = image.split("AS build-shuffler")[1].split("\nFROM")[0]
    assert set(re.findall(r"COPY (\w+)", stage)) == {"shared", "shuffler", "requirements"}
