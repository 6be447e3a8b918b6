"""The page for writers of devices: its trace is what the code makes, its rules are those of the SDK."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sordino_analysis.vectorized.coarsened.labels import labels_of, minus
from sordino_analysis.vectorized.coarsened.partitions import cell_coordinates
from sordino_analysis.vectorized.coarsened.reports import unpack_coarsened
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_codes
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_client._delivery import Counted, RetryLater, delay_s, read_upload
from sordino_client._session import Session, VerifiedPart, pin_manifest, verify_part
from sordino_client._transport import DEADLINE_S, USER_AGENT, Response
from sordino_shared.domains import Domain
from sordino_shared.protocol import CampaignId, DevicePart, Digest, Problem, RetryWindow
from sordino_shared.protocol.schema import from_plain
from sordino_shared.randomizers import Coarsened, Dithered
from sordino_shared.randomness import Randomness
from tests.patience import PATIENCE_S
from tests.shared.test_vectors import plain

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "implementing.md").read_text("utf-8")
TRACE = json.loads((ROOT / "tests/vectors/v1/good/trace.json").read_text("ascii"))


class Listed(Randomness):
    """Gives the same bytes for every draw of one length."""

    def __init__(self, *content: bytes) -> None:
        self._by_length = {len(each): each for each in content}

    def bytes(self, count: int) -> bytes:
        return self._by_length[count]


class InOrder(Randomness):
    """Gives words one by one."""

    def __init__(self, *words: bytes) -> None:
        self.left = list(words)

    def bytes(self, count: int) -> bytes:
        assert count == len(self.left[0])
        return self.left.pop(0)


def content(document: str) -> bytes:
    return bytes.fromhex(TRACE["documents"][document]["hex"])


@pytest.mark.parametrize(
    ("script", "least"), [("worked_trace", 5000), ("worked_coarsened", 2000), ("worked_dithered", 1000)]
)
def test_a_block_of_the_page_is_the_one_that_its_script_writes(script: str, least: int) -> None:
    code = f"import {script}, sys; sys.stdout.buffer.write({script}.rendered().encode())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "tests" / "vectors",
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    rendered = run.stdout.decode()
    assert len(rendered) > least
    assert rendered in PAGE


def test_the_lines_of_the_trace_are_the_bytes_of_the_documents() -> None:
    blocks = re.findall(r"```text\n(a[0-9a-f].*?)\n```", PAGE, re.DOTALL)
    shown = ["".join(re.findall(r"^[0-9a-f ]{1,80}?(?=  |$)", line.strip())) for line in "\n".join(blocks).splitlines()]
    assert "".join(shown).replace(" ", "") == "".join(each["hex"] for each in TRACE["documents"].values())


def test_the_sdk_goes_the_way_of_the_trace() -> None:
    """Pinned manifest, checked task, proved part, the same draw and the same report."""
    steps, digests = TRACE["steps"], {name: each["sha256"] for name, each in TRACE["documents"].items()}
    manifest = pin_manifest(content("manifest"), CampaignId.parse(digests["manifest"]))
    session = Session(manifest, None)
    task = session.read_task(content("task"))
    verified: VerifiedPart = verify_part(content("device_part"), task.device_parts[0])
    session.check_part(verified, 0)
    assert verified.proved.nano == steps["proved_nano"]
    assert verified.part.domain.encode(steps["value"]) == steps["cell"]
    codes = verified.part.domain.codes(steps["value"])
    source = Listed(bytes.fromhex(steps["word"]), bytes.fromhex(steps["id"])[2:])
    payload = session.randomize(verified, codes, source)
    assert session.report(verified, 0, task.epoch, payload, source).content == content("report_batch")
    assert Digest.parse(digests["device_part"]) == DevicePart.read(content("device_part")).digest


@pytest.mark.parametrize("report", TRACE["coarsened"]["reports"], ids=lambda report: report["fields"][0]["value"])
def test_a_coarsened_report_of_the_page_is_read_by_its_bits(report: dict[str, Any]) -> None:
    """The integer in the page's bits and bytes; the member is in it exactly where z is 0, which alone is one."""
    number, start = int.from_bytes(bytes.fromhex(report["payload"]), "little"), 0
    for field in report["fields"]:
        assert number >> start & ((1 << field["bits"]) - 1) == field["value"], field
        start += field["bits"]
    assert number < 1 << start
    assert f"payload         {report['payload']}" in PAGE
    bits = " ".join(f"{each['value']:0{each['bits']}b}" for each in reversed(report["fields"]))
    assert bits in PAGE
    randomizer = from_plain(Coarsened, plain(TRACE["coarsened"]["randomizer"]))
    payload = np.frombuffer(bytes.fromhex(report["payload"]), dtype=np.uint8)[None]
    assert in_alphabet(randomizer, payload).all()
    [(number, found)] = unpack_coarsened(randomizer, payload)
    level = randomizer.levels[number]
    member = np.array([[TRACE["coarsened"]["value"]]], dtype=np.uint64)
    coordinates = cell_coordinates(level.partition, member, found.public)
    labels = labels_of(level.label, coordinates, level.shape(randomizer.sizes), found.words)
    assert minus(level.label, labels, found.shifted).tolist() == [report["steps"]["z"]]


