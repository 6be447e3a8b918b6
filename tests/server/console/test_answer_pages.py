"""Questions that are picked on the page of answers: they say what the API says, and the code to copy asks the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from typing import Any

import pytest

from sordino_analysis.figures import SHARE, amount
from sordino_analysis.kinds.specifications import parse_question
from sordino_analysis.questions.linear.yaml_text import parse_yaml
from sordino_server.console.picked_questions import as_yaml, attributes_of, composed
from sordino_server.models import Role
from sordino_shared.domains import Categorical, Domain, Number, Ordinal
from tests.estimates import answers_of
from tests.server.answers.test_answers_on_demand_api import report_texts

DELAY = Ordinal("delay", (0.0, 15.0, 60.0), unit="min")
OS = Categorical("os", ("linux", "a,b"))


@pytest.mark.parametrize(
    ("picks", "expected"),
    [
        ((), ()),
        (("", " "), ()),
        (("..15", ""), ("delay:..15",)),
        (("..15", "linux"), ("delay:..15,os:linux",)),
        (("60..", "a,b"), ('{"delay": "60..", "os": "a,b"}',)),
    ],
)
def test_picks_are_one_question(picks: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert composed(Domain((DELAY, OS)), "rectangle", picks) == expected


def test_means_are_of_each_picked_attribute() -> None:
    domain = Domain((DELAY, OS, Number("size", 0.0, 9.0)))
    assert composed(domain, "mean", ("mean", "", "mean")) == ("delay", "size")
    assert [each.suggestions for each in attributes_of(domain, "mean", ())] == [("mean",), (), ("mean",)]


def test_values_are_suggested() -> None:
    domain = Domain((DELAY, OS))
    assert [each.suggestions for each in attributes_of(domain, "range", ())] == [
        ("..0", "..15", "..60"),
        ("linux", "a,b"),
    ]
    assert attributes_of(domain, "quantile", ("0.5",))[0].picked == "0.5"


def test_the_workload_of_the_questions_asks_them() -> None:
    specification = {"domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]}
    text = as_yaml("asked: again", specification, Domain((DELAY,)), "range", ["..15", "0..60"])
    workload = parse_question(parse_yaml(text)).build()
    assert workload.operator.dense().tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]
    assert workload.name == "asked: again"
    assert as_yaml("", specification, Domain((DELAY,)), "quantile", ["0.5"]) == ""


def _copied(page: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code></pre>", page, flags=re.S)]


def test_answers_are_those_of_the_api_and_can_be_copied(
    running: Any, browsers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = running.campaign("open")
    path = f"/console/campaigns/{campaign['id']}/answers"
    browser = browsers.of(Role.ANALYST)
    assert "close it first" in browser.page(path, 409)
    running.report(campaign, [0] * 60 + [1] * 40)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    assert "<h2>Answers</h2>" not in browser.page(path)

    asked = "kind=range&question=delay:..0&pick=0..60"
    page = browser.page(f"{path}?{asked}")
    api = f"/v1/campaigns/{campaign['id']}/answers"
    expected = running.api.get(api, params={"range": ["delay:..0", "delay:0..60"]})
    document = expected.json()
    assert browser.http.get(f"{path}.json?{asked}").content == expected.content
    table = running.api.get(api, params={"range": ["delay:..0", "delay:0..60"], "format": "csv"})
    assert browser.http.get(f"{path}.csv?{asked}").content == table.content
    answer = answers_of(document)[1]
    assert amount(answer["value"], SHARE, answer["standard_error"]) in page
    assert f"the band holds {document['terms']['compared']} answers at once" in page
    drawn = browser.http.get(unescape(re.search(r'src="([^"]+\.svg[^"]*)"', page)[1]))  # type: ignore[index]
    assert drawn.text.count('class="band"') == 1 + 2

    curl, python, yaml = _copied(page)
    key = running.key(Role.ANALYST)
    monkeypatch.setenv("SORDINO_KEY", key)
    names: dict[str, Any] = {}
    exec(python, names)
    assert names["answers"] == document
    if shutil.which("curl"):
        done = subprocess.run(["sh", "-c", curl], capture_output=True, check=True)
        assert done.stdout == expected.content
    assert parse_question(parse_yaml(yaml)).build().queries == 2

    refused = browser.page(f"{path}?kind=range&question=delay:..7", 422)
    assert "is no edge of attribute" in refused
    assert 'value="delay:..7"' in refused
    assert browser.http.get(f"{path}.json?kind=range&question=delay:..7").status_code == 422
    median = browser.page(f"{path}?kind=quantile&pick=0.5")
    assert "answers.svg" not in median
    assert "YAML" not in median
    assert browser.http.get(f"{path}.svg?kind=quantile&pick=0.5").status_code == 404
    assert browser.http.get(f"{path}?kind=nonsense").status_code == 422


def test_means_of_a_group_are_those_of_the_api(running: Any, browsers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices rounded the numbers: the page begins with means, which are all that they tell."""
    load = {"name": "load_ms", "kind": "number", "low": 0, "high": 100, "unit": "ms"}
    country = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]}
    asked = {"name": "load", "domain": [country, load], "queries": {"load_ms": "mean"}}
    campaign = running.campaign("open", workload=running.workload(asked), epsilon=4)
    held = [{"country": ("DE", "FR")[each % 2], "load_ms": (25, 50)[each % 2]} for each in range(2000)]
    assert report_texts(running, campaign, held).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    path, browser = f"/console/campaigns/{campaign['id']}/answers", browsers.of(Role.ANALYST)
    assert '<option value="mean" selected>' in browser.page(path)
    expected = running.api.get(f"/v1{path.removeprefix('/console')}", params={"mean": "load_ms", "given": "country=DE"})
    picked = "pick=&pick=mean&given=country%3DDE"
    assert browser.http.get(f"{path}.json?{picked}").content == expected.content
    page = browser.page(f"{path}?{picked}")
    assert "mean of load_ms given country: DE" in page
    monkeypatch.setenv("SORDINO_KEY", running.key(Role.ANALYST))
    names: dict[str, Any] = {}
    exec(_copied(page)[1], names)
    assert names["answers"] == expected.json()
    assert browser.http.get(unescape(re.search(r'src="([^"]+\.svg[^"]*)"', page)[1])).status_code == 200  # type: ignore[index]
    assert "country" in browser.page(f"{path}?kind=mean&pick=mean", 422)
    assert "a group is NAME=VALUE" in browser.page(f"{path}?{picked}x".replace("%3D", ""), 422)
