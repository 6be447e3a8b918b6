"""`sordino publish`: the same answers make the same bytes, nothing is loaded from elsewhere, foreign files are kept."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_analysis.answers.table import AnswerTable
from sordino_server.cli import app
from sordino_server.cli.publishing.folder import held, write
from sordino_server.cli.publishing.pages import too_few
from sordino_server.cli.remote import Remote
from sordino_server.models import Accumulator, ReportChunk, Round
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart, Manifest, Rotating

WEEK = 7 * 86_400
HISTOGRAM = {
    "name": "versions",
    "domain": [{"name": "version", "kind": "categorical", "labels": [f"{n}.0" for n in range(10)]}],
    "queries": "histogram",
}


@pytest.fixture
def publish(running: Any) -> Any:
    def run(*arguments: str, code: int = 0) -> str:
        environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
        done = CliRunner().invoke(app, ["publish", *arguments], env=environment)
        assert done.exit_code == code, done.output
        # Lines are wrapped where a path is long.
        return " ".join(done.output.split())

    return run


def estimated(running: Any, name: str = "delays", batches: int = 3) -> dict[str, Any]:
    """A closed campaign with an estimate."""
    running.clock.advance(1)
    campaign: dict[str, Any] = running.campaign("open", name=name)
    for seed in range(batches):
        running.report(campaign, [n % 4 for n in range(4000)], seed=seed).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return campaign


def weeks(running: Any, count: int) -> dict[str, Any]:
    """A series of a histogram of ten, with as many closed weeks of 100,000 reports."""
    plan = running.ready_plan(workload=running.workload(HISTOGRAM))["id"]
    terms = {"name": "versions", "purpose": "Which version?", "population": "app", "plan_request": plan}
    series = {"period_s": WEEK, "slots": 4, "answers_max": 12}
    made: dict[str, Any] = running.api.post("/v1/campaigns", json=terms | {"series": series}).raise_for_status().json()
    running.api.post(f"/v1/campaigns/{made['id']}/open").raise_for_status()
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{made['id']}").content)
    plan, law = manifest.rounds[0].plan, manifest.assignment
    assert isinstance(law, Rotating)
    part = DevicePart.read(running.anonymous.get(f"/v1/plans/{plan.device}").content)
    size, rng = part.randomizer.accumulator_size, np.random.default_rng(1)
    with running.database.write("weeks") as session:
        for week in range(count):
            row = Round(
                campaign_id=made["id"], index=week, state="open", device_digest=str(plan.device),
                analyst_digest=str(plan.analyst), epoch=week, opened_at=law.start,
            )  # fmt: skip
            session.add(row)
            session.flush()
            sums = rng.multinomial(100_000, np.full(size, 1 / size)).astype("<i8").tobytes()
            session.add(Accumulator(round_id=row.id, shard="test", count=100_000, sums=sums))
            session.add(ReportChunk(round_id=row.id, count=100_000, payloads=b"0", created_at=law.start))
    running.clock.advance(law.start + (count + 2) * WEEK - running.clock.now())
    running.work()
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Page(HTMLParser):
    """The tags of a page, its addresses, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)
        if tag == "img":
            self.images.append(given)
        self.addresses += [str(given[name]) for name in ("href", "src") if name in given]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_campaign_becomes_a_page_with_files_that_devices_verify(publish, running, tmp_path) -> None:
    campaign, site = estimated(running), tmp_path / "site"
    publish(str(site), "delays", "--title", "What devices told us")
    files, folder = contents(site), campaign["id"][:12]
    assert set(files) == {".nojekyll", ".sordino-site", "index.html"} | {
        f"{folder}/{name}"
        for name in (
            "index.html",
            "chart.svg",
            "estimates.csv",
            "estimates.json",
            "manifest.cbor",
            "device-part.cbor",
            "card.json",
        )
    }
    card = json.loads(files[f"{folder}/card.json"])
    assert card["id"] == campaign["id"]
    assert "accounting" not in {part["name"] for part in card["parts"]}
    manifest = Manifest.read(files[f"{folder}/manifest.cbor"])
    assert str(manifest.campaign) == campaign["id"]
    plan = manifest.rounds[0].plan
    assert plan is not None
    DevicePart.read(files[f"{folder}/device-part.cbor"], plan.device)
    assert json.loads(files[f"{folder}/estimates.json"])["terms"]["users"] == 12_000
    rows = list(csv.DictReader(io.StringIO(files[f"{folder}/estimates.csv"].decode())))
    table = json.loads(files[f"{folder}/estimates.json"])["table"]
    assert [float(row["value"]) for row in rows] == table["value"]
    exact = running.api.get(f"/v1/campaigns/{campaign['id']}/estimates").json()["table"]["value"]
    assert table["value"] == pytest.approx(exact, rel=1e-5)
    ElementTree.fromstring(files[f"{folder}/chart.svg"])
    page = files[f"{folder}/index.html"].decode()
    assert "their odds about your answer change at most 2.72-fold" in page
    assert "whose owners agreed" in page