def test_a_dithered_report_of_the_page_is_drawn_by_its_words() -> None:
    """Both implementations take the words of the page and send its payload."""
    of, steps = TRACE["dithered"], TRACE["dithered"]["steps"]
    domain, randomizer = from_plain(Domain, plain(of["domain"])), from_plain(Dithered, plain(of["randomizer"]))
    words = [int(word, 16).to_bytes(8, "little") for word in of["words"]]
    codes = domain.codes(of["value"])
    assert codes == [steps["member"]]
    one = randomizer.randomize_codes(codes, domain.shape, InOrder(*words))
    many = randomize_codes(randomizer, np.array([codes], dtype=np.uint64), domain.shape, InOrder(*words))
    assert one.hex() == many.tobytes().hex() == steps["payload"]
    for value, kind in ((60_000, 16), (1e9, 16), (None, 17), ("no number", 17)):
        second = InOrder(words[1])
        sent = randomizer.randomize_codes(domain.codes(value), domain.shape, second)
        assert sent == randomizer.inner.randomize(kind, InOrder(words[1]))
        assert not second.left


def answer(problem: Problem, status: int) -> Response:
    body = json.dumps({"type": f"/problems/{problem.slug}"}).encode()
    return Response(status, {"content-type": "application/problem+json"}, body)


def test_what_is_final_is_what_the_page_lists() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| 4xx with a problem"))
    listed = set(re.findall(r"`([\w-]+)`", row))
    final = {each.slug for each in Problem if not isinstance(read_upload(answer(each, 400), 1, 0.0), RetryLater)}
    assert listed == final
    assert all(isinstance(read_upload(answer(each, 500), 1, 0.0), RetryLater) for each in Problem)
    assert isinstance(read_upload(Response(200, {}, content("report_outcomes")), 1, 0.0), Counted)
    assert isinstance(read_upload(Response(200, {}, content("report_outcomes")), 2, 0.0), RetryLater)


def test_which_trouble_makes_every_report_wait_is_what_the_page_says() -> None:
    listed = re.search(r"([\d, ]+ and \d+) delay every report", " ".join(PAGE.split()))
    assert listed is not None
    assert list(map(int, re.findall(r"\d+", listed[1]))) == [each for each in range(300, 600) if _waits_all(each)]


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_token_that_is_not_taken_is_tried_for_as_long_as_the_page_says(status: int) -> None:
    outcome = read_upload(Response(status, {}, b""), 1, 0.0)
    assert isinstance(outcome, RetryLater)
    row = next(line for line in PAGE.splitlines() if line.startswith("| 401 or 403"))
    days = re.search(r"up to (\d+) days", row)
    assert days is not None
    assert not outcome.given_up(0, int(days[1]) * 86_400)
    assert outcome.given_up(0, int(days[1]) * 86_400 + 1) == (status != 500)


def _waits_all(status: int) -> bool:
    outcome = read_upload(Response(status, {}, b""), 1, 0.0)
    return isinstance(outcome, RetryLater) and outcome.everything


@pytest.mark.parametrize("failures", [0, 1, 3, 8, 9, 20])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (60, 3600), (604_800, 604_800)])
@pytest.mark.parametrize("after", [None, 0.0, 100.0, 86_400.0])
def test_the_wait_is_the_formula_of_the_page(failures: int, low: int, high: int, after: float | None) -> None:
    source = Listed(bytes.fromhex("00000000e1a95d40"))
    u = int(uniform_bits(source, 32, 1)[0]) / 2**32
    least, most = max(low, 1), max(high, 2)
    wait = (least + u * (most - least)) * 2 ** min(failures, 8)
    wait = min(max(wait, 0 if after is None else after + u * most), 2 * 86_400)
    assert delay_s(RetryWindow(low, high), failures, after, source) == pytest.approx(wait, abs=2e-3)


def test_the_constants_of_requests_are_those_of_the_page() -> None:
    assert f"`User-Agent: {USER_AGENT}`" in PAGE
    assert f"({DEADLINE_S:g} s in the SDK)" in PAGE
    assert "Refuse a part above 1 MiB unless" in " ".join(PAGE.split())
    assert DevicePart.usual_limit == 1 << 20
