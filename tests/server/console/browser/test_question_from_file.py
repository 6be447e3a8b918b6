"""A CSV becomes a question in the browser: nothing of the file is sent but what the form shows."""

from __future__ import annotations

import random
import threading
import time
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.server.console.browser.conftest import DESKTOP, PHONE, Window


def _rows(count: int, separator: str = ",", decimal: str = ".") -> list[str]:
    drawn = random.Random(7)
    systems = ["windows"] * 60 + ["mac os"] * 30 + ["linux"] * 9 + ['"rare; ""one"""']
    rows = [separator.join(("user_id", "start_s", "system", "crashed"))]
    for number in range(count):
        start = f"{drawn.lognormvariate(0.2, 0.7):.2f}".replace(".", decimal)
        rows.append(separator.join((f"u{number:07}", start, drawn.choice(systems), drawn.choice(("yes", "no")))))
    return rows


def _choose(window: Window, content: bytes, said: str) -> list[str]:
    """Choose a file on the page, and the addresses that were asked for from then on, but that of the page's icon."""
    asked: list[str] = []
    window.page.on("request", lambda request: None if request.url.endswith(".svg") else asked.append(request.url))
    window.page.set_input_files("#file", {"name": "starts.csv", "mimeType": "text/csv", "buffer": content})
    window.page.get_by_text(said).wait_for()
    return asked


def test_a_file_becomes_a_question_and_stays_in_the_browser(window: Window, running: Any) -> None:
    page = window.page
    window.open("/console/new")
    content = "\ufeff" + "\r\n".join(_rows(3000, ";", ",")) + "\r\n1;2\r\n"
    asked = _choose(window, content.encode(), "3,000 rows, 4 columns, read in this browser and not sent")
    form = page.get_by_role("form", name="New question")
    _columns_are_guessed(page, form)
    page.get_by_text("for every answer at once, with 50,000 devices at ε 1").wait_for()
    assert {each.removeprefix(window.address) for each in asked} == {"/console/preview"}
    previews = len(asked)
    _sliders_say_what_they_mean(page, form)
    # And ask nothing more.
    assert len(asked) == previews
    # Of the file's own rows: six in ten are windows.
    drawn = page.locator("#bars tr").first.locator("rect.fill1").get_attribute("width")
    assert 540 < float(drawn or 0) < 660
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        assert not window.violations()
        assert not window.overflow()
        window.keep(f"question-from-file-{size['width']}")
    form.get_by_label("One or two sentences").fill("We ask which system you have, with noise added.")
    form.get_by_label("Who is asked").fill("travellers")
    working = threading.Timer(0.5, running.work)
    working.start()
    with page.expect_request("**/console/new") as sent:
        form.get_by_role("button", name="Continue").click()
    body = parse_qs(sent.value.post_data or "")
    assert body["values1"] == ["windows, mac os, linux"]
    assert "u0000001" not in str(body)
    page.wait_for_url("**/actions/open")
    working.join()
    [draft] = running.api.get("/v1/campaigns").json()["campaigns"]
    assert (draft["state"], draft["population"]) == ("ready", "travellers")
    [request] = running.api.get("/v1/plan-requests").json()["plan_requests"]
    workload = running.api.get(f"/v1/workloads/{request['workload']}").json()
    assert "mac os" in str(workload)


def _columns_are_guessed(page: Any, form: Any) -> None:
    """One that identifies people is refused, a wrong guess is one choice away, and a label can be removed."""
    assert page.get_by_text("1 with another number of cells were left out").is_visible()
    assert page.get_by_label("user_id").is_disabled()
    assert page.get_by_text("different in each row: identifies people").is_visible()
    page.get_by_label("start_s").check()
    values = form.get_by_label("Ends of the steps, or labels")
    edges = [float(each) for each in values.input_value().split(",")]
    assert 8 <= len(edges) <= 12
    assert edges == sorted(edges)
    form.get_by_label("Read it as").select_option("labels")
    assert "u0" not in values.input_value()
    form.get_by_label("Read it as").select_option("edges")
    assert [float(each) for each in values.input_value().split(",")] == edges
    page.get_by_label("system").check()
    assert values.input_value() == 'windows, mac os, linux, rare; "one"'
    page.get_by_role("button", name="Remove rare").click()
    assert values.input_value() == "windows, mac os, linux"
    assert form.get_by_label("it may have another value").is_checked()


def _sliders_say_what_they_mean(page: Any, form: Any) -> None:
    """ε in words, the error that follows it, and devices from 300 to a million; ε is left where it began."""
    at_one = page.locator("#half").inner_text()
    slider = form.get_by_label("Privacy of each device")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert "Weak. A yes-or-no answer would be true 98 times" in (slider.get_attribute("aria-valuetext") or "")
    assert page.locator("#half").inner_text() != at_one
    assert page.locator("#means li:visible").count() == 1
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    devices = form.get_by_label("Devices that will answer")
    devices.press("Home")
    assert devices.get_attribute("aria-valuetext") == "300 devices"
    devices.press("End")
    assert devices.get_attribute("aria-valuetext") == "1,000,000 devices"


