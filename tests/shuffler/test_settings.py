"""Settings and the file of campaigns: what is wrong is refused in words that say what to write."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from sordino_shuffler import cli
from sordino_shuffler.errors import WrongSetting
from sordino_shuffler.settings import ShufflerSettings, read_campaigns, settings_from, variable

ID = "ab" * 32
ENTRY = f'[[campaign]]\nid = "{ID}"\ncollector = "https://telemetry.example"\nkey = "sdo_shuffler_x"\n'


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("PORT", "many", "a whole number"),
        ("PORT", "0", "from 1 to 65535"),
        ("REFRESH_S", "0", "from 1 to 3600"),
        ("FOLDER", "", "leave it out"),
        ("TRUSTED_PROXIES", "proxy.example", "or none"),
        ("PROT", "8100", "is no setting; there are SORDINO_SHUFFLER_CAMPAIGNS"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(name: str, value: str, why: str):
    with pytest.raises(WrongSetting, match=re.escape(why)) as refused:
        settings_from({f"SORDINO_SHUFFLER_{name}": value, "HOME": "/"})
    assert f"SORDINO_SHUFFLER_{name}" in str(refused.value)


@pytest.mark.parametrize("kept", ["sealed", "sealed/kept", "."])
def test_the_file_of_released_batches_lies_outside_of_what_may_be_restored(kept: str):
    with pytest.raises(WrongSetting, match="two folders"):
        settings_from({"SORDINO_SHUFFLER_FOLDER": "sealed", "SORDINO_SHUFFLER_KEPT": kept})


def test_every_setting_is_in_the_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for field in fields(ShufflerSettings):
        name = variable(field.name).removeprefix("SORDINO_SHUFFLER_")
        assert re.search(rf"\b{name}\b", said), name
        assert str(field.default) in said, field.name


def test_campaigns_are_read(tmp_path: Path):
    path = tmp_path / "campaigns.toml"
    path.write_text(ENTRY)
    [entry] = read_campaigns(path)
    assert (str(entry.campaign), entry.collector.host, entry.key) == (ID, "telemetry.example", "sdo_shuffler_x")
    assert "sdo_shuffler_x" not in repr(entry)
    path.write_text("")
    assert read_campaigns(path) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[campaign]", "cannot be read"),
        ("campaigns = 1", r"\[\[campaign\]\] tables alone"),
        ("campaign = 1", r"\[\[campaign\]\] tables alone"),
        ('[[campaign]]\nid = "x"', "has exactly id"),
        (ENTRY + 'port = "1"\n', "has exactly id"),
        (ENTRY.replace(ID, "ab"), "number 1"),
        (ENTRY.replace("https://", "ftp://"), "http"),
        (ENTRY.replace("sdo_shuffler_x", "two words"), "keys create"),
        (ENTRY * 2, "twice"),
    ],
)
def test_a_wrong_file_of_campaigns_is_refused(tmp_path: Path, text: str, why: str):
    path = tmp_path / "campaigns.toml"
    path.write_text(text)
    with pytest.raises(WrongSetting, match=why):
        read_campaigns(path)


def test_a_missing_file_of_campaigns_says_what_is_in_it(tmp_path: Path):
    with pytest.raises(WrongSetting, match="with id, collector and key"):
        read_campaigns(tmp_path / "none")