def test_pages_are_whole_and_load_nothing_from_elsewhere(publish, running, tmp_path) -> None:
    estimated(running)
    publish(str(tmp_path / "site"), "delays", "--base-url", "https://results.example/app/")
    for name, content in contents(tmp_path / "site").items():
        if name.endswith(".html"):
            page = Page(content.decode())
            assert page.open == []
            assert not {"script", "iframe", "form", "object"} & set(page.tags)
            outside = [each for each in page.addresses if "://" in each]
            assert all(each.startswith("https://results.example/app/") for each in outside)
            inside = [each for each in page.addresses if "://" not in each]
            assert all((tmp_path / "site" / name).parent.joinpath(each).exists() for each in inside)
            assert all(image.get("alt") for image in page.images)
            assert page.tags.count("h1") == page.tags.count("title") == page.tags.count("main") == 1
            text = content.decode()
            assert 'lang="en"' in text
            assert "default-src 'none'" in text
            style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
            assert style is not None
            assert "color-scheme:light dark" in style[1]


def test_the_same_answers_make_the_same_bytes_and_check_sees_a_difference(publish, running, tmp_path) -> None:
    estimated(running)
    site = tmp_path / "site"
    publish(str(site), "delays")
    before = contents(site)
    running.clock.advance(86_400)
    publish(str(site), "delays")
    assert contents(site) == before
    assert "up to date" in publish(str(site), "delays", "--check")
    (site / "index.html").write_text("changed")
    assert "differs in 1 file: index.html" in publish(str(site), "delays", "--check", code=1)
    assert (site / "index.html").read_text() == "changed"
    publish(str(site), "delays")
    assert contents(site) == before


def test_a_site_without_a_campaign_loses_its_files(publish, running, tmp_path) -> None:
    first, second = estimated(running), estimated(running, name="others")
    site = tmp_path / "site"
    publish(str(site), "delays", "others")
    assert (site / second["id"][:12]).is_dir()
    publish(str(site), "delays")
    assert not (site / second["id"][:12]).exists()
    assert (site / first["id"][:12]).is_dir()


def test_files_of_somebody_else_are_kept(publish, running, tmp_path) -> None:
    estimated(running)
    site = tmp_path / "site"
    site.mkdir()
    (site / "thesis.tex").write_text("years of work")
    assert "did not write, such as thesis.tex" in publish(str(site), "delays", code=2)
    assert contents(site) == {"thesis.tex": b"years of work"}
    (site / "thesis.tex").unlink()
    publish(str(site), "delays")
    (site / "notes").write_text("x")
    assert "such as notes" in publish(str(site), "delays", code=2)
    (site / "notes").unlink()
    (site / ".sordino-site").write_text("{")
    assert "is damaged" in publish(str(site), "delays", code=2)
    assert "is no folder" in publish(str(site / "index.html"), "delays", code=2)