def test_a_file_becomes_a_draft_with_three_clicks(window: Window, running: Any) -> None:
    """Beside the file and the words for owners: New question, the column, Continue."""
    page, clicks = window.page, 0
    window.open("/console/questions")
    # The bar has it on every page.
    page.get_by_role("link", name="New question").first.click()
    clicks += 1
    _choose(window, "\n".join(_rows(200)).encode(), "200 rows, 4 columns")
    page.get_by_label("crashed").check()
    clicks += 1
    page.get_by_label("One or two sentences").fill("We ask whether the app crashed, with noise added.")
    page.get_by_label("Who is asked").fill("travellers")
    working = threading.Timer(0.5, running.work)
    working.start()
    page.get_by_role("button", name="Continue").click()
    clicks += 1
    page.wait_for_url("**/actions/open", timeout=30_000)
    working.join()
    assert page.get_by_text("We ask whether the app crashed, with noise added.").first.is_visible()
    assert clicks <= 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no row below its first line"),
        (b"a,b\r\n", "has no row below its first line"),
        (b"\x89PNG\x00\x00", "is no text: save the table as CSV"),
        ("city\nMünchen\n".encode("latin-1"), "is not in UTF-8: save the table as CSV in UTF-8"),
        ("city\nMünchen\n".encode("utf-16"), "is no text: save the table as CSV"),
    ],
)
def test_what_is_no_table_is_said_beside_the_file(window: Window, content: bytes, said: str) -> None:
    window.open("/console/new")
    _choose(window, content, said)
    assert window.page.get_by_label("CSV file").is_visible()
    # The other ways stay.
    assert window.page.get_by_label("Ends of the steps, or labels").is_visible()


def test_line_ends_and_commas_of_other_programs_are_read_or_asked_about(window: Window) -> None:
    window.open("/console/new")
    page = window.page
    page.set_default_timeout(30_000)
    # Line ends of CR alone, and a file whose only commas may begin decimals or separate thousands.
    rows = [f"{1 + number % 30},{100 + number % 30}" for number in range(60)]
    _choose(window, ("load;note\r" + "\r".join(f"{each};x" for each in rows) + "\r").encode(), "60 rows, 2 columns")
    label = page.locator("#columns label").first
    assert "numbers, 1.1 to 30.129" in label.inner_text()
    page.get_by_label("The comma in a number such as 1,100").select_option("thousands")
    page.get_by_text("numbers, 1100 to 30129").wait_for()
    # Clear ones are not asked about.
    clear = "load;note\n" + "\n".join(f"{each}.5;x" for each in rows)
    _choose(window, clear.encode(), "60 rows, 2 columns")
    page.get_by_text("numbers, 1100.5 to 30129.5").wait_for()
    assert not page.locator("#decimal").is_visible()
    decimals = "load;note\n" + "\n".join(f"{number},{number % 7};x" for number in range(60)) + "\n1,234;x\n"
    _choose(window, decimals.encode(), "61 rows, 2 columns")
    page.get_by_text("numbers, 0 to 59.3").wait_for()
    assert not page.locator("#decimal").is_visible()


# Two files in one turn of the page's loop: the second is chosen before the first was read.
_TWO_FILES = """() => {
  const field = document.getElementById("file");
  const files = [["first.csv", "a,b\\n" + "1,2\\n".repeat(9)], ["second.csv", "c,d\\n" + "x,y\\n".repeat(7)]];
  for (const [name, text] of files) {
    const chosen = new DataTransfer();
    chosen.items.add(new File([text], name));
    field.files = chosen.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
}"""


def test_a_file_chosen_while_another_is_read_ends_that_one(window: Window) -> None:
    window.open("/console/new")
    page = window.page
    page.evaluate(_TWO_FILES)
    page.get_by_text("second.csv: 7 rows, 2 columns").wait_for(timeout=10_000)
    assert page.locator("#columns label").all_text_contents() == ["c1 different values", "d1 different values"]


@pytest.mark.slow
def test_a_million_rows_are_read_and_the_next_one_is_not(window: Window) -> None:
    window.open("/console/new")
    content = "\n".join(_rows(1_000_100)).encode()
    assert len(content) < 50_000_000
    begun = time.monotonic()
    _choose(window, content, "only the first 1,000,000 rows were read")
    assert time.monotonic() - begun < 60
    assert window.page.get_by_label("user_id").is_disabled()
    window.page.get_by_label("start_s").check()
    assert window.page.get_by_label("Ends of the steps, or labels").input_value().count(",") >= 4