def test_a_further_worktree_of_a_repository_is_written_and_links_are_not_followed(tmp_path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    write(site, {"index.html": b"a", "ab/index.html": b"b"})
    (site / ".git").write_text("gitdir: /somewhere/.git/worktrees/site")
    write(site, {"index.html": b"c"})
    assert set(held(site)) == {"index.html"}
    assert (site / ".git").exists()
    elsewhere.write_text("years of work")
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(elsewhere)
    with pytest.raises(InvalidValue, match=r"did not write, such as index\.html"):
        write(site, {"index.html": b"d"})
    (site / "index.html").unlink()
    (tmp_path / "other").mkdir()
    (site / "ab").symlink_to(tmp_path / "other")
    with pytest.raises(InvalidValue, match="such as ab"):
        write(site, {"index.html": b"d", "ab/index.html": b"e"})
    assert elsewhere.read_text() == "years of work"
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("lie", ["id", "manifest", "plan"])
def test_what_a_server_says_is_checked_before_anything_is_written(publish, running, tmp_path, monkeypatch, lie) -> None:
    """A server names another folder, or sends other documents than their digests name."""
    campaign = running.campaign("open")
    get, content = Remote.get, Remote.content

    def lying_get(self: Remote, path: str, **given: Any) -> Any:
        found = get(self, path, **given)
        return found | {"id": "../../outside"} if lie == "id" and path.endswith("/status") else found

    def lying_content(self: Remote, path: str, *given: Any) -> bytes:
        found = content(self, path, *given)
        told = {"manifest": f"/v1/campaigns/{campaign['id']}", "plan": "/v1/plans/"}.get(lie)
        return found[:-1] + bytes([found[-1] ^ 1]) if told and path.startswith(told) else found

    monkeypatch.setattr(Remote, "get", lying_get)
    monkeypatch.setattr(Remote, "content", lying_content)
    site = tmp_path / "a" / "b" / "site"
    publish(str(site), campaign["id"], code=3 if lie == "id" else 2)
    assert {path.name for path in tmp_path.iterdir()} <= {"a", *(each.name for each in tmp_path.glob("*.sqlite3*"))}
    if lie == "id":
        assert (site / campaign["id"][:12] / "index.html").exists()
    else:
        assert not site.exists()


def test_a_folder_that_cannot_be_written_says_so(publish, running, tmp_path) -> None:
    running.campaign("open", name="open")
    (tmp_path / "file").write_text("")
    assert "Not a directory" in publish(str(tmp_path / "file" / "site"), "open", code=1)


def test_a_campaign_without_answers_is_named_and_its_page_says_so(publish, running, tmp_path) -> None:
    running.campaign("open", name="open")
    assert "without answers yet: open" in publish(str(tmp_path / "site"), "open", code=3)
    [page] = [each for name, each in contents(tmp_path / "site").items() if name.endswith("/index.html")]
    assert "There are no answers yet" in page.decode()
    assert "fewer than 100" in page.decode()
    running.clock.advance(1)
    running.campaign("cancel", name="gone")
    publish(str(tmp_path / "site"), "gone", code=3)
    assert b"its operator took it back" in (tmp_path / "site" / "index.html").read_bytes()


def test_markup_in_a_name_is_text(publish, running, tmp_path) -> None:
    name = "<script>alert(1)</script> & “b”"
    estimated(running, name=name)
    publish(str(tmp_path / "site"), name, "--title", "<b>x</b>")
    for each, content in contents(tmp_path / "site").items():
        if each.endswith(".html"):
            page = Page(content.decode())
            assert not {"script", "b"} & set(page.tags)
        if each.endswith(".svg"):
            assert not list(ElementTree.fromstring(content).iter("{http://www.w3.org/2000/svg}script"))


def test_markup_in_labels_and_texts_is_text(publish, running, tmp_path) -> None:
    """What devices hold and each text: nothing of it is an element, and all of it is to be read."""
    label, purpose = "<img src=x onerror=alert(1)>", 'Why <i>not</i>? & "so"'
    names = {"name": "m<u>x", "domain": [{"name": "<s>os", "kind": "categorical", "labels": [label, "]]><script>"]}]}
    plan = running.ready_plan(workload=running.workload(names | {"queries": "histogram"}))["id"]
    terms = {"name": "marked", "purpose": purpose, "population": "all", "plan_request": plan}
    terms |= {"texts": [{"language": "de", "purpose": "<b>Warum</b>", "contact": "<a>x"}]}
    made = running.api.post("/v1/campaigns", json=terms)
    assert made.status_code == 201, made.text
    campaign = made.json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    running.report(campaign, [n % 2 for n in range(4000)]).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    publish(str(tmp_path / "site"), "marked")
    files, folder = contents(tmp_path / "site"), campaign["id"][:12]
    page = Page(files[f"{folder}/index.html"].decode())
    assert not {"script", "i", "u", "s", "b"} & set(page.tags)
    assert [each["src"] for each in page.images] == ["chart.svg"]
    for text in (label, "]]><script>", purpose, "<s>os", "<b>Warum</b>"):
        assert text in "".join(page.texts)
    chart = ElementTree.fromstring(files[f"{folder}/chart.svg"])
    assert not {"script", "img", "image"} & {each.tag.rpartition("}")[2] for each in chart.iter()}
    rows = list(csv.DictReader(io.StringIO(files[f"{folder}/estimates.csv"].decode())))
    assert any(label in row["label"] for row in rows)


def test_a_year_of_weeks_is_small_and_says_nothing_of_open_ones(publish, running, tmp_path, monkeypatch) -> None:
    """52 weeks of a histogram of ten: at most 400 kB; and the bytes stay the same while a week runs."""
    made = weeks(running, 52)
    asked: list[str] = []
    answered = Remote._answered
    monkeypatch.setattr(
        Remote, "_answered", lambda self, method, path, *given, **more: asked.append(path)
        or answered(self, method, path, *given, **more),
    )  # fmt: skip
    publish(str(tmp_path / "site"), "versions")
    # What takes the time: a request a document, not one a week. The first looks up the name.
    assert len(asked) == 6, asked
    files = contents(tmp_path / "site")
    assert sum(map(len, files.values())) <= 400_000
    running.clock.advance(3_600)
    publish(str(tmp_path / "site"), "versions")
    assert contents(tmp_path / "site") == files
    assert f"{made['id'][:12]}/chart.svg" in files
    parts = json.loads(files[f"{made['id'][:12]}/estimates.json"])["table"]["part"]
    assert parts.count("period") == 520


def test_too_few_reports_are_called_so() -> None:
    def table(half: float, unit: str | None = None) -> AnswerTable:
        cells = {"label": ["a"], "value": [0.5], "lower": [0.5 - half], "upper": [0.5 + half], "unit": [unit]}
        return AnswerTable({"level": 0.95}, cells | {"band_lower": [0.1], "band_upper": [0.9]})

    assert too_few(table(0.11))
    assert too_few(table(0.11, "share"))
    assert not too_few(table(0.09, "share"))
    assert not too_few(table(11.0, "ms"))


@pytest.mark.parametrize("wrong", ["results.example", "ftp://x.example", "https://x.example/?a=1"])
def test_a_base_url_is_an_address(publish, tmp_path, wrong) -> None:
    assert "--base-url is an address" in publish(str(tmp_path / "site"), "x", "--base-url", wrong, code=2)
